import type { Path, ProblemCode } from '../../config/problem.ts';
import { didYouMean, problemAt, type Report } from '../../config/shape/read.ts';
import type { YamlDocument } from '../../config/yaml/document.ts';
import { describeValue } from '../../config/yaml/value.ts';
import {
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  toNumber,
} from '../../core/quantities/decimal.ts';
import type { MarketSettings } from '../../core/quantities/settings.ts';
import { moneyOf, NO_CURRENCY } from '../../core/quantities/units.ts';
import { suggest } from '../../core/text/suggest.ts';
import type { ConfiguredAccount, StartingBook, StartingPosition } from './starting-account.ts';

/** Input of the readers of all formats: errors go to `report`, remarks to `note`. */
export interface PositionsReading {
  readonly document: YamlDocument;
  readonly configured: readonly ConfiguredAccount[];
  /** Owner of the positions, for output that does not name it. */
  readonly accountId: string | undefined;
  readonly report: Report;
  /** Takes a whole sentence. */
  readonly note: (sentence: string) => void;
  /** Called for an account whose holdings the output does not know. */
  readonly unread: (accountId: string) => void;
}

export function refuse(
  { document, report }: PositionsReading,
  path: Path,
  message: string,
  code: ProblemCode = 'wrong-value',
): undefined {
  report(problemAt(document, path, { code, message }));
}

/** The account of the config; `undefined`: there is none (reported at the path). */
export function configuredAccount(
  reading: PositionsReading,
  id: string,
  path: Path,
): ConfiguredAccount | undefined {
  const { configured } = reading;
  const found = configured.find((account) => account.id === id);
  if (found !== undefined) return found;
  const ids = configured.map((account) => account.id);
  const message = `expected an account of the config (${ids.join(', ')}), got ${describeValue(id)}`;
  const meant = didYouMean(suggest(id, ids));
  return refuse(reading, path, `${message}${meant}`, 'unknown-reference');
}

/** The config's settings of a market; `undefined`: there are none (reported at the path). */
export function configuredMarket(
  reading: PositionsReading,
  account: ConfiguredAccount,
  market: string,
  path: Path,
): MarketSettings | undefined {
  const settings = account.settings.marketSettings(market);
  if (settings !== undefined) return settings;
  const message = `expected a market that the config's markets cover, got ${describeValue(market)}: add an entry for it`;
  return refuse(reading, path, message, 'unknown-reference');
}

/** Perpetuals of the exchange settle in USDT unless the config says otherwise. */
function settlementOf({ settings }: ConfiguredAccount, market: string): string {
  const money = moneyOf(market, settings);
  return money === NO_CURRENCY ? 'USDT' : money;
}

interface PrintedPosition extends ReportedPosition {
  readonly money: string;
}

/** A position with what the config says of its market; `undefined`: something is unknown (reported). */
export function printedPosition(
  reading: PositionsReading,
  account: ConfiguredAccount,
  { market, path }: { readonly market: string; readonly path: Path },
  figuresOf: () => Omit<ReportedPosition, 'market' | 'maintenanceMargin'> | undefined,
): PrintedPosition | undefined {
  const settings = configuredMarket(reading, account, market, [...path, 'market']);
  if (settings === undefined) return undefined;
  const figures = figuresOf();
  if (figures === undefined) return undefined;
  const { maintenanceMargin } = settings;
  return { market, ...figures, maintenanceMargin, money: settlementOf(account, market) };
}

/** An account as printed; the output does not show its collateral. */
interface PrintedAccount {
  readonly id: string;
  readonly path: Path;
  /** Undefined where something of a position is unknown. */
  readonly positions: readonly (PrintedPosition | undefined)[];
  readonly hedgeMode?: boolean;
  /** Used if no position has a liquidation price. */
  readonly otherEquity?: number | undefined;
}

