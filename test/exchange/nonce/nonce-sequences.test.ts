import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NonceStore } from '../../../src/core/ports/nonce-store.ts';
import { BoundedStore } from '../../../src/exchange/bounded-store.ts';
import { Sequences } from '../../../src/exchange/nonce/nonce-sequences.ts';
import { systemTimers } from '../../../src/exchange/system-clock.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { type ManualClock, manualClock } from '../../state/support/manual-clock.ts';

const KEY = 'key';
const FRESH_MS = 200;
const LONGEST_MS = 10_000;
const SECONDS = 1_000;

let lastDrawn = 7;
const leapMs = (): number => {
  lastDrawn = (lastDrawn * 16_807) % 2_147_483_647;
  return lastDrawn % 100_000;
};

/** A store that can be lost and emptied, and counts its reservations. */
class FragileStore {
  readonly #clock: ManualClock;
  #store: NonceStore;
  isLost = false;
  /** Time until it answers, in milliseconds. */
  takesMs = 0;
  reservations = 0;
  valuesReserved = 0;

  constructor(clock: ManualClock) {
    this.#clock = clock;
    this.#store = createMemoryNonceStore(clock);
  }

  empty(): void {
    this.#store = createMemoryNonceStore(this.#clock);
  }

  forget(): void {
    this.reservations = 0;
    this.valuesReserved = 0;
  }

  readonly port: NonceStore = {
    reserve: async (key, floor, count) => {
      if (this.isLost) throw new Error('lost');
      this.reservations += 1;
      this.valuesReserved += count;
      const reserved = await this.#store.reserve(key, floor, count);
      this.#clock.advance(this.takesMs);
      return reserved;
    },
    reserveWindow: (...args) => this.#store.reserveWindow(...args),
    enterMutex: (...args) => this.#store.enterMutex(...args),
    renewMutex: (...args) => this.#store.renewMutex(...args),
    leaveMutex: (...args) => this.#store.leaveMutex(...args),
    onMutexSignal: (listener) => this.#store.onMutexSignal(listener),
  };
}

/** One process. The wall clocks of processes may differ; time passes equally for all. */
function openProcess(clock: ManualClock, store: FragileStore, ordinal: number) {
  let offsetMs = 0;
  const own = { ...clock, nowMs: () => clock.nowMs() + offsetMs };
  const bounded = new BoundedStore(store.port, {
    clock,
    timers: systemTimers,
    timeoutMs: 5_000,
    onChange: () => undefined,
  });
  const sequences = new Sequences(own, { key: KEY, start: 0, ordinal, leapMs }, bounded);
  return {
    sequences,
    stepWall(byMs: number) {
      offsetMs += byMs;
    },
    take: async (fresh = false) => Number(await sequences.next(fresh)),
    /** The nonces of one poll: two at once. */
    poll: () =>
      Promise.all([sequences.next(false), sequences.next(false)].map(async (one) => Number(await one))),
  };
}

function openWorld(ordinals: readonly number[]) {
  const clock = manualClock();
  const store = new FragileStore(clock);
  return { clock, store, processes: ordinals.map((ordinal) => openProcess(clock, store, ordinal)) };
}

async function pollEverySecond({ clock }: { clock: ManualClock }, process: Process, times: number) {
  const nonces: number[] = [];
  for (let index = 0; index < times; index++) {
    nonces.push(...(await process.poll()));
    clock.advance(SECONDS);
  }
  return nonces;
}

type Process = ReturnType<typeof openProcess>;

const expectRising = (nonces: readonly number[]): void => {
  expect(nonces).toEqual([...new Set(nonces)].toSorted((a, b) => a - b));
};

