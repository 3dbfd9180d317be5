import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, type RedisClient, Worker, type WorkerOptions } from 'bullmq';
import type { z } from 'zod';
import type { QueueName, Telemetry } from '../core/ports/telemetry.ts';
import { unlessAborted, within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { type RedisTarget, reconnectPause, workerConnection } from './connection.ts';
import { queuePrefix } from './names.ts';
import { readPayload } from './payloads.ts';

export interface WorkerSettings {
  readonly target: RedisTarget;
  readonly prefix: string;
  readonly concurrency: number;
  readonly telemetry: Telemetry;
}

/** Jobs of a dead process are taken over within the sum of both. A lock is renewed twice during its life. */
const LOCK_MS = 3_000;
const STALLED_CHECK_MS = 1_500;
const OPEN_AGAIN_MS = 1_000;
/** Practically unlimited: all jobs here are safe to restart. */
const MOST_STALLS = 1_000;

/** The payload of a job does not match the schema. */
class RefusedJobError extends Error {}

export interface RunningWorker {
  /** Closes gracefully, see `closeWorker`. Without Redis that is impossible: `giveUp` ends the wait. */
  close(giveUp: AbortSignal): Promise<void>;
}

/** BullMQ's metrics stay off: their lists grow with every job. */
export function workerOptions(
  { target, prefix, concurrency }: WorkerSettings,
  reconnecting: Reconnecting,
): WorkerOptions {
  return {
    connection: workerConnection(target, reconnecting.pause),
    prefix: queuePrefix(prefix),
    concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: MOST_STALLS,
    runRetryDelay: OPEN_AGAIN_MS,
    autorun: false,
  };
}

/**
 * Starts a worker that reports all errors to telemetry. A payload that does not match the schema comes from another
 * version of this program: it is reported, and retried if the job has attempts, so that the other version can take it.
 */
export function startWorker<T>(
  name: QueueName,
  settings: WorkerSettings,
  schema: z.ZodType<T>,
  work: (payload: T, job: Job<unknown>) => Promise<unknown>,
): RunningWorker {
  const { telemetry } = settings;
  const reconnecting = new Reconnecting();
  const running = new Set<Promise<unknown>>();
  const tracked = async (job: Job<unknown>): Promise<void> => {
    const read = readPayload(schema, job.data);
    if (!read.ok) {
      telemetry.emit({ kind: 'jobRefused', queue: name, job: job.id ?? '', why: read.why });
      // A process of the other version may take a later attempt. A job refused every time is kept as failed.
      if ((job.opts.attempts ?? 1) > 1) throw new RefusedJobError(read.why);
      return;
    }
    const run = work(read.payload, job);
    running.add(run);
    await run.finally(() => running.delete(run));
  };
  const report = (error: unknown): void => telemetry.emit({ kind: 'workerError', queue: name, error });
  const open = (): Worker<unknown> => {
    const worker = new Worker<unknown>(name, tracked, workerOptions(settings, reconnecting));
    worker.on('error', report);
    worker.on('failed', (job, error) => {
      if (error instanceof RefusedJobError) return;
      telemetry.emit({ kind: 'jobFailed', queue: name, job: job?.id ?? 'unknown', error });
    });
    worker.on('stalled', (job) => telemetry.emit({ kind: 'jobStalled', queue: name, job }));
    return worker;
  };
  let worker = open();
  const over = new AbortController();
  /** BullMQ gives a worker up whose first command is refused (INFO), and would try it on and on without a pause. */
  const begin = async (): Promise<void> => {
    while (!over.signal.aborted) {
      try {
        await worker.waitUntilReady();
        return await worker.run();
      } catch {
        await sleep(OPEN_AGAIN_MS, undefined, { signal: over.signal }).catch(() => undefined);
        if (over.signal.aborted) return;
        await worker.close();
        worker = open();
      }
    }
  };
  begin().catch(report);
  return {
    async close(giveUp) {
      over.abort();
      await closeWorker(worker, reconnecting, giveUp);
      // BullMQ waits for running jobs only while it has Redis.
      await Promise.allSettled(running);
    },
  };
}

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
  const ended = Promise.all(clients.map(untilSettled)).then(() => closed);
  await unlessAborted(giveUp, ended, async () => {
    for (const client of clients) client.disconnect();
    await within(systemTimers, DROPPED_WITHIN_MS, ended, () => undefined);
  });
}

/** What waits for an answer fails when its connection is dropped. */
const DROPPED_WITHIN_MS = 500;

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
