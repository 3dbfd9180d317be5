import type { Deliverer } from '../core/ports/delivery.ts';
import type { RunningWorker } from '../queues/worker.ts';
import type { Base } from './open-base.ts';

export interface ReleaseParts extends Pick<Base, 'clock' | 'telemetry'> {
  /** It may be replaced when the config changes. */
  readonly deliverer: () => Pick<Deliverer, 'releaseHeld'>;
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
