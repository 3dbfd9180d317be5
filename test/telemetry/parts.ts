/** The whole text of output that is produced in parts. */
export function textOf(parts: Iterable<Uint8Array>): string {
  // A part is valid only until the next one is requested.
  return Buffer.concat(Array.from(parts, (part) => Buffer.from(part))).toString();
}
