import { startActWorker } from '../../workers/act.ts';
import { startNotifyWorker } from '../../workers/notify.ts';
import { startPollWorker } from '../../workers/poll.ts';
import type { CompiledConfig } from '../config/compiled-config.ts';
import type { Deliverer } from '../core/ports/delivery.ts';
import type { PollGuard } from '../pipeline/poll/poll-account.ts';
import type { RunningWorker, WorkerSettings } from '../queues/worker.ts';
import { startBots } from './bot/open-bots.ts';
import type { Base } from './open-base.ts';
import type { Pipeline } from './pipeline.ts';
import { startReleasingHeld } from './release-held.ts';
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
  readonly guard: PollGuard;
  /** The config in force. */
  readonly config: () => CompiledConfig;
}

export function startWorkers(
  { base, pipeline: { context, near }, deliverer, roles, guard, config }: WorkersParts,
  signal: AbortSignal,
): readonly RunningWorker[] {
  const { target, prefix, telemetry, operators } = base;
  const settings = (role: keyof typeof CONCURRENCY): WorkerSettings => ({
    target,
    prefix,
    telemetry,
    concurrency: CONCURRENCY[role],
  });
  const current = (): Deliverer => deliverer.current;
  return [
    ...(roles.includes('poll') ? [startPollWorker(settings('poll'), context, guard)] : []),
    ...(near === undefined ? [] : [startActWorker(settings('act'), (lane) => near.run(lane))]),
    ...(roles.includes('notify')
      ? [
          startNotifyWorker(settings('notify'), { deliverer: current, operators, signal }),
          startReleasingHeld({ ...base, deliverer: current }, signal),
          startBots(base, config, signal),
        ]
      : []),
  ];
}
