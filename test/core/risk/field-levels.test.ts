import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { FieldCache, type FieldReader } from '../../../src/core/fields/field-cache.ts';
import { fieldsOf } from '../../../src/core/fields/field-catalogue.ts';
import type { FieldQuantity } from '../../../src/core/fields/field-values.ts';
import type { CreditLineRecord, PositionRecord } from '../../../src/core/ports/exchange.ts';
import { AccountQuantities } from '../../../src/core/quantities/account.ts';
import { CreditLineQuantities } from '../../../src/core/quantities/credit-line.ts';
import { PositionQuantities } from '../../../src/core/quantities/position.ts';
import { known } from '../../../src/core/quantities/quantity.ts';
import { levelThresholds, ltvLevels, priceLevels } from '../../../src/core/risk/cadence.ts';
import { compileCondition } from '../../../src/core/rules/condition.ts';
import {
  above,
  at,
  creditLine,
  d,
  LOAN,
  list,
  position,
  positionsSnapshot,
  read,
  settings,
  short,
  snapshot,
} from '../rules/fixtures.ts';

describe('every field that moves with the price has its level where its value changes', () => {
  const still = known({ variancePerMs: 1e-12, driftPerMs: 0 });
  const numbersOf = (on: 'position' | 'creditLine') =>
    fieldsOf(on).flatMap(({ type, parameters, name }) =>
      type === 'number' && parameters.length === 0 ? [name] : [],
    );
  const changed = (before: readonly FieldQuantity[], after: readonly FieldQuantity[]) =>
    after.flatMap((quantity, index) =>
      quantity.kind === 'value' &&
      typeof quantity.value === 'number' &&
      !isDeepStrictEqual(quantity, before[index])
        ? [{ index, value: quantity.value }]
        : [],
    );
  const thresholdsOf = (field: string, value: number, cached: FieldReader) =>
    levelThresholds(compileCondition(above(field, value), cached).leaves, cached);
  const rounded = (level: number | undefined) => Number(level?.toFixed(6));

  const moved = { unrealizedPnl: d('-22.00'), pnlPercent: d('-11') };
  test.each([
    ['long', position(), position(moved), 89],
    ['short', short(), short(moved), 111],
  ])('of a %s', (_, was, is, price) => {
    const names = numbersOf('position');
    const cached = new FieldCache('position');
    const valuesOf = (record: PositionRecord) => {
      cached.load({
        position: new PositionQuantities(record, settings()),
        account: new AccountQuantities(positionsSnapshot([record]), settings(), at(0)),
        motion: still,
        unprotectedMs: known(0),
      });
      return names.map((name) => cached.read(cached.slot(name)));
    };
    const levels = changed(valuesOf(was), valuesOf(is)).map(({ index, value }) => {
      const thresholds = thresholdsOf(names[index] ?? '', value, cached);
      const found = priceLevels(new PositionQuantities(was, settings()), thresholds, still);
      return [names[index], rounded(price < 100 ? found?.lower : found?.upper)] as const;
    });
    // Left out: the price error hardly moves with the price, and a forecast has its own reach.
    const others = levels.filter(([name = '']) => !['markError', 'minutesToLiquidation'].includes(name));
    expect(others.length).toBe(levels.length - 2);
    expect(others.length).toBeGreaterThan(4);
    expect(others).toEqual(others.map(([name]) => [name, price]));
  });

  test('of a credit line', () => {
    const names = numbersOf('creditLine');
    const cached = new FieldCache('creditLine');
    const valuesOf = (record: CreditLineRecord) => {
      const account = new AccountQuantities(
        snapshot({ creditLine: read(list([record])) }),
        settings(),
        at(0),
      );
      cached.load({ creditLine: new CreditLineQuantities(record, settings()), account, motion: still });
      return names.map((name) => cached.read(cached.slot(name)));
    };
    const levels = changed(valuesOf(LOAN), valuesOf(creditLine({ currentLtv: d('62') }))).map(
      ({ index, value }) => {
        const thresholds = thresholdsOf(names[index] ?? '', value, cached);
        const found = ltvLevels(new CreditLineQuantities(LOAN, settings()), thresholds, still);
        return [names[index], rounded(found?.upper)] as const;
      },
    );
    const others = levels.filter(([name]) => name !== 'minutesToMarginCall');
    expect(others.length).toBe(levels.length - 1);
    expect(others.length).toBeGreaterThan(4);
    expect(others).toEqual(others.map(([name]) => [name, 0.62]));
  });
});
