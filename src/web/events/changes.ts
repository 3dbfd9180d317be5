/** An object as the texts of its top-level keys, by which changes are found. */
export type Encoded = ReadonlyMap<string, string>;

/** Texts that did not change are those of before, so that many states of one thing share their memory. */
export function encode(value: object, before?: Encoded): Encoded {
  const texts = new Map<string, string>();
  let isSame = before !== undefined;
  for (const [key, inner] of Object.entries(value)) {
    const text = JSON.stringify(inner) ?? 'null';
    const known = before?.get(key);
    texts.set(key, known === text ? known : text);
    if (known !== text) isSame = false;
  }
  return isSame && before?.size === texts.size ? before : texts;
}

/** JSON of the keys that changed, or of all without a `before`; undefined: none but those in `onlyWhen` did. */
export function changedText(
  before: Encoded | undefined,
  now: Encoded,
  onlyWhen: readonly string[] = [],
): string | undefined {
  if (before === now) return undefined;
  const changed = [...now].filter(([key, text]) => before?.get(key) !== text);
  if (changed.every(([key]) => onlyWhen.includes(key))) return undefined;
  return `{${changed.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
}

/** One event; data are one line of JSON. */
export function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
