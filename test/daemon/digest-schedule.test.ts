import fc from 'fast-check';
import { Redis } from 'ioredis';
import { createTask } from 'node-cron';
import { describe, expect, test } from 'vitest';
import { cronOf, dueBy } from '../../src/app/digest/digest-due.ts';
import { DigestSchedule, type DigestScheduleParts } from '../../src/app/digest/digest-schedule.ts';
import { digestOf } from '../../src/core/digest/digest.ts';
import type { Notice } from '../../src/core/ports/notifier.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { createRedisDigestClaims, type DigestClaims } from '../../src/state/digest/digest-claims.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { eventually } from '../pipeline/world.ts';
import { startPrivateRedis } from '../support/redis.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
/** Due five minutes ago. */
const DUE_MS = Date.UTC(2026, 0, 31, 8);
const START_MS = DUE_MS + 5 * MINUTE_MS;
const NAME = '2026-01-31T08:00';
const SETTINGS = { atMinute: 480, timeZone: 'UTC', channels: ['own'] };

const ZONES = [
  'UTC',
  'Europe/London',
  'America/New_York',
  'Asia/Kolkata',
  'Pacific/Auckland',
  'Pacific/Apia',
];
const anyTime = fc.record({
  atMinute: fc.integer({ min: 0, max: 1_439 }),
  timeZone: fc.constantFrom(...ZONES),
});
const anyMoment = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) });

describe('when a digest is due', () => {
  test('the newest one is at most a day and an hour of summer time ago, and of the day that it names', () => {
    fc.assert(
      fc.property(anyMoment, anyTime, (nowMs, time) => {
        const { name, atMs } = dueBy(nowMs, time);
        expect(nowMs - atMs).toBeGreaterThanOrEqual(0);
        expect(nowMs - atMs).toBeLessThan(DAY_MS);
        const day = new Intl.DateTimeFormat('sv-SE', { timeZone: time.timeZone }).format(atMs);
        expect(name.slice(0, 10)).toBe(day);
      }),
    );
  });

  test('node-cron comes at the minute at which it is due, and every process gives that day the same name', () => {
    fc.assert(
      fc.property(anyTime, fc.integer({ min: 0, max: 59_999 }), (time, lateMs) => {
        const task = createTask(cronOf(time), () => undefined, { timezone: time.timeZone });
        const next = task.getNextRuns(1)[0]?.getTime() ?? Number.NaN;
        void task.destroy();
        const due = dueBy(next, time);
        // An hour that summer time skips is made up for by node-cron in its own way.
        fc.pre(due.atMs === next);
        expect(dueBy(next + lateMs, time)).toEqual(due);
        expect(dueBy(next - 1, time).name).not.toBe(due.name);
      }),
      { numRuns: 30 },
    );
  });

  test.each([
    ['2026-01-31T07:59:59Z', 'UTC', '2026-01-30T08:00', '2026-01-30T08:00:00Z'],
    ['2026-01-31T08:00:00Z', 'UTC', '2026-01-31T08:00', '2026-01-31T08:00:00Z'],
    ['2026-06-30T07:10:00Z', 'Europe/London', '2026-06-30T08:00', '2026-06-30T07:00:00Z'],
    ['2026-01-30T20:00:00Z', 'Pacific/Auckland', '2026-01-31T08:00', '2026-01-30T19:00:00Z'],
  ])('at %s in %s the digest of %s is the newest', (now, timeZone, name, at) => {
    expect(dueBy(Date.parse(now), { atMinute: 480, timeZone })).toEqual({ name, atMs: Date.parse(at) });
  });
});

interface Scene {
  readonly redis: Redis;
  readonly prefix: string;
  readonly claims: DigestClaims;
  readonly handed: Notice[];
  readonly events: DaemonEvent[];
  /** Of a process of its own; what it waits for between attempts passes at once. */
  schedule(changes?: Partial<DigestScheduleParts>): DigestSchedule;
}

async function openScene(): Promise<Scene> {
  const server = await startPrivateRedis();
  closeAfterTest(() => server.stop());
  const redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
  closeAfterTest(async () => redis.disconnect());
  const claims = createRedisDigestClaims({ redis, prefix: server.prefix });
  const handed: Notice[] = [];
  const events: DaemonEvent[] = [];
  let instances = 0;
  return {
    redis,
    prefix: server.prefix,
    claims,
    handed,
    events,
    schedule(changes = {}) {
      let nowMs = START_MS;
      const schedule = new DigestSchedule({
        claims,
        gather: async (period) =>
          digestOf([], period, { versions: { breakwater: '1.2.3', node: 'v24.0.0' }, notes: [] }),
        notifier: { hand: async (notices) => void handed.push(...notices) },
        instance: `i${++instances}`,
        clock: {
          nowMs: () => nowMs,
          monotonicMs: () => nowMs,
          async sleep(delayMs, signal) {
            // The bound of an attempt is only ever called off here.
            if (delayMs > MINUTE_MS) return await aborted(signal);
            nowMs += delayMs;
            await redis.ping();
          },
        },
        telemetry: { emit: (event) => void events.push(event) },
        ...changes,
      });
      closeAfterTest(() => schedule.stop());
      return schedule;
    },
  };
}

const aborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

const outcomes = ({ events }: Scene) =>
  events.flatMap((event) => (event.kind === 'digested' ? [event.outcome] : []));

describe('a schedule of digests', () => {
  test('sends what was due when it started, of the day before that and to the channels named', async () => {
    const scene = await openScene();
    await scene.schedule().adopt(SETTINGS);
    await eventually(() => outcomes(scene).length > 0, 'a digest');
    expect(scene.handed).toMatchObject([
      {
        kind: 'digest',
        id: `digest/${NAME}`,
        channels: ['own'],
        sinceMs: DUE_MS - DAY_MS,
        atMs: DUE_MS,
        lines: [expect.stringContaining('Nothing'), 'Breakwater 1.2.3, Node v24.0.0.'],
      },
    ]);
    const ttl = await scene.redis.pttl(`${scene.prefix}:{digest}:${NAME}`);
    expect(ttl).toBeGreaterThan(DAY_MS);
  });

  test('of ten processes one sends it', async () => {
    const scene = await openScene();
    const all = Array.from({ length: 10 }, () => scene.schedule());
    await Promise.all(all.map((one) => one.adopt(SETTINGS)));
    // Each comes to its end: the others when they see that it was sent.
    await eventually(() => outcomes(scene).includes('handed'), 'a digest');
    await Promise.all(all.map((one) => one.stop()));
    expect(outcomes(scene)).toEqual(['handed']);
    expect(scene.handed).toHaveLength(1);
  });

  test('where a process died at it, another one sends it when the claim of the first has ended', async () => {
    const scene = await openScene();
    expect(await scene.claims.claim(NAME, 'dead')).toBe('mine');
    let attempts = 0;
    const claims: DigestClaims = {
      ...scene.claims,
      async claim(name, owner) {
        attempts += 1;
        if (attempts === 5) await scene.redis.pexpire(`${scene.prefix}:{digest}:${NAME}`, 0);
        return await scene.claims.claim(name, owner);
      },
    };
    await scene.schedule({ claims }).adopt(SETTINGS);
    await eventually(() => outcomes(scene).length > 0, 'a digest');
    expect([outcomes(scene), attempts, scene.handed.length]).toEqual([['handed'], 5, 1]);
  });

  test('what cannot be gathered is tried again, and by then by anybody', async () => {
    const scene = await openScene();
    let failures = 0;
    const gather: DigestScheduleParts['gather'] = async (period) => {
      if (failures++ < 2) throw new Error('the store is lost');
      return digestOf([], period, { versions: { breakwater: '1.2.3', node: 'v24.0.0' }, notes: [] });
    };
    await scene.schedule({ gather }).adopt(SETTINGS);
    await eventually(() => outcomes(scene).length === 3, 'a digest');
    expect(outcomes(scene)).toEqual(['retried', 'retried', 'handed']);
  });

  test('after an hour it is given up, loudly', async () => {
    const scene = await openScene();
    const gather = () => Promise.reject(new Error('the store is lost'));
    await scene.schedule({ gather }).adopt(SETTINGS);
    await eventually(() => outcomes(scene).includes('failed'), 'that it was given up');
    expect(outcomes(scene).filter((outcome) => outcome === 'failed')).toHaveLength(1);
    expect(outcomes(scene).filter((outcome) => outcome === 'retried').length).toBeGreaterThan(50);
    expect(scene.events.at(-1)).toMatchObject({ name: NAME, words: 'the store is lost' });
    expect(await scene.claims.claim(NAME, 'other')).toBe('mine');
  });

  test('nothing is sent without the section, or more than an hour late', async () => {
    const scene = await openScene();
    await scene.schedule().adopt(undefined);
    await scene.schedule().adopt({ ...SETTINGS, atMinute: 420 });
    await scene.redis.ping();
    expect(await scene.redis.keys(`${scene.prefix}*`)).toEqual([]);
  });

  test('it ends while a store that does not answer is waited for', async () => {
    const scene = await openScene();
    const claims = { ...scene.claims, claim: () => new Promise<never>(() => undefined) };
    const schedule = scene.schedule({ claims });
    await schedule.adopt(SETTINGS);
    await schedule.stop();
    expect(outcomes(scene)).toEqual([]);
  });
});
