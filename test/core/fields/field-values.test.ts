import { describe, expect, test } from 'vitest';
import { FieldCache } from '../../../src/core/fields/field-cache.ts';
import { FIELD_CATALOGUE, fieldsOf, findField } from '../../../src/core/fields/field-catalogue.ts';
import type { FieldQuantity } from '../../../src/core/fields/field-values.ts';
import type {
  CreditLineRecord,
  PositionRecord,
  SpotOrderRecord,
  TransferRecord,
} from '../../../src/core/ports/exchange.ts';
import { AccountQuantities } from '../../../src/core/quantities/account.ts';
import { CreditLineQuantities } from '../../../src/core/quantities/credit-line.ts';
import { PositionQuantities } from '../../../src/core/quantities/position.ts';
import { known, NONE, type Quantity, unknown } from '../../../src/core/quantities/quantity.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { OwnStop, Snapshot } from '../../../src/core/quantities/snapshot.ts';
import { knownTransfers } from '../../../src/core/quantities/transfer.ts';
import type { Motion } from '../../../src/core/risk/forecast.ts';
import type { FieldParameter } from '../../../src/core/rules/rule.ts';
import {
  at,
  creditLine,
  d,
  LOAN,
  list,
  type Overrides,
  position,
  positionsSnapshot,
  read,
  SERVER_MS,
  settings,
  short,
  snapshot,
} from '../rules/fixtures.ts';

interface Row {
  readonly field: string;
  readonly gives: FieldQuantity;
  readonly parameter?: FieldParameter;
  readonly because?: string;
}

function check(gives: FieldQuantity, expected: FieldQuantity): void {
  if (
    gives.kind !== 'unknown' &&
    'value' in gives &&
    'value' in expected &&
    typeof expected.value === 'number'
  ) {
    expect(gives.kind).toBe(expected.kind);
    expect(gives.value).toBeCloseTo(expected.value, 9);
  } else expect(gives).toEqual(expected);
}

const MOTION: Motion = { variancePerMs: 1e-4 / 86_400_000, driftPerMs: -0.024 / 86_400_000 };

interface PositionRow extends Row {
  readonly record?: PositionRecord;
  readonly others?: readonly PositionRecord[];
  readonly settings?: Partial<AccountSettings>;
  readonly ownStops?: readonly OwnStop[];
  readonly motion?: Quantity<Motion>;
  readonly complete?: boolean;
  readonly serverTime?: false;
}

const stop = (activationPrice: string, amount: string, confirmed = true): OwnStop => ({
  positionId: '42',
  activationPrice: d(activationPrice),
  amount: d(amount),
  confirmed,
});

const missing = unknown('fieldMissing');

