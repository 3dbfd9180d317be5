import type { Job } from 'bullmq';
import type { PipelineContext } from '../src/pipeline/pipeline-context.ts';
import { type PollGuard, pollBucket } from '../src/pipeline/poll/poll.ts';
import { type PollJob, pollJobSchema, readPayload } from '../src/queues/payloads.ts';
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
    await pollInTurn(context, guard, read.payload, meantMs);
  });
}

/** Each bucket at its own time, however long the one before takes; what fails one keeps no other from being polled. */
async function pollInTurn(
  context: PipelineContext,
  guard: PollGuard,
  tick: PollJob,
  meantMs: number,
): Promise<void> {
  const { clock } = context;
  const { everyMs } = tick;
  const polls = [...delaysOf(tick)].map(async ([bucket, delayMs]) => {
    const waitMs = meantMs + delayMs - clock.nowMs();
    // No longer than planned, whatever the clock of whoever planned the tick says.
    if (waitMs > 0) await clock.sleep(Math.min(waitMs, delayMs));
    await pollBucket(context, guard, {
      bucket,
      everyMs,
      lagMs: Math.max(0, clock.nowMs() - meantMs - delayMs),
    });
  });
  for (const poll of await Promise.allSettled(polls)) if (poll.status === 'rejected') throw poll.reason;
}
