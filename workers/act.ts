import type { Job } from 'bullmq';
import type { PipelineContext } from '../src/pipeline/account.ts';
import { runLane } from '../src/pipeline/act.ts';
import { actJobSchema, readPayload } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** From a lane in the queue to one run of it. `signal`: the process is about to end. */
export function startActWorker(
  settings: WorkerSettings,
  context: PipelineContext,
  signal: AbortSignal,
): RunningWorker {
  return startWorker<unknown>('act', settings, async (job: Job<unknown>) => {
    const read = readPayload(actJobSchema, job.data);
    if (!read.ok) {
      settings.telemetry.emit({ kind: 'jobRefused', queue: 'act', job: job.id ?? '', why: read.why });
      return;
    }
    const { accountId, market } = read.payload;
    await runLane(context, { accountId, market }, signal);
  });
}
