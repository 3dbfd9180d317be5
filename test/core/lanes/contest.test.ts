import { expect, test } from 'vitest';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from './driver.ts';
import { action, half, readPositionOf } from './fixtures.ts';

const HOUR_MS = 3_600_000;

/** An episode: half is sold, and the owner buys it back. */
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

test('a position whose owner (or his bot) adds after each reduction is not reduced again, and he is alarmed', () => {
  expect(fought(2).place().request.amount).toBe('0.5');
  const driver = fought(3);
  expect(driver.next()).toMatchObject({ kind: 'idle', why: 'blocked' });
  const told = driver.events.filter(({ kind, reason }) => kind === 'blocked' && reason === 'contested');
  expect(told.map(({ alarm }) => alarm)).toEqual([true]);
});

test('in a margin call it goes on reducing', () => {
  const driver = fought(3);
  driver.next();
  driver.read(readPositionOf({ liquidationState: 'margin_call' }));
  expect(driver.place().request.amount).toBe('0.5');
});

test('an hour after the owner began, it reduces again, and takes up what a rule gave up', () => {
  const driver = fought(3);
  for (let minute = 0; minute < 10; minute += 1) driver.later(60_000).next();
  expect(driver.intents().map(({ end }) => end?.why)).toContain('blocked:contested');
  driver.later(HOUR_MS).read(at({}));
  expect(driver.place().request.amount).toBe('0.5');
});

test('building a position that no rule reduced, or reducing it by hand, is no contest', () => {
  const driver = new Driver();
  for (const size of ['1', '2', '3', '2', '3', '2', '3', '2', '3']) driver.later(60_000).read(at({ size }));
  driver.ask(action(half));
  expect(driver.place().request.amount).toBe('1.5');
});

const quarter: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'by', fraction: 0.25 },
  slippageSteps: [0.01],
};

/** Episodes that each sell a quarter while somebody else sells `theirs` of the size at the same time. */
function reducedTogether(times: number, theirs: number): Driver {
  const driver = new Driver();
  let size = 16;
  for (let episode = 1; episode <= times; episode += 1) {
    driver
      .later(60_000)
      .read(at({ size: String(size) }))
      .ask(action(quarter, { episode }));
    driver.place({ status: { known: true, value: 'FILLED' } });
    size -= size * (0.25 + theirs);
    driver.answerRead(at({ size: String(size), mark: '997' })).ask();
  }
  return driver
    .later(60_000)
    .read(at({ size: String(size) }))
    .ask(action(quarter, { episode: times + 1 }));
}

test('after unexplained falls in three episodes it is not reduced again; the owner was alarmed at the first', () => {
  const once = reducedTogether(1, 0.25);
  const told = once.events.filter(({ kind }) => kind === 'reducedByOthers');
  expect(told).toMatchObject([{ alarm: true, sizeBase: '8', words: expect.stringContaining(' 4 more ') }]);
  expect(reducedTogether(2, 0.25).place().request.amount).toBe('1');
  const driver = reducedTogether(3, 0.25);
  expect(driver.next()).toMatchObject({ kind: 'idle', why: 'blocked' });
  expect(driver.reasons('blocked')).toEqual(['reducedByOthers']);
  driver.later(HOUR_MS).read(at({ size: '2' }));
  expect(driver.place().request.amount).toBe('0.5');
});

test('in a margin call it goes on reducing although others reduce, too', () => {
  const driver = reducedTogether(3, 0.25);
  driver.next();
  driver.read(readPositionOf({ sizeBase: '2' as DecimalString, liquidationState: 'margin_call' }));
  expect(driver.place().request.amount).toBe('0.5');
});

test('falls that our orders explain block nothing', () => {
  const driver = reducedTogether(6, 0);
  expect(driver.reasons('reducedByOthers')).toEqual([]);
  expect(driver.next()).toMatchObject({ kind: 'place' });
});

test('an owner who reduces where no rule has acted is not notified of his own trades', () => {
  const driver = new Driver();
  for (const size of ['8', '4', '2', '1']) driver.later(60_000).read(at({ size }));
  driver.ask(action(quarter));
  expect(driver.reasons('reducedByOthers')).toEqual([]);
  expect(driver.place().request.amount).toBe('0.25');
});
