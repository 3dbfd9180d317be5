import { closeAfterTest } from './after-test.ts';

/** For what must hold in real time, on a machine that may hold this process up at any moment. */

const TURN_MS = 20;

/** Calls back every turn with the time since the turn before, until the returned function is called. */
function followTurns(onTurn: (sinceLastMs: number) => void): () => void {
  let lastMs = performance.now();
  const turn = (): void => {
    const nowMs = performance.now();
    onTurn(nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(turn, TURN_MS);
  return () => {
    clearInterval(timer);
    turn();
  };
}

/**
 * Time from now until the end of the test in which this process got to work: what holds it up between two turns counts
 * as one more turn.
 */
export function startWorkingTime(): () => number {
  let workedMs = 0;
  const stop = followTurns((sinceLastMs) => {
    workedMs += Math.min(sinceLastMs, 2 * TURN_MS);
  });
  closeAfterTest(async () => stop());
  return () => workedMs;
}

/** Follows the longest time between two turns beyond the usual one, until `stop`. */
function followHoldUps(): { readonly longestMs: () => number; readonly stop: () => void } {
  let longestMs = 0;
  const stop = followTurns((sinceLastMs) => {
    longestMs = Math.max(longestMs, sinceLastMs - TURN_MS);
  });
  return { longestMs: () => longestMs, stop };
}

const MOST_ATTEMPTS = 20;

/** Repeats an attempt that failed while something held this process up for longer than `mostMs`: it proves nothing. */
export async function unlessHeldUp(mostMs: number, attempt: () => Promise<void>): Promise<void> {
  for (let count = 1; ; count += 1) {
    const { longestMs, stop } = followHoldUps();
    try {
      return await attempt();
    } catch (error) {
      stop();
      if (longestMs() <= mostMs || count === MOST_ATTEMPTS) throw error;
      tellAgain(longestMs());
    } finally {
      stop();
    }
  }
}

/**
 * Result of the first of `most` attempts during which nothing held this process up for longer than `mostMs`, or of the
 * last one: for plays in real time, which cannot be judged otherwise.
 */
export async function notHeldUp<T>(mostMs: number, most: number, attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    const { longestMs, stop } = followHoldUps();
    const result = await attempt().finally(stop);
    if (longestMs() <= mostMs || count === most) return result;
    tellAgain(longestMs());
  }
}

function tellAgain(heldUpMs: number): void {
  process.stderr.write(`held up for ${Math.round(heldUpMs)} ms: once more\n`);
}