const POSITION_ROWS: readonly PositionRow[] = [
  { field: 'liquidationDistance', gives: known(0.1) },
  { field: 'liquidationDistance', record: short(), gives: known(0.1) },
  { field: 'liquidationDistance', record: position({ liquidationPrice: null }), gives: NONE },
  { field: 'liquidationDistance', record: position({ liquidationPrice: undefined }), gives: missing },
  { field: 'liquidationDistance', record: position({ unrealizedPnl: undefined }), gives: missing },
  { field: 'liquidationDistance', record: position({ amount: d('0') }), gives: unknown('zeroSize') },
  {
    field: 'liquidationDistance',
    record: position({ unrealizedPnl: d('-40') }),
    gives: unknown('disagreement'),
    because: 'it is passed, and the exchange does not liquidate',
  },
  {
    field: 'liquidationDistance',
    record: position({ unrealizedPnl: d('-40'), liquidationState: { known: true, value: 'liquidation' } }),
    gives: known(-1 / 80),
  },
  {
    field: 'liquidationDistance',
    record: position({ unrealizedPnl: d('-200') }),
    gives: unknown('notPositive'),
  },
  { field: 'liquidationState', gives: known('none') },
  {
    field: 'liquidationState',
    record: position({ liquidationState: { known: true, value: 'margin_call' } }),
    gives: known('margin_call'),
  },
  {
    field: 'liquidationState',
    record: position({ liquidationState: { known: false, raw: 'sudden_death' } }),
    gives: known('unrecognised'),
  },
  { field: 'liquidationState', record: position({ liquidationState: undefined }), gives: missing },
  { field: 'liquidationPrice', gives: known(81) },
  { field: 'liquidationPrice', record: position({ liquidationPrice: null }), gives: NONE },
  // Drift -2.4 % a day towards a barrier ln(90/81) away, volatility 1 % per sqrt(day): after 30 days it is
  // far past the barrier, at many deviations.
  { field: 'liquidationProbability', parameter: { windowMs: 30 * 86_400_000 }, gives: known(1) },
  { field: 'liquidationProbability', parameter: { windowMs: 1_000 }, gives: known(0) },
  {
    field: 'liquidationProbability',
    parameter: { windowMs: 1_000 },
    record: position({ unrealizedPnl: d('-38') }),
    motion: unknown('tooFewSamples'),
    gives: known(1),
    because: 'at the barrier no forecast is needed',
  },
  {
    field: 'liquidationProbability',
    parameter: { windowMs: 1_000 },
    motion: unknown('tooFewSamples'),
    gives: unknown('tooFewSamples'),
  },
  {
    field: 'liquidationProbability',
    parameter: { windowMs: 1_000 },
    record: position({ liquidationPrice: null }),
    gives: NONE,
  },
  {
    field: 'minutesToLiquidation',
    motion: known({ ...MOTION, variancePerMs: 0 }),
    gives: known((Math.log(90 / 81) / 0.024) * 1440),
  },
  {
    field: 'minutesToLiquidation',
    record: position({ unrealizedPnl: d('-40') }),
    gives: unknown('disagreement'),
  },
  {
    field: 'minutesToLiquidation',
    record: position({ unrealizedPnl: d('-40'), liquidationState: { known: true, value: 'liquidation' } }),
    gives: known(0),
  },
  { field: 'minutesToLiquidation', record: position({ liquidationPrice: null }), gives: NONE },
  {
    field: 'minutesToLiquidation',
    motion: known({ variancePerMs: 0, driftPerMs: 1 }),
    gives: NONE,
    because: 'nothing moves towards it',
  },
  {
    field: 'minutesToLiquidation',
    record: position({ liquidationPrice: d('0') }),
    gives: NONE,
    because: 'a price cannot fall to nothing',
  },
  ...['0', '-5'].map((price) => ({
    field: 'liquidationProbability',
    parameter: { windowMs: 1_000 },
    record: position({ liquidationPrice: d(price) }),
    gives: NONE,
  })),
  {
    field: 'liquidationDistance',
    record: position({
      positionSide: { known: true, value: 'SHORT' },
      liquidationPrice: d('0'),
      liquidationState: { known: true, value: 'liquidation' },
    }),
    gives: unknown('disagreement'),
    because: 'no rise ends at nothing: it was read as -100 %, and fired',
  },
  { field: 'disagreement', gives: known(false) },
  { field: 'disagreement', record: position({ unrealizedPnl: d('-40') }), gives: known(true) },
  {
    field: 'disagreement',
    record: position({ unrealizedPnl: d('-40'), liquidationState: { known: true, value: 'liquidation' } }),
    gives: known(false),
  },
  {
    field: 'disagreement',
    record: position({ unrealizedPnl: d('-40'), liquidationState: { known: true, value: 'margin_call' } }),
    gives: known(true),
  },
  { field: 'disagreement', record: position({ liquidationPrice: null }), gives: known(false) },
  { field: 'disagreement', record: position({ unrealizedPnl: undefined }), gives: missing },
  { field: 'directionConflict', gives: known(false) },
  {
    field: 'directionConflict',
    record: position({ amount: d('-2'), positionSide: { known: true, value: 'LONG' } }),
    gives: known(true),
    because: 'a negative amount is no long',
  },
  {
    field: 'directionConflict',
    record: position({ liquidationPrice: d('121') }),
    gives: known(true),
    because: 'a plus sign, but it is liquidated when the price rises',
  },
  {
    field: 'directionConflict',
    record: position({ liquidationPrice: d('105'), unrealizedPnl: d('20') }),
    gives: known(false),
  },
  { field: 'direction', gives: known('long') },
  { field: 'direction', record: short(), gives: known('short') },
  { field: 'positionSide', gives: known('BOTH') },
  { field: 'positionSide', record: position({ positionSide: undefined }), gives: missing },
  {
    field: 'positionSide',
    record: position({ positionSide: { known: false, raw: 'LEFT' } }),
    gives: unknown('notDocumented'),
  },
  { field: 'market', gives: known('BTC_PERP') },
  { field: 'amount', record: short(), gives: known(-2) },
  { field: 'size', record: short(), gives: known(2) },
  { field: 'notional', gives: known(180) },
  { field: 'notional', record: position({ basePrice: undefined }), gives: missing },
  { field: 'netExposure', gives: known(2) },
  {
    field: 'netExposure',
    record: position({ amount: d('0.3'), positionSide: { known: true, value: 'LONG' } }),
    others: [
      position({ positionId: '1', amount: d('0.1'), positionSide: { known: true, value: 'SHORT' } }),
      position({ positionId: '2', amount: d('0.2'), positionSide: { known: true, value: 'SHORT' } }),
      position({ positionId: '3', amount: d('7'), market: 'ETH_PERP' }),
    ],
    gives: known(0),
    because: 'summed as decimals, and only its own market',
  },
  { field: 'netExposure', complete: false, gives: unknown('listIncomplete') },
  {
    field: 'netExposure',
    others: [position({ positionId: '1', amount: d('-2'), positionSide: { known: true, value: 'LONG' } })],
    gives: unknown('directionUnknown'),
  },
  { field: 'basePrice', gives: known(100) },
  { field: 'markPrice', gives: known(90) },
  { field: 'markPrice', record: short(), gives: known(110) },
  // Half of 0.01 / 2 from unrealizedPnl "-20.00", and half of the price step 0.1 from basePrice "100.0".
  { field: 'markError', gives: known((0.0025 + 0.05) / 90) },
  {
    field: 'markError',
    record: position({ basePrice: d('100') }),
    gives: known((0.0025 + 0.05) / 90),
    because: 'an entry price is at least as fine as the price step, so "100" is 100.0 without its zero',
  },
  {
    field: 'markError',
    record: position({ basePrice: d('100'), market: 'BTC_USDT' }),
    gives: known((0.0025 + 0.5) / 90),
    because: 'without a known price step the written digits count',
  },
  {
    field: 'markError',
    record: position({ amount: d('0.001'), unrealizedPnl: d('0'), pnlPercent: d('0') }),
    gives: known((0.5 + 0.05) / 100),
    because: 'with no profit yet, or a round one, money counted in BTC was too coarse to act on',
  },
  {
    field: 'markError',
    record: position({
      amount: d('0.001'),
      unrealizedPnl: d('0'),
      freeMargin: d('60.123456'),
      pnlPercent: undefined,
    }),
    gives: known((500 + 0.05) / 100),
    because: 'the digits of another figure do not show how exact the profit is',
  },
  { field: 'unrealizedPnl', gives: known(-20) },
  { field: 'pnlPercent', gives: known(-0.1) },
  { field: 'pnl', gives: known(1.5) },
  { field: 'margin', gives: known(20) },
  { field: 'freeMargin', gives: known(60) },
  { field: 'marginUsage', gives: known(0.25) },
  {
    field: 'marginUsage',
    record: position({ margin: d('20'), freeMargin: d('-20') }),
    gives: unknown('notPositive'),
  },
  { field: 'marginUsage', record: position({ freeMargin: undefined }), gives: missing },
  { field: 'funding', gives: known(0.25) },
  { field: 'unrealizedFunding', gives: known(0.125) },
  { field: 'stopLoss', gives: NONE },
  { field: 'stopLoss', record: position({ tpsl: { stopLoss: d('85') } }), gives: known(85) },
  { field: 'stopLoss', record: position({ tpsl: undefined }), gives: missing },
  { field: 'takeProfit', record: position({ tpsl: { takeProfit: d('120') } }), gives: known(120) },
  { field: 'takeProfit', record: position({ tpsl: { stopLoss: d('85') } }), gives: NONE },
  { field: 'stopCover', gives: known('missing') },
  { field: 'stopCover', record: position({ tpsl: { stopLoss: d('85') } }), gives: known('ok') },
  {
    field: 'stopCover',
    record: position({ tpsl: { stopLoss: d('81') } }),
    gives: known('beyondLiquidation'),
  },
  { field: 'stopCover', record: short({ tpsl: { stopLoss: d('115') } }), gives: known('ok') },
  { field: 'stopCover', record: short({ tpsl: { stopLoss: d('125') } }), gives: known('beyondLiquidation') },
  { field: 'stopCover', record: position({ tpsl: { takeProfit: d('120') } }), gives: known('missing') },
  { field: 'stopCover', ownStops: [stop('85', '1.9'), stop('84', '0.1')], gives: known('ok') },
  { field: 'stopCover', ownStops: [stop('85', '1.9')], gives: known('missing') },
  {
    field: 'stopCover',
    ownStops: [stop('85', '1.9'), stop('84', '0.1', false)],
    gives: known('unconfirmed'),
  },
  { field: 'stopCover', ownStops: [stop('85', '1.9'), stop('80', '0.1')], gives: known('beyondLiquidation') },
  {
    field: 'stopCover',
    record: position({ liquidationPrice: null, tpsl: { stopLoss: d('3') } }),
    gives: known('ok'),
  },
  { field: 'stopCover', record: position({ tpsl: undefined }), gives: missing },
  { field: 'stopCover', record: position({ tpsl: undefined }), ownStops: [stop('85', '1')], gives: missing },
  {
    field: 'stopCover',
    record: position({ liquidationPrice: undefined }),
    ownStops: [stop('85', '2')],
    gives: missing,
  },
  {
    field: 'stopCover',
    record: position({ tpsl: undefined }),
    ownStops: [stop('85', '2')],
    gives: known('ok'),
  },
  { field: 'unprotectedSeconds', gives: known(7) },
  { field: 'ageSeconds', gives: known(1_000) },
  { field: 'ageSeconds', serverTime: false, gives: unknown('serverTimeUnknown') },
  { field: 'ageSeconds', record: position({ openDate: undefined }), gives: missing },
  { field: 'secondsSinceModified', gives: known(900) },
  {
    field: 'secondsSinceModified',
    record: position({ modifyDate: 1_700_001_000.7 }),
    gives: known(0),
    because: 'the Date header has whole seconds, so a time may seem to lie ahead',
  },
  { field: 'volatilityPerDay', gives: known(0.01) },
  { field: 'volatilityPerDay', motion: unknown('tooFewSamples'), gives: unknown('tooFewSamples') },
];

