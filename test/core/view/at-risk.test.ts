import { expect, test } from 'vitest';
import { atRiskOf, nearestOf } from '../../../src/core/view/at-risk.ts';
import { account, creditLine, position } from '../../support/account-view.ts';

const { sources } = account('a');
const moneyOf = () => 'USDT';

test('the nearest harm is the least of all markets, the joint distance and the margin call; unknown is not none', () => {
  const held = {
    positions: [position('1'), position('2', { liquidationDistance: 'none' })],
    creditLines: [],
    sources,
  };
  expect(nearestOf({ ...held, jointDistance: 0.12 })).toBe(0.12);
  expect(nearestOf({ ...held, jointDistance: 0.3 })).toBe(0.1525);
  expect(nearestOf({ ...held, jointDistance: 0.12, creditLines: [creditLine()] })).toBe(0.075);
  expect(
    nearestOf({ ...held, jointDistance: 0.12, creditLines: [creditLine({ collateralMayFall: -0.2 })] }),
  ).toBe(0);
  const unknown = position('1', { liquidationDistance: null });
  expect(nearestOf({ ...held, positions: [unknown], jointDistance: null })).toBeNull();
});

test('an account counts as without positions only if the list was read completely', () => {
  const nothing = { positions: [], creditLines: [], jointDistance: null };
  expect(nearestOf({ ...nothing, sources })).toBe('none');
  expect(nearestOf({ ...nothing, sources: [] })).toBeNull();
  for (const change of [{ complete: false }, { readAtMs: null }]) {
    const changed = sources.map((one) => Object.assign({}, one, change));
    expect(nearestOf({ ...nothing, sources: changed })).toBeNull();
  }
});

test('the amount at risk is the worth of positions and collateral, and unknown if one of them is', () => {
  const positions = [position('1'), position('2', { notional: 1_000 })];
  const line = creditLine({ asset: 'EUR' });
  expect(atRiskOf({ positions, creditLines: [line] }, moneyOf)).toEqual([
    { money: 'USDT', worth: 45_250.75 },
    { money: 'EUR', worth: 50_012.5 / 0.74 },
  ]);
  const unknown = position('3', { notional: null });
  expect(atRiskOf({ positions: [...positions, unknown], creditLines: [] }, moneyOf)).toEqual([
    { money: 'USDT', worth: null },
  ]);
});
