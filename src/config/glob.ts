import { compileGlobs, isGlob } from '../core/rules/filter.ts';

export function globMatches(glob: string, text: string): boolean {
  return compileGlobs([glob])(text);
}

/** Whether everything that `inner` matches is surely matched by `outer` too. */
export function globCovers(outer: string, inner: string): boolean {
  if (outer === inner) return true;
  // A `*` of the inner pattern is taken by a `*` of the outer one only; "!" stands in no pattern.
  return globMatches(isGlob(inner) ? outer.replaceAll('?', '!') : outer, inner);
}
