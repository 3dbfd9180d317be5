import type { AccountQuantities } from '../quantities/account.ts';
import type { CreditLineQuantities } from '../quantities/credit-line.ts';
import { toNumber } from '../quantities/decimal.ts';
import type { PositionQuantities } from '../quantities/position.ts';
import { type AtLeast, type AtMost, known, NONE, type Quantity, unknown } from '../quantities/quantity.ts';
import { isSuccessfulDeposit, isUnexpectedWithdrawal, isWithdrawal } from '../quantities/transfer.ts';
import {
  MS_PER_DAY,
  MS_PER_HOUR,
  MS_PER_MINUTE,
  MS_PER_SECOND,
  moneyOf,
  reported,
  usage,
} from '../quantities/units.ts';
import { type Crossing, type Motion, medianWithin, probabilityWithin } from '../risk/forecast.ts';
import type { FieldParameter, FieldValue } from '../rules/rule.ts';
import type { AccountFieldName, CreditLineFieldName, PositionFieldName } from './field-catalogue.ts';

/** An exact value, a lower bound (a count in an incomplete list) or an upper bound (the least of several). */
export type FieldQuantity = Quantity<FieldValue> | AtLeast | AtMost;

/** A position as rules judge it: its record, and what else is known of it. */
export interface PositionSubject {
  readonly position: PositionQuantities;
  readonly account: AccountQuantities;
  readonly motion: Quantity<Motion>;
  readonly unprotectedMs: Quantity<number>;
}

export interface CreditLineSubject {
  readonly creditLine: CreditLineQuantities;
  readonly account: AccountQuantities;
  readonly motion: Quantity<Motion>;
}

export type Compute<S> = (subject: S, parameter: FieldParameter) => FieldQuantity;

/** How each field is computed; the type makes the table complete. */
export const POSITION_VALUES: Readonly<Record<PositionFieldName, Compute<PositionSubject>>> = {
  liquidationDistance: ({ position }) => position.liquidationDistance,
  liquidationState: ({ position }) => position.liquidationState,
  liquidationPrice: ({ position }) => position.liquidationPrice,
  liquidationProbability: (subject, { windowMs }) => probability(positionCrossing(subject), windowMs),
  minutesToLiquidation: (subject) => minutes(positionCrossing(subject)),
  disagreement: ({ position }) => position.disagreement,
  directionConflict: ({ position }) => known(position.directionConflict),
  direction: ({ position }) => position.direction,
  positionSide: ({ position }) => {
    const side = position.record.positionSide;
    if (side === undefined) return unknown('fieldMissing');
    return side.known ? known(side.value) : unknown('notDocumented');
  },
  market: ({ position }) => known(position.record.market),
  amount: ({ position }) => reported(position.record.amount),
  size: ({ position }) => known(position.size),
  notional: ({ position }) => position.notional,
  netExposure: ({ position, account }) => account.netExposure(position.record.market),
  basePrice: ({ position }) => position.basePrice,
  markPrice: ({ position }) => position.markPrice,
  markError: ({ position }) => quotient(position.markError, position.markPrice),
  unrealizedPnl: ({ position }) => position.unrealizedPnl,
  pnlPercent: ({ position }) => position.pnlPercent,
  pnl: ({ position }) => reported(position.record.pnl),
  margin: ({ position }) => reported(position.record.margin),
  freeMargin: ({ position }) => reported(position.record.freeMargin),
  marginUsage: ({ position: { record } }) =>
    record.margin === undefined || record.freeMargin === undefined
      ? unknown('fieldMissing')
      : usage(toNumber(record.margin), toNumber(record.freeMargin)),
  funding: ({ position }) => reported(position.record.funding),
  unrealizedFunding: ({ position }) => reported(position.record.unrealizedFunding),
  stopLoss: ({ position }) => attached(position, 'stopLoss'),
  takeProfit: ({ position }) => attached(position, 'takeProfit'),
  stopCover: ({ position, account }) => account.coverOf(position),
  unprotectedSeconds: ({ unprotectedMs }) => scaled(unprotectedMs, 1 / MS_PER_SECOND),
  ageSeconds: ({ position, account }) => account.secondsSince(position.record.openDate),
  secondsSinceModified: ({ position, account }) => account.secondsSince(position.record.modifyDate),
  volatilityPerDay: ({ motion }) =>
    overTheHour(motion, ({ variancePerMs }) => Math.sqrt(variancePerMs * MS_PER_DAY)),
};

export const CREDIT_LINE_VALUES: Readonly<Record<CreditLineFieldName, Compute<CreditLineSubject>>> = {
  currentLtv: ({ creditLine }) => creditLine.ltv('currentLtv'),
  initialLtv: ({ creditLine }) => creditLine.ltv('initialLtv'),
  marginCallLtv: ({ creditLine }) => creditLine.ltv('marginCallLtv'),
  liquidationLtv: ({ creditLine }) => creditLine.ltv('liquidationLtv'),
  ltvToMarginCall: ({ creditLine }) => creditLine.ltvTo('marginCallLtv'),
  ltvToLiquidation: ({ creditLine }) => creditLine.ltvTo('liquidationLtv'),
  collateralMayFall: ({ creditLine }) => creditLine.collateralMayFall('marginCallLtv'),
  collateralMayFallToLiquidation: ({ creditLine }) => creditLine.collateralMayFall('liquidationLtv'),
  ltvDrift: ({ motion }) => overTheHour(motion, ({ driftPerMs }) => Math.expm1(driftPerMs * MS_PER_HOUR)),
  minutesToMarginCall: ({ creditLine, motion }) => minutes(creditLine.crossing(motion)),
  marginCallProbability: ({ creditLine, motion }, { windowMs }) =>
    probability(creditLine.crossing(motion), windowMs),
  amount: ({ creditLine }) => creditLine.amount,
  totalFunding: ({ creditLine }) => reported(creditLine.record.totalFunding),
  debt: ({ creditLine }) => creditLine.debt,
  asset: ({ creditLine }) => known(creditLine.record.asset),
  ageSeconds: ({ creditLine, account }) => account.secondsSince(creditLine.record.createdAt),
};

