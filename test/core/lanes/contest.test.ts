import { expect, test } from 'vitest';
import { at, Driver } from './driver.ts';
import { action, half, view } from './fixtures.ts';

const HOUR_MS = 3_600_000;

/** One episode: half is sold, and somebody buys it back. */
function fight(driver: Driver, episode: number): void {
  driver.later(60_000).read(at({})).ask(action(half, { episode }));
  driver.place({ status: { known: true, value: 'FILLED' } });
  driver.answerRead(at({ size: '0.5', mark: '997' })).read(at({}));
}

function fought(times: number): Driver {
  const driver = new Driver();
  for (let episode = 1; episode <= times; episode += 1) fight(driver, episode);
  return driver
    .later(60_000)
    .read(at({}))
    .ask(action(half, { episode: times + 1 }));
}

test('the owner, or his bot, adds after each reduction: it is not reduced again, and he is told', () => {
  expect(fought(2).place().request.amount).toBe('0.5');
  const driver = fought(3);
  expect(driver.next()).toMatchObject({ kind: 'idle', why: 'blocked' });
  const told = driver.events.filter(({ kind, reason }) => kind === 'blocked' && reason === 'contested');
  expect(told.map(({ alarm }) => alarm)).toEqual([true]);
});

test('at a margin call it fights on', () => {
  const driver = fought(3);
  driver.next();
  driver.read(view({ liquidationState: 'margin_call' }));
  expect(driver.place().request.amount).toBe('0.5');
});

test('an hour after he began to it reduces again, and what a rule gave up is taken up', () => {
  const driver = fought(3);
  for (let minute = 0; minute < 10; minute += 1) driver.later(60_000).next();
  expect(driver.intents().map(({ end }) => end?.why)).toContain('blocked:contested');
  driver.later(HOUR_MS).read(at({}));
  expect(driver.place().request.amount).toBe('0.5');
});

test('who builds a position that nothing of ours reduced, or reduces it himself, fights nobody', () => {
  const driver = new Driver();
  for (const size of ['1', '2', '3', '2', '3', '2', '3', '2', '3']) driver.later(60_000).read(at({ size }));
  driver.ask(action(half));
  expect(driver.place().request.amount).toBe('1.5');
});
