import type { Job } from 'bullmq';
import type { LaneRef } from '../src/core/ports/work.ts';
import { actJobSchema, readPayload } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** From a lane in the queue to one run of it. */
export function startActWorker(
  settings: WorkerSettings,
  runLane: (lane: LaneRef) => Promise<unknown>,
): RunningWorker {
  return startWorker<unknown>('act', settings, async (job: Job<unknown>) => {
    const read = readPayload(actJobSchema, job.data);
    if (!read.ok) {
      settings.telemetry.emit({ kind: 'jobRefused', queue: 'act', job: job.id ?? '', why: read.why });
      return;
    }
    const { accountId, market } = read.payload;
    await runLane({ accountId, market });
  });
}
