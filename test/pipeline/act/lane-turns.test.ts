import { expect, test } from 'vitest';
import type { PositionList } from '../../../src/core/ports/exchange.ts';
import { decimal, formatDecimal } from '../../../src/core/quantities/decimal.ts';
import { type Company, LaneTurns } from '../../../src/pipeline/act/lane-turns.ts';
import { Falls } from '../../../src/pipeline/poll/falls.ts';

const SHOWN_MS = 10_000;
const TURN_MS = SHOWN_MS + 1_000;
const BTC = { accountId: 'desk', market: 'BTC_PERP' };
const ETH = { accountId: 'desk', market: 'ETH_PERP' };

function list(sizes: Readonly<Record<string, string>>, complete = true): PositionList {
  const records = Object.entries(sizes).map(([market, amount]) => ({
    positionId: `of ${market}`,
    market,
    amount: formatDecimal(decimal(amount)),
  }));
  return { records, setAside: [], complete };
}

function open(ordinal: number, { wasRestored = false } = {}) {
  let nowMs = 1_000_000;
  const falls = new Falls();
  const company = { isAlone: true, hasCompany: true, watchesOnly: undefined, isKnown: () => true };
  const turns = new LaneTurns({
    clock: { monotonicMs: () => nowMs },
    company: company satisfies Company,
    ordinal,
    falls: () => falls,
    shownWithinMs: () => SHOWN_MS,
  });
  turns.begin(wasRestored);
  return {
    turns,
    company,
    othersRead: (sizes: Readonly<Record<string, string>>, ageMs = 5_000) =>
      falls.begin('desk', list(sizes), ageMs),
    pass: (ms: number) => (nowMs += ms),
    read: (sizes: Readonly<Record<string, string>>, complete = true) =>
      falls.note('desk', list(sizes, complete), nowMs),
    readWithNulls: (sizes: Readonly<Record<string, string>>, positionId: string) =>
      falls.note('desk', { ...list(sizes), notOpenYet: [{ positionId, market: 'ETH_PERP' }] }, nowMs),
  };
}

test('the first process acts at once, each other one a turn later, counted from when its action became due', () => {
  for (const ordinal of [0, 1, 2]) {
    const { turns, pass, read } = open(ordinal);
    pass(600_000);
    expect(turns.isTurn(BTC)).toBe(ordinal === 0);
    pass(ordinal * TURN_MS - 1);
    read({ BTC_PERP: '1' });
    expect(turns.isTurn(BTC)).toBe(ordinal === 0);
    pass(1);
    // A turn begins with a read.
    expect(turns.isTurn(BTC)).toBe(ordinal === 0);
    read({ BTC_PERP: '1' });
    expect(turns.isTurn(BTC)).toBe(true);
    expect(turns.isTurn(ETH)).toBe(ordinal === 0);
  }
});

test('a position that falls delays the turn, a record set aside does not', () => {
  const { turns, pass, read } = open(1);
  read({ BTC_PERP: '1', ETH_PERP: '5' });
  turns.isTurn(BTC);
  pass(TURN_MS - 10);
  read({ BTC_PERP: '1' }, false);
  pass(10);
  read({ BTC_PERP: '1' }, false);
  expect(turns.isTurn(BTC)).toBe(true);
  read({ BTC_PERP: '1' });
  expect(turns.isTurn(BTC)).toBe(false);
  pass(TURN_MS);
  expect(turns.isTurn(BTC)).toBe(false);
  read({ BTC_PERP: '1' });
  expect(turns.isTurn(BTC)).toBe(true);
});

test('a position listed with nulls has not fallen', () => {
  const { turns, pass, read, readWithNulls } = open(1);
  read({ BTC_PERP: '1', ETH_PERP: '5' });
  turns.isTurn(BTC);
  pass(TURN_MS);
  readWithNulls({ BTC_PERP: '1' }, 'of ETH_PERP');
  expect(turns.isTurn(BTC)).toBe(true);
});

