import { expect, test } from 'vitest';
import { readPositions } from '../../../src/core/lanes/market-read.ts';
import type { Snapshot } from '../../../src/core/quantities/snapshot.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { at, d, PERP, position, positionsSnapshot, read, settings, short } from '../rules/fixtures.ts';

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

test('with nothing free the margin in use bounds the joint price, where it is certain and nothing is missing', () => {
  const rules = compileRules([], settings({ marketSettings: () => PERP }));
  const records = Array.from({ length: 30 }, (_, index) =>
    position({
      positionId: String(index),
      market: `C${index}_PERP`,
      liquidationPrice: null,
      margin: d('20'),
      freeMargin: d('0'),
    }),
  );
  const state = emptyAccountState('desk-1');
  const firstOf = (snapshot: Snapshot, known = state) =>
    readPositions(snapshot, known, rules).get('C0_PERP')?.[0];
  const whole = positionsSnapshot(records);
  expect(firstOf(whole)).toMatchObject({ jointLiquidationPrice: expect.anything(), isJointAtMost: true });
  const unseen = { reads: 1, forMs: 0 };
  const gone = { positionId: '99', unprotectedMs: 0, cover: 'open', unseen } as const;
  const { positions } = whole.sources;
  const value = { ...(positions?.kind === 'read' && positions.value), notOpenYet: [{}] } as never;
  for (const one of [
    firstOf(positionsSnapshot(records, at(0), false)),
    firstOf({ ...whole, sources: { positions: read(value) } }),
    firstOf(whole, { ...state, positions: [gone] }),
    firstOf(whole, { ...state, freeMargin: { unseen } }),
  ]) {
    expect(one?.jointLiquidationPrice).toBeUndefined();
    expect(one?.isJointAtMost).toBeUndefined();
  }
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
