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
