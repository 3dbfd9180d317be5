import { expect, test } from 'vitest';
import { accountRow } from '../../../src/core/lines/account-row.ts';
import { positionWords } from '../../../src/core/lines/position-words.ts';
import { emptyView } from '../../../src/core/view/account-view.ts';
import { CALM, position, text } from '../../support/account-view.ts';

const VIEW = emptyView('desk-1', CALM);

test('a row counts the waiting operator orders that reduce', () => {
  const order = (kind: string) => ({ kind }) as (typeof VIEW.inbox)[number];
  const inbox = ['reduce', 'approve', 'flatten', 'reduce', 'veto'].map(order);
  expect(accountRow({ ...VIEW, inbox }).doing).toEqual({ reductions: 0, orders: 0, stops: 0, byHand: 2 });
});

test('a position\'s "seen" is the age of its own source, and its cover has a share only when that is known', () => {
  const source = (name: string, ageMs: number) => ({ source: name, ageMs }) as (typeof VIEW.sources)[number];
  const view = { sources: [source('balances', 61_000), source('positions', 2_000)] };
  const line = position('1', { stopPrices: [text('28000')], stopCover: 'ok' });
  expect(positionWords(line, view)).toBe(
    'BTC_PERP: long 1.500, mark 29500.5, 15.25 % from liquidation, covered by a stop, seen 2 s ago',
  );
  expect(positionWords({ ...line, stopCoverShare: 0.5, markPrice: text('29000') }, { sources: [] })).toBe(
    'BTC_PERP: long 1.500, mark 29000, 15.25 % from liquidation, ' +
      'covered 50.00 % at 28000, the nearest 3.45 % away, not read any more',
  );
});
