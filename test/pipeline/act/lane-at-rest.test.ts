import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LaneRequest } from '../../../src/core/intents/intent.ts';
import { advance } from '../../../src/core/lanes/lane.ts';
import { observeRead } from '../../../src/core/lanes/lane-observe.ts';
import type { LaneState, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { ReadObservation } from '../../../src/core/lanes/market-read.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { isAtRest } from '../../../src/pipeline/act/lane-at-rest.ts';
import { Driver } from '../../core/lanes/driver.ts';
import { action, half, protect, readAt, readPositionOf } from '../../core/lanes/fixtures.ts';

/** Mark 1000, liquidation 800: the stop stands at 880. */
const far = (changed: Partial<ReadPosition> = {}): ReadPosition =>
  readPositionOf({
    liquidationPrice: '800' as DecimalString,
    distance: 0.2,
    ...changed,
  });

const marked = (mark: string): Partial<ReadPosition> => ({ markPrice: mark as DecimalString });

function resting(): Driver {
  const driver = new Driver().read(far()).ask(action(protect));
  driver.place();
  driver.later(1_000).read(far());
  expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  return driver;
}

const ASKED: readonly LaneRequest[] = [{ request: action(protect), positionId: '42' }];

const rests = (
  { state, nowMs }: Driver,
  observation: ReadObservation = readAt(nowMs + 1_000, far()),
  asked = ASKED,
): boolean => isAtRest(state, asked, observation);

test('a lane whose stop stands far from the market is at rest, even after a round trip through the store', () => {
  const driver = resting();
  expect(rests(driver)).toBe(true);
  driver.state = JSON.parse(JSON.stringify(driver.state)) as LaneState;
  expect(rests(driver, readAt(driver.nowMs + 1_000, far(marked('1004'))))).toBe(true);
});

describe('it takes a read', () => {
  const driver = resting();
  const later = driver.nowMs + 1_000;
  const incomplete = { ...readAt(later, far()), complete: false };

  test.each<[string, ReadObservation]>([
    ['of a mark that has moved', readAt(later, far(marked('994')))],
    ['of a mark that nobody knows', readAt(later, far({ markError: 1, markPrice: '1' as DecimalString }))],
    ['of another size', readAt(later, far({ sizeBase: '0.999' as DecimalString }))],
    ['of another liquidation price', readAt(later, far({ liquidationPrice: '800.1' as DecimalString }))],
    ['of a pool', readAt(later, far({ jointLiquidationPrice: '900' as DecimalString }))],
    ['of a position opened anew', readAt(later, far({ openDate: 2 }))],
    ['of a second position', readAt(later, far(), far({ positionId: '43' }))],
    ['of no position', readAt(later)],
    ['that is incomplete', incomplete],
    ['of a position being opened', { ...readAt(later, far()), notOpenYet: ['43'] }],
    ['after half a minute', readAt(driver.nowMs + 31_000, far())],
  ])('%s', (_, observation) => {
    expect(rests(driver, observation)).toBe(false);
  });
});

test('it is not at rest if the stop is near, in doubt, or not all that is wanted', () => {
  const near = new Driver().read(far()).ask(action({ kind: 'protect', at: 0.1, slippage: 0.01 }));
  near.place();
  near.later(1_000).read(far());
  expect(rests(near)).toBe(false);

  const lost = new Driver().read(far()).ask(action(protect));
  lost.lose('place').later(1_000).read(far());
  expect(rests(lost)).toBe(false);

  const reducing = resting().ask(action(protect), action(half, { ruleId: 'other' }));
  expect(rests(reducing)).toBe(false);

  const unasked = resting();
  unasked.ask();
  expect(rests(unasked)).toBe(false);

  const unplaced = new Driver().read(far()).ask(action(protect)).later(1_000).read(far());
  expect(rests(unplaced)).toBe(false);
});

test('it is not at rest if it does not know all requests, as its change was left out of a commit', () => {
  const driver = resting();
  const also = (spec: typeof half, changed: Parameters<typeof action>[1] = {}): readonly LaneRequest[] => [
    ...ASKED,
    { request: action(spec, changed), positionId: '42' },
  ];
  expect(rests(driver, undefined, also(half, { ruleId: 'other' }))).toBe(false);
  expect(rests(driver, undefined, also(protect, { ruleId: 'other' }))).toBe(false);
  expect(rests(driver, undefined, [])).toBe(false);
  expect(rests(driver, undefined, [{ request: action(protect, { episode: 2 }), positionId: '42' }])).toBe(
    false,
  );
  expect(
    rests(driver, undefined, [{ request: action(protect, { mode: 'observe' }), positionId: '42' }]),
  ).toBe(false);
});

test('it is at rest even if others have traded the position, as that only holds back reductions', () => {
  const driver = resting();
  driver.state = { ...driver.state, contests: [{ positionId: '42', isReduced: true, addsMs: [1] }] };
  expect(rests(driver)).toBe(true);
});

test('a lane at rest would not change by taking the read', () => {
  const changes = fc.record({
    afterMs: fc.integer({ min: 1, max: 40_000 }),
    mark: fc.oneof(fc.integer({ min: 9_900, max: 10_100 }), fc.integer({ min: 8_500, max: 11_500 })),
    size: fc.constantFrom('1', '1', '0.9', '1.1'),
    liquidation: fc.constantFrom('800', '800', '801', '700'),
  });
  fc.assert(
    fc.property(fc.array(changes, { minLength: 1, maxLength: 8 }), (reads) => {
      const driver = resting();
      for (const { afterMs, mark, size, liquidation } of reads) {
        driver.later(afterMs);
        const shown = far({
          ...marked((mark / 10).toFixed(1)),
          sizeBase: size as DecimalString,
          liquidationPrice: liquidation as DecimalString,
        });
        const observation = readAt(driver.nowMs, shown);
        const { settings } = driver.context;
        const isResting = isAtRest(driver.state, ASKED, observation);
        const seen = observeRead(driver.state, observation, settings, driver.nowMs);
        const ahead = advance(seen.state, driver.context, driver.nowMs);
        if (!isResting) {
          if (ahead.step.kind !== 'idle') return;
          driver.state = ahead.state;
          continue;
        }
        expect([...seen.events, ...ahead.events]).toEqual([]);
        expect(ahead.step).toMatchObject({ kind: 'idle', why: 'setInPlace' });
        const { orders, covers, intents } = ahead.state;
        expect({ orders, covers, intents }).toEqual({
          orders: driver.state.orders,
          covers: driver.state.covers,
          intents: [],
        });
      }
    }),
  );
});
