import { Redis } from 'ioredis';
import type { LaneRef } from '../../src/core/ports/lane-dispatcher.ts';
import type { Notice } from '../../src/core/ports/notifier.ts';
import { StoreLostError } from '../../src/core/ports/state-store.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { openQueues, type Queues } from '../../src/queues/producers.ts';
import type { WorkerSettings } from '../../src/queues/worker.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { shareRedis, targetOf } from '../support/redis.ts';

/** The queues on the test's own Redis. */
export interface QueueWorld {
  readonly queues: Queues;
  readonly redis: Redis;
  readonly settings: WorkerSettings;
  readonly events: DaemonEvent[];
}

/** A server that is slow, because the machine is busy, is asked again, as by the next poll. */
async function untilAnswered(call: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreLostError)) throw error;
    }
  }
}

export async function openQueueWorld(): Promise<QueueWorld> {
  const server = await shareRedis();
  closeAfterTest(() => server.stop());
  const prefix = server.prefix.replace(/:$/, '');
  const redis = new Redis(server.url);
  closeAfterTest(async () => redis.disconnect());
  const target = targetOf(server.url);
  const errors: unknown[] = [];
  const queues = openQueues({ target, prefix, onError: (_queue, error) => errors.push(error) });
  closeAfterTest(async () => {
    await queues.close();
    if (errors.length > 0) throw new AggregateError(errors, 'errors of queues');
  });
  const events: DaemonEvent[] = [];
  const telemetry = { emit: (event: DaemonEvent) => void events.push(event) };
  const patient = {
    ...queues,
    lanes: { dispatch: (lanes: readonly LaneRef[]) => untilAnswered(() => queues.lanes.dispatch(lanes)) },
    notifier: { hand: (notices: readonly Notice[]) => untilAnswered(() => queues.notifier.hand(notices)) },
  };
  return { queues: patient, redis, events, settings: { target, prefix, concurrency: 10, telemetry } };
}
