import type { Path, ProblemCode } from '../../config/problem.ts';
import { didYouMean, problemAt, type Report } from '../../config/shape/read.ts';
import type { YamlDocument } from '../../config/yaml/document.ts';
import { describeValue } from '../../config/yaml/value.ts';
import type { MarketSettings } from '../../core/quantities/settings.ts';
import { moneyOf, NO_CURRENCY } from '../../core/quantities/units.ts';
import { suggest } from '../../core/text/suggest.ts';
import { collateralOf, poolEquity, type ReportedPosition } from './pool-equity.ts';
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
export function settlementOf({ settings }: ConfiguredAccount, market: string): string {
  const money = moneyOf(market, settings);
  return money === NO_CURRENCY ? 'USDT' : money;
}

/** An account as printed; the output does not show its collateral. */
export interface PrintedAccount {
  readonly id: string;
  readonly path: Path;
  readonly positions: readonly (ReportedPosition & { readonly money: string })[];
  readonly hedgeMode?: boolean;
  /** Used if no position has a liquidation price. */
  readonly otherEquity?: number | undefined;
}

/** The account, with the collateral that its figures imply; `undefined`: they imply none (reported). */
export function accountFrom(
  reading: PositionsReading,
  { id, path, positions, hedgeMode, otherEquity }: PrintedAccount,
): StartingBook | undefined {
  const fail = (message: string): undefined => refuse(reading, path, `${message}; ${WRITE_IT}`);
  const monies = [...new Set(positions.map(({ money }) => money))];
  const [money] = monies;
  if (money === undefined || monies.length > 1) {
    return fail(`expected positions in one currency to work out the collateral, got ${monies.join(', ')}`);
  }
  const pool = poolEquity(positions);
  if (pool.kind === 'several') return fail(SEVERAL_POOLS);
  const equity = pool.kind === 'equity' ? pool.equity : otherEquity;
  if (equity === undefined) return fail('expected a liquidation price to work out the collateral, got none');
  const collateral = collateralOf(equity, positions);
  const source = pool.kind === 'equity' ? 'liquidation prices' : 'margin and freeMargin';
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
