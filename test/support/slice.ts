import process from 'node:process';
import { inject } from 'vitest';

/** `FULL=1 npm test` runs all of what a run otherwise takes a slice of. */
export const FULL = process.env['FULL'] === '1';

/**
 * Every `share`-th element, from a place that the seed of the run (`FC_SEED`) gives: `share` seeds in a row take all.
 * For what takes long and proves the same of each element.
 */
export function sliceOf<T>(all: readonly T[], share: number): readonly T[] {
  const first = inject('fastCheckSeed') % share;
  return FULL ? all : all.filter((_, index) => index % share === first);
}
