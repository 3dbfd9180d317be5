import { describe, expect, test } from 'vitest';
import { AccountQuantities } from '../../../src/core/quantities/account.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountState } from '../../../src/core/rules/account-state.ts';
import { rememberBalances, rememberFreeMargin, unconfirmedZeros } from '../../../src/core/rules/balances.ts';
import { at, d, position, positionsSnapshot, read, settings, snapshot } from './fixtures.ts';

type Balances = AccountState['balances'];

function remembered(
  before: Balances,
  balances: Readonly<Record<string, string | null>>,
  { timerMs = 0, sinceReadMs = 1, ageMs = 0 } = {},
): Balances {
  const mainBalance = read(balances as Readonly<Record<string, DecimalString | null>>, ageMs);
  const account = new AccountQuantities(snapshot({ mainBalance }, at(0)), settings(), at(0));
  return rememberBalances(before, account, timerMs, () => sinceReadMs);
}

const zeros = (balances: Balances): readonly string[] => [
  ...unconfirmedZeros(balances === undefined ? {} : { balances }),
];

describe('an asset that had a balance and is shown as 0', () => {
  const before = remembered(undefined, { USDT: '5', BTC: '0' });

  test('is unconfirmed, even if another asset has appeared instead', () => {
    expect(before).toEqual({ assets: [{ asset: 'USDT' }] });
    expect(zeros(before)).toEqual([]);
    const swapped = remembered(before, { USDT: '0', BTC: '1' }, { ageMs: 70 });
    expect(swapped).toEqual({
      assets: [{ asset: 'BTC' }, { asset: 'USDT', unseen: { reads: 1, forMs: 0 } }],
      ageMs: 70,
    });
    expect(zeros(swapped)).toEqual(['USDT']);
  });

  test('is unknown and not gone while its entry cannot be read', () => {
    expect(remembered(before, { USDT: null })).toBe(before);
    const mainBalance = read({ USDT: null });
    const account = new AccountQuantities(snapshot({ mainBalance }, at(0)), settings(), at(0));
    expect(account.mainBalance('USDT')).toEqual({ kind: 'unknown', why: 'fieldMissing' });
  });

  test('is there again with the next read that shows it', () => {
    const missed = remembered(before, { USDT: '0' });
    expect(remembered(missed, { USDT: '1' })).toEqual({ assets: [{ asset: 'USDT' }] });
  });

  test('is gone after three reads and three minutes; the same read counts once', () => {
    const first = remembered(before, {});
    const second = remembered(first, {}, { timerMs: 179_999 });
    expect(zeros(second)).toEqual(['USDT']);
    const again = remembered(second, {}, { timerMs: 1, sinceReadMs: 0 });
    expect(again?.assets).toEqual([{ asset: 'USDT', unseen: { reads: 2, forMs: 180_000 } }]);
    expect(remembered(again, {})).toEqual({ assets: [] });
    expect(zeros(remembered(second, {}))).toEqual(['USDT']);
  });

  test('is judged by the time since the read that the memory comes from', () => {
    const asked: (number | undefined)[] = [];
    const account = new AccountQuantities(snapshot({ mainBalance: read({}) }, at(0)), settings(), at(0));
    const since = (ageMs: number | undefined) => {
      asked.push(ageMs);
      return undefined;
    };
    const missed = rememberBalances(before, account, 0, since);
    rememberBalances({ assets: missed?.assets ?? [], ageMs: 40 }, account, 0, since);
    expect(asked).toEqual([undefined, 40]);
  });
});

test('an unchanged or outdated read leaves the memory unchanged', () => {
  const before = remembered(undefined, { USDT: '5' });
  expect(remembered(before, { USDT: '7', BTC: '0' })).toBe(before);
  expect(remembered(before, { BTC: '1' }, { ageMs: 10_001 })).toBe(before);
  expect(remembered(before, { USDT: '5', BTC: '1' })).not.toBe(before);
});

describe('free margin of positions without a liquidation price that is shown as 0', () => {
  const remember = (
    before: AccountState['freeMargin'],
    freeMargin: string | undefined,
    { timerMs = 0, isNewRead = true, liquidationPrice = null as DecimalString | null } = {},
  ) => {
    const shown = freeMargin === undefined ? [] : [position({ liquidationPrice, freeMargin: d(freeMargin) })];
    const account = new AccountQuantities(positionsSnapshot(shown, at(0)), settings(), at(0));
    return rememberFreeMargin(before, account, timerMs, isNewRead);
  };
  const there = remember(undefined, '5');
  const names = (freeMargin: AccountState['freeMargin']) => [
    ...unconfirmedZeros(freeMargin === undefined ? {} : { freeMargin }),
  ];

  test('is believed at first sight, and else after three reads and three minutes', () => {
    expect(remember(undefined, '0')).toBeUndefined();
    expect(names(there)).toEqual([]);
    const second = remember(remember(there, '0'), '0', { timerMs: 179_999 });
    expect(names(second)).toEqual(['freeMargin']);
    const again = remember(second, '0', { timerMs: 1, isNewRead: false });
    expect(again).toEqual({ unseen: { reads: 2, forMs: 180_000 } });
    expect(remember(again, '0')).toBeUndefined();
  });

  test('is there again with the next read that shows it, and stays the same value while it is', () => {
    expect(remember(remember(there, '0'), '1')).toEqual({});
    expect(remember(there, '2')).toBe(there);
  });

  test('is not judged by an empty list, nor where liquidation prices tell what is left', () => {
    expect(remember(there, undefined)).toBe(there);
    expect(remember(there, '0', { liquidationPrice: d('50') })).toBe(there);
  });
});
