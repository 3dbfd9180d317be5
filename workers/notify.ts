import type { Deliverer } from '../src/core/ports/delivery.ts';
import { notifyJobSchema } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** From a notice in the queue to its delivery. The deliverer may be replaced when the config changes. */
export function startNotifyWorker(
  settings: WorkerSettings,
  deliverer: () => Deliverer,
  signal: AbortSignal,
): RunningWorker {
  return startWorker('notify', settings, notifyJobSchema, ({ notice }) =>
    deliverer().deliver(notice, signal),
  );
}
