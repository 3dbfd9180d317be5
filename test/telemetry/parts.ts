/** The whole text of what is made in parts. */
export function textOf(parts: Iterable<Uint8Array>): string {
  // A part holds only until the next one is asked for.
  return Buffer.concat(Array.from(parts, (part) => Buffer.from(part))).toString();
}