export const ACCOUNT_VALUES: Readonly<Record<AccountFieldName, Compute<AccountQuantities>>> = {
  dataAge: (account, { source }) => account.dataAge(source),
  recordsSetAside: (account, { source }) => account.recordsSetAside(source),
  mainBalance: (account, { asset }) => account.mainBalance(asset ?? ''),
  positionCount: (account) => account.positionCount,
  creditLineCount: (account) => account.count(account.snapshot.sources.creditLine),
  jointDistance: (account) => account.jointDistance,
  disagreement: (account) => account.disagreement,
  totalNotional: (account, { asset }) => account.totalOfSeen(asset ?? '', (position) => position.notional),
  totalMargin: (account, { asset }) =>
    account.totalOfSeen(asset ?? '', ({ record }) => reported(record.margin)),
  totalUnrealizedPnl: (account, { asset }) =>
    account.total(asset ?? '', (position) => position.unrealizedPnl),
  totalPnl: (account, { asset }) => account.total(asset ?? '', ({ record }) => reported(record.pnl)),
  totalFunding: (account, { asset }) =>
    account.total(asset ?? '', ({ record }) =>
      record.funding === undefined || record.unrealizedFunding === undefined
        ? unknown('fieldMissing')
        : known(toNumber(record.funding) + toNumber(record.unrealizedFunding)),
    ),
  freeMargin: (account, { asset }) => account.freeMargin(asset ?? ''),
  marginUsage: (account, { asset }) => account.marginUsage(asset ?? ''),
  withdrawalCount: (account, { windowMs }) =>
    account.transfersWithin(windowMs ?? 0, (record) => Number(isWithdrawal(record))),
  unexpectedWithdrawalCount: (account, { windowMs }) =>
    account.transfersWithin(windowMs ?? 0, (record) => Number(isUnexpectedWithdrawal(record))),
  withdrawalAmount: (account, { asset, windowMs }) =>
    account.transfersWithin(windowMs ?? 0, (record) =>
      isWithdrawal(record) && record.ticker === asset ? toNumber(record.amount) : 0,
    ),
  depositCount: (account, { windowMs }) =>
    account.transfersWithin(windowMs ?? 0, (record) => Number(isSuccessfulDeposit(record))),
  depositAmount: (account, { asset, windowMs }) =>
    account.transfersWithin(windowMs ?? 0, (record) =>
      isSuccessfulDeposit(record) && record.ticker === asset ? toNumber(record.amount) : 0,
    ),
  spotOrderCount: (account, { windowMs }) => account.spotOrdersWithin(windowMs ?? 0, 'ctime', () => 1),
  spotFees: (account, { asset, windowMs }) =>
    account.spotOrdersWithin(windowMs ?? 0, 'ftime', (order) => {
      if ((order.feeAsset ?? moneyOf(order.market, account.settings)) !== asset) return 0;
      return order.dealFee === undefined ? undefined : toNumber(order.dealFee);
    }),
  spotTurnover: (account, { asset, windowMs }) =>
    account.spotOrdersWithin(windowMs ?? 0, 'ftime', (order) => {
      if (moneyOf(order.market, account.settings) !== asset) return 0;
      return order.dealMoney === undefined ? undefined : toNumber(order.dealMoney);
    }),
};

/** Motion of the last seconds alone is too short for these fields. */
function overTheHour(motion: Quantity<Motion>, of: (motion: Motion) => number): Quantity<number> {
  if (motion.kind !== 'value') return motion;
  return motion.value.reachMs === undefined ? known(of(motion.value)) : unknown('tooFewSamples');
}

function positionCrossing({ position, motion }: PositionSubject): Quantity<Crossing> {
  return position.crossing(motion);
}

function probability(crossing: Quantity<Crossing>, windowMs: number | undefined): Quantity<number> {
  return crossing.kind === 'value' ? probabilityWithin(crossing.value, windowMs ?? 0) : crossing;
}

function minutes(crossing: Quantity<Crossing>): Quantity<number> {
  return crossing.kind === 'value' ? scaled(medianWithin(crossing.value), 1 / MS_PER_MINUTE) : crossing;
}

function scaled(quantity: Quantity<number>, factor: number): Quantity<number> {
  return quantity.kind === 'value' ? known(quantity.value * factor) : quantity;
}

function quotient(dividend: Quantity<number>, divisor: Quantity<number>): Quantity<number> {
  if (dividend.kind !== 'value') return dividend;
  return divisor.kind === 'value' ? known(dividend.value / divisor.value) : divisor;
}

function attached(position: PositionQuantities, which: 'stopLoss' | 'takeProfit'): Quantity<number> {
  const { tpsl } = position.record;
  if (tpsl === undefined) return unknown('fieldMissing');
  const price = tpsl?.[which];
  return price === undefined ? NONE : reported(price);
}
