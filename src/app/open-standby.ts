import { systemTimers } from '../exchange/system-clock.ts';
import type { PollGuard } from '../pipeline/poll/poll-account.ts';
import { probeRedis } from './connect-redis.ts';
import { type Base, canGoAlone } from './open-base.ts';
import { type Pipeline, schedulesOf } from './pipeline.ts';
import { Standby } from './standby.ts';

export interface StandbyUse {
  readonly roles: readonly string[];
  readonly guard: PollGuard;
  readonly pipeline: () => Pipeline;
  /** Notes which config is in force; a process that was started alone cannot do so at its start. */
  readonly noteConfig: () => Promise<void>;
}

/** Only a process that polls and acts can go on alone. */
export function openStandby(
  { state, redis, prefix, clock, telemetry, accounts, ordinal, receipts, join }: Base,
  { roles, guard, pipeline, noteConfig }: StandbyUse,
): Standby | undefined {
  const { standby: backend, store } = state;
  if (backend === undefined || !canGoAlone(roles)) return undefined;
  let wasAlone = backend.isAlone;
  return new Standby({
    backend,
    store,
    clock,
    timers: systemTimers,
    telemetry,
    ordinal,
    guard,
    async handBackOthers() {
      await receipts.handBack();
      if (wasAlone) await noteConfig();
      wasAlone = false;
    },
    join,
    probe: () => probeRedis(redis, prefix),
    schedules: () => schedulesOf(accounts),
    lanesSettled: async () => await pipeline().near?.settled(),
    runLane: async (lane) => await pipeline().near?.run(lane),
  });
}
