import type { Job } from 'bullmq';
import type { Deliverer } from '../src/core/ports/delivery.ts';
import { notifyJobSchema, readPayload } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** From a notice in the queue to its delivery. The deliverer may be replaced when the config changes. */
export function startNotifyWorker(
  settings: WorkerSettings,
  deliverer: () => Deliverer,
  signal: AbortSignal,
): RunningWorker {
  return startWorker<unknown>('notify', settings, async (job: Job<unknown>) => {
    const read = readPayload(notifyJobSchema, job.data);
    if (!read.ok) {
      settings.telemetry.emit({ kind: 'jobRefused', queue: 'notify', job: job.id ?? '', why: read.why });
      return;
    }
    await deliverer().deliver(read.payload.notice, signal);
  });
}
