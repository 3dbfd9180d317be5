import type { Job } from 'bullmq';
import type { PipelineContext } from '../src/pipeline/account.ts';
import type { PollGuard } from '../src/pipeline/poll.ts';
import { pollInTurn } from '../src/pipeline/poll-in-turn.ts';
import { pollJobSchema, readPayload } from '../src/queues/payloads.ts';
import { delaysOf, meantAt } from '../src/queues/schedules.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** From a tick in the queue to one poll of each of its buckets. */
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
    const meantMs = meantAt(job.id) ?? context.clock.nowMs();
    const { everyMs } = read.payload;
    await pollInTurn(context, guard, { delays: delaysOf(read.payload), everyMs, meantMs });
  });
}
