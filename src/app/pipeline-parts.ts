import type { Notifier } from '../core/ports/notifier.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { DirectLanes } from '../pipeline/act/direct-lanes.ts';
import type { Base } from './open-base.ts';
import { noticeDelivery } from './open-deliverer.ts';
import type { Pipeline, PipelineParts } from './pipeline.ts';
import type { Standby } from './standby.ts';

export function pipelineParts(
  base: Base,
  standby: Standby | undefined,
  notifier: Notifier,
  { channels, direct }: { readonly channels: () => readonly string[]; readonly direct: DirectLanes },
): Omit<PipelineParts, 'attemptTimeoutMs' | 'notify'> {
  const { state, shared, instance } = base;
  const queue = shared?.queues.lanes ?? direct;
  return {
    instance,
    queue: standby?.over(queue) ?? queue,
    turns: standby?.turns,
    work: {
      ...base,
      store: state.store,
      timers: systemTimers,
      notifier,
      delivery: noticeDelivery(base.receipts, channels),
    },
  };
}

/** The lanes of a process without a queue. */
export function directLanes({ telemetry }: Base, pipeline: () => Pipeline): DirectLanes {
  return new DirectLanes(
    async (lane) => await pipeline().near?.run(lane),
    (error) => telemetry.emit({ kind: 'workerError', queue: 'act', error }),
  );
}