interface LoanRow extends Row {
  readonly record?: CreditLineRecord;
  readonly settings?: Partial<AccountSettings>;
  readonly motion?: Quantity<Motion>;
}

const RISING: Motion = { variancePerMs: 0, driftPerMs: Math.log(1.02) / 3_600_000 };

const fractions: Overrides<CreditLineRecord> = {
  currentLtv: d('0.6'),
  initialLtv: d('0.5'),
  marginCallLtv: d('0.75'),
  liquidationLtv: d('0.8'),
};

const LOAN_ROWS: readonly LoanRow[] = [
  { field: 'currentLtv', gives: known(0.6) },
  { field: 'currentLtv', record: creditLine(fractions), gives: known(0.6) },
  {
    field: 'currentLtv',
    record: creditLine(fractions),
    settings: { ltvUnit: 'percent' },
    gives: known(0.006),
  },
  { field: 'currentLtv', settings: { ltvUnit: 'fraction' }, gives: known(60) },
  {
    field: 'currentLtv',
    record: creditLine({ liquidationLtv: d('1.05') }),
    gives: unknown('ltvUnitUnclear'),
  },
  { field: 'currentLtv', record: creditLine({ liquidationLtv: d('0') }), gives: unknown('ltvUnitUnclear') },
  { field: 'currentLtv', record: creditLine({ liquidationLtv: undefined }), gives: known(0.6) },
  { field: 'currentLtv', record: creditLine({ currentLtv: undefined }), gives: missing },
  { field: 'currentLtv', record: creditLine({ currentLtv: d('-1') }), gives: unknown('notPositive') },
  { field: 'currentLtv', record: creditLine({ currentLtv: d('0') }), gives: known(0) },
  { field: 'initialLtv', gives: known(0.5) },
  { field: 'marginCallLtv', gives: known(0.75) },
  { field: 'liquidationLtv', gives: known(0.8) },
  { field: 'ltvToMarginCall', gives: known(0.8) },
  { field: 'ltvToMarginCall', record: creditLine({ marginCallLtv: d('0') }), gives: unknown('notPositive') },
  { field: 'ltvToLiquidation', gives: known(0.75) },
  { field: 'collateralMayFall', gives: known(0.2) },
  { field: 'collateralMayFall', record: creditLine({ currentLtv: d('78') }), gives: known(-0.04) },
  { field: 'collateralMayFallToLiquidation', gives: known(0.25) },
  { field: 'ltvDrift', motion: known(RISING), gives: known(0.02) },
  { field: 'ltvDrift', motion: unknown('tooFewSamples'), gives: unknown('tooFewSamples') },
  {
    field: 'minutesToMarginCall',
    motion: known(RISING),
    gives: known((Math.log(0.75 / 0.6) / Math.log(1.02)) * 60),
  },
  {
    field: 'minutesToMarginCall',
    record: creditLine({ currentLtv: d('75') }),
    motion: unknown('tooFewSamples'),
    gives: known(0),
    because: 'at the margin call no forecast is needed',
  },
  { field: 'minutesToMarginCall', record: creditLine({ currentLtv: d('0') }), gives: unknown('notPositive') },
  { field: 'minutesToMarginCall', motion: known({ variancePerMs: 0, driftPerMs: -1 }), gives: NONE },
  {
    field: 'marginCallProbability',
    parameter: { windowMs: 3_600_000 },
    motion: known(RISING),
    gives: known(0),
  },
  {
    field: 'marginCallProbability',
    parameter: { windowMs: 12 * 3_600_000 },
    motion: known(RISING),
    gives: known(1),
  },
  { field: 'amount', gives: known(1_000) },
  { field: 'totalFunding', gives: known(8) },
  { field: 'debt', gives: known(1_008) },
  { field: 'debt', record: creditLine({ totalFunding: undefined }), gives: missing },
  { field: 'asset', gives: known('USDT') },
  { field: 'ageSeconds', gives: known(1_000) },
];

