import { expect, test } from 'vitest';
import { chanceOf } from '../../src/world/chance.ts';
import { coveringRows } from './covering.ts';
import { FACTORS, type Levels } from './factors.ts';
import { falseListsOf, refusalsOf, roundTripsOf, slownessOf, stallsOf, type Times } from './troubles.ts';

const [LEVELS] = coveringRows(1) as readonly [Levels];
const TIMES: Times = { fallMs: 20_000, breachMs: 60_000, endMs: 500_000 };

function levels(changes: Partial<Levels>): Levels {
  return { ...LEVELS, ...changes };
}

test.each([
  ['0', 0],
  ['10 %', 0.1],
  ['30 %', 0.3],
] as const)('errors of %s: each endpoint fails for that share of the time, in every way', (errors, share) => {
  const faults = refusalsOf(levels({ errors }), TIMES, chanceOf(1, 'refusals'));
  const failingMs = faults.reduce((sum, { atMs, untilMs = 0 }) => sum + untilMs - atMs, 0);
  const endpoints = 5;
  expect(failingMs / endpoints / (TIMES.endMs - TIMES.fallMs + 5_000)).toBeGreaterThanOrEqual(share * 0.9);
  expect(failingMs / endpoints / (TIMES.endMs - TIMES.fallMs + 5_000)).toBeLessThanOrEqual(share * 1.1);
  if (share === 0) return;
  const kinds = new Set(faults.map(({ fault: { effect } }) => JSON.stringify(effect)));
  const wanted = [
    '"status":429}',
    '"gatewayStatus"',
    '"retryAfterMs":60000',
    'executed',
    'overloaded',
    'failed',
    '"reset"',
    '"hang"',
  ];
  expect(wanted.filter((needle) => ![...kinds].some((kind) => kind.includes(needle)))).toEqual([]);
});

test.each(FACTORS.slow)('slow %s: slow requests take the whole latency, the others 0.1 s', (slow) => {
  const roundTrips = roundTripsOf(levels({ slow, latency: '1.5 s' }));
  expect(roundTrips).toEqual({
    readMs: slow === 'orders only' ? 100 : 1_500,
    orderMs: slow === 'reads only' ? 100 : 1_500,
  });
  const delays = slownessOf(roundTrips).map(({ fault }) => fault);
  const extraMs = Math.max(
    ...delays.map(({ effect }) => (effect.kind === 'latency' ? effect.delayMs : 0)),
    0,
  );
  // Half of it on the way there, half on the way back.
  expect(100 + 2 * extraMs).toBe(slow === 'reads and orders' ? 100 : 1_500);
});

test('stalls last 0.2 to 3 s, one after another', () => {
  const events = stallsOf(levels({ stalls: '0.2 to 3 s' }), TIMES, 'north', chanceOf(1, 'stalls'));
  const lengths = events.flatMap(({ atMs, kind }, index) =>
    kind === 'resume' ? [atMs - (events[index - 1]?.atMs ?? Number.NaN)] : [],
  );
  expect(lengths.length).toBeGreaterThan(20);
  for (const lengthMs of lengths) {
    expect(lengthMs).toBeGreaterThanOrEqual(200);
    expect(lengthMs).toBeLessThanOrEqual(3_000);
  }
  expect(stallsOf(levels({ stalls: 'none' }), TIMES, 'north', chanceOf(1, 'stalls'))).toEqual([]);
});

test('a list that is empty for a minute is so for one minute, not through the whole fall', () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const [fault] = falseListsOf(levels({ list: 'empty for a minute' }), TIMES, chanceOf(seed, 'list'));
    const { atMs = Number.NaN, untilMs = Number.NaN } = fault ?? {};
    expect(untilMs - atMs).toBe(60_000);
    const isBefore = untilMs < TIMES.breachMs + 3_000;
    const isAfter = atMs >= TIMES.breachMs && atMs <= TIMES.breachMs + 3_000;
    expect(isBefore || isAfter).toBe(true);
  }
});
