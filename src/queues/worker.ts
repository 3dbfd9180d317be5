import { type Job, Worker, type WorkerOptions } from 'bullmq';
import type { z } from 'zod';
import type { QueueName, Telemetry } from '../core/ports/telemetry.ts';
import { closeWorker, Reconnecting } from './close-worker.ts';
import { type RedisTarget, workerConnection } from './connection.ts';
import { queuePrefix } from './names.ts';
import { readPayload } from './payloads.ts';

export interface WorkerSettings {
  readonly target: RedisTarget;
  readonly prefix: string;
  readonly concurrency: number;
  readonly telemetry: Telemetry;
}

/** The jobs of a process that died are taken up within the sum of both. A lock is renewed twice. */
const LOCK_MS = 3_000;
const STALLED_CHECK_MS = 1_500;
/** Jobs here may be begun again any number of times. */
const MOST_STALLS = 1_000;

/** What a job carries is not known here. */
class RefusedJobError extends Error {}

export interface RunningWorker {
  /** Ends in order, see `closeWorker`; without Redis that is not possible, and `giveUp` ends the wait. */
  close(giveUp: AbortSignal): Promise<void>;
}

/** BullMQ's own metrics stay off: their lists grow with every job. */
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
    autorun: true,
  };
}

/** Works on a queue, errors to telemetry. A payload of another shape is of another version: reported, and left to it where the
 * job comes again. */
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
      // Another version may have written it, and take it: it comes again, and is kept when it was refused every time.
      if ((job.opts.attempts ?? 1) > 1) throw new RefusedJobError(read.why);
      return;
    }
    const run = work(read.payload, job);
    running.add(run);
    await run.finally(() => running.delete(run));
  };
  const worker = new Worker<unknown>(name, tracked, workerOptions(settings, reconnecting));
  worker.on('error', (error) => telemetry.emit({ kind: 'workerError', queue: name, error }));
  worker.on('failed', (job, error) => {
    if (error instanceof RefusedJobError) return;
    telemetry.emit({ kind: 'jobFailed', queue: name, job: job?.id ?? 'unknown', error });
  });
  worker.on('stalled', (job) => telemetry.emit({ kind: 'jobStalled', queue: name, job }));
  return {
    async close(giveUp) {
      await closeWorker(worker, reconnecting, giveUp);
      // BullMQ waits for them only as long as it has Redis.
      await Promise.allSettled(running);
    },
  };
}