interface AccountRow extends Row {
  readonly from?: Snapshot;
  readonly settings?: Partial<AccountSettings>;
}

const other = position({
  positionId: '7',
  market: 'ETH_PERP',
  positionSide: { known: true, value: 'SHORT' },
  amount: d('1'),
  basePrice: d('50'),
  liquidationPrice: d('80'),
  unrealizedPnl: d('5'),
  freeMargin: d('55'),
});
const elsewhere = position({ positionId: '9', market: 'ADA_EUR', freeMargin: d('1') });
const two = positionsSnapshot([position(), other, elsewhere]);
const partial = positionsSnapshot([position(), other], at(0), false);

const transfer = (changes: Overrides<TransferRecord> = {}): TransferRecord => ({
  uniqueId: null,
  createdAt: SERVER_MS / 1_000 - 60,
  ticker: 'BTC',
  method: { known: true, value: 'withdrawal' },
  amount: d('0.5'),
  status: 3,
  network: null,
  address: '0xAbC1',
  ...(changes as Partial<TransferRecord>),
});
const deposit = (changes: Overrides<TransferRecord> = {}): TransferRecord =>
  transfer({ method: { known: true, value: 'deposit' }, ...changes });
const hour: FieldParameter = { windowMs: 3_600_000 };
const judged = (...records: readonly TransferRecord[]) => knownTransfers(list(records), ['0xaBc1']);
const transfers = snapshot({
  transfers: read(
    judged(
      transfer(),
      transfer({ address: 'elsewhere', status: 4 }),
      transfer({ createdAt: SERVER_MS / 1_000 - 7_200 }),
      deposit({ amount: d('2') }),
      deposit({ amount: d('4'), status: 15 }),
      deposit({ amount: d('8'), ticker: 'ETH' }),
    ),
  ),
});