const pause = fc.oneof(fc.nat(400), fc.nat(3_000), fc.nat(60_000));
const who = fc.nat(3);
const use = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('take' as const), who, fresh: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('poll' as const), who }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('prefetch' as const), who }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('pause' as const), forMs: pause }) },
);
const refusal = fc.oneof(
  fc.record({ do: fc.constant('refused' as const), who, byMs: fc.constantFrom(1, 600_000) }),
  fc.record({ do: fc.constant('doubted' as const), who }),
);
const trouble = fc.oneof(
  fc.record({ do: fc.constant('empty' as const) }),
  fc.record({ do: fc.constant('lose' as const), isLost: fc.boolean() }),
  fc.record({
    do: fc.constant('step' as const),
    who,
    byMs: fc.constantFrom(-3_600_000, -5_000, -7, 7, 5_000, 3_600_000),
  }),
);
type Step = typeof use | typeof refusal | typeof trouble extends fc.Arbitrary<infer T> ? T : never;

/** Runs the steps; returns which process took which nonce, in the order of asking. */
async function run(world: ReturnType<typeof openWorld>, steps: readonly Step[]) {
  const { clock, store, processes } = world;
  const taken: { atMs: number; who: number; nonce: number; fresh: boolean }[] = [];
  const keep = (at: number, fresh: boolean, nonces: readonly number[]): void => {
    for (const nonce of nonces) taken.push({ atMs: clock.monotonicMs(), who: at, nonce, fresh });
  };
  for (const step of steps) {
    const process = processes['who' in step ? step.who % processes.length : 0];
    if (process === undefined) throw new Error('a process');
    const at = processes.indexOf(process);
    if (step.do === 'take') keep(at, step.fresh, [await process.take(step.fresh)]);
    else if (step.do === 'poll') keep(at, false, await process.poll());
    else if (step.do === 'prefetch') process.sequences.prefetch();
    else if (step.do === 'pause') clock.advance(step.forMs);
    else if (step.do === 'refused') process.sequences.jump(step.byMs);
    else if (step.do === 'doubted') process.sequences.doubt();
    else if (step.do === 'empty') store.empty();
    else if (step.do === 'lose') store.isLost = step.isLost;
    else process.stepWall(step.byMs);
  }
  return taken;
}

const stepsOf = (...kinds: fc.Arbitrary<Step>[]): fc.Arbitrary<Step[]> =>
  fc.array(fc.oneof(...kinds), { minLength: 20, maxLength: 120, size: 'max' });

