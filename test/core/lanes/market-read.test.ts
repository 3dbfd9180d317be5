import { expect, test } from 'vitest';
import { readPositions } from '../../../src/core/lanes/market-read.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { d, PERP, position, positionsSnapshot, settings, short } from '../rules/fixtures.ts';

const RULES = compileRules([], settings());
const taken = (...records: readonly ReturnType<typeof position>[]) =>
  readPositions(positionsSnapshot(records), emptyAccountState('desk-1'), RULES);

test('a position for a lane has its decimals, by market', () => {
  const byMarket = taken(
    position({ basePrice: d('100.1'), amount: d('3'), unrealizedPnl: d('-30.10') }),
    short({ positionId: '43', market: 'ETH_PERP', liquidationPrice: null }),
    position({ positionId: '44' }),
  );
  expect(byMarket.get('BTC_PERP')).toMatchObject([
    {
      positionId: '42',
      positionSide: 'BOTH',
      openDate: 1_700_000_000,
      direction: 'long',
      sizeBase: '3',
      markPrice: '90.066666667',
      liquidationPrice: '81',
      liquidationState: 'none',
      disagreement: false,
      basePrice: '100.1',
      realizedPnl: '1.5',
      fenceRisk: null,
    },
    { positionId: '44' },
  ]);
  expect(byMarket.get('ETH_PERP')).toMatchObject([
    { direction: 'short', markPrice: '110', liquidationPrice: 'none', distance: 'none' },
  ]);
});

test('a field missing in the record is null, never a number', () => {
  const of = (record: Parameters<typeof position>[0]) => taken(position(record)).get('BTC_PERP')?.[0];
  expect(of({ openDate: undefined, liquidationPrice: undefined, liquidationState: undefined })).toMatchObject(
    {
      openDate: null,
      markPrice: '90',
      liquidationPrice: null,
      distance: null,
      liquidationState: null,
      disagreement: false,
    },
  );
  expect(of({ unrealizedPnl: undefined })).toMatchObject({ markPrice: null, markError: 0, distance: null });
  expect(of({ amount: d('0') })).toMatchObject({ sizeBase: '0', markPrice: null, direction: null });
});

test('positions of one market alone, with coins as collateral, tell nothing of the pool they share with others', () => {
  const rules = compileRules([], settings({ marginModel: 'cross', holdings: { ETH: 50 } }));
  const snapshot = positionsSnapshot([position()]);
  const taken = (ofMarket: boolean) =>
    readPositions(snapshot, emptyAccountState('desk-1'), rules, ofMarket).get('BTC_PERP')?.[0];
  expect(Number(taken(false)?.jointLiquidationPrice)).toBeGreaterThan(81);
  expect(taken(true)?.jointLiquidationPrice).toBeUndefined();
});

test('one position of unknown side leaves the others a joint price for their stops, nearer than their own', () => {
  const rules = compileRules(
    [],
    settings({ marginModel: 'cross', bothSign: 'unsigned', holdings: { SOL: 500 } }),
  );
  const records = ['BTC', 'ETH', 'XRP', 'SOL'].map((coin, index) =>
    position({
      positionId: String(index),
      market: `${coin}_PERP`,
      liquidationPrice: coin === 'SOL' ? null : d('20'),
    }),
  );
  const byMarket = readPositions(positionsSnapshot(records), emptyAccountState('desk-1'), rules);
  expect(byMarket.get('SOL_PERP')).toMatchObject([{ direction: null }]);
  expect(Number(byMarket.get('BTC_PERP')?.[0]?.jointLiquidationPrice)).toBeGreaterThan(20);
});

test('a stop was placed by a bound of the account, beyond the liquidation', () => {
  const jointPriceWith = (freeMargin: string): string | undefined => {
    const records = Array.from({ length: 30 }, (_, index) => {
      const own = { positionId: String(index), market: `C${index}_PERP`, liquidationPrice: null };
      return position({ ...own, margin: d('20'), freeMargin: d(freeMargin) });
    });
    const rules = compileRules([], settings({ marketSettings: () => PERP, ownOrders: 'none' }));
    const read = readPositions(positionsSnapshot(records), emptyAccountState('desk-1'), rules);
    return read.get('C0_PERP')?.[0]?.jointLiquidationPrice;
  };
  expect(jointPriceWith('1')).toBeDefined();
  expect(jointPriceWith('0')).toBeUndefined();
});
