import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CallScope } from '../../../src/exchange/call/call-scope.ts';
import { ENDPOINTS } from '../../../src/exchange/endpoints.ts';
import {
  DEFAULT_RATE_LIMITS,
  limitsOf,
  overrideLimits,
} from '../../../src/exchange/limits/rate-limit-table.ts';
import { Slots, withReserve } from '../../../src/exchange/limits/slots.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';

describe('slots', () => {
  test.each([
    [1, 2],
    [9, 10],
    [10, 11],
    [11, 13],
    [64, 71],
  ])('%i for all are %i with those for protective calls', (normal, all) => {
    expect(withReserve(normal)).toBe(all);
  });

  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const), protective: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('giveUp' as const), which: fc.nat(30) }) },
  );

  /** The reference: which calls have a slot, and which wait in which queue. */
  class Model {
    readonly waiting: { readonly name: string; readonly protective: boolean }[] = [];
    readonly holding: string[] = [];
    readonly #normal: number;

    constructor(normal: number) {
      this.#normal = normal;
    }

    take(name: string, protective: boolean): void {
      if (this.#isFree(protective)) this.holding.push(name);
      else this.waiting.push({ name, protective });
    }

    release(): void {
      this.holding.shift();
      const next =
        this.waiting.find(({ protective }) => protective) ??
        this.waiting.find(({ protective }) => !protective);
      if (next === undefined || !this.#isFree(next.protective)) return;
      this.waiting.splice(this.waiting.indexOf(next), 1);
      this.holding.push(next.name);
    }

    #isFree(protective: boolean): boolean {
      return this.holding.length < (protective ? withReserve(this.#normal) : this.#normal);
    }
  }

  test('go to those who wait in their order, what protects first; who gave up gets none', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { maxLength: 60, size: 'max' }),
        async (normal, steps) => {
          const queue = new EventQueue();
          const time = new MachineProcess(queue, new Machine(queue, 0));
          const [slots, model] = [new Slots(normal), new Model(normal)];
          const aborts = new Map<string, AbortController>();
          const [got, gaveUp, left]: [string[], string[], string[]] = [[], [], []];
          for (const [index, one] of steps.entries()) {
            if (one.do === 'take') {
              const name = `${index}`;
              const abort = new AbortController();
              aborts.set(name, abort);
              const scope = new CallScope(time, { startedMs: 0, timeoutMs: 1e6, signal: abort.signal });
              const taken = slots.take(one.protective, scope);
              void taken.then((isTaken) => (isTaken ? got : gaveUp).push(name));
              model.take(name, one.protective);
            } else if (one.do === 'release') {
              if (model.holding.length === 0) continue;
              slots.release();
              model.release();
            } else {
              const [waiter] = model.waiting.splice(one.which % Math.max(1, model.waiting.length), 1);
              if (waiter === undefined) continue;
              left.push(waiter.name);
              aborts.get(waiter.name)?.abort();
            }
            await Promise.resolve();
            await Promise.resolve();
            expect(gaveUp).toEqual(left);
            expect(got.slice(got.length - model.holding.length)).toEqual(model.holding);
            // A call with a slot cannot give it up by its signal.
            aborts.get(got[0] ?? '')?.abort();
          }
        },
      ),
      { numRuns: 150 },
    ));
});

describe('the table of limits', () => {
  test('what each endpoint counts in', () => {
    const rows = Object.values(ENDPOINTS).map(({ path }) => {
      const limits = limitsOf(path, DEFAULT_RATE_LIMITS);
      return `${path}: ${limits.map(([name, { limit, periodMs }]) => `${name} ${limit} in ${periodMs} ms`).join(', ')}`;
    });
    expect([...new Set(rows)].toSorted()).toMatchSnapshot();
  });

  test('a path has a limit of its own, or that of a prefix', () => {
    const table = {
      exact: { limit: 1, periodMs: 1, paths: ['/a/b', '/c'] },
      below: { limit: 1, periodMs: 1, paths: ['/a/*'] },
      none: { limit: 1, periodMs: 1, paths: [] },
    };
    const names = (path: string): readonly string[] => limitsOf(path, table).map(([name]) => name);
    expect(['/a/b', '/a/bc', '/a/', '/a', '/c', '/c/d', '/ca', '/x/a/'].map(names)).toEqual([
      ['exact', 'below'],
      ['below'],
      ['below'],
      [],
      ['exact'],
      [],
      [],
      [],
    ]);
  });

  test('an override changes what it names, and nothing else', () => {
    const { order, ...others } = DEFAULT_RATE_LIMITS;
    expect(overrideLimits()).toEqual(DEFAULT_RATE_LIMITS);
    const {
      order: changed,
      mine,
      ...rest
    } = overrideLimits({
      order: { periodMs: 0.5 },
      mine: { limit: 1, periodMs: 2, paths: ['/x'] },
    });
    expect([changed, mine]).toEqual([
      { ...order, periodMs: 0.5 },
      { limit: 1, periodMs: 2, paths: ['/x'] },
    ]);
    expect(rest).toEqual(others);
  });

  test.each([
    { limit: 1, periodMs: 1 },
    { limit: 1, paths: [] },
    { periodMs: 1, paths: [] },
  ])('a new entry needs all of it: %j does not do', (entry) => {
    expect(() => overrideLimits({ mine: entry })).toThrow(/"mine" is new/);
  });

  test.each([{ limit: 0 }, { limit: -1 }, { limit: 1.5 }, { periodMs: 0 }, { periodMs: Number.NaN }])(
    'a limit of %j is none',
    (change) => {
      expect(() => overrideLimits({ order: change })).toThrow(/"order": limit and periodMs must be positive/);
    },
  );
});
