import process from 'node:process';
import { inject } from 'vitest';

/** `FULL=1 npm test` runs all of what a run otherwise takes a slice of. */
export const FULL = process.env['FULL'] === '1';

/**
 * Every `share`-th element, from an offset given by the seed of the run (`FC_SEED`): `share` consecutive seeds take
 * all. Takes at least one, and prints what it leaves out: `what` names the elements. For slow cases that prove nearly
 * the same.
 */
export function sliceOf<T>(all: readonly T[], share: number, what: string): readonly T[] {
  const taken = FULL ? all : sliceAt(all, share, inject('fastCheckSeed'));
  if (taken.length < all.length) {
    process.stderr.write(
      `slice: ${taken.length} of ${all.length} ${what}; others with another FC_SEED, all with FULL=1\n`,
    );
  }
  return taken;
}

export function sliceAt<T>(all: readonly T[], share: number, seed: number): readonly T[] {
  // With fewer elements than shares some seeds would take none.
  const steps = Math.min(share, Math.max(1, all.length));
  return all.filter((_, index) => index % steps === seed % steps);
}

/** A number of runs of a slow property: each commit has another seed, so that other commits try other inputs. */
export function runsOf(all: number): number {
  return FULL ? all : Math.ceil(all / 4);
}

/**
 * Whether this run plays the named test: `test.runIf(plays('a name'))(...)`. Of slow tests that show nearly the same,
 * each run plays others, as `sliceOf` chooses them.
 */
export function inTurn<Name extends string>(
  names: readonly Name[],
  share: number,
  what: string,
): (name: Name) => boolean {
  const some = new Set(sliceOf(names, share, what));
  return (name) => some.has(name);
}
