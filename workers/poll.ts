import type { Job } from 'bullmq';
import type { PipelineContext } from '../src/pipeline/account.ts';
import { type PollGuard, pollBuckets } from '../src/pipeline/poll.ts';
import { pollJobSchema, readPayload } from '../src/queues/payloads.ts';
import { meantAt } from '../src/queues/schedules.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** From a tick in the queue to one poll of its buckets. */
export function startPollWorker(
  settings: WorkerSettings,
  context: PipelineContext,
  guard: PollGuard,
): RunningWorker {
  return startWorker<unknown>('poll', settings, async (job: Job<unknown>) => {
    const read = readPayload(pollJobSchema, job.data);
    if (!read.ok) {
      settings.telemetry.emit({ kind: 'jobRefused', queue: 'poll', job: job.id ?? '', why: read.why });
      return;
    }
    const { buckets, everyMs } = read.payload;
    const nowMs = context.clock.nowMs();
    const lagMs = Math.max(0, nowMs - (meantAt(job.id) ?? nowMs));
    await pollBuckets(context, guard, { buckets, everyMs, lagMs });
  });
}
