import { type Job, Worker, type WorkerOptions } from 'bullmq';
import type { QueueName, Telemetry } from '../core/ports/telemetry.ts';
import { workerConnection } from './connection.ts';
import { closeWorker, Reconnecting } from './ending.ts';
import { queuePrefix } from './names.ts';

export interface WorkerSettings {
  readonly url: string;
  readonly prefix: string;
  readonly concurrency: number;
  readonly telemetry: Telemetry;
}

/**
 * Short, so that the jobs of a process that died are soon taken up: within the sum of both. Renewed twice per
 * lock, so that a busy process keeps its jobs.
 */
const LOCK_MS = 3_000;
const STALLED_CHECK_MS = 1_500;
/** Jobs here may be begun again any number of times. */
const MOST_STALLS = 1_000;

export interface RunningWorker {
  /** Ends in order, see `closeWorker`; without Redis that is not possible, and from `giveUp` on not waited for. */
  close(giveUp: AbortSignal): Promise<void>;
}

/** What is counted is counted by our own metrics, not by BullMQ's lists, which grow with every job. */
export function workerOptions(
  { url, prefix, concurrency }: WorkerSettings,
  reconnecting: Reconnecting,
): WorkerOptions {
  return {
    connection: workerConnection(url, reconnecting.pause),
    prefix: queuePrefix(prefix),
    concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: MOST_STALLS,
    autorun: true,
  };
}

/** A worker whose every trouble is told. */
export function startWorker<T>(
  name: QueueName,
  settings: WorkerSettings,
  work: (job: Job<T>) => Promise<void>,
): RunningWorker {
  const { telemetry } = settings;
  const reconnecting = new Reconnecting();
  const running = new Set<Promise<void>>();
  const tracked = async (job: Job<T>): Promise<void> => {
    const run = work(job);
    running.add(run);
    await run.finally(() => running.delete(run));
  };
  const worker = new Worker<T>(name, tracked, workerOptions(settings, reconnecting));
  worker.on('error', (error) => telemetry.emit({ kind: 'workerError', queue: name, error }));
  worker.on('failed', (job, error) =>
    telemetry.emit({ kind: 'jobFailed', queue: name, job: job?.id ?? 'unknown', error }),
  );
  worker.on('stalled', (job) => telemetry.emit({ kind: 'jobStalled', queue: name, job }));
  return {
    async close(giveUp) {
      await closeWorker(worker, reconnecting, giveUp);
      // BullMQ waits for them only as long as it has Redis.
      await Promise.allSettled(running);
    },
  };
}
