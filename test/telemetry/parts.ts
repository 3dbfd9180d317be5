/** The whole text of output that is produced in parts. */
export function textOf(parts: Iterable<Uint8Array>): string {
  return Buffer.concat([...parts]).toString();
}

/** The scraped value of one series; undefined if there is none. */
export function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
