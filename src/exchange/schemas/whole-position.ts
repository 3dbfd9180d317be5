import type {
  LiquidationState,
  OpeningPosition,
  PositionRecord,
  PositionSide,
  PositionTpsl,
} from '../../core/ports/exchange.ts';
import { asDecimal, asEnumerated, asId, asName, asTime, isNone } from './fields.ts';

export const asLiquidationState = asEnumerated<LiquidationState>({
  margin_call: 'margin_call',
  liquidation: 'liquidation',
});

export const asPositionSide = asEnumerated<PositionSide>({ LONG: 'LONG', SHORT: 'SHORT', BOTH: 'BOTH' });

type Fields = Readonly<Record<string, unknown>>;

/** A position (specification 2.4) with every documented field, each of them valid; `undefined` for any other value. */
export function readWholePosition(value: unknown): PositionRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Fields;
  const positionId = asId(fields['positionId']);
  const market = asName(fields['market']);
  const openDate = asTime(fields['openDate']);
  const modifyDate = asTime(fields['modifyDate']);
  const amount = asDecimal(fields['amount']);
  const basePrice = asDecimal(fields['basePrice']);
  const liquidationPrice = orNull(fields['liquidationPrice'], asDecimal);
  const liquidationState = orNull(fields['liquidationState'], asLiquidationState);
  const pnl = asDecimal(fields['pnl']);
  const pnlPercent = asDecimal(fields['pnlPercent']);
  const margin = asDecimal(fields['margin']);
  const freeMargin = asDecimal(fields['freeMargin']);
  const funding = asDecimal(fields['funding']);
  const unrealizedFunding = asDecimal(fields['unrealizedFunding']);
  const unrealizedPnl = asDecimal(fields['unrealizedPnl']);
  const tpsl = orNull(fields['tpsl'], readWholeTpsl);
  const positionSide = asPositionSide(fields['positionSide']);
  const incomplete =
    positionId === undefined ||
    market === undefined ||
    openDate === undefined ||
    modifyDate === undefined ||
    amount === undefined ||
    basePrice === undefined ||
    liquidationPrice === undefined ||
    liquidationState === undefined ||
    pnl === undefined ||
    pnlPercent === undefined ||
    margin === undefined ||
    freeMargin === undefined ||
    funding === undefined ||
    unrealizedFunding === undefined ||
    unrealizedPnl === undefined ||
    tpsl === undefined ||
    positionSide === undefined;
  if (incomplete) return undefined;
  return {
    positionId,
    market,
    openDate,
    modifyDate,
    amount,
    basePrice,
    liquidationPrice,
    liquidationState,
    pnl,
    pnlPercent,
    margin,
    freeMargin,
    funding,
    unrealizedFunding,
    unrealizedPnl,
    tpsl,
    positionSide,
  };
}

function readWholeTpsl(value: unknown): PositionTpsl | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Fields;
  const takeProfitId = asId(fields['takeProfitId']);
  const takeProfit = asDecimal(fields['takeProfit']);
  const stopLossId = asId(fields['stopLossId']);
  const stopLoss = asDecimal(fields['stopLoss']);
  const incomplete =
    takeProfitId === undefined ||
    takeProfit === undefined ||
    stopLossId === undefined ||
    stopLoss === undefined;
  return incomplete ? undefined : { takeProfitId, takeProfit, stopLossId, stopLoss };
}

const orNull = <T>(value: unknown, read: (value: unknown) => T | undefined): T | null | undefined =>
  isNone(value) ? null : read(value);

/**
 * A position that an order is about to open. The live service lists it without an amount, a base price and a realized
 * result. An amount above zero says that it is open, whatever else is missing.
 */
export function asOpeningPosition(value: unknown): OpeningPosition | undefined {
  const { amount, basePrice, pnl, positionId, market } = value as Fields;
  const isOpening = isNone(amount) || ((isNone(basePrice) || isNone(pnl)) && isZero(amount));
  if (!isOpening) return undefined;
  const known = { positionId: asId(positionId), market: asName(market) };
  return known.positionId === undefined || known.market === undefined
    ? undefined
    : { positionId: known.positionId, market: known.market };
}

/** What the live service leaves out of a position that is being opened; of one that is open it is missed. */
const NEVER_NULL = ['basePrice', 'pnl', 'pnlPercent'] as const;

/** Fields of an open position that are null or empty although the exchange documents that they have a value. */
export function nullsOf(value: unknown): readonly string[] {
  return NEVER_NULL.filter((name) => name in (value as object) && isNone((value as Fields)[name]));
}

const isZero = (amount: unknown): boolean => /^-?0+(\.0*)?$/.test(asDecimal(amount) ?? '');
