import { compileGlobs, isGlob } from '../core/rules/filter.ts';

export function globMatches(glob: string, text: string): boolean {
  return compileGlobs([glob])(text);
}

/** Reports whether `outer` certainly matches everything that `inner` matches. */
export function globCovers(outer: string, inner: string): boolean {
  if (outer === inner) return true;
  // Matches a pattern `inner` as text. Only a `*` of `outer` may cover a wildcard, so `?` becomes "!", which no
  // pattern contains.
  return globMatches(isGlob(inner) ? outer.replaceAll('?', '!') : outer, inner);
}
