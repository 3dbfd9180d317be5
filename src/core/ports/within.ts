import type { Timers } from './clock.ts';

/**
 * Settles like the work, or with the outcome of `late` if the work takes longer than `limitMs`. By default that rejects.
 * What the work does afterwards has no effect; a late rejection is not unhandled.
 */
export function within<T, L = never>(
  timers: Pick<Timers, 'after'>,
  limitMs: number,
  work: Promise<T>,
  late: () => L = () => {
    throw new Error(`no answer within ${limitMs} ms`);
  },
): Promise<T | L> {
  return unless((call) => timers.after(limitMs, call), work, late);
}

/** The same, with a signal as the limit. */
export function unlessAborted<T, L = never>(
  signal: AbortSignal,
  work: Promise<T>,
  late: () => L = () => {
    throw new Error('no answer in time');
  },
): Promise<T | L> {
  const onAbort = (call: () => void): (() => void) => {
    if (signal.aborted) call();
    else signal.addEventListener('abort', call, { once: true });
    return () => signal.removeEventListener('abort', call);
  };
  return unless(onAbort, work, late);
}

/**
 * `end` arranges for a call, and returns a function that calls it off. Settles in the turn in which the work does, as
 * another order of events would tell other histories in virtual time.
 */
function unless<T, L>(
  end: (call: () => void) => () => void,
  work: Promise<T>,
  late: () => L,
): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const callOff = end(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    });
    work.then(resolve, reject).finally(callOff);
  });
}
