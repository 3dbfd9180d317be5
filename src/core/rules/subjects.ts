import type { SubjectOf } from '../fields/field-cache.ts';
import type { CreditLineSubject, PositionSubject } from '../fields/field-values.ts';
import { AccountQuantities } from '../quantities/account.ts';
import { known, type Quantity, type UnknownReason, unknown } from '../quantities/quantity.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { Instant, Snapshot } from '../quantities/snapshot.ts';
import { type Motion, motionOf } from '../risk/forecast.ts';
import type { PositionMemory } from './account-state.ts';
import { unconfirmedZeros } from './balances.ts';
import type { Filterable } from './filter.ts';
import { creditLineKey, findCover, type Memory } from './memory.ts';
import type { SubjectKind } from './rule.ts';
import type { SubjectKey } from './subject.ts';

/** One subject of an evaluation. `frozen`: why it cannot be evaluated. */
export interface Subject<K extends SubjectKind> {
  readonly key: SubjectKey;
  readonly of: SubjectOf[K];
  readonly filterable: Filterable;
  readonly frozen: UnknownReason | undefined;
}

/** The listed subjects of one kind, and which others may still exist. */
export interface SubjectList<K extends SubjectKind> {
  readonly subjects: readonly Subject<K>[];
  /** Returns why an unlisted subject cannot be evaluated; `undefined` if it is gone. */
  readonly whyAbsent: (key: SubjectKey) => UnknownReason | undefined;
}

export interface Subjects {
  readonly positions: SubjectList<'position'>;
  readonly creditLines: SubjectList<'creditLine'>;
  readonly account: SubjectList<'account'>;
}

export interface MarketForecast {
  readonly market: string;
  readonly motion: Quantity<Motion>;
}

export function marketForecasts({ markets }: Pick<Memory, 'markets'>): readonly MarketForecast[] {
  return markets.map(({ market, forecast }) => ({ market, motion: motionOf(forecast) }));
}

export function subjectsOf(
  account: AccountQuantities,
  memory: Memory,
  forecasts: readonly MarketForecast[],
): Subjects {
  return {
    positions: positionSubjects(account, memory, forecasts),
    creditLines: creditLineSubjects(account, memory),
    account: accountSubject(account),
  };
}

export const ACCOUNT_KEY: SubjectKey = 'account';

export function positionKey(positionId: string): SubjectKey {
  return `position:${positionId}`;
}

function positionSubjects(
  account: AccountQuantities,
  memory: Memory,
  forecasts: readonly MarketForecast[],
): SubjectList<'position'> {
  const list = account.positionList;
  const stale = list.kind === 'unknown' ? list.why : undefined;
  const ids = account.positions.map(({ positionId }) => positionId);
  const subjects = account.positions.map((position, index) => {
    const { positionId, market } = position;
    const of: PositionSubject = {
      position,
      account,
      motion: motionIn(forecasts, market),
      unprotectedMs: unprotectedTime(memory, positionId),
    };
    const frozen = stale ?? (isRepeated(ids, index) ? ('duplicateRecord' as const) : undefined);
    return { key: positionKey(positionId), of, filterable: position, frozen };
  });
  const incomplete = incompleteness(list);
  let unseen: ReadonlySet<SubjectKey> | undefined;
  const whyAbsent = (key: SubjectKey): UnknownReason | undefined => {
    unseen ??= new Set(unseenPositions(account, memory).map(({ positionId }) => positionKey(positionId)));
    return incomplete ?? (unseen.has(key) ? 'presumedClosed' : undefined);
  };
  return { subjects: unique(subjects), whyAbsent };
}

/** The quantities of a snapshot that was evaluated with this memory. */
export function evaluatedAccount(
  snapshot: Snapshot,
  settings: AccountSettings,
  now: Instant,
  memory: Memory,
): AccountQuantities {
  const account = new AccountQuantities(snapshot, settings, now, memory.positions);
  account.noteUncertain(unseenPositions(account, memory), unconfirmedZeros(memory));
  return account;
}

