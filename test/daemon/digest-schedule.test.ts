import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { dueBy } from '../../src/app/digest/digest-due.ts';
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

describe('the due time of a digest', () => {
  test('the newest one is at most a day and an hour (summer time) ago, and covers the day in its name', () => {
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

  test.each([
    ['forward', Date.UTC(2026, 2, 28, 12), 'Europe/Berlin'],
    ['forward at midnight', Date.UTC(2026, 2, 7, 12), 'America/Havana'],
    ['forward by half an hour', Date.UTC(2026, 9, 3, 12), 'Australia/Lord_Howe'],
    ['back', Date.UTC(2026, 9, 24, 12), 'Europe/Berlin'],
  ])('clocks go %s: no digest is left out, whenever it is due', (_, fromMs, timeZone) => {
    for (let atMinute = 0; atMinute < 300; atMinute += 20) {
      const names = new Set<string>();
      for (let nowMs = fromMs; nowMs < fromMs + 2 * DAY_MS; nowMs += 5 * MINUTE_MS) {
        const { name, atMs } = dueBy(nowMs, { atMinute, timeZone });
        if (nowMs - atMs < 5 * MINUTE_MS) names.add(name.slice(0, 10));
      }
      expect([...names], `at minute ${atMinute}`).toHaveLength(2);
    }
  });
});

interface Scene {
  readonly redis: Redis;
  readonly prefix: string;
  readonly claims: DigestClaims;
  readonly handed: Notice[];
  readonly events: DaemonEvent[];
  /** A schedule in its own process; waits between attempts pass at once. */
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
            // The bound of an attempt never elapses here; it is only aborted.
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
  test('sends the overdue digest at its start, of the previous day and to the named channels', async () => {
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

  test('is carried out by one of ten processes', async () => {
    const scene = await openScene();
    const all = Array.from({ length: 10 }, () => scene.schedule());
    await Promise.all(all.map((one) => one.adopt(SETTINGS)));
    // Each ends: the others when they see that it was sent.
    await eventually(() => outcomes(scene).includes('handed'), 'a digest');
    await Promise.all(all.map((one) => one.stop()));
    expect(outcomes(scene)).toEqual(['handed']);
    expect(scene.handed).toHaveLength(1);
  });

  test('is taken over by another process when the claim of a dead one expires', async () => {
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

  test('retries when the data cannot be gathered, by then in any process', async () => {
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

  test('gives up after an hour, with an error', async () => {
    const scene = await openScene();
    const gather = () => Promise.reject(new Error('the store is lost'));
    await scene.schedule({ gather }).adopt(SETTINGS);
    await eventually(() => outcomes(scene).includes('failed'), 'that it was given up');
    expect(outcomes(scene).filter((outcome) => outcome === 'failed')).toHaveLength(1);
    expect(outcomes(scene).filter((outcome) => outcome === 'retried').length).toBeGreaterThan(50);
    expect(scene.events.at(-1)).toMatchObject({ name: NAME, words: 'the store is lost' });
    expect(await scene.claims.claim(NAME, 'other')).toBe('mine');
  });

  test('sends nothing without the section, or when more than an hour late', async () => {
    const scene = await openScene();
    await scene.schedule().adopt(undefined);
    await scene.schedule().adopt({ ...SETTINGS, atMinute: 420 });
    await scene.redis.ping();
    expect(await scene.redis.keys(`${scene.prefix}*`)).toEqual([]);
  });

  test('ends while it waits for a store that does not answer', async () => {
    const scene = await openScene();
    const claims = { ...scene.claims, claim: () => new Promise<never>(() => undefined) };
    const schedule = scene.schedule({ claims });
    await schedule.adopt(SETTINGS);
    await schedule.stop();
    expect(outcomes(scene)).toEqual([]);
  });
});
