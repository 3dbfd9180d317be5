import type { PipelineContext } from './account.ts';
import { type PollGuard, pollBucket } from './poll.ts';

/** One tick of a schedule: how much later than it each of its buckets is polled. */
export interface SharedTick {
  readonly delays: ReadonlyMap<number, number>;
  readonly everyMs: number;
  /** When it was meant to begin, Unix milliseconds. */
  readonly meantMs: number;
}

/** Each bucket at its own time, however long the one before takes; what fails one keeps no other from being polled. */
export async function pollInTurn(
  context: PipelineContext,
  guard: PollGuard,
  { delays, everyMs, meantMs }: SharedTick,
): Promise<void> {
  const { clock } = context;
  const polls = [...delays].map(async ([bucket, delayMs]) => {
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
