import { systemTimers } from '../exchange/system-clock.ts';
import { probeRedis } from './connect-redis.ts';
import type { Base } from './open-base.ts';
import { canGoAlone } from './open-redis-place.ts';
import { type Pipeline, schedulesOf } from './pipeline.ts';
import { PollTicks, WITHOUT_QUEUE } from './poll-ticks.ts';
import { Standby } from './standby.ts';

export interface StandbyUse {
  /** Absent: this process does not poll. */
  readonly ticks: PollTicks | undefined;
  readonly pipeline: () => Pipeline;
  /** Notes which config is in force; a process that was started alone cannot do so at its start. */
  readonly noteConfig: () => Promise<void>;
}

export function openTicks(
  { roles, clock, telemetry, accounts, shared, state }: Base,
  pipeline: () => Pipeline,
): PollTicks | undefined {
  if (!roles.includes('poll')) return undefined;
  const context = () => pipeline().context;
  const schedules = () => schedulesOf(accounts);
  const standby = shared === undefined ? WITHOUT_QUEUE : state.standby;
  return new PollTicks({ clock, timers: systemTimers, telemetry, context, schedules, standby });
}

/** Only a process that polls and acts can go on alone. */
export function openStandby(base: Base, { ticks, pipeline, noteConfig }: StandbyUse): Standby | undefined {
  const { roles, state, shared } = base;
  const { standby: backend, store } = state;
  if (backend === undefined || shared === undefined) return undefined;
  if (ticks === undefined || !canGoAlone(roles)) return undefined;
  const { redis, prefix, receipts, join } = shared;
  let wasAlone = backend.isAlone;
  return new Standby({
    ...base,
    join,
    backend,
    store,
    timers: systemTimers,
    ticks,
    async handBackOthers() {
      await receipts.handBack();
      if (wasAlone) await noteConfig();
      wasAlone = false;
    },
    probe: () => probeRedis(redis, prefix),
    lanesSettled: async () => await pipeline().near?.settled(),
    runLane: async (lane) => await pipeline().near?.run(lane),
  });
}
