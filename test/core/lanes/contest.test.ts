import { expect, test } from 'vitest';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from './driver.ts';
import { action, half, readPositionOf } from './fixtures.ts';

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
  driver.read(readPositionOf({ liquidationState: 'margin_call' }));
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

const quarter: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'by', fraction: 0.25 },
  slippageSteps: [0.01],
};

/** Episodes in each of which a quarter is sold, and somebody else sells `theirs` of the size at the same time. */
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
    driver.answerRead(at({ size: String(size), mark: '997' }));
  }
  return driver
    .later(60_000)
    .read(at({ size: String(size) }))
    .ask(action(quarter, { episode: times + 1 }));
}

test('falls that nothing explains, in three episodes: it is not reduced again, and he was told at the first', () => {
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

test('at a margin call it reduces on, whoever else does', () => {
  const driver = reducedTogether(3, 0.25);
  driver.next();
  driver.read(readPositionOf({ sizeBase: '2' as DecimalString, liquidationState: 'margin_call' }));
  expect(driver.place().request.amount).toBe('0.5');
});

test('falls that orders of ours explain block nothing', () => {
  const driver = reducedTogether(6, 0);
  expect(driver.reasons('reducedByOthers')).toEqual([]);
  expect(driver.next()).toMatchObject({ kind: 'place' });
});

test('an owner who reduces where nothing of ours does is not told of himself', () => {
  const driver = new Driver();
  for (const size of ['8', '4', '2', '1']) driver.later(60_000).read(at({ size }));
  driver.ask(action(quarter));
  expect(driver.reasons('reducedByOthers')).toEqual([]);
  expect(driver.place().request.amount).toBe('0.25');
});