const spotOrder = (changes: Overrides<SpotOrderRecord> = {}): SpotOrderRecord => ({
  market: 'BTC_USDT',
  orderId: '1',
  clientOrderId: '',
  side: { known: true, value: 'buy' },
  type: 'limit',
  status: { known: true, value: 'FILLED' },
  amount: d('1'),
  ctime: SERVER_MS / 1_000 - 5_000,
  ftime: SERVER_MS / 1_000 - 60,
  dealMoney: d('90'),
  dealFee: d('0.09'),
  ...(changes as Partial<SpotOrderRecord>),
});
const spot = snapshot({
  spotOrders: read(
    list([
      spotOrder(),
      spotOrder({ ctime: SERVER_MS / 1_000 - 60, feeAsset: 'BTC', dealFee: d('0.001') }),
      spotOrder({ market: 'ETH_EUR', ctime: SERVER_MS / 1_000 - 10, dealMoney: d('7') }),
    ]),
  ),
});

const partialTransfers = snapshot({ transfers: read({ ...judged(transfer()), complete: false }) });
const shortHistory = snapshot({
  transfers: {
    kind: 'read',
    value: judged(transfer()),
    ageMs: 0,
    serverDateMs: SERVER_MS,
    reachesBackToMs: SERVER_MS - 1_800_000,
  },
});
const atLeast = (value: number): FieldQuantity => ({ kind: 'atLeast', value });

