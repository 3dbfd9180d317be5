import { describe, expect, test } from 'vitest';
import type { PositionList, PositionRecord } from '../../../src/core/ports/exchange.ts';
import { SamePositions } from '../../../src/pipeline/poll/read-memory.ts';

const position = (positionId: string, openDate?: number, market = 'BTC_PERP'): PositionRecord =>
  ({ positionId, market, amount: '1', ...(openDate === undefined ? {} : { openDate }) }) as PositionRecord;
const list = (...records: readonly PositionRecord[]): PositionList => ({
  records,
  setAside: [],
  complete: true,
});

describe('the same exchange account under two keys', () => {
  test('is recognised by positions of the same id, market and date', () => {
    const same = new SamePositions();
    same.note('a', list(position('1', 100), position('2', 200)));
    same.note('b', list(position('2', 200)));
    same.note('c', list(position('3', 200)));
    expect([same.othersLike('a'), same.othersLike('b'), same.othersLike('c')]).toEqual([['b'], ['a'], []]);
  });

  test('an id alone, which another account may also have, proves nothing', () => {
    const same = new SamePositions();
    same.note('a', list(position('1', 100), position('2'), position('3', 300)));
    same.note('b', list(position('1', 101), position('2'), position('3', 300, 'ETH_PERP')));
    expect(same.othersLike('a')).toEqual([]);
  });

  test('the newest list of each account counts, and removed accounts do not', () => {
    const same = new SamePositions();
    same.note('a', list(position('1', 100)));
    same.note('b', list(position('1', 100)));
    same.note('b', list(position('4', 400)));
    expect(same.othersLike('a')).toEqual([]);
    same.note('b', list(position('1', 100)));
    same.forget('b');
    expect(same.othersLike('a')).toEqual([]);
  });
});
