import { expect, test } from 'vitest';
import { sliceOf } from '../../support/slice.ts';
import { judgeSlow, type SlowResult } from './judge-slow.ts';
import { worseThanStop } from './play-slow.ts';
import { type SlowLevels, slowCase } from './slow-case.ts';

/**
 * A slice of `npm run field -- --slow`. A failed case replays: `npm run field -- --case ID`.
 */
const SEED = 1;
const CASES = 60;

async function playAll(cases: readonly ReturnType<typeof slowCase>[]): Promise<readonly SlowResult[]> {
  const results: SlowResult[] = [];
  for (const one of cases) results.push(await judgeSlow(one));
  expect(results.flatMap(({ stop, set }) => [...stop.errors, ...set.errors])).toEqual([]);
  return results;
}

test('a set saves every account in a slow fall that its own standing stop saves alone', {
  timeout: 900_000,
}, async () => {
  const indexes = sliceOf([...Array(CASES).keys()], 15, 'slow falls');
  const results = await playAll(indexes.map((index) => slowCase(SEED, index)));
  expect(results.filter(({ stopSaves }) => stopSaves).length).toBeGreaterThan(0.8 * results.length);
  expect(worseThanStop(results).map(({ id }) => id)).toEqual([]);
});

test('an order that the mark has passed is not chased while the last price has still to reach it', {
  timeout: 900_000,
}, async () => {
  const fall = (basis: SlowLevels['basis'], speed: SlowLevels['speed']): ReturnType<typeof slowCase> =>
    slowCase(SEED, 0, {
      path: 'straight',
      trigger: 'last',
      account: 'one long',
      leverage: '8x',
      rules: 'balanced',
      latency: '0.1 s',
      basis,
      speed,
    });
  const results = await playAll([
    fall('-0.1 %', '0.003 %/s'),
    fall('-0.3 %', '0.01 %/s'),
    fall('0.3 %', '0.003 %/s'),
  ]);
  expect(results.map(({ isLostAlone, stopSaves, setSaves }) => [isLostAlone, stopSaves, setSaves])).toEqual(
    results.map(() => [true, true, true]),
  );
  // The price was chased with a hundred orders, and as many cancels as took the standing stop down.
  for (const { set, stop } of results) {
    expect(set.orders).toBeLessThan(8);
    expect(set.cancels).toBeLessThan(3);
    expect(set.equity).toBeGreaterThan(stop.equity);
  }
});