const ACCOUNT_ROWS: readonly AccountRow[] = [
  { field: 'dataAge', parameter: { source: 'positions' }, from: positionsSnapshot([]), gives: known(0) },
  {
    field: 'dataAge',
    from: snapshot({ positions: read(list([]), 4_000), mainBalance: { kind: 'notRead', ageMs: 9_000 } }),
    gives: known(9),
    because: 'the oldest counts, and never read is as old as the watch',
  },
  {
    field: 'dataAge',
    parameter: { source: 'positions' },
    from: snapshot({ positions: read(list([]), 99_000) }),
    gives: known(99),
    because: 'too old to decide, but its age is known',
  },
  { field: 'dataAge', parameter: { source: 'transfers' }, gives: NONE },
  { field: 'recordsSetAside', from: partial, gives: known(1) },
  { field: 'recordsSetAside', parameter: { source: 'creditLine' }, from: partial, gives: known(0) },
  {
    field: 'recordsSetAside',
    from: snapshot({ positions: { kind: 'notRead', ageMs: 100 } }),
    gives: unknown('notRead'),
    because: 'after a restart nothing was read yet: that is not zero',
  },
  {
    field: 'recordsSetAside',
    parameter: { source: 'positions' },
    from: snapshot({ positions: read(list([position()], false), 10_001) }),
    gives: unknown('stale'),
  },
  {
    field: 'recordsSetAside',
    from: snapshot({
      positions: read(list([position()], false)),
      creditLine: { kind: 'notRead', ageMs: 100 },
    }),
    gives: atLeast(1),
    because: 'the unread list may hold more of them',
  },
  {
    field: 'mainBalance',
    parameter: { asset: 'BTC' },
    from: snapshot({ mainBalance: read({ BTC: d('0.5') }) }),
    gives: known(0.5),
  },
  {
    field: 'mainBalance',
    parameter: { asset: 'ETH' },
    from: snapshot({ mainBalance: read({ BTC: d('0.5') }) }),
    gives: known(0),
    because: 'an asset absent from a valid reply is zero',
  },
  {
    field: 'mainBalance',
    parameter: { asset: 'toString' },
    from: snapshot({ mainBalance: read({}) }),
    gives: known(0),
  },
  { field: 'mainBalance', parameter: { asset: 'BTC' }, gives: unknown('notRead') },
  {
    field: 'mainBalance',
    parameter: { asset: 'BTC' },
    from: snapshot({ mainBalance: read({ BTC: d('1') }, 10_001) }),
    gives: unknown('stale'),
  },
  { field: 'positionCount', from: two, gives: known(3) },
  { field: 'positionCount', from: partial, gives: atLeast(2) },
  { field: 'creditLineCount', from: snapshot({ creditLine: read(list([LOAN])) }), gives: known(1) },
  { field: 'disagreement', from: two, gives: known(false) },
  { field: 'disagreement', from: partial, gives: unknown('listIncomplete') },
  {
    field: 'disagreement',
    from: positionsSnapshot(
      [position({ unrealizedPnl: undefined }), short({ market: 'ETH_PERP', unrealizedPnl: d('-44') })],
      at(0),
      false,
    ),
    gives: known(true),
    because: 'one that is certain does not wait for the others',
  },
  {
    field: 'disagreement',
    from: positionsSnapshot([position({ unrealizedPnl: undefined })]),
    gives: missing,
  },
  {
    field: 'disagreement',
    from: positionsSnapshot([position(), short({ positionId: '43', unrealizedPnl: d('-44') })]),
    gives: known(false),
    because: 'both sides of the market are open',
  },
  { field: 'jointDistance', from: two, gives: known(0.1) },
  { field: 'totalNotional', parameter: { asset: 'USDT' }, from: two, gives: known(180 + 45) },
  { field: 'totalNotional', parameter: { asset: 'EUR' }, from: two, gives: known(180) },
  { field: 'totalNotional', parameter: { asset: 'GBP' }, from: two, gives: known(0) },
  {
    field: 'totalNotional',
    parameter: { asset: 'USDT' },
    from: partial,
    gives: { kind: 'atLeast', value: 225 },
  },
  { field: 'totalMargin', parameter: { asset: 'USDT' }, from: two, gives: known(40) },
  { field: 'totalUnrealizedPnl', parameter: { asset: 'USDT' }, from: two, gives: known(-15) },
  {
    field: 'totalUnrealizedPnl',
    parameter: { asset: 'USDT' },
    from: positionsSnapshot([position(), position({ positionId: '2', unrealizedPnl: undefined })]),
    gives: missing,
  },
  { field: 'totalPnl', parameter: { asset: 'USDT' }, from: two, gives: known(3) },
  { field: 'totalFunding', parameter: { asset: 'USDT' }, from: two, gives: known(0.75) },
  { field: 'freeMargin', parameter: { asset: 'USDT' }, from: two, gives: known(55) },
  { field: 'freeMargin', parameter: { asset: 'GBP' }, from: two, gives: NONE },
  { field: 'freeMargin', parameter: { asset: 'GBP' }, from: partial, gives: unknown('listIncomplete') },
  { field: 'marginUsage', parameter: { asset: 'USDT' }, from: two, gives: known(40 / 95) },
  { field: 'withdrawalCount', parameter: hour, from: transfers, gives: known(2) },
  { field: 'withdrawalCount', parameter: { windowMs: 10_800_000 }, from: transfers, gives: known(3) },
  { field: 'withdrawalCount', parameter: hour, from: partialTransfers, gives: atLeast(1) },
  { field: 'withdrawalCount', parameter: hour, from: shortHistory, gives: atLeast(1) },
  { field: 'withdrawalCount', parameter: { windowMs: 1_800_000 }, from: shortHistory, gives: known(1) },
  { field: 'unexpectedWithdrawalCount', parameter: hour, from: transfers, gives: known(1) },
  {
    field: 'unexpectedWithdrawalCount',
    parameter: hour,
    from: snapshot({ transfers: read(knownTransfers(list([transfer(), transfer()]), [])) }),
    gives: known(2),
    because: 'without an allow-list every withdrawal is unexpected',
  },
  {
    field: 'unexpectedWithdrawalCount',
    parameter: hour,
    from: snapshot({ transfers: read(judged(withoutAddress(transfer()))) }),
    gives: known(1),
    because: 'a withdrawal without an address is not known to go where it should',
  },
  { field: 'withdrawalAmount', parameter: { ...hour, asset: 'BTC' }, from: transfers, gives: known(1) },
  { field: 'depositCount', parameter: hour, from: transfers, gives: known(2) },
  { field: 'depositAmount', parameter: { ...hour, asset: 'BTC' }, from: transfers, gives: known(2) },
  { field: 'spotOrderCount', parameter: hour, from: spot, gives: known(2) },
  { field: 'spotFees', parameter: { ...hour, asset: 'USDT' }, from: spot, gives: known(0.09) },
  { field: 'spotFees', parameter: { ...hour, asset: 'BTC' }, from: spot, gives: known(0.001) },
  { field: 'spotTurnover', parameter: { ...hour, asset: 'USDT' }, from: spot, gives: known(180) },
  {
    field: 'spotTurnover',
    parameter: { ...hour, asset: 'USDT' },
    from: snapshot({ spotOrders: read(list([spotOrder(), withoutMoney()])) }),
    gives: atLeast(90),
    because: 'an order that does not say its money makes the sum a lower bound',
  },
];

