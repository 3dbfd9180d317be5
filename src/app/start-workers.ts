import { startActWorker } from '../../workers/act.ts';
import { startNotifyWorker } from '../../workers/notify.ts';
import { startPollWorker } from '../../workers/poll.ts';
import type { CompiledConfig } from '../config/compiled-config.ts';
import type { Deliverer } from '../core/ports/delivery.ts';
import type { RunningWorker } from '../queues/worker.ts';
import { startBots } from './bot/open-bots.ts';
import type { Base } from './open-base.ts';
import type { Pipeline } from './pipeline.ts';
import type { PollTicks } from './poll-ticks.ts';
import type { Replaceable } from './replaceable.ts';

/**
 * Concurrent jobs per process. A lane that waits for a fence keeps its place, as does a message that waits for others.
 */
const CONCURRENCY = { poll: 128, act: 512, notify: 256 };

interface WorkersParts {
  readonly base: Base;
  readonly pipeline: Pipeline;
  readonly deliverer: Replaceable<Deliverer>;
  readonly roles: readonly string[];
  /** Absent: this process does not poll. */
  readonly ticks: PollTicks | undefined;
  /** The config in force. */
  readonly config: () => CompiledConfig;
}

export function startWorkers(
  { base, pipeline: { near }, deliverer, roles, ticks, config }: WorkersParts,
  signal: AbortSignal,
): readonly RunningWorker[] {
  const { telemetry, operators } = base;
  const bots = roles.includes('notify') ? [startBots(base, config, signal)] : [];
  if (base.shared === undefined) return bots;
  const { target, prefix } = base.shared;
  const shared = { target, prefix, telemetry };
  const settings = (role: keyof typeof CONCURRENCY) => ({ ...shared, concurrency: CONCURRENCY[role] });
  // Another one may replace it when the config changes.
  const current = (): Deliverer => deliverer.current;
  return [
    ...(ticks === undefined ? [] : [startPollWorker(settings('poll'), base.clock, ticks)]),
    ...(near === undefined ? [] : [startActWorker(settings('act'), (lane) => near.run(lane))]),
    ...(roles.includes('notify')
      ? [startNotifyWorker(settings('notify'), { deliverer: current, operators, signal })]
      : []),
    ...bots,
  ];
}
