import type { Redis } from 'ioredis';
import { systemTimers } from '../exchange/system-clock.ts';
import type { PollGuard } from '../pipeline/poll/poll-account.ts';
import type { Base } from './open-base.ts';
import { type Pipeline, schedulesOf } from './pipeline.ts';
import { Standby } from './standby.ts';

/** A write that leaves nothing: a server that only answers reads is as good as lost. */
async function probeRedis(redis: Redis, prefix: string): Promise<void> {
  try {
    await redis.set(`${prefix}:probe`, '1', 'PX', 1);
  } catch (error) {
    // A user who may not write this key alone: the server is there.
    if (!(error instanceof Error && error.message.startsWith('NOPERM'))) throw error;
  }
}

/** Only a process that polls and acts can go on alone. */
export function openStandby(
  { state, redis, prefix, clock, telemetry, accounts, ordinal, receipts }: Base,
  roles: readonly string[],
  guard: PollGuard,
  pipeline: () => Pipeline,
): Standby | undefined {
  const { standby: backend, store } = state;
  if (backend === undefined || !roles.includes('poll') || !roles.includes('act')) return undefined;
  return new Standby({
    backend,
    store,
    clock,
    timers: systemTimers,
    telemetry,
    ordinal,
    guard,
    handBackReceipts: () => receipts.handBack(),
    probe: () => probeRedis(redis, prefix),
    schedules: () => schedulesOf(accounts),
    lanesSettled: async () => await pipeline().near?.settled(),
    runLane: async (lane) => await pipeline().near?.run(lane),
  });
}
