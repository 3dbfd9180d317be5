import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { CallPriority } from '../../../src/core/ports/exchange.ts';
import type {
  Penalty,
  PermitGrant,
  PermitRequest,
  RateLimitStore,
} from '../../../src/core/ports/rate-limit-store.ts';
import { blockMsOf, Limiter, type LimiterSettings } from '../../../src/exchange/limits/limiter.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';

/** The requests of the limiter to its stores, and its use of the answers, in virtual time. */

const PATH = '/api/v4/x';
const PRIORITIES: readonly CallPriority[] = ['normal', 'watching', 'protective'];
const ALL = (request: PermitRequest): PermitGrant => ({
  granted: request.count,
  retryInMs: 0,
  isPause: false,
});

/** A store that records its requests. */
function openStore(answer: (request: PermitRequest) => PermitGrant | Promise<PermitGrant> = ALL) {
  const taken: PermitRequest[] = [];
  const penalties: Penalty[] = [];
  const store: RateLimitStore = {
    take: async (request) => {
      taken.push(request);
      return await answer(request);
    },
    penalize: async (penalty) => {
      penalties.push(penalty);
    },
  };
  return { store, taken, penalties };
}

interface Changes extends Partial<LimiterSettings> {
  readonly answer?: (request: PermitRequest) => PermitGrant | Promise<PermitGrant>;
}

function openLimiter({ answer, ...changes }: Changes = {}) {
  const queue = new EventQueue();
  const time = new MachineProcess(queue, new Machine(queue, 1_767_225_600_000));
  const [shared, own] = [openStore(answer), openStore()];
  const changed: boolean[] = [];
  const limiter = new Limiter(time, {
    store: shared.store,
    fallback: own.store,
    table: { x: { limit: 1_000, periodMs: 10_000, paths: [PATH] } },
    egress: 'office',
    reservedShare: 0.25,
    storeTimeoutMs: 200,
    onStoreChange: (isThere) => changed.push(isThere),
    ...changes,
  });
  const pass = (forMs: number) => queue.run(queue.nowMs + forMs, () => false);
  const granted = async (priority: CallPriority = 'normal'): Promise<boolean> =>
    (await limiter.acquire(PATH, priority)).kind === 'granted';
  return { limiter, shared, own, changed, pass, granted, queue, nowMs: () => time.clock.monotonicMs() };
}

const lost = (): never => {
  throw new Error('lost');
};

