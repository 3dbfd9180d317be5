import { expect, test } from 'vitest';
import { standingStops } from '../../../src/core/orders/protective-stop.ts';
import { at, Driver } from './driver.ts';
import { action, half, protect } from './fixtures.ts';

const OUTAGE_MS = 120_000;
const confirmed = ({ state }: Driver): readonly boolean[] =>
  standingStops(state, state.epoch).map((stop) => stop.confirmed);

function afterOutage(): { driver: Driver; id: string } {
  const driver = new Driver().read(at({})).ask(action(protect));
  const { clientOrderId: id } = driver.place().request;
  expect(confirmed(driver)).toEqual([true]);
  driver.later(OUTAGE_MS).read(at({}));
  expect(confirmed(driver)).toEqual([false]);
  return { driver, id };
}

test('the longest usual time between two reads is no outage', () => {
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.place();
  driver.later(50_000).read(at({}));
  expect(confirmed(driver)).toEqual([true]);
  expect(driver.next().kind).toBe('idle');
});

test('after an outage a stop is sent again under its own id; accepted, it is confirmed', () => {
  const { driver, id } = afterOutage();
  const { request, isResend } = driver.place();
  expect([request.clientOrderId, isResend]).toEqual([id, true]);
  expect(confirmed(driver)).toEqual([true]);
  expect(driver.next().kind).toBe('idle');
});

test('if the id is refused as used, the stop may stand or not: one other is placed beside it', () => {
  const { driver, id } = afterOutage();
  driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
  expect(driver.state.doubt).toBeNull();
  expect(confirmed(driver)).toEqual([false]);
  const beside = driver.place();
  expect([beside.isResend, beside.request.clientOrderId === id]).toEqual([false, false]);
  expect(confirmed(driver)).toEqual([false, true]);
  expect(driver.next().kind).toBe('idle');
});

test('if the other one is refused for want of room, the first one stands', () => {
  const { driver } = afterOutage();
  driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
  driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
  expect(confirmed(driver)).toEqual([true]);
  driver.later(5_000).read(at({}));
  expect(driver.next().kind).toBe('idle');
});

test('a market that takes no orders raises one alarm and uses up no attempt', () => {
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.place();
  driver.later(1_000).read(at({})).ask(action(protect), action(half));
  driver.refuse({ name: 'marketInvalid', code: 31 });
  expect(confirmed(driver)).toEqual([false]);
  expect(driver.state.intents.map(({ failures }) => failures)).toEqual([0]);
  expect(driver.events.filter(({ alarm }) => alarm)).toHaveLength(1);
});