function withoutAddress(record: TransferRecord): TransferRecord {
  const { address: _, ...rest } = record;
  return rest;
}

function withoutMoney(): SpotOrderRecord {
  const { dealMoney: _, ...rest } = spotOrder();
  return rest;
}

const titleOf = (row: Row, index: number): string =>
  `${row.field} gives ${JSON.stringify(row.gives)}${row.because === undefined ? '' : `: ${row.because}`} (${index})`;

describe('every field of the catalogue', () => {
  test('has a row below, and every row has a field', () => {
    const rows = { position: POSITION_ROWS, creditLine: LOAN_ROWS, account: ACCOUNT_ROWS };
    for (const kind of ['position', 'creditLine', 'account'] as const) {
      const tested = new Set(rows[kind].map(({ field }) => field));
      expect([...tested].sort()).toEqual(
        fieldsOf(kind)
          .map(({ name }) => name)
          .sort(),
      );
    }
    expect(FIELD_CATALOGUE.length).toBe(
      (['position', 'creditLine', 'account'] as const).reduce((sum, kind) => sum + fieldsOf(kind).length, 0),
    );
  });

  test('a field is `none` only where the catalogue explains what that means', () => {
    const rows = { position: POSITION_ROWS, creditLine: LOAN_ROWS, account: ACCOUNT_ROWS };
    for (const kind of ['position', 'creditLine', 'account'] as const) {
      for (const { field, gives } of rows[kind]) {
        if (gives.kind === 'none')
          expect([field, findField(kind, field)?.none]).not.toEqual([field, 'never']);
      }
    }
  });

  test.each(POSITION_ROWS.map((row, index) => [titleOf(row, index), row] as const))(
    'position %s',
    (_, row) => {
      const record = row.record ?? position();
      const complete = row.complete ?? true;
      const records = [record, ...(row.others ?? [])];
      const taken = positionsSnapshot(records, at(0), complete);
      const reading = { kind: 'read' as const, value: list(records, complete), ageMs: 0 };
      const account = new AccountQuantities(
        {
          ...(row.serverTime === false ? snapshot({ positions: reading }) : taken),
          ownStops: row.ownStops ?? [],
        },
        settings(row.settings),
        at(0),
      );
      const fieldCache = new FieldCache('position');
      const slot = fieldCache.slot(row.field, row.parameter);
      fieldCache.load({
        position: new PositionQuantities(record, settings(row.settings)),
        account,
        motion: row.motion ?? known(MOTION),
        unprotectedMs: known(7_000),
      });
      check(fieldCache.read(slot), row.gives);
    },
  );

  test.each(LOAN_ROWS.map((row, index) => [titleOf(row, index), row] as const))(
    'credit line %s',
    (_, row) => {
      const record = row.record ?? LOAN;
      const account = new AccountQuantities(
        snapshot({ creditLine: read(list([record])) }),
        settings(row.settings),
        at(0),
      );
      const fieldCache = new FieldCache('creditLine');
      const slot = fieldCache.slot(row.field, row.parameter);
      const motion = row.motion ?? known(RISING);
      fieldCache.load({
        creditLine: new CreditLineQuantities(record, settings(row.settings)),
        account,
        motion,
      });
      check(fieldCache.read(slot), row.gives);
    },
  );

  test.each(ACCOUNT_ROWS.map((row, index) => [titleOf(row, index), row] as const))('account %s', (_, row) => {
    const fieldCache = new FieldCache('account');
    const slot = fieldCache.slot(row.field, row.parameter);
    fieldCache.load(new AccountQuantities(row.from ?? snapshot({}), settings(row.settings), at(0)));
    check(fieldCache.read(slot), row.gives);
  });
});
