import type { Clock } from '../core/ports/clock.ts';
import type { Deliverer } from '../core/ports/delivery.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { RunningWorker } from '../queues/worker.ts';

export interface ReleaseParts {
  /** It may be replaced when the config changes. */
  readonly deliverer: () => Pick<Deliverer, 'releaseHeld'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

const LOOK_EVERY_MS = 10_000;

/** Looks whether quiet hours have ended, until `signal`. Of several processes that do, receipts see to it that one tells. */
export function startReleasingHeld(
  { deliverer, clock, telemetry }: ReleaseParts,
  signal: AbortSignal,
): RunningWorker {
  const look = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await deliverer().releaseHeld(signal);
      } catch (error) {
        // What was not told is still there, and is told at the next look.
        if (!signal.aborted) telemetry.emit({ kind: 'workerError', queue: 'notify', error });
      }
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  };
  const ended = look();
  return { close: () => ended };
}
