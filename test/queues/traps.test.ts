import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Queue } from 'bullmq';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Notice } from '../../src/core/ports/notifier.ts';
import { promptConnection, workerConnection } from '../../src/queues/connection.ts';
import { laneJobKey, queuePrefix, schedulerId } from '../../src/queues/names.ts';
import { Reconnecting, startWorker, workerOptions } from '../../src/queues/worker.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { eventually } from '../pipeline/world.ts';
import { openQueueWorld } from './support.ts';

/*
 * Pitfalls of the queues (design section 7). If the cure is an omission, the first test checks the sources; the others
 * verify the rest, including assumptions about the library.
 */

const NOT_DONE: Readonly<Record<string, RegExp>> = {
  'a forced close breaks chains of ticks': /\.close\(\s*true/,
  'a listener to the events of the poll queue costs 15 % of a core': /\bQueueEvents\b/,
  'BullMQ refuses prefixed keys': /\bkeyPrefix\b/,
  'jobs with a priority run after all that have none': /\bpriority\s*:/,
  'metrics of BullMQ count only what its workers were told to collect':
    /exportPrometheusMetrics|getMetrics\(/,
  'a connection that is handed over is not closed by who gets it': /connection:\s*(?:redis|new Redis)/,
  'chains of ticks are not ended by emptying a queue': /\.obliterate\(/,
};

/** Redis is up: nothing is given up. */
const NEVER = new AbortController().signal;

test('forbidden uses of the queues occur nowhere', async () => {
  const root = path.join(import.meta.dirname, '../..');
  const folders = ['src', 'workers'];
  const files = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(path.join(root, folder), { recursive: true })).map((file) => path.join(folder, file)),
    ),
  );
  let looked = 0;
  for (const file of files.flat().filter((name) => name.endsWith('.ts'))) {
    const text = await readFile(path.join(root, file), 'utf8');
    if (!/from 'bullmq'|queues\//.test(text)) continue;
    looked += 1;
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    for (const [why, pattern] of Object.entries(NOT_DONE)) {
      expect({ file, why, found: pattern.exec(code)?.[0] }).toEqual({ file, why, found: undefined });
    }
  }
  expect(looked).toBeGreaterThan(8);
});

test('workers wait for Redis indefinitely; adding a job fails at once', () => {
  const target = { host: '127.0.0.1', port: 1 };
  expect(workerConnection(target)).toMatchObject({ port: 1, maxRetriesPerRequest: null });
  expect(promptConnection(target)).toMatchObject({
    port: 1,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
  });
});

test('prefixed keys are still refused', async () => {
  const { settings } = await openQueueWorld();
  const connection = new Redis({ ...settings.target, keyPrefix: 'x', lazyConnect: true });
  closeAfterTest(async () => connection.disconnect());
  expect(() => new Queue('any', { connection })).toThrow(/prefix/);
});

test('the job of a process that died is soon taken over', async () => {
  const { settings } = await openQueueWorld();
  const {
    lockDuration = Infinity,
    stalledInterval = Infinity,
    ...rest
  } = workerOptions(settings, new Reconnecting());
  expect(lockDuration + stalledInterval).toBeLessThan(5_000);
  expect(lockDuration).toBeGreaterThanOrEqual(2 * stalledInterval);
  expect(rest.maxStalledCount).toBeGreaterThan(100);
  expect(rest.metrics).toBeUndefined();
});

const ids = fc.string({ minLength: 1, unit: fc.constantFrom(...Array.from('0123456789:/%.-_abcBTC ü')) });

test('no id is an integer or has a colon, and different lanes have different ids', () => {
  const isUsable = (id: string): boolean => !id.includes(':') && String(Number.parseInt(id, 10)) !== id;
  fc.assert(
    fc.property(ids, ids, fc.option(ids), fc.option(ids), (a, b, marketA, marketB) => {
      expect(isUsable(laneJobKey(a, marketA))).toBe(true);
      const isSame = a === b && marketA === marketB;
      expect(laneJobKey(a, marketA) === laneJobKey(b, marketB)).toBe(isSame);
    }),
  );
  for (let bucket = 0; bucket < 64; bucket++) expect(isUsable(schedulerId([bucket]))).toBe(true);
});

function notice(id: string): Notice {
  return { version: 1, id, kind: 'firing' } as Notice;
}

test('notices have usable ids, and one that is handed over again is one job', async () => {
  const { queues, settings } = await openQueueWorld();
  await queues.notifier.hand([notice('7'), notice('a:b'), notice('["desk",1]')]);
  await queues.notifier.hand([notice('7')]);
  const notify = queues.all.find(({ name }) => name === 'notify');
  const waiting = await notify?.getJobs(['waiting', 'prioritized', 'delayed']);
  expect(waiting).toHaveLength(3);
  for (const job of waiting ?? [])
    expect(job).toMatchObject({ priority: 0, id: expect.not.stringContaining(':') as string });
  expect(settings.prefix).not.toBe('');
});

test('a job without priority runs before one of priority 1, so no job here has a priority', async () => {
  const { redis, settings } = await openQueueWorld();
  const queue = new Queue('act', {
    connection: promptConnection(settings.target),
    prefix: queuePrefix(settings.prefix),
  });
  closeAfterTest(() => queue.close());
  await queue.waitUntilReady();
  await queue.add('urgent', {}, { priority: 1, removeOnComplete: true });
  await queue.add('plain', {}, { removeOnComplete: true });
  const seen: string[] = [];
  const worker = startWorker(
    'act',
    { ...settings, concurrency: 1 },
    z.unknown(),
    async (_, { name }) => void seen.push(name),
  );
  closeAfterTest(() => worker.close(NEVER));
  await eventually(() => seen.length === 2, 'both');
  expect(seen).toEqual(['plain', 'urgent']);
  expect(await redis.exists(queue.toKey('prioritized'))).toBe(0);
});

test('a job id is refused silently while a job of that id exists, so an ended one must not exist', async () => {
  const { settings } = await openQueueWorld();
  const queue = new Queue('act', {
    connection: promptConnection(settings.target),
    prefix: queuePrefix(settings.prefix),
  });
  closeAfterTest(() => queue.close());
  await queue.waitUntilReady();
  let runs = 0;
  const worker = startWorker('act', settings, z.unknown(), async () => void (runs += 1));
  closeAfterTest(() => worker.close(NEVER));
  await queue.add('kept', {}, { jobId: 'same' });
  await eventually(async () => (await queue.getCompletedCount()) === 1, 'the first run');
  await queue.add('kept', {}, { jobId: 'same' });
  // Had it been accepted, it would have run before this one.
  await queue.add('after', {}, { jobId: 'other', removeOnComplete: true });
  await eventually(() => runs === 2, 'the other');
  expect(await queue.getCompletedCount()).toBe(1);
});

test('a notice of a newer format waits for the version that knows it', async () => {
  const world = await openQueueWorld();
  await world.queues.notifier.hand([notice('newer')]);
  const refuses = z.object({ version: z.literal(99) });
  const old = startWorker('notify', world.settings, refuses, async () => undefined);
  await eventually(() => world.events.some(({ kind }) => kind === 'jobRefused'), 'a refusal');
  await old.close(AbortSignal.timeout(5_000));
  const taken: string[] = [];
  const next = startWorker(
    'notify',
    world.settings,
    z.object({ version: z.literal(1) }),
    async (_payload, job) => {
      taken.push(job.id ?? '');
    },
  );
  closeAfterTest(() => next.close(AbortSignal.timeout(5_000)));
  await eventually(
    () => taken.length > 0,
    'its delivery',
    () => world.events,
  );
  expect(world.events.filter(({ kind }) => kind === 'jobFailed')).toEqual([]);
});