/** The account, with the collateral that its figures imply; `undefined`: they imply none, or it holds nothing. */
export function accountFrom(
  reading: PositionsReading,
  { id, path, positions: printed, hedgeMode, otherEquity }: PrintedAccount,
): StartingBook | undefined {
  const positions = printed.filter((position) => position !== undefined);
  if (positions.length === 0 || positions.length < printed.length) return undefined;
  const fail = (message: string): undefined => refuse(reading, path, `${message}; ${WRITE_IT}`);
  const monies = [...new Set(positions.map(({ money }) => money))];
  const [money] = monies;
  if (money === undefined || monies.length > 1) {
    return fail(`expected positions in one currency to work out the collateral, got ${monies.join(', ')}`);
  }
  const pool = poolEquity(positions);
  if (pool === 'several') return fail(SEVERAL_POOLS);
  const equity = pool ?? otherEquity;
  if (equity === undefined) return fail('expected a liquidation price to work out the collateral, got none');
  const collateral = collateralOf(equity, positions);
  const source = pool === undefined ? 'margin and freeMargin' : 'liquidation prices';
  reading.note(`Account ${id}: collateral of ${collateral} ${money}, worked out from ${source}.`);
  return {
    id,
    collateral: { [money]: collateral },
    hedgeMode: hedgeMode ?? hasBothSides(positions),
    positions: positions.map(({ market, side, amount, entry }) => ({ market, side, amount, entry })),
    loans: [],
    markPrices: Object.fromEntries(positions.map(({ market, mark }) => [market, mark])),
  };
}

const SEVERAL_POOLS =
  'expected one margin pool, got liquidation prices of several (isolated margin, or coins as collateral)';
const WRITE_IT = 'write a positions file with accounts: [{ id, collateral, positions }] instead';

export function hasBothSides(positions: readonly Pick<StartingPosition, 'market' | 'side'>[]): boolean {
  return positions.some(({ market, side }) =>
    positions.some((other) => other.market === market && other.side !== side),
  );
}

/** A position as the exchange reports it, with all that determines the size of the margin pool. */
export interface ReportedPosition {
  readonly market: string;
  readonly side: 'long' | 'short';
  /** Base asset, above zero. */
  readonly amount: DecimalString;
  readonly entry: DecimalString;
  readonly mark: number;
  readonly liquidation: number | 'none';
  /** Rate, a fraction. */
  readonly maintenanceMargin: number;
}

/** Buffers that differ by more than this share do not belong to one pool. */
const TOLERANCE = 0.2;

/**
 * Equity of a pool by its liquidation prices, where equity is the maintenance margin; the largest notional counts.
 * `undefined`: no position has such a price; `several`: the prices do not fit one pool.
 */
export function poolEquity(positions: readonly ReportedPosition[]): number | 'several' | undefined {
  const maintenance = sum(positions, (position) => maintenanceOf(position) * position.mark);
  const estimates = [...Map.groupBy(positions, ({ market }) => market).values()].flatMap((legs) =>
    estimateOf(legs, maintenance),
  );
  const largest = estimates.toSorted((a, b) => b.notional - a.notional)[0];
  if (largest === undefined) return undefined;
  const buffers = estimates.map(({ equity }) => equity - maintenance);
  const highest = Math.max(...buffers);
  return highest - Math.min(...buffers) > TOLERANCE * Math.abs(highest) ? 'several' : largest.equity;
}

function estimateOf(
  legs: readonly ReportedPosition[],
  maintenance: number,
): readonly { readonly equity: number; readonly notional: number }[] {
  const first = legs.find(({ liquidation }) => liquidation !== 'none');
  if (first === undefined || first.liquidation === 'none') return [];
  const { liquidation, mark } = first;
  const net = sum(legs, signedSize);
  const rated = sum(legs, maintenanceOf);
  const equity = maintenance + (net - rated) * (mark - liquidation);
  return [{ equity, notional: Math.abs(net) * mark }];
}

/** Maintenance margin per unit of the price. */
function maintenanceOf({ amount, maintenanceMargin }: ReportedPosition): number {
  return toNumber(amount) * maintenanceMargin;
}

function signedSize({ side, amount }: ReportedPosition): number {
  return side === 'long' ? toNumber(amount) : -toNumber(amount);
}

/** Collateral balance before the profit and loss of these positions. */
export function collateralOf(equity: number, positions: readonly ReportedPosition[]): DecimalString {
  const pnl = sum(positions, (position) => signedSize(position) * (position.mark - toNumber(position.entry)));
  return formatDecimal(decimalFromNumber(Math.round((equity - pnl) * 1e6) / 1e6));
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