describe('requests to the store', () => {
  test.each([
    ['normal', 0.75, false, false],
    ['watching', 0.75, false, true],
    ['protective', 1, true, true],
  ] as const)('of a %s call', async (priority, share, ignoresPenalty, ignoresInPause) => {
    const { limiter, shared, granted, nowMs, pass } = openLimiter();
    expect(await granted(priority)).toBe(true);
    const request = { scope: 'office/x', limit: 1_000, periodMs: 10_550, share, count: 1 };
    expect(shared.taken).toEqual([{ ...request, ignorePenalty: ignoresPenalty }]);
    limiter.refusedByGateway(10_000, nowMs());
    await pass(1_000);
    const isLetThrough = await granted(priority);
    expect(isLetThrough).toBe(priority !== 'normal');
    expect(shared.taken.slice(1)).toEqual(
      isLetThrough ? [{ ...request, ignorePenalty: ignoresInPause }] : [],
    );
  });

  test('grow while permits are used up in time, up to a fiftieth of the limit, and shrink otherwise', async () => {
    const { shared, granted, pass } = openLimiter();
    for (let call = 0; call < 100; call += 1) await granted();
    expect(shared.taken.map(({ count }) => count)).toEqual([1, 2, 4, 8, 16, 20, 20, 20, 20]);
    for (let lapse = 0; lapse < 7; lapse += 1) {
      await pass(300);
      await granted();
    }
    expect(shared.taken.slice(9).map(({ count }) => count)).toEqual([10, 5, 3, 2, 1, 1, 1]);
  });

  test.each([
    ['normal', [5, 2]],
    ['watching', [5, 1]],
    ['protective', [5, 1]],
  ] as const)('%s calls that come together send one request for all', async (priority, counts) => {
    const { shared, granted } = openLimiter();
    await Promise.all(Array.from({ length: 5 }, () => granted(priority)));
    await granted(priority);
    expect(shared.taken.map(({ count }) => count)).toEqual(counts);
  });

  test('permits lapse 300 ms after they were asked for, however late the answer', async () => {
    const { shared, granted, pass, queue } = openLimiter({
      answer: async (request) => {
        await new Promise<void>((resolve) => void queue.after(100, resolve));
        return { granted: request.count + 1, retryInMs: 0, isPause: false };
      },
    });
    const first = granted();
    await pass(299);
    expect(await first).toBe(true);
    expect(await granted()).toBe(true);
    expect(shared.taken).toHaveLength(1);
    const next = granted();
    await pass(300);
    expect(await next).toBe(true);
    expect(shared.taken).toHaveLength(2);
    void granted();
    await setImmediate();
    expect(shared.taken).toHaveLength(3);
  });

  test('permits for protective calls are kept for them, but permits for all are used first', async () => {
    const { shared, granted } = openLimiter({
      answer: ({ count }) => ({ granted: count + 1, retryInMs: 0, isPause: false }),
    });
    await granted('protective');
    for (const priority of ['watching', 'normal', 'protective'] as const) await granted(priority);
    expect(shared.taken.map(({ share }) => share)).toEqual([1, 0.75, 0.75]);
    await granted('protective');
    expect(shared.taken).toHaveLength(3);
    await granted('protective');
    expect(shared.taken).toHaveLength(4);
  });

  test('a call without a permit gets the time to ask again, and counts as no use', async () => {
    const { limiter } = openLimiter({ answer: () => ({ granted: 0, retryInMs: 170, isPause: false }) });
    for (const priority of PRIORITIES) {
      expect(await limiter.acquire(PATH, priority)).toEqual({ kind: 'wait', retryInMs: 170 });
    }
    expect(limiter.ownUse(PATH)).toBe(0);
  });

  test('a prefetched permit is for a protective call, and is fetched once', async () => {
    const { limiter, shared, granted, pass } = openLimiter();
    limiter.prefetch(PATH);
    limiter.prefetch(PATH);
    await setImmediate();
    limiter.prefetch(PATH);
    await setImmediate();
    const fetched = shared.taken.length;
    expect(fetched).toBe(1);
    expect(shared.taken[0]).toMatchObject({ share: 1, ignorePenalty: true });
    await granted('protective');
    expect(shared.taken).toHaveLength(fetched);
    await pass(300);
    limiter.prefetch(PATH);
    await setImmediate();
    expect(shared.taken).toHaveLength(fetched + 1);
  });
});

describe('a store that is lost', () => {
  test.each([
    ['answers with an error', lost, 0],
    ['does not answer in its time', () => new Promise<never>(() => undefined), 200],
  ] as const)(
    '%s: each process uses a quarter of the limit, from its own store',
    async (_how, answer, afterMs) => {
      const { own, granted, pass, changed } = openLimiter({ answer });
      const asked = granted();
      await pass(Math.max(0, afterMs - 1));
      expect(own.taken).toHaveLength(afterMs === 0 ? 1 : 0);
      await pass(1);
      expect(await asked).toBe(true);
      expect(own.taken).toMatchObject([{ share: 0.75 * 0.25, limit: 1_000, scope: 'office/x' }]);
      expect(changed).toEqual([false]);
      await granted('protective');
      expect(own.taken[1]).toMatchObject({ share: 0.25 });
    },
  );

  test('is waited for at most 250 ms, as permits would lapse', async () => {
    const { own, granted, pass } = openLimiter({
      storeTimeoutMs: 5_000,
      answer: () => new Promise<never>(() => undefined),
    });
    void granted();
    await pass(249);
    expect(own.taken).toHaveLength(0);
    await pass(1);
    expect(own.taken).toHaveLength(1);
  });

  test('is not asked for a second', async () => {
    let isLost = true;
    const { shared, changed, granted, pass } = openLimiter({
      answer: (request) => (isLost ? lost() : ALL(request)),
    });
    await granted('protective');
    isLost = false;
    await pass(999);
    await granted('protective');
    expect(shared.taken).toHaveLength(1);
    await pass(1);
    await granted('protective');
    expect(shared.taken).toHaveLength(2);
    expect(changed).toEqual([false, true]);
  });
});

