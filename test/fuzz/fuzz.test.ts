import { describe, expect, inject, test } from 'vitest';
import { BOUNDARIES } from './boundaries.ts';
import { fuzz } from './fuzz.ts';
import { mutatedJson } from './mutate.ts';
import type { Boundary } from './target.ts';

/** A slice of `npm run fuzz`, with other inputs in each run. What it finds replays with its `--input`. */
const INPUTS = 400;
const FROM = inject('fastCheckSeed') % 500_000_000;

test.each(BOUNDARIES)('whatever comes in, $name holds', { timeout: 120_000 }, async (boundary) => {
  const { inputs, findings } = await fuzz(boundary, { from: FROM, count: INPUTS });
  expect(findings).toEqual([]);
  expect(inputs).toBe(INPUTS);
});

describe('the fuzzer', () => {
  function planted(run: (text: string) => void | Promise<void>): Boundary {
    return {
      name: 'planted',
      open: async () => ({
        make(draw) {
          const text = mutatedJson(draw, { amount: '1.5', list: [1, 2, 3] });
          return { text, run: () => run(text) };
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

  test('reports an input that takes long each time, and none that did once', async () => {
    const seen = new Set<string>();
    const busy = (): void => {
      const { user } = process.cpuUsage();
      while (process.cpuUsage().user - user < 60_000);
    };
    const once = planted((text) => {
      if (!seen.has(text)) busy();
      seen.add(text);
    });
    expect((await fuzz(once, { from: 1, count: 3 })).findings).toEqual([]);
    const { findings } = await fuzz(planted(busy), { from: 1, count: 1 });
    expect(findings.map(({ what }) => what)).toEqual(['slow']);
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
