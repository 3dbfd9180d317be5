import type { Deliverer } from '../core/ports/delivery.ts';
import type { RunningWorker } from '../queues/worker.ts';
import type { Base } from './open-base.ts';

export interface ReleaseParts extends Pick<Base, 'clock' | 'telemetry'> {
  /** Another one may replace it when the config changes. */
  readonly deliverer: () => Pick<Deliverer, 'releaseHeld'>;
}

const LOOK_EVERY_MS = 10_000;

/** Checks until `signal` whether quiet hours have ended. If several processes do, receipts ensure that one delivers. */
export function startReleasingHeld(
  { deliverer, clock, telemetry }: ReleaseParts,
  signal: AbortSignal,
): RunningWorker {
  const look = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await deliverer().releaseHeld(signal);
      } catch (error) {
        // Undelivered notices are kept and delivered at the next look.
        if (!signal.aborted) telemetry.emit({ kind: 'workerError', queue: 'notify', error });
      }
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  };
  const ended = look();
  return { close: () => ended };
}
