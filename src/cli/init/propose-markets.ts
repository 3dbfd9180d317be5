import type { PositionRecord, SpotOrderRecord } from '../../core/ports/exchange.ts';
import {
  type DecimalString,
  decimal,
  decimalFromNumber,
  formatDecimal,
  toDecimal,
  toNumber,
  writtenDecimalPlaces,
  ZERO,
} from '../../core/quantities/decimal.ts';
import { heldPositions, maintenanceMarginOf } from './account-figures.ts';

/** A figure of a market that the exchange's API does not report, proposed from the account's own figures. */
export interface Proposal {
  readonly value: string;
  /** Its source, for people: completes "proposed from". */
  readonly from: string;
}

/** The figures of a `markets` entry, in the order of the config. */
export const MARKET_FIGURES = ['amountStep', 'priceStep', 'minAmount', 'maintenanceMargin'] as const;
export type MarketFigure = (typeof MARKET_FIGURES)[number];

export interface ProposedMarket extends Readonly<Record<MarketFigure, Proposal>> {
  readonly market: string;
  /** Settlement currency, if the market's name does not say it. */
  readonly money?: string;
  /** Its present mark price, if the records have it. */
  readonly referencePrice?: string;
}

/** Names that a config reads as a market, not as a pattern. */
const MARKET_NAME = /^[^\s"'`\\:;,|<>(){}[\]#&!%@/$*?]{1,40}$/;

/** One entry per market with an open position, in the order of the exchange; other names are left out. */
export function proposeMarkets(
  positions: readonly PositionRecord[],
  orders: readonly SpotOrderRecord[],
): readonly ProposedMarket[] {
  const markets = [...new Set(positions.map(({ market }) => market))].filter((name) =>
    MARKET_NAME.test(name),
  );
  const margin = proposeMargin(positions);
  return markets.map((market) => {
    const own = positions.filter((position) => position.market === market);
    const ordered = orders.filter((order) => order.market === market);
    return proposeMarket(market, own, ordered, margin);
  });
}

function proposeMarket(
  market: string,
  positions: readonly PositionRecord[],
  orders: readonly SpotOrderRecord[],
  maintenanceMargin: Proposal,
): ProposedMarket {
  const amountStep = lastDigitOf(
    [...positions, ...orders].map(({ amount }) => amount),
    'amount',
  );
  return {
    market,
    amountStep,
    priceStep: proposePriceStep(positions, orders),
    minAmount: { value: amountStep.value, from: 'the amount step' },
    maintenanceMargin,
    ...(market.endsWith('_PERP') ? { money: 'USDT' } : {}),
    ...referencePriceOf(positions),
  };
}

/** Rounded to as many digits as prices have. */
function referencePriceOf(positions: readonly PositionRecord[]): { readonly referencePrice?: string } {
  const mark = heldPositions(positions).find(({ markPrice }) => markPrice !== null)?.markPrice;
  if (mark === undefined || mark === null) return {};
  return {
    referencePrice: formatDecimal(decimalFromNumber(Number(mark.toPrecision(LEADING_DIGITS + 1)))),
  };
}

function proposeMargin(positions: readonly PositionRecord[]): Proposal {
  const rate = maintenanceMarginOf(positions);
  // The rate that the live exchange documents for leverage up to 10x.
  if (rate === undefined) return { value: '3%', from: 'what is usual up to 10x' };
  return { value: `${Number((rate * 100).toFixed(1))}%`, from: 'margin and liquidation prices' };
}

/**
 * Prices of orders are multiples of the step. Entry prices can be averages, and liquidation prices are computed: their
 * digits count only if there is nothing better, and only as many as prices have.
 */
function proposePriceStep(
  positions: readonly PositionRecord[],
  orders: readonly SpotOrderRecord[],
): Proposal {
  const ordered = [
    ...orders.flatMap(({ price, activationPrice }) => [price, activationPrice]),
    ...positions.flatMap(({ tpsl }) => [tpsl?.takeProfit, tpsl?.stopLoss]),
  ].filter(isAboveZero);
  if (ordered.length > 0) return lastDigitOf(ordered, 'order price');
  const computed = positions
    .flatMap(({ basePrice, liquidationPrice }) => [basePrice, liquidationPrice])
    .filter(isAboveZero);
  const proposal = lastDigitOf(computed, 'price');
  const finest = 10 ** (Math.floor(Math.log10(Math.max(1e-9, ...computed.map(toNumber)))) - LEADING_DIGITS);
  if (Number(proposal.value) >= finest * (1 - ROUNDING)) return proposal;
  const value = stepOf(Math.round(-Math.log10(finest)));
  return { value, from: `${proposal.from}, cut to ${LEADING_DIGITS + 1} digits` };
}

/** Digits after the first one: hardly any market has finer prices. */
const LEADING_DIGITS = 5;
const ROUNDING = 1e-9;

function isAboveZero(text: DecimalString | null | undefined): text is DecimalString {
  return text !== undefined && text !== null && toDecimal(text).gt(ZERO);
}

/**
 * The finest digit of all texts. A step coarser than the real one costs precision; with a finer one, orders are
 * refused. Trailing zeros, with which many exchanges pad, therefore do not count.
 */
function lastDigitOf(texts: readonly DecimalString[], what: string): Proposal {
  let finest: { readonly text: DecimalString; readonly places: number } | undefined;
  for (const written of texts) {
    const text = formatDecimal(toDecimal(written).abs());
    const places = writtenDecimalPlaces(text);
    if (finest === undefined || places > finest.places) finest = { text, places };
  }
  if (finest === undefined) return { value: '1', from: `no ${what} at all` };
  const { text, places } = finest;
  const of = texts.length === 1 ? `the ${what} ${text}` : `${text}, the finest of ${texts.length} ${what}s`;
  return { value: stepOf(places), from: of };
}

function stepOf(places: number): string {
  return formatDecimal(decimal(`1e${-places}`));
}
