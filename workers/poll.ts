import type { PipelineContext } from '../src/pipeline/pipeline-context.ts';
import type { PollGuard } from '../src/pipeline/poll/poll-account.ts';
import { pollTick } from '../src/pipeline/poll/poll-tick.ts';
import { pollJobSchema } from '../src/queues/payloads.ts';
import { delaysOf, meantAt } from '../src/queues/schedules.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** Polls each bucket of a tick in the queue. */
export function startPollWorker(
  settings: WorkerSettings,
  context: PipelineContext,
  guard: PollGuard,
): RunningWorker {
  return startWorker('poll', settings, pollJobSchema, (tick, { id }) => {
    const meantMs = meantAt(id) ?? context.clock.nowMs();
    return pollTick(context, guard, { everyMs: tick.everyMs, meantMs, delaysMs: delaysOf(tick) });
  });
}
