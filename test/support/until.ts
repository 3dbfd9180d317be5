import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST_MS = 240_000;

/** Waits until a condition holds; an exception counts as "not yet". Also for scenes that scripts play. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  { everyMs = 50, withinMs = LONGEST_MS, about = (): unknown => '' } = {},
): Promise<void> {
  const endsMs = performance.now() + withinMs;
  let last: Error | undefined;
  while (performance.now() < endsMs) {
    try {
      if (await holds()) return;
      last = undefined;
    } catch (error) {
      last = error as Error;
    }
    await sleep(everyMs);
  }
  const why = last === undefined ? '' : ` (${last.message})`;
  throw new Error(`waited in vain for ${what}${why} ${JSON.stringify(about())}`);
}
