/**
 * Returns the candidate that was probably meant; undefined if none is near enough. At most a third of the letters, but
 * at least one, may be wrong: insertions, deletions, replacements and swapped neighbours count one each. Case is
 * ignored.
 */
export function suggest<T extends string>(written: string, candidates: Iterable<T>): T | undefined {
  const given = written.toLowerCase();
  if (given.length > MAX_LENGTH) return undefined;
  let best: T | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    // Comparing lengths rules most candidates out; without it, a long list of wrong names would be slow.
    if (Math.abs(candidate.length - given.length) > mostWrong(given, candidate)) continue;
    const distance = editDistance(given, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best !== undefined && bestDistance <= mostWrong(given, best) ? best : undefined;
}

/** Returns a question for the candidate that was probably meant, or `otherwise` if there is none. */
export function meantOr(written: string, candidates: Iterable<string>, otherwise: string): string {
  const meant = suggest(written, candidates);
  return meant === undefined ? otherwise : `Did you mean ${meant}?`;
}

function mostWrong(given: string, candidate: string): number {
  return Math.max(1, Math.floor(Math.max(given.length, candidate.length) / 3));
}

const MAX_LENGTH = 64;

/** Optimal string alignment distance: Levenshtein plus swaps of neighbours. */
export function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let distance = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) distance = Math.min(distance, at(beforePrevious, column - 2) + 1);
      current.push(distance);
    }
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
