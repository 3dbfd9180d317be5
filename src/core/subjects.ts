import type { AccountQuantities } from './account.ts';
import { CreditLineQuantities } from './credit-line.ts';
import type { CreditLineSubject, PositionSubject } from './field-values.ts';
import type { Filterable } from './filter.ts';
import { type ForecastState, type Motion, motionOf } from './forecast.ts';
import { creditLineKey, type Memory } from './memory.ts';
import type { PositionQuantities } from './position.ts';
import { known, type Quantity, type UnknownReason, unknown } from './quantity.ts';
import type { SubjectOf } from './registers.ts';
import type { SubjectKind } from './rule.ts';
import type { SubjectKey } from './subject.ts';

/** One subject of an evaluation. `frozen` tells why nothing can be said of it. */
export interface Subject<K extends SubjectKind> {
  readonly key: SubjectKey;
  readonly of: SubjectOf[K];
  readonly filterable: Filterable;
  readonly frozen: UnknownReason | undefined;
}

/** The subjects of one kind that the snapshot shows, and whether one that is absent is gone. */
export interface SubjectList<K extends SubjectKind> {
  readonly subjects: readonly Subject<K>[];
  /** Why an absence proves nothing; `undefined` when the list is complete. */
  readonly incomplete: UnknownReason | undefined;
}

/** All subjects of one evaluation. */
export interface Subjects {
  readonly positions: SubjectList<'position'>;
  readonly loans: SubjectList<'creditLine'>;
  readonly account: SubjectList<'account'>;
}

export function subjectsOf(account: AccountQuantities, memory: Memory): Subjects {
  return {
    positions: positionSubjects(account, memory),
    loans: creditLineSubjects(account, memory),
    account: accountSubject(account),
  };
}

export const ACCOUNT_KEY: SubjectKey = 'account';

export function positionKey(positionId: string): SubjectKey {
  return `position:${positionId}`;
}

function positionSubjects(account: AccountQuantities, memory: Memory): SubjectList<'position'> {
  const list = account.positionList;
  const { positions } = account;
  const stale = list.kind === 'unknown' ? list.why : undefined;
  const subjects = positions.map((position, index) => {
    const { positionId, market } = position.record;
    const isDuplicate = positions.some((other, at) => at !== index && other.record.positionId === positionId);
    const of: PositionSubject = {
      position,
      account,
      motion: marketMotion(memory, market),
      unprotectedMs: unprotectedTime(memory, positionId),
    };
    return {
      key: positionKey(positionId),
      of,
      filterable: new PositionFilterable(position),
      frozen: stale ?? (isDuplicate ? ('duplicateRecord' as const) : undefined),
    };
  });
  return { subjects: unique(subjects), incomplete: incompleteness(list) };
}

/** The direction is computed only for filters that ask for it. */
class PositionFilterable implements Filterable {
  readonly #position: PositionQuantities;

  constructor(position: PositionQuantities) {
    this.#position = position;
  }

  get market(): string {
    return this.#position.record.market;
  }

  get positionId(): string {
    return this.#position.record.positionId;
  }

  get direction(): NonNullable<Filterable['direction']> {
    return this.#position.direction;
  }
}

function creditLineSubjects(account: AccountQuantities, memory: Memory): SubjectList<'creditLine'> {
  const reading = account.snapshot.sources.creditLine;
  const list = account.fresh(reading);
  const records = reading?.kind === 'read' ? reading.value.records : [];
  const stale = list.kind === 'unknown' ? list.why : undefined;
  const keys = records.map(creditLineKey);
  const subjects = records.map((record, index) => {
    const key = creditLineKey(record);
    const isDuplicate = keys.some((other, at) => at !== index && other === key);
    const of: CreditLineSubject = {
      loan: new CreditLineQuantities(record, account.settings),
      account,
      motion: motionOf(memory.loans.find(({ subject }) => subject === key)?.forecast),
    };
    const frozen = stale ?? (isDuplicate ? ('duplicateRecord' as const) : undefined);
    return { key, of, filterable: { asset: record.asset }, frozen };
  });
  return { subjects: unique(subjects), incomplete: incompleteness(list) };
}

/** The account itself; each of its fields knows whether its own source may decide. */
function accountSubject(account: AccountQuantities): SubjectList<'account'> {
  return {
    subjects: [{ key: ACCOUNT_KEY, of: account, filterable: {}, frozen: undefined }],
    incomplete: undefined,
  };
}

function incompleteness(list: Quantity<{ readonly complete: boolean }>): UnknownReason | undefined {
  if (list.kind === 'value') return list.value.complete ? undefined : 'listIncomplete';
  return list.kind === 'unknown' ? list.why : 'notRead';
}

/** One subject per key: records that share one are not told apart, and count once. */
function unique<K extends SubjectKind>(subjects: readonly Subject<K>[]): readonly Subject<K>[] {
  if (subjects.every(({ frozen }) => frozen === undefined)) return subjects;
  const seen = new Set<SubjectKey>();
  return subjects.filter(({ key }) => !seen.has(key) && seen.add(key));
}

export function marketMotion(memory: Memory, market: string): Quantity<Motion> {
  return motionOf(marketForecast(memory, market));
}

function marketForecast(memory: Memory, market: string): ForecastState | undefined {
  return memory.markets.find((one) => one.market === market)?.forecast;
}

function unprotectedTime(memory: Memory, positionId: string): Quantity<number> {
  const one = memory.positions.find((position) => position.positionId === positionId);
  if (one === undefined || one.cover === 'unknown') return unknown('fieldMissing');
  return known(one.unprotectedMs);
}
