import { expect, test } from 'vitest';
import { at, Driver } from './driver.ts';
import { action, all, half } from './fixtures.ts';

test('an order refused for a while was sent with the price of a read from before: it is read again first', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.refuse({ name: 'rateLimited', retryAfterMs: 3_000 });
  driver.later(3_100);
  driver.answerRead(at({ mark: '970' }));
  expect(Number(driver.place().request.activationPrice)).toBeLessThan(970);
});

test('two round trips are allowed where the exchange is slower than the bound', () => {
  const driver = new Driver({ maxOrderReadAgeMs: 100 }).read(at({})).ask(action(half));
  driver.start('place');
  driver.later(2_000);
  const error = { name: 'rateLimited', endpoint: 'stopLimit', message: 'slowly', effect: 'none' } as const;
  driver.end({ kind: 'place', outcome: { kind: 'rejected', error } });
  driver.later(1_000);
  expect(driver.next().kind).toBe('place');
  driver.later(1_200);
  expect(driver.next().kind).toBe('readPositions');
});

test('a full close ahead of the fence is no exception', () => {
  const driver = new Driver().read(at({})).ask(action(all)).lose('place').later(10).read(at({}));
  expect(driver.next().kind).toBe('place');
  driver.later(2_500);
  expect(driver.next().kind).toBe('readPositions');
});

test('in a falling market the activation lies as far below as the market falls until the order arrives', () => {
  const driver = new Driver().read(at({}));
  driver.later(990).read(at({ mark: '998' }));
  driver.ask(action(half));
  // 0.2 % a second, a read of 10 ms: a step, the allowance of 0.1 %, and hardly any way to go.
  expect(Number(driver.place().request.activationPrice)).toBeCloseTo(996.8, 0);
  const slow = new Driver().read(at({}));
  slow.state = { ...slow.state, roundTripMs: 1_000 };
  slow.later(990).read(at({ mark: '998' }));
  slow.ask(action(half));
  expect(Number(slow.place().request.activationPrice)).toBeCloseTo(994.8, 0);
});

test('the gap takes at most half of the distance to liquidation', () => {
  const driver = new Driver().read(at({}));
  driver.state = { ...driver.state, roundTripMs: 10_000 };
  driver.later(990).read(at({ mark: '980' }));
  driver.ask(action(half));
  expect(driver.place().request.activationPrice).toBe('965');
});

test('an order that the market had passed when it arrived is replaced at the next read, with a larger gap', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  expect(driver.cancel()).toMatchObject({ why: 'inverted', unfilled: [] });
  // Four times the allowance.
  driver.later(20_000).answerRead(at({ mark: '997' }));
  expect(997 - Number(driver.place().request.activationPrice)).toBeCloseTo(4.1, 1);
});

test('a gap that was never reached shrinks to what is configured', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  driver.later(500).read(at({ mark: '997' }));
  driver.cancel();
  driver.later(21_000).answerRead(at({ mark: '997' }));
  driver.place();
  driver.later(4_000).read(at({ mark: '998' }));
  expect(driver.cancel().why).toBe('marketMovedAway');
  driver.answerRead(at({ mark: '998' }));
  expect(998 - Number(driver.place().request.activationPrice)).toBeCloseTo(1.1, 1);
});
