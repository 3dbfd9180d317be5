import { describe, expect, inject, test } from 'vitest';
import { FULL } from '../support/slice.ts';
import { BOUNDARIES } from './boundaries.ts';
import { fuzz, inputOf } from './fuzz.ts';
import { mutatedJson } from './mutate.ts';
import type { Boundary } from './target.ts';

/** A slice of `npm run fuzz`, with other inputs in each run. What it finds replays with its `--input`. */
const INPUTS = FULL ? 400 : 150;
/** Of configs, each of which takes milliseconds. */
const CONFIGS = FULL ? 200 : 80;
const FROM = inject('fastCheckSeed') % 500_000_000;

test.each(BOUNDARIES)('whatever comes in, $name holds', { timeout: 120_000 }, async (boundary) => {
  const count = boundary.name === 'config' ? CONFIGS : INPUTS;
  const { inputs, findings } = await fuzz(boundary, { from: FROM, count });
  expect(findings).toEqual([]);
  expect(inputs).toBe(count);
});

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

  test('reports what throws, once for each input, with the input', async () => {
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

  /** Where many inputs are slow: what they may take, and what they take. */
  const [MOST_MS, SLOW_MS] = [8, 12];

  test('reports an input that takes long each time, and none that did once', async () => {
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
  });

  test('blames no input for code that is slow until it is compiled, but still one that is slow after', async () => {
    const { text: slow } = inputOf(await planted(() => undefined).open(), 9);
    let runs = 0;
    const cold = planted((text) => {
      runs += 1;
      if (runs <= 8 || text === slow) busy(SLOW_MS);
    }, MOST_MS);
    const { findings } = await fuzz(cold, { from: 1, count: 20 });
    expect(findings.map(({ what, seed }) => [what, seed])).toEqual([['slow', 9]]);
  });

  test('judges a slow input of the warm-up too, and one whose valid input is slow', async () => {
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
  });

  test('gives a long input the time that it asks for', async () => {
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
