import type { PipelineContext } from '../pipeline-context.ts';
import { type PollGuard, pollBucket } from './poll-bucket.ts';

export interface BucketTick {
  /** Time between ticks. */
  readonly everyMs: number;
  /** When the tick was meant to begin, Unix milliseconds by the clock of whoever planned it. */
  readonly meantMs: number;
  /** How long after that each bucket is polled. */
  readonly delaysMs: ReadonlyMap<number, number>;
}

/**
 * Polls each bucket of a tick at its own time, however long the one before takes. A bucket that fails keeps no other
 * from being polled; the first failure is thrown at the end.
 */
export async function pollTick(
  context: PipelineContext,
  guard: PollGuard,
  { everyMs, meantMs, delaysMs }: BucketTick,
): Promise<void> {
  const { clock } = context;
  const polls = [...delaysMs].map(async ([bucket, delayMs]) => {
    const waitMs = meantMs + delayMs - clock.nowMs();
    // Never longer than planned: the clock that planned the tick may be ahead of this one.
    if (waitMs > 0) await clock.sleep(Math.min(waitMs, delayMs));
    const lagMs = Math.max(0, clock.nowMs() - meantMs - delayMs);
    await pollBucket(context, guard, { bucket, everyMs, lagMs });
  });
  for (const poll of await Promise.allSettled(polls)) if (poll.status === 'rejected') throw poll.reason;
}
