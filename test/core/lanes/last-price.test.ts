import { expect, test } from 'vitest';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { at, Driver } from './driver.ts';
import { action, all, half, protect, readPositionOf } from './fixtures.ts';

const wide = { ...half, slippageSteps: [0.02] } as const;
const NO_ROOM = { name: 'reduceOnlyRefused' } as const;

const seen = (mark: number, changes: Partial<ReadPosition> = {}): ReadPosition => ({
  ...at({ mark: String(mark) }),
  ...changes,
});

/** The mark falls by 0.1 % a second; each further order is refused for lack of room. */
function fall(driver: Driver, { from, to }: { readonly from: number; readonly to: number }): string[] {
  const steps: string[] = [];
  for (let mark = from; mark >= to; mark--) {
    driver.later(980).read(seen(mark));
    const step = driver.next();
    steps.push(step.kind);
    if (step.kind === 'place') driver.refuse(NO_ROOM);
    if (step.kind === 'cancelAll') return steps;
  }
  return steps;
}

test('a reduction that waited for the last price was taken down for one that it would reach later', () => {
  const driver = new Driver().read(at({})).ask(action(wide));
  driver.place();
  driver.read(at({}));
  expect(fall(driver, { from: 999, to: 989 })).not.toContain('cancelAll');
});

test('a reduction that the mark has passed by more than mark and last price differ is replaced where no other has room', () => {
  const driver = new Driver().read(at({})).ask(action(wide));
  driver.place();
  driver.read(at({}));
  expect(fall(driver, { from: 999, to: 980 }).at(-1)).toBe('cancelAll');
  expect(driver.cancel().why).toBe('noRoom');
});

test('the reduction of one side was taken down to make room for the side that it hedges', () => {
  const long = seen(1_000, { positionSide: 'LONG', margin: 'own' });
  const short = readPositionOf({
    positionId: '2',
    positionSide: 'SHORT',
    direction: 'short',
    sizeBase: '0.4' as DecimalString,
    margin: 'own',
  });
  const subject = { subject: 'position:2' } as const;
  const driver = new Driver({ hedge: 'perLeg' })
    .read(long, short)
    .ask(action(all), action(half, { ...subject, ruleId: 'other' }));
  driver.place();
  driver.place();
  const [first] = driver.state.orders;
  const other = first?.positionId === '2' ? '7' : '2';
  driver.state = {
    ...driver.state,
    orders: driver.state.orders.filter(({ positionId }) => positionId !== other),
    roomTaken: { atMs: driver.nowMs, positionId: first?.positionId ?? '' },
  };
  expect(driver.ordersAreTaken().next().kind).not.toBe('cancelAll');
});

test('a band that left a stop less than half of its slippage left the position without one', () => {
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.refuse({ name: 'priceBand', message: 'Price should be greater than or equal to 967' });
  driver.later(6_000).read(at({}));
  const { request } = driver.place();
  expect(Number(request.price)).toBeGreaterThanOrEqual(967);
  expect(Number(request.activationPrice)).toBeGreaterThan(Number(request.price));
});

test('a stop with next to no slippage, as a band had it, stayed alone when the band had come nearer', () => {
  const driver = new Driver();
  driver.state = { ...driver.state, learned: { lowestPart: 0.967 } };
  driver.read(at({})).ask(action(protect));
  const tight = driver.place().request;
  driver.later(990).read(seen(990));
  const { request } = driver.place();
  expect(request.activationPrice).toBe(tight.activationPrice);
  expect(request.clientOrderId).not.toBe(tight.clientOrderId);
  expect(Number(request.price)).toBeLessThan(Number(tight.price) - 3);
  for (let mark = 989; mark > 975; mark--) {
    driver.later(990).read(seen(mark));
    expect(driver.next().kind).toBe('idle');
  }
});