describe('a refusal by the exchange', () => {
  const table = {
    wide: { limit: 100, periodMs: 1_000, paths: ['/api/v4/*'] },
    tight: { limit: 10, periodMs: 1_000, paths: [PATH] },
    other: { limit: 10, periodMs: 1_000, paths: ['/api/v4/y'] },
  };

  test.each([
    [undefined, 1_000],
    [0, 0],
    [700, 700],
    [60_000, 60_000],
    [60_001, 60_000],
  ])('with a Retry-After of %s ms blocks for %i ms', (retryAfterMs, blockMs) => {
    expect(blockMsOf(retryAfterMs)).toBe(blockMs);
  });

  test('shrinks every budget of the path in both stores, and drops the permits at hand', async () => {
    const { limiter, shared, own, granted } = openLimiter({
      table,
      answer: ({ count }) => ({ granted: count + 5, retryInMs: 0, isPause: false }),
    });
    for (const priority of PRIORITIES) await granted(priority);
    const before = shared.taken.length;
    limiter.refused(PATH, 3_000);
    await setImmediate();
    const penalties = ['office/tight', 'office/wide'].map((scope) => {
      return { scope, factor: 0.5, floor: 0.1, recoveryMs: 60_000, blockMs: 3_000 };
    });
    expect(shared.penalties).toEqual(penalties);
    expect(own.penalties).toEqual(penalties);
    for (const priority of [...PRIORITIES].reverse()) await granted(priority);
    expect(shared.taken.length).toBeGreaterThan(before);
  });

  test('by a gateway shrinks every budget of the table, once for requests in flight together', async () => {
    const { limiter, shared, nowMs, pass } = openLimiter({ table });
    const sentAtMs = nowMs();
    await pass(10);
    limiter.refusedByGateway(undefined, sentAtMs);
    await pass(10);
    limiter.refusedByGateway(undefined, sentAtMs);
    await pass(10);
    expect(shared.penalties.map(({ scope, blockMs }) => [scope, blockMs])).toEqual([
      ['office/wide', 1_000],
      ['office/tight', 1_000],
      ['office/other', 1_000],
    ]);
  });

  test('by a gateway while a permit is asked for holds the call back', async () => {
    const world = openLimiter({
      answer: (request) => {
        world.limiter.refusedByGateway(5_000, world.nowMs());
        return ALL(request);
      },
    });
    expect(await world.limiter.acquire(PATH, 'normal')).toEqual({ kind: 'wait', retryInMs: 5_000 });
    expect(world.limiter.ownUse(PATH)).toBe(0);
  });
});

describe('the share of a limit that this process has used', () => {
  test('is counted per period, for the tightest limit of a path', async () => {
    const table = {
      wide: { limit: 40, periodMs: 1_000, paths: ['/api/v4/*'] },
      tight: { limit: 20, periodMs: 1_000, paths: [PATH] },
    };
    const { limiter, granted, pass, nowMs } = openLimiter({ table });
    expect(limiter.ownUse('/api/v4/unknown')).toBe(0);
    await pass(1_000 - (nowMs() % 1_000));
    for (let call = 0; call < 10; call += 1) await granted();
    const share = (name: string): number => limiter.uses().get(name) ?? Number.NaN;
    const seen: unknown[] = [];
    const look = (): void => {
      seen.push([limiter.ownUse(PATH), share('tight'), share('wide')]);
    };
    look();
    await pass(999);
    look();
    await pass(251);
    for (let call = 0; call < 5; call += 1) await granted();
    look();
    await pass(750);
    look();
    await pass(1_000);
    look();
    expect(seen).toEqual([
      [0.5, 0.5, 0.25],
      [0.5, 0.5, 0.25],
      [0.75, 0.625, 0.3125],
      [0.25, 0.25, 0.125],
      [0, 0, 0],
    ]);
    expect([...limiter.uses().keys()].toSorted()).toEqual(['tight', 'wide']);
  });
});

test('a caller whose turn it is takes one permit despite the pause; protective calls need no turn', async () => {
  const { limiter, shared, granted, pass } = openLimiter({
    answer: ({ ignorePenalty, count }) =>
      ignorePenalty
        ? { granted: count, retryInMs: 0, isPause: false }
        : { granted: 0, retryInMs: 300, isPause: true },
  });
  expect(await limiter.acquire(PATH, 'normal')).toEqual({ kind: 'wait', retryInMs: 300 });
  await pass(300);
  expect(await Promise.all([granted(), granted()])).toEqual([true, false]);
  expect(shared.taken.slice(1).map(({ count, ignorePenalty }) => [count, ignorePenalty])).toEqual([
    [2, false],
    [1, true],
    [2, false],
  ]);
  await pass(300);
  limiter.passed(PATH);
  expect(await granted()).toBe(true);
  expect(await granted('protective')).toBe(true);
});
