import type { CreditLineRecord, PositionRecord, RecordList } from '../../../src/core/ports/exchange.ts';
import { type DecimalString, isDecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../../../src/core/quantities/settings.ts';
import type {
  Instant,
  Snapshot,
  SnapshotSources,
  SourceReading,
} from '../../../src/core/quantities/snapshot.ts';
import type { ConditionSpec, RuleSpec, SubjectKind } from '../../../src/core/rules/rule.ts';

/** Plain valid records and settings; each test overrides what it is about. */

export function d(text: string): DecimalString {
  if (!isDecimalString(text)) throw new TypeError(`not a decimal: ${text}`);
  return text;
}

/** An own key of `T`, or its absence. */
export type Overrides<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** Overrides; a key with the value `undefined` is left out, as the exchange leaves it out. */
export function override<T extends object>(base: T, changes: Overrides<T>): T {
  const merged = { ...base, ...changes };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined)) as T;
}

/** Long 2 at 100, mark 90 (-20 / 2), liquidation at 81: a distance of 10 %. */
export const LONG: PositionRecord = {
  positionId: '42',
  market: 'BTC_PERP',
  openDate: 1_700_000_000,
  modifyDate: 1_700_000_100,
  amount: d('2'),
  basePrice: d('100.0'),
  liquidationPrice: d('81'),
  liquidationState: null,
  pnl: d('1.5'),
  pnlPercent: d('-10'),
  margin: d('20'),
  freeMargin: d('60'),
  funding: d('0.25'),
  unrealizedFunding: d('0.125'),
  unrealizedPnl: d('-20.00'),
  tpsl: null,
  positionSide: { known: true, value: 'BOTH' },
};

export const position = (changes: Overrides<PositionRecord> = {}): PositionRecord => override(LONG, changes);

/** Short 2 at 100, mark 110 (-20 / 2), liquidation at 121: a distance of 10 %. */
export const short = (changes: Overrides<PositionRecord> = {}): PositionRecord =>
  position({ amount: d('-2'), liquidationPrice: d('121'), ...changes });

export const LOAN: CreditLineRecord = {
  asset: 'USDT',
  amount: d('1000'),
  totalFunding: d('8'),
  currentLtv: d('60'),
  initialLtv: d('50'),
  marginCallLtv: d('75'),
  liquidationLtv: d('80'),
  createdAt: 1_700_000_000,
};

export const creditLine = (changes: Overrides<CreditLineRecord> = {}): CreditLineRecord =>
  override(LOAN, changes);

export const PERP: MarketSettings = {
  amountStep: d('0.001'),
  priceStep: d('0.1'),
  minAmount: d('0.001'),
  maintenanceMargin: 0.03,
  basisAllowance: 0.001,
  money: 'USDT',
};

export const SETTINGS: AccountSettings = {
  accountId: 'desk-1',
  mode: 'enforce',
  labels: {},
  bothSign: 'signed',
  ltvUnit: 'auto',
  marginModel: 'auto',
  nonceMode: 'unique',
  cancelCoversStops: true,
  cancel: 'always',
  ownOrders: 'none',
  hedge: 'net',
  overshoot: 'audited',
  lateArrivalMs: 5_000,
  readLagMs: 0,
  fillWithinMs: 10_000,
  intentTtlMs: 300_000,
  maxSnapshotAgeMs: 10_000,
  maxOrderReadAgeMs: 2_000,
  maxRenewals: 3,
  maxAttempts: 10,
  mostSets: 12,
  distanceTolerance: 0.1,
  largestReduction: 1,
  cadence: { calmMs: 10_000, alertMs: 1_000 },
  marketSettings: (market) => (market.endsWith('_PERP') ? PERP : undefined),
};

export const settings = (changes: Partial<AccountSettings> = {}): AccountSettings => ({
  ...SETTINGS,
  ...changes,
});

/** The exchange's clock at the reads of the snapshots below: 1000 s after the position was opened. */
export const SERVER_MS = 1_700_001_000_000;

export const at = (ms: number, clockId = 'process-1', wallOffsetMs = 0): Instant => ({
  wallMs: SERVER_MS + ms + wallOffsetMs,
  monotonicMs: ms,
  clockId,
});

export function list<T>(records: readonly T[], complete = true): RecordList<T> {
  return {
    records,
    setAside: complete ? [] : [{ path: '[9].amount', expected: 'decimal', got: 'string' }],
    complete,
  };
}

export function read<T>(value: T, ageMs = 0): SourceReading<T> {
  return { kind: 'read', value, ageMs, serverDateMs: SERVER_MS - ageMs };
}

export function snapshot(
  sources: SnapshotSources,
  now: Instant = at(0),
  changes: Partial<Snapshot> = {},
): Snapshot {
  return { version: 1, accountId: 'desk-1', at: now, sources, ownStops: [], ...changes };
}

export const positionsSnapshot = (
  records: readonly PositionRecord[],
  now: Instant = at(0),
  complete = true,
): Snapshot => snapshot({ positions: read(list(records, complete)) }, now);

export function rule(on: SubjectKind, when: ConditionSpec, changes: Partial<RuleSpec> = {}): RuleSpec {
  return {
    id: 'rule-1',
    on,
    where: {},
    when,
    forMs: 0,
    keepFiringForMs: 0,
    actions: [{ kind: 'notify', channels: ['ops'], cure: [] }],
    escalate: [],
    limits: {},
    severity: 'critical',
    labels: {},
    checksum: 'c1',
    ...changes,
  };
}

export const below = (field: string, threshold: number, clearAbove?: number): ConditionSpec => ({
  kind: 'field',
  field,
  comparison: { op: 'below', threshold, ...(clearAbove !== undefined && { clearAbove }) },
});

export const above = (field: string, threshold: number, clearBelow?: number): ConditionSpec => ({
  kind: 'field',
  field,
  comparison: { op: 'above', threshold, ...(clearBelow !== undefined && { clearBelow }) },
});
