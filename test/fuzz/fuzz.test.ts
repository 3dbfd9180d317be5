import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { describe, expect, inject, test } from 'vitest';
import { startPrivateRedis } from '../support/redis.ts';
import { FULL, inTurn, sliceOf } from '../support/slice.ts';
import { BOUNDARIES } from './boundaries.ts';
import { fuzz, inputOf } from './fuzz.ts';
import { mutatedJson } from './mutate.ts';
import { seedRedis } from './redis-seed.ts';
import type { Boundary } from './target.ts';

const plays = inTurn(['slow', 'slow in the warm-up', 'a leak', 'buffers'], 2, 'what the fuzzer finds');

/** A slice of `npm run fuzz`, with other inputs in each run. A finding replays with its `--input`. */
const INPUTS = FULL ? 400 : 75;
/** Fewer configs, since each takes milliseconds. */
const CONFIGS = FULL ? 200 : 40;
const FROM = inject('fastCheckSeed') % 500_000_000;

test.each(sliceOf(BOUNDARIES, 2, 'boundaries'))('$name holds for any input', async (boundary) => {
  const count = boundary.name === 'config' ? CONFIGS : INPUTS;
  const { inputs, findings } = await fuzz(boundary, { from: FROM, count });
  expect(findings).toEqual([]);
  expect(inputs).toBe(count);
});

/** Never read, and gone after a millisecond. */
const GONE_AT_ONCE = 'probe';

/** `{b17}:account:ID` stands for every bucket and account. */
const patternOf = (key: string): RegExp =>
  new RegExp(
    `^${key.replaceAll(/[{}]/g, '\\$&').replaceAll(/ID|KEY|SCOPE|NAME|THREAD|ORDINAL|17|\d{4}-\d\d-\d\dT\d\d:\d\d|\.{3}/g, '.+')}$`,
  );

