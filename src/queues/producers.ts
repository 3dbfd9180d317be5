import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Queue } from 'bullmq';
import type { LaneDispatcher, LaneRef } from '../core/ports/lane-dispatcher.ts';
import type { Notice, Notifier } from '../core/ports/notifier.ts';
import { StoreLostError } from '../core/ports/state-store.ts';
import type { QueueName } from '../core/ports/telemetry.ts';
import { within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { promptConnection, type RedisTarget } from './connection.ts';
import { laneJobKey, queuePrefix } from './names.ts';
import type { ActJob, NotifyJob, PollJob } from './payloads.ts';

export interface Queues {
  readonly poll: Queue<PollJob>;
  readonly lanes: LaneDispatcher;
  readonly notifier: Notifier;
  readonly all: readonly Queue[];
  /** Drops the connections: what waits for an answer fails. */
  drop(): void;
  close(): Promise<void>;
}

export interface QueuesOptions {
  readonly target: RedisTarget;
  readonly prefix: string;
  /** Returns the seal of a notice; absent or returning undefined: notices are not sealed. */
  readonly sealOf?: (notice: Notice) => string | undefined;
  readonly onError: (queue: QueueName, error: unknown) => void;
}

/** Maximum length of BullMQ's event streams; nobody reads far back. */
const KEPT_EVENTS = 1_000;

export function openQueues({ target, prefix, sealOf = () => undefined, onError }: QueuesOptions): Queues {
  const open = <T>(name: QueueName): Queue<T> => {
    const queue = new Queue<T>(name, {
      // BullMQ gives a queue up for ever when its question for the version fails.
      connection: { ...promptConnection(target), skipVersionCheck: true },
      prefix: queuePrefix(prefix),
      streams: { events: { maxLen: KEPT_EVENTS } },
    });
    queue.on('error', (error) => onError(name, error));
    return queue;
  };
  const poll = open<PollJob>('poll');
  const act = open<ActJob>('act');
  const notify = open<NotifyJob>('notify');
  const all: readonly Queue[] = [poll, act, notify];
  return {
    poll,
    lanes: { dispatch: (lanes) => bounded('queueing lanes', dispatch(act, lanes)) },
    notifier: { hand: (notices) => bounded('queueing notices', hand(notify, notices, sealOf)) },
    all,
    drop() {
      for (const { backend } of all)
        backend.client.then(
          (client) => client.disconnect(),
          () => undefined,
        );
    },
    async close() {
      await Promise.all(all.map(closeQueue));
    },
  };
}

/** A server that is silent for longer counts as lost. */
const ANSWER_MS = 1_000;

/**
 * Bounds the wait of a poll for what it queues: otherwise a silent server would stop the polls of the account. A call
 * that succeeds late does no harm, because a repeat finds its job by id.
 */
function bounded(doing: string, work: Promise<void>): Promise<void> {
  return within(systemTimers, ANSWER_MS, work, () => {
    throw new StoreLostError(doing, new Error(`no answer within ${ANSWER_MS} ms`));
  });
}

/** Closes a queue. Without a connection it drops the client instead, so that it does not reconnect. */
async function closeQueue(queue: Queue): Promise<void> {
  // A client that never connected would be awaited forever; `close` ends it.
  const client = await Promise.race([queue.backend.client.catch(() => undefined), setImmediate(undefined)]);
  // One that hangs refuses to be closed after its timeout.
  if (client?.status === 'ready') await queue.close().catch(() => undefined);
  client?.disconnect();
  await queue.close().catch(() => undefined);
}

/** At most one job of a lane waits and one runs. A dispatch during a run becomes the next job. */
async function dispatch(queue: Queue<ActJob>, lanes: readonly LaneRef[]): Promise<void> {
  const jobs = lanes.map(({ accountId, market }) => ({
    name: 'run',
    data: { version: 1 as const, accountId, market },
    opts: {
      deduplication: { id: laneJobKey(accountId, market), keepLastIfActive: true },
      // A finished job left in the queue would silently swallow the next one.
      removeOnComplete: true,
      removeOnFail: true,
    },
  }));
  await queue.addBulk(jobs);
}

/** How long the queue keeps delivered notices (`age` in seconds); receipts outlive them. */
const KEPT_NOTICES = { age: 86_400, count: 10_000 };
const KEPT_FAILED = { age: 7 * 86_400, count: 1_000 };
/** Attempts of a delivery cut short by a shutdown or a lost store; channels have their own retries. */
const ATTEMPTS = 10;
const FIRST_PAUSE_MS = 500;

async function hand(
  queue: Queue<NotifyJob>,
  notices: readonly Notice[],
  sealOf: NonNullable<QueuesOptions['sealOf']>,
): Promise<void> {
  await queue.addBulk(
    notices.map((notice) => {
      const seal = sealOf(notice);
      return {
        name: notice.kind,
        data: { version: 1 as const, notice, ...(seal === undefined ? {} : { seal }) },
        opts: {
          jobId: `notice-${createHash('sha256').update(notice.id).digest('hex').slice(0, 40)}`,
          attempts: ATTEMPTS,
          backoff: { type: 'exponential', delay: FIRST_PAUSE_MS, jitter: 0.5 },
          removeOnComplete: KEPT_NOTICES,
          removeOnFail: KEPT_FAILED,
        },
      };
    }),
  );
}