/** Known positions that the list lacks and that are not certainly closed. */
export function unseenPositions(
  list: { readonly positions: readonly { readonly positionId: string }[] },
  { positions }: Pick<Memory, 'positions'>,
): readonly PositionMemory[] {
  const seen = new Set(list.positions.map(({ positionId }) => positionId));
  return positions.filter(({ positionId }) => !seen.has(positionId));
}

function creditLineSubjects(account: AccountQuantities, memory: Memory): SubjectList<'creditLine'> {
  const list = account.fresh(account.snapshot.sources.creditLine);
  const stale = list.kind === 'unknown' ? list.why : undefined;
  const keys = account.creditLines.map(({ record }) => creditLineKey(record));
  // Credit lines that cannot be told apart are judged by the worst of them.
  const ltvOf = (index: number): number => {
    const ltv = account.creditLines[index]?.ltv('currentLtv');
    return ltv?.kind === 'value' ? ltv.value : Number.NaN;
  };
  const alike = (key: SubjectKey): readonly number[] =>
    keys.flatMap((one, index) => (one === key ? [index] : [])).toSorted((a, b) => ltvOf(b) - ltvOf(a));
  const subjects = account.creditLines.map((first, index) => {
    const key = keys[index] ?? creditLineKey(first.record);
    const isRepeated = keys.indexOf(key) !== keys.lastIndexOf(key);
    const [worst = index, ...others] = isRepeated ? alike(key) : [];
    const isUnclear = isRepeated && [worst, ...others].some((one) => Number.isNaN(ltvOf(one)));
    const creditLine = account.creditLines[worst] ?? first;
    const of: CreditLineSubject = {
      creditLine,
      account,
      motion: motionOf(memory.creditLines.find(({ subject }) => subject === key)?.forecast),
    };
    const frozen = stale ?? (isUnclear ? ('duplicateRecord' as const) : undefined);
    return { key, of, filterable: { asset: creditLine.record.asset }, frozen };
  });
  const incomplete = incompleteness(list);
  const isUnseen = (key: SubjectKey): boolean => memory.creditLines.some(({ subject }) => subject === key);
  const whyAbsent = (key: SubjectKey): UnknownReason | undefined =>
    incomplete ?? (isUnseen(key) ? 'presumedClosed' : undefined);
  return { subjects: unique(subjects), whyAbsent };
}

function isRepeated(keys: readonly SubjectKey[], index: number): boolean {
  const key = keys[index];
  for (let at = 0; at < keys.length; at++) if (at !== index && keys[at] === key) return true;
  return false;
}

/** The account itself; each of its fields checks its own source. */
function accountSubject(account: AccountQuantities): SubjectList<'account'> {
  return {
    subjects: [{ key: ACCOUNT_KEY, of: account, filterable: {}, frozen: undefined }],
    whyAbsent: () => undefined,
  };
}

function incompleteness(list: Quantity<{ readonly complete: boolean }>): UnknownReason | undefined {
  if (list.kind === 'value') return list.value.complete ? undefined : 'listIncomplete';
  return list.kind === 'unknown' ? list.why : 'notRead';
}

/** One subject per key: records with the same key cannot be distinguished and count once. */
function unique<K extends SubjectKind>(subjects: readonly Subject<K>[]): readonly Subject<K>[] {
  const seen = new Set<SubjectKey>();
  return subjects.filter(({ key }) => !seen.has(key) && seen.add(key));
}

export function motionIn(forecasts: readonly MarketForecast[], market: string): Quantity<Motion> {
  for (const one of forecasts) if (one.market === market) return one.motion;
  return motionOf(undefined);
}

function unprotectedTime(memory: Memory, positionId: string): Quantity<number> {
  const one = findCover(memory.positions, positionId);
  if (one === undefined || one.cover === 'unknown') return unknown('fieldMissing');
  return known(one.unprotectedMs);
}
