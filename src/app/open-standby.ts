import { systemTimers } from '../exchange/system-clock.ts';
import { probeRedis } from './connect-redis.ts';
import { type Base, canGoAlone } from './open-base.ts';
import { type Pipeline, schedulesOf } from './pipeline.ts';
import { PollTicks } from './poll-ticks.ts';
import { Standby } from './standby.ts';

export interface StandbyUse {
  /** Absent: this process does not poll. */
  readonly ticks: PollTicks | undefined;
  readonly pipeline: () => Pipeline;
  /** Notes which config is in force; a process that was started alone cannot do so at its start. */
  readonly noteConfig: () => Promise<void>;
}

export function openTicks(
  { roles, clock, telemetry, accounts, state: { standby } }: Base,
  pipeline: () => Pipeline,
): PollTicks | undefined {
  if (!roles.includes('poll')) return undefined;
  const context = () => pipeline().context;
  const schedules = () => schedulesOf(accounts);
  return new PollTicks({ clock, timers: systemTimers, telemetry, context, schedules, standby });
}

/** Only a process that polls and acts can go on alone. */
export function openStandby(base: Base, { ticks, pipeline, noteConfig }: StandbyUse): Standby | undefined {
  const { roles, state, redis, prefix, receipts } = base;
  const { standby: backend, store } = state;
  if (backend === undefined || ticks === undefined || !canGoAlone(roles)) return undefined;
  let wasAlone = backend.isAlone;
  return new Standby({
    ...base,
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
