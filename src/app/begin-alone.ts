import type { Clock } from '../core/ports/clock.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';
import type { ReadMirror } from '../state/mirror/read-mirror.ts';

export interface BeginParts {
  readonly backend: StandbyBackend;
  readonly clock: Clock;
  readonly time: SharedTime;
  /** Why the shared store is lost, in words; absent: it answers. */
  readonly lost?: string;
}

/** A mirror that was in force longer ago is not acted on: others may have paused or acted since. */
export const FRESH_FOR_MS = 300_000;
/** So far clocks that were set meanwhile may be wrong. */
const AHEAD_MS = 5_000;

/**
 * Begins alone where the shared store is lost, or where what this process did alone before its last end has not been
 * handed back. `found`: what it had written down, or why there is nothing, in words.
 */
export function beginAlone({ backend, clock, time, lost }: BeginParts, found: ReadMirror | string): void {
  const mirror = typeof found === 'string' ? undefined : found;
  if (lost === undefined) {
    if (mirror?.process.isAlone !== true) return;
    return backend.beginAlone(mirror, 'what was done without Redis is handed back first');
  }
  if (mirror !== undefined) adoptClock(clock, time, mirror.process.clockOffsetMs);
  backend.beginAlone(mirror, typeof found === 'string' ? found : whyNotFresh(found, clock.nowMs()));
}

function whyNotFresh({ process, faults }: ReadMirror, nowMs: number): string | undefined {
  const ageMs = nowMs - process.atMs;
  if (ageMs > FRESH_FOR_MS || ageMs < -AHEAD_MS) {
    return `the mirror is of ${new Date(process.atMs).toISOString()}, more than ${FRESH_FOR_MS / 60_000} minutes off`;
  }
  return faults.length === 0 ? undefined : `the mirror is damaged: ${faults.slice(0, 3).join('; ')}`;
}

/** The shared clock is not to be had: it is as far from the one here as it was. */
function adoptClock(clock: Clock, time: SharedTime, offsetMs: number): void {
  const nowMs = clock.monotonicMs();
  time.adopt({ storeMs: clock.nowMs() + offsetMs, askedAtMs: nowMs, answeredAtMs: nowMs });
}
