import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient, Worker } from 'bullmq';
import { unlessAborted } from '../core/ports/within.ts';
import { reconnectPause } from './connection.ts';

/** Decides whether lost connections reconnect. Shared by the connections of one worker. */
export class Reconnecting {
  #isOver = false;

  /** The `retryStrategy` of ioredis: null means no reconnect. */
  readonly pause = (times: number): number | null => (this.#isOver ? null : reconnectPause(times));

  end(): void {
    this.#isOver = true;
  }
}

const LOOK_EVERY_MS = 20;

/**
 * Closes a worker gracefully: running jobs finish, and the tick chains of its schedules continue. This needs Redis, so
 * a worker that has lost its connection waits for it until `giveUp`. After that Redis counts as gone: other processes
 * take over the running jobs, as if this process had died, and nothing waits for the connection any longer.
 *
 * `Worker.close` must not be called while a connection is reconnecting: it would never return, because ioredis emits no
 * `end` for such a connection. `close(true)` is no alternative: it disconnects from Redis in the middle of a job.
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
  // A connection lost from here on ends at once, and so does everything that waits for it.
  reconnecting.end();
  const closed = worker.close();
  await Promise.all(clients.map(untilSettled));
  await closed;
}

/** Returns both connections of a worker, or none if they were not established before `giveUp`. */
async function clientsOf<T>({ backend }: Worker<T>, giveUp: AbortSignal): Promise<readonly RedisClient[]> {
  const clients = Promise.all([backend.client, backend.blockingClient ?? backend.client]).catch(() => []);
  return await unlessAborted(giveUp, clients, () => []);
}

/** 4 s: longer than the connect timeout. Without this bound, a server that is still loading would block the close. */
const SETTLED_WITHIN_LOOKS = 200;

/** Waits until the connection is ready or has ended. A connection that is pausing before a reconnect connects now. */
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