describe('the fuzzer', () => {
  function planted(run: (text: string) => void | Promise<void>, longestMs?: number): Boundary {
    return {
      name: 'planted',
      open: async () => ({
        make(draw) {
          const text = mutatedJson(draw, { amount: '1.5', list: [1, 2, 3] });
          return { text, run: () => run(text), ...(longestMs === undefined ? {} : { longestMs }) };
        },
        close: async () => undefined,
      }),
    };
  }

  test('reports a crash once per input, with the input', async () => {
    const boundary = planted((text) => {
      if (text.includes('__proto__')) throw new TypeError('a planted defect');
    });
    const { findings } = await fuzz(boundary, { from: 1, count: 2_000 });
    expect(findings.length).toBeGreaterThan(0);
    for (const { what, words, input } of findings) {
      expect([what, words]).toEqual(['crash', expect.stringContaining('a planted defect')]);
      expect(input).toContain('__proto__');
    }
  });

  function busy(forMs = 60): void {
    const before = process.cpuUsage();
    for (;;) {
      const { user, system } = process.cpuUsage(before);
      if (user + system > forMs * 1_000) return;
    }
  }

  /** Many slow inputs: the allowed time, and the time they take. */
  const [MOST_MS, SLOW_MS] = [8, 12];

  test.runIf(plays('slow'))(
    'reports an input that is slow each time, and none that was slow once',
    async () => {
      const seen = new Set<string>();
      const once = planted((text) => {
        if (!seen.has(text)) busy();
        seen.add(text);
      });
      expect((await fuzz(once, { from: 1, count: 3 })).findings).toEqual([]);
      const { findings } = await fuzz(
        planted(() => busy()),
        { from: 1, count: 1 },
      );
      expect(findings.map(({ what }) => what)).toEqual(['slow']);
    },
  );

  test('does not blame inputs for slow cold code, but still finds one that is slow afterwards', async () => {
    const { text: slow } = inputOf(await planted(() => undefined).open(), 9);
    let runs = 0;
    const cold = planted((text) => {
      runs += 1;
      if (runs <= 8 || text === slow) busy(SLOW_MS);
    }, MOST_MS);
    const { findings } = await fuzz(cold, { from: 1, count: 20 });
    expect(findings.map(({ what, seed }) => [what, seed])).toEqual([['slow', 9]]);
  });

  test.runIf(plays('slow in the warm-up'))(
    'judges a slow input of the warm-up too, and one whose valid input is slow',
    async () => {
      const slow = (): void => busy(SLOW_MS);
      const target = planted(slow, MOST_MS);
      const withValid: Boundary = {
        name: 'planted',
        open: async () => ({ ...(await target.open()), valid: { text: 'valid', run: slow } }),
      };
      for (const boundary of [target, withValid]) {
        const { findings } = await fuzz(boundary, { from: 1, count: 2 });
        expect(findings.map(({ what, seed }) => [what, seed])).toEqual([
          ['slow', 1],
          ['slow', 2],
        ]);
      }
    },
  );

  test.runIf(plays('a leak'))('finds a leak, but not memory that is released at rest', async () => {
    const kept: unknown[] = [];
    const leaky = planted(() => void kept.push(Array.from({ length: 20_000 }, () => 0)));
    const { findings, heapGrowthBytes } = await fuzz(leaky, { from: 1, count: 100 });
    expect(findings.map(({ what, seed }) => [what, seed])).toEqual([['grown', 1]]);
    expect(heapGrowthBytes).toBeGreaterThan(8 * 2 ** 20);
    const resting: Boundary = {
      name: 'planted',
      open: async () => ({ ...(await leaky.open()), rest: async () => void kept.splice(0) }),
    };
    expect((await fuzz(resting, { from: 1, count: 100 })).findings).toEqual([]);
  });

  test.runIf(plays('buffers'))('finds a leak of buffers, which are outside the heap', async () => {
    const kept: Buffer[] = [];
    const { findings } = await fuzz(
      planted(() => void kept.push(Buffer.alloc(200_000))),
      { from: 1, count: 100 },
    );
    expect(findings.map(({ what }) => what)).toEqual(['grown']);
  });

  /** Quick, so that a busy machine does not find it slow. */
  const zeros = (length: number): number[] => Object.assign<number[], object>([], { length }).fill(0);
  const takes: [string, () => unknown][] = [
    ['at once', () => zeros(500_000)],
    ['bit by bit', () => Array.from({ length: 1_000 }, () => zeros(500).length)],
  ];
  test.each(sliceOf(takes, 2, 'ways to take memory'))(
    'finds an input that allocates much memory %s, even if none is kept',
    async (_how, take) => {
      let last: unknown;
      const hungry: Boundary = {
        name: 'planted',
        open: async () => ({
          make: () => ({ text: 'hungry', mostBytes: 2 ** 21, run: () => void (last = take()) }),
          close: async () => undefined,
        }),
      };
      const { findings, hungriestBytes } = await fuzz(hungry, { from: 1, count: 1 });
      expect(last).toBeDefined();
      expect(findings.map(({ what }) => what)).toEqual(['hungry']);
      expect(hungriestBytes).toBeGreaterThan(3_500_000);
      expect(hungriestBytes).toBeLessThan(20_000_000);
    },
  );

  test('changes every key that docs/redis-keys.md lists, and the list is complete', async () => {
    const page = readFileSync(new URL('../../docs/redis-keys.md', import.meta.url), 'utf8');
    const documented = [...page.matchAll(/^\| `breakwater:([^`]+)` \|/gm)].flatMap(([, key = '']) =>
      key === GONE_AT_ONCE ? [] : [key],
    );
    const server = await startPrivateRedis();
    const redis = new Redis(server.url);
    try {
      await seedRedis(redis, `${server.prefix}f`);
      const keys = (await redis.keys(`${server.prefix}f:*`)).map((key) =>
        key.slice(server.prefix.length + 2),
      );
      const has = (key: string, written: string): boolean => patternOf(key).test(written);
      expect(documented.filter((key) => !keys.some((written) => has(key, written)))).toEqual([]);
      expect(keys.filter((written) => !documented.some((key) => has(key, written)))).toEqual([]);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  });

  test('gives a long input the time that it declares', async () => {
    const patient: Boundary = {
      name: 'planted',
      open: async () => ({
        make: () => ({ text: 'long', longestMs: 500, run: () => busy() }),
        close: async () => undefined,
      }),
    };
    expect((await fuzz(patient, { from: 1, count: 2 })).findings).toEqual([]);
  });

  test('makes the same input from the same seed', async () => {
    const inputs = async (): Promise<string[]> => {
      const made: string[] = [];
      await fuzz(
        planted((text) => void made.push(text)),
        { from: 7, count: 50 },
      );
      return made;
    };
    expect(await inputs()).toEqual(await inputs());
  });
});
