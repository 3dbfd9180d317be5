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
import { configPercent } from '../../core/text/formats.ts';
import { heldPositions, maintenanceMarginOf } from './account-figures.ts';

/** A figure of a market that the exchange's API does not tell, as the account's own figures suggest it. */
export interface Proposal {
  readonly value: string;
  /** What it was taken from, for people: completes "proposed from". */
  readonly from: string;
}

/** What a `markets` entry needs, in the order in which it is written. */
export const MARKET_FIGURES = ['amountStep', 'priceStep', 'minAmount', 'maintenanceMargin'] as const;
export type MarketFigure = (typeof MARKET_FIGURES)[number];

export interface ProposedMarket extends Readonly<Record<MarketFigure, Proposal>> {
  readonly market: string;
  /** Currency in which it settles, where the name does not say it. */
  readonly money?: string;
  /** Its mark price now, where the records tell. */
  readonly referencePrice?: string;
}

/** Names that a config takes as a market, and not as a pattern. */
const MARKET_NAME = /^[A-Z0-9_-]{1,40}$/;

/** One entry for each market with an open position, in the order of the exchange; other names are left out. */
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

/** To as many digits as prices have. */
function referencePriceOf(positions: readonly PositionRecord[]): { readonly referencePrice?: string } {
  const mark = heldPositions(positions).find(({ markPrice }) => markPrice !== null)?.markPrice;
  if (mark === undefined || mark === null) return {};
  return {
    referencePrice: formatDecimal(decimalFromNumber(Number(mark.toPrecision(LEADING_DIGITS + 1)))),
  };
}

function proposeMargin(positions: readonly PositionRecord[]): Proposal {
  const rate = maintenanceMarginOf(positions);
  // What the live exchange documents for leverage up to 10x.
  if (rate === undefined) return { value: '3%', from: 'what is usual up to 10x' };
  return { value: configPercent(Math.round(rate * 1_000) / 1_000), from: 'margin and liquidation prices' };
}

/**
 * Prices of orders are multiples of the step. An entry price can be an average, and a liquidation price is computed:
 * their digits count only where there is nothing better, and only as many as prices have.
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

/** Beyond the first one: hardly any market has finer prices. */
const LEADING_DIGITS = 5;
const ROUNDING = 1e-9;

function isAboveZero(text: DecimalString | null | undefined): text is DecimalString {
  return text !== undefined && text !== null && toDecimal(text).gt(ZERO);
}

/**
 * The finest digit that any of them has. A step that is coarser than the real one costs exactness; a finer one would
 * have orders refused, so zeros at the end, which many exchanges pad with, do not count.
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
