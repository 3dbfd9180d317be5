import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient, Worker } from 'bullmq';
import { reconnectPause } from './connection.ts';

/** Whether lost connections are still made anew. Shared by the connections of one worker. */
export class Reconnecting {
  #isOver = false;

  /** For ioredis: no number means that a connection which ends has ended. */
  readonly pause = (times: number): number | null => (this.#isOver ? null : reconnectPause(times));

  end(): void {
    this.#isOver = true;
  }
}

const LOOK_EVERY_MS = 20;

/**
 * Closes a worker in order: jobs under way end, and the chains of its schedules go on. That takes Redis; a worker
 * whose connection is lost waits for it until `giveUp`. From then on Redis counts as gone: what was under way is
 * taken up again by others, as that of a process that died, and nothing waits for the connection any more.
 *
 * Not before: `Worker.close` of a worker whose connection waits to be made anew never ends, because ioredis tells no
 * end of such a connection. And never `close(true)`, which leaves a connected Redis in the middle of a job.
 */
export async function closeWorker<T>(
  worker: Worker<T>,
  reconnecting: Reconnecting,
  giveUp: AbortSignal,
): Promise<void> {
  const clients = await clientsOf(worker, giveUp);
  while (!giveUp.aborted && clients.some(({ status }) => status !== 'ready')) {
    await sleep(LOOK_EVERY_MS, undefined, { signal: giveUp }).catch(() => undefined);
  }
  // A connection that is lost from here on has ended, and so has whatever waits for it.
  reconnecting.end();
  const closed = worker.close();
  await Promise.all(clients.map(untilSettled));
  await closed;
}

/** Both connections of a worker; one that never came about has no client to wait for. */
async function clientsOf<T>({ backend }: Worker<T>, giveUp: AbortSignal): Promise<readonly RedisClient[]> {
  const clients = Promise.all([backend.client, backend.blockingClient ?? backend.client]);
  const over = new Promise<undefined>((resolve) => {
    giveUp.addEventListener('abort', () => resolve(undefined), { once: true });
    if (giveUp.aborted) resolve(undefined);
  });
  clients.catch(() => undefined);
  return (await Promise.race([clients, over])) ?? [];
}

/** Longer than a connection may take to be made; one to a server that is still loading would be waited for longer. */
const SETTLED_WITHIN_LOOKS = 200;

/** A connection that waits to be made anew is made now: like one that is being made, it comes about or has ended. */
async function untilSettled(client: RedisClient): Promise<void> {
  if (client.status === 'reconnecting') {
    client.disconnect();
    client.connect().catch(() => undefined);
  }
  for (let looks = 0; looks < SETTLED_WITHIN_LOOKS; looks++) {
    if (client.status === 'ready' || client.status === 'end') return;
    await sleep(LOOK_EVERY_MS);
  }
}
