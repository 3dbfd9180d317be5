type Members = Readonly<Record<string, unknown>>;

/** Whether two values are the same JSON, in which undefined members are absent. Cheaper than serializing both. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => isSameJson(item, b[index]));
  }
  const [one, other] = [a as Members, b as Members];
  for (const name in one) if (!isSameJson(one[name], other[name])) return false;
  for (const name in other) if (other[name] !== undefined && one[name] === undefined) return false;
  return true;
}