test('its own reductions delay nothing, and it keeps its turn until a whole turn has passed without a request', () => {
  const { turns, pass, read } = open(1);
  read({ BTC_PERP: '1', ETH_PERP: '5' });
  turns.isTurn(BTC);
  turns.isTurn(ETH);
  pass(TURN_MS);
  read({ BTC_PERP: '1', ETH_PERP: '5' });
  turns.noteSent(BTC);
  pass(1_000);
  read({ BTC_PERP: '0.5', ETH_PERP: '5' });
  expect([turns.isTurn(BTC), turns.isTurn(ETH)]).toEqual([true, true]);
  turns.rest(BTC);
  pass(TURN_MS);
  read({ BTC_PERP: '0.5', ETH_PERP: '5' });
  expect(turns.isTurn(BTC)).toBe(false);
});

test('an action that pauses for a moment is still the same, after a longer rest it is a new one', () => {
  const { turns, pass, read } = open(1);
  turns.isTurn(BTC);
  turns.rest(BTC);
  pass(1_000);
  turns.isTurn(BTC);
  pass(TURN_MS - 1_000);
  read({ BTC_PERP: '1' });
  expect(turns.isTurn(BTC)).toBe(true);
  turns.rest(BTC);
  pass(3_000);
  read({ BTC_PERP: '1' });
  expect(turns.isTurn(BTC)).toBe(false);
});

test('an answer that shows another process acting starts a new turn', () => {
  const { turns, pass, read } = open(1);
  turns.isTurn(BTC);
  pass(TURN_MS);
  read({ BTC_PERP: '1' });
  turns.noteSent(BTC);
  turns.yieldTurn(BTC);
  expect(turns.isTurn(BTC)).toBe(false);
  pass(TURN_MS);
  read({ BTC_PERP: '1' });
  expect(turns.isTurn(BTC)).toBe(true);
});

test('a restored first process waits one turn in all', () => {
  const { turns, pass, read } = open(0, { wasRestored: true });
  expect(turns.isTurn(BTC)).toBe(false);
  pass(TURN_MS);
  read({ BTC_PERP: '1' });
  expect([turns.isTurn(BTC), turns.isTurn(ETH)]).toEqual([true, true]);
});

test('the sizes before reductions by others are kept for the length of a turn', () => {
  const { turns, pass, read } = open(1);
  read({ BTC_PERP: '-1', ETH_PERP: '5' });
  pass(1_000);
  read({ BTC_PERP: '-0.75', ETH_PERP: '5' });
  pass(1_000);
  read({ BTC_PERP: '-0.5', ETH_PERP: '5' });
  expect([...turns.sizesBefore('desk')]).toEqual([['of BTC_PERP', '1']]);
  turns.noteSent(ETH);
  read({ BTC_PERP: '-0.5', ETH_PERP: '4' });
  expect([...turns.sizesBefore('desk')]).toEqual([['of BTC_PERP', '1']]);
  pass(TURN_MS + 1);
  expect([...turns.sizesBefore('desk')]).toEqual([]);
});

test('a process that has read nothing yet uses the recent reads of others; later it does not', () => {
  const { turns, read, othersRead } = open(1);
  othersRead({ BTC_PERP: '3' }, 3_600_000);
  othersRead({ BTC_PERP: '1' });
  read({ BTC_PERP: '0.5' });
  othersRead({ BTC_PERP: '2' });
  read({ BTC_PERP: '0.5' });
  expect([...turns.sizesBefore('desk')]).toEqual([['of BTC_PERP', '1']]);
});

test('the size before a request sent alone survives the hand-back', () => {
  const { turns, company, pass, read } = open(0);
  read({ BTC_PERP: '1' });
  turns.noteSent(BTC);
  turns.handBack();
  company.isAlone = false;
  read({ BTC_PERP: '0.5' });
  expect([...turns.sizesBefore('desk')]).toEqual([['of BTC_PERP', '1']]);
  company.hasCompany = false;
  expect([...turns.sizesBefore('desk')]).toEqual([]);
  company.hasCompany = true;
  pass(15_000);
  read({ BTC_PERP: '0.25' });
  expect([...turns.sizesBefore('desk')]).toEqual([]);
});
