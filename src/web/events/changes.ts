/** An object as the JSON texts of its top-level keys; changes are found by comparing them. */
export type Encoded = ReadonlyMap<string, string>;

/** Encodes an object. Unchanged texts are reused from `before`, so that many states of one object share memory. */
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

/**
 * Returns the JSON of the changed keys (all without `before`); undefined if only keys in `onlyWhen` changed, or none.
 */
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

/** Formats one server-sent event; `data` is one line of JSON. */
export function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
