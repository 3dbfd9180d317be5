import type { Clock } from '../src/core/ports/clock.ts';
import type { BucketTick } from '../src/pipeline/poll/poll-tick.ts';
import { pollJobSchema } from '../src/queues/payloads.ts';
import { delaysOf, meantAt } from '../src/queues/schedules.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** Polls each bucket of a tick in the queue. */
export function startPollWorker(
  settings: WorkerSettings,
  clock: Pick<Clock, 'nowMs'>,
  ticks: { take(tick: BucketTick): Promise<void> },
): RunningWorker {
  return startWorker('poll', settings, pollJobSchema, (tick, { id }) => {
    const meantMs = meantAt(id) ?? clock.nowMs();
    return ticks.take({ everyMs: tick.everyMs, meantMs, delaysMs: delaysOf(tick) });
  });
}