describe('values of a key that several processes use', () => {
  test('are never used twice: ordinals keep them apart whatever happens to the store and the clocks', () =>
    fc.assert(
      fc.asyncProperty(stepsOf(use, use, refusal, trouble), async (steps) => {
        const taken = await run(openWorld([0, 1, 42, 49]), steps);
        expect(new Set(taken.map(({ nonce }) => nonce)).size).toBe(taken.length);
        for (const one of [0, 1, 2, 3]) {
          expectRising(taken.filter(({ who: at }) => at === one).map(({ nonce }) => nonce));
        }
      }),
      { numRuns: 150 },
    ));

  test('are never used twice: the store alone keeps them apart whatever the clocks do', () => {
    const steps = stepsOf(
      use,
      use,
      refusal,
      trouble.filter((step) => step.do === 'step'),
    );
    return fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const taken = await run(openWorld([7, 7, 7, 7]), sequence);
        expect(new Set(taken.map(({ nonce }) => nonce)).size).toBe(taken.length);
      }),
      { numRuns: 150 },
    );
  });

  test('ahead of the clock, values taken from memory are not taken again by the next process of that ordinal', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 20 }),
        async (lost, after) => {
          const { clock, store, processes } = openWorld([3]);
          const [first] = processes;
          if (first === undefined) throw new Error('a process');
          first.sequences.jump(500_000);
          const taken = [await first.take()];
          store.isLost = true;
          clock.advance(20_000);
          for (let index = 0; index < lost; index += 1) taken.push(await first.take());
          store.isLost = false;
          const next = openProcess(clock, store, 3);
          for (let index = 0; index < after; index += 1) taken.push(await next.take());
          expect(new Set(taken).size).toBe(taken.length);
        },
      ),
    ));

  test('ahead of the clock, two processes of an ordinal that both lost the store take different values from memory', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 2, max: 6 }), { minLength: 2, maxLength: 4 }),
        async (counts) => {
          const { clock, store } = openWorld([]);
          const taken = [await openProcess(clock, store, 3).take()];
          for (const count of counts) {
            store.isLost = false;
            clock.advance(20_000);
            const process = openProcess(clock, store, 3);
            process.stepWall(-3_600_000);
            taken.push(await process.take());
            store.isLost = true;
            clock.advance(20_000);
            for (let index = 0; index < count; index += 1) taken.push(await process.take());
          }
          expect(new Set(taken).size).toBe(taken.length);
        },
      ),
    ));

  test('are above all values used ten seconds ago by any process; fresh ones, above those of 200 ms ago', () =>
    fc.assert(
      fc.asyncProperty(stepsOf(use, use, use, refusal), async (steps) => {
        const taken = await run(openWorld([0, 1, 2, 3]), steps);
        for (const [index, { atMs, nonce, fresh }] of taken.entries()) {
          const oldMs = fresh ? FRESH_MS : LONGEST_MS;
          const older = taken.slice(0, index).filter((one) => one.atMs <= atMs - oldMs);
          expect(nonce).toBeGreaterThan(Math.max(0, ...older.map((one) => one.nonce)));
        }
      }),
      { numRuns: 150 },
    ));

  test('when another process begins to use the key, are out of order for at most half of the time before', () => {
    const pauseMs = fc.oneof(fc.nat(100), fc.integer({ min: 500, max: 2_500 }));
    const pauses = fc.array(pauseMs, { minLength: 20, maxLength: 80, size: 'max' });
    const positive = fc.integer({ min: 1, max: 79 });
    return fc.assert(
      fc.asyncProperty(pauses, positive, async (pausesMs, begins) => {
        const world = openWorld([0, 1]);
        const [first, other] = world.processes;
        if (first === undefined || other === undefined) throw new Error('two processes');
        const startedMs = world.clock.monotonicMs();
        const others: { atMs: number; nonce: number }[] = [];
        for (const [index, forMs] of pausesMs.entries()) {
          const nowMs = world.clock.monotonicMs();
          const lastsMs = (aloneMs: number) => Math.min(LONGEST_MS, Math.max(FRESH_MS, aloneMs / 2));
          const older = others.filter(({ atMs }) => atMs + lastsMs(atMs - startedMs) <= nowMs);
          for (const nonce of await first.poll()) {
            expect(nonce).toBeGreaterThan(Math.max(0, ...older.map((one) => one.nonce)));
          }
          if (index >= begins) others.push({ atMs: nowMs, nonce: await other.take() });
          world.clock.advance(forMs);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('stay in order if processes take turns', async () => {
    const world = openWorld([0, 1]);
    const nonces: number[] = [];
    for (let turn = 0; turn < 100; turn++) {
      for (const process of world.processes) nonces.push(...(await pollEverySecond(world, process, 1)));
    }
    expectRising(nonces);
  });
});

describe('a process that is alone with its key', () => {
  async function openSettled() {
    const world = openWorld([0]);
    const [process] = world.processes;
    if (process === undefined) throw new Error('a process');
    const nonces = await pollEverySecond(world, process, 60);
    world.store.forget();
    return { ...world, process, nonces };
  }

  test('asks the store once for several polls, for at most twice what it uses', async () => {
    const { process, store, nonces, ...world } = await openSettled();
    nonces.push(...(await pollEverySecond(world, process, 100)));
    expect(store.reservations).toBeGreaterThanOrEqual(10);
    expect(store.reservations).toBeLessThanOrEqual(12);
    expect(store.valuesReserved).toBeLessThanOrEqual(400);
    expectRising(nonces);
  });

  test('asks for less when it uses less, step by step', async () => {
    const { process, store, clock } = await openSettled();
    const sizes: number[] = [];
    for (let index = 0; index < 7; index++) {
      clock.advance(LONGEST_MS + 1);
      store.forget();
      await process.take();
      sizes.push(store.valuesReserved);
    }
    const halved = sizes.map((_, index) => Math.max(2, (sizes[0] ?? 0) / 2 ** index));
    expect(sizes).toEqual(halved);
    expect(sizes[0]).toBeGreaterThanOrEqual(16);
  });

  test('does not use the values it was asking for when it hears of a refusal', async () => {
    const { process, clock } = await openSettled();
    const asked = process.take(true);
    await Promise.resolve();
    process.sequences.jump(500_000);
    expect(await asked).toBeGreaterThanOrEqual((clock.nowMs() + 500_000) * 1_000);
  });

  test('starts at the nonceStart of a key that another program used with larger nonces', async () => {
    const { store, clock } = await openSettled();
    const start = (clock.nowMs() + 86_400_000) * 1_000 + 7;
    const bounded = new BoundedStore(store.port, {
      clock,
      timers: systemTimers,
      timeoutMs: 5_000,
      onChange: () => undefined,
    });
    const sequences = new Sequences(clock, { key: 'another', start, ordinal: 0, leapMs }, bounded);
    expect(Number(await sequences.next(true))).toBeGreaterThanOrEqual(start);
    sequences.jump(500_000);
    expect(Number(await sequences.next(true))).toBeGreaterThanOrEqual(start + 500_000_000);
  });

  test('asks anew before it acts, but not for each step', async () => {
    const { process, store, clock } = await openSettled();
    await process.take();
    clock.advance(FRESH_MS);
    store.forget();
    process.sequences.prefetch();
    await new Promise((resolve) => setImmediate(resolve));
    expect(store.reservations).toBe(1);
    const steps = [await process.take(true), await process.take(true), await process.take(true)];
    expect(store.reservations).toBe(1);
    expectRising(steps);
  });

  test('has its prefetched values before it acts, even from a slow store', async () => {
    const { process, store, clock } = await openSettled();
    clock.advance(LONGEST_MS);
    store.takesMs = FRESH_MS + 20;
    store.forget();
    process.sequences.prefetch();
    await new Promise((resolve) => setImmediate(resolve));
    await process.take(true);
    expect(store.reservations).toBe(1);
    clock.advance(FRESH_MS);
    await process.take(true);
    expect(store.reservations).toBe(2);
  });

  test.each([
    ['its nonce was refused', ({ sequences }: Process) => sequences.jump(1)],
    ['a refusal may have been for the nonce', ({ sequences }: Process) => sequences.doubt()],
  ])('asks for each poll for ten minutes after %s', async (_why, tell) => {
    const { process, store, ...world } = await openSettled();
    tell(process);
    await pollEverySecond(world, process, 600);
    expect(store.reservations).toBe(600);
    await pollEverySecond(world, process, 60);
    store.forget();
    await pollEverySecond(world, process, 100);
    expect(store.reservations).toBeLessThanOrEqual(12);
  });

  test.each([
    [
      'was lost',
      async ({ process, store, clock }: { process: Process; store: FragileStore; clock: ManualClock }) => {
        store.isLost = true;
        clock.advance(LONGEST_MS);
        await process.poll();
        clock.advance(SECONDS);
        // Values from memory are as young as possible.
        for (const nonce of await process.poll()) {
          expect(nonce).toBeGreaterThanOrEqual(clock.nowMs() * 1_000);
        }
        store.isLost = false;
        clock.advance(60 * SECONDS);
      },
    ],
    [
      'was emptied',
      async ({ store, clock }: { store: FragileStore; clock: ManualClock }) => {
        store.empty();
        clock.advance(LONGEST_MS);
      },
    ],
  ])('checks anew whether it is alone when the store %s', async (_what, upset) => {
    const settled = await openSettled();
    await upset(settled);
    const { process, store, ...world } = settled;
    store.forget();
    await pollEverySecond(world, process, 3);
    expect(store.reservations).toBe(3);
  });
});
