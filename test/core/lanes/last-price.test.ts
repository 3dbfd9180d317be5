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

test('a reduction that waited for the last price was asked about and alarmed over every ten seconds until the brake was spent', () => {
  const driver = new Driver().read(at({})).ask(action(wide));
  driver.place();
  driver.read(at({}));
  let refused = 0;
  for (let second = 0; second < 130; second++) {
    driver
      .later(980)
      .read(seen(second < 6 ? 1_000 - second : 994))
      .ask(action(wide));
    const { kind } = driver.next();
    expect(kind).not.toBe('cancelAll');
    if (kind !== 'place') continue;
    driver.refuse(NO_ROOM);
    refused += 1;
  }
  expect(refused).toBeLessThanOrEqual(3);
  expect(driver.events.filter(({ alarm }) => alarm)).toMatchObject([{ reason: 'stopNotCancellable' }]);
});

test('a reduction that had filled passed for one that waits for the last price, and the next one never went', () => {
  const filled = (mark: number) => seen(mark, { sizeBase: '0.5' as DecimalString });
  const next = action(wide, { ruleId: 'second' });
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.place();
  driver.later(500).read(at({})).ask(action(protect), action(wide));
  driver.place();
  driver.later(900).read(at({}));
  driver.later(900).read(filled(998.2));
  expect(driver.state.orders).toMatchObject([{ role: 'cover' }, { role: 'reduce', presumedFilled: true }]);
  // The stop takes the room, and no order was accepted for long enough that none may be cancelled yet.
  driver.later(15_000).read(filled(998.2)).ask(action(protect), action(wide), next);
  driver.refuse(NO_ROOM);
  driver.later(980).read(filled(998)).ask(action(protect), action(wide), next);
  expect(driver.cancel().why).toBe('noRoom');
});

test('a reduction waited for the last price until the limit of all markets together had been passed', () => {
  const joint = (mark: number) =>
    seen(mark, {
      liquidationPrice: '800' as DecimalString,
      distance: (mark - 800) / mark,
      jointLiquidationPrice: '988' as DecimalString,
    });
  const driver = new Driver().read(joint(1_000)).ask(action(wide));
  driver.place();
  driver.read(joint(1_000));
  const steps: string[] = [];
  for (let mark = 999; mark > 990; mark--) {
    driver.later(980).read(joint(mark));
    steps.push(driver.next().kind);
    if (steps.at(-1) === 'place') driver.refuse(NO_ROOM);
    if (steps.at(-1) === 'cancelAll') break;
  }
  expect(steps).toContain('cancelAll');
});

test('a full close that the market had just reached was taken down for one in doubt beside it', () => {
  const full = action(all);
  const left = (mark: number) => seen(mark, { sizeBase: '0.7' as DecimalString });
  const driver = new Driver().read(at({})).ask(full);
  driver.place();
  driver.later(15_000).read(at({})).ask(full);
  driver.later(1_000).read(left(998)).ask(full);
  expect(driver.state.orders).toMatchObject([{ ambiguous: true }]);
  const activation = Number(driver.place().request.activationPrice);
  for (let mark = 997.8; mark > activation - 2; mark -= 0.4) {
    driver.later(990).read(left(mark)).ask(full);
    expect(driver.next().kind).toBe('idle');
  }
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

test('the refusals of a wider stop beside a tight one held up the reduction, and spent its brake', () => {
  const driver = new Driver();
  driver.state = { ...driver.state, learned: { lowestPart: 0.967 } };
  driver.read(at({})).ask(action(protect));
  driver.place();
  let refused = 0;
  for (let second = 0; second < 50; second++) {
    driver.later(990).read(seen(990)).ask(action(protect));
    if (driver.next().kind !== 'place') continue;
    driver.refuse({ name: 'priceBand' });
    refused += 1;
  }
  expect(refused).toBe(1);
  driver.later(12_000).read(seen(990)).ask(action(protect), action(half));
  expect(driver.place().order.role).toBe('reduce');
  expect(driver.refuse({ name: 'priceBand' }).order.role).toBe('cover');
});
