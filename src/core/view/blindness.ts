import { isEveryPoll, SOURCE_NAMES, type SourceName } from '../fields/field-catalogue.ts';
import type { RecordList } from '../ports/exchange.ts';
import { UNKNOWN_WORDS } from '../quantities/quantity.ts';
import { countSetAside, type Snapshot, type SourceReading } from '../quantities/snapshot.ts';
import type { UnknownFigure } from '../rules/decision.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import { creditLineKey, creditLineParts, findCover } from '../rules/memory.ts';
import type { Severity } from '../rules/rule.ts';
import { positionKey } from '../rules/subjects.ts';
import type { AccountFigures, SourceView } from './account-view.ts';
import { type Found, line, type StateCause, type StateLine } from './state-line.ts';
import type { ReadFailure } from './stored-figures.ts';

/** What is known of an account, and how old it is. */
export interface SightInputs {
  readonly refused: AccountFigures['refused'];
  readonly judgedAtMs: number | null;
  /** Without a poll for longer than this, the account is overdue. */
  readonly overdueAfterMs: number;
  readonly sources: readonly SourceView[];
  readonly failures: readonly ReadFailure[];
  /** `lost`: the stored state was read earlier and may be outdated. */
  readonly storeLink: 'ok' | 'lost';
  readonly nowMs: number;
}

const SOURCE_WORDS: Readonly<Record<string, string>> = {
  positions: 'positions',
  creditLine: 'credit lines',
  mainBalance: 'the main balance',
  transfers: 'transfers',
  spotOrders: 'spot orders',
};

/** Why the danger of an account is not known, in whole or in part; undefined: it is known. */
export function blindness(inputs: SightInputs): StateLine | undefined {
  const { refused, judgedAtMs, storeLink, nowMs, overdueAfterMs } = inputs;
  const blind = (found: Omit<Found, 'severity'>, severity: Severity = 'critical'): StateLine =>
    line('blind', { severity, ...found });
  if (storeLink === 'lost') return blind({ cause: 'storeLost' });
  if (refused !== null) return blind({ cause: 'stateRefused', detail: refused.document });
  if (judgedAtMs === null) return blind({ cause: 'notPolled' }, 'info');
  if (nowMs - judgedAtMs > overdueAfterMs) return blind({ cause: 'overdue', sinceMs: judgedAtMs });
  const [failure] = inputs.failures.toSorted((a, b) => failureRank(a) - failureRank(b));
  if (failure !== undefined) {
    const cause = causeOfFailure(failure);
    return blind({ cause, detail: failureWords(failure), sinceMs: failure.sinceMs });
  }
  const old = inputs.sources.filter(({ tooOld }) => tooOld);
  const [oldest] = old;
  if (oldest !== undefined) {
    const names = old.map(({ source }) => SOURCE_WORDS[source] ?? source).join(', ');
    return blind({ cause: 'dataTooOld', detail: names, sinceMs: oldest.readAtMs });
  }
  return undefined;
}

function failureRank(failure: ReadFailure): number {
  return isInPart(failure) ? 2 : isEveryPoll(failure.source) ? 0 : 1;
}

/**
 * What rules need and the reads do not show although they succeed: at most one failure for each source and kind. The
 * one judgement of it: notices, status, /readyz and the heartbeat follow these failures.
 */
export function blindSpots(
  { sources }: Snapshot,
  { unknowns, state }: Pick<Evaluation, 'unknowns' | 'state'>,
  before: readonly ReadFailure[],
  nowMs: number,
): readonly ReadFailure[] {
  const spots: ReadFailure[] = [];
  const add = (source: SourceName, error: keyof typeof IN_PART, all: readonly string[]): void => {
    if (all.length === 0) return;
    const known = before.find((one) => one.source === source && one.error === error);
    // The wall clock may step back.
    const sinceMs = Math.min(known?.sinceMs ?? nowMs, nowMs);
    spots.push({ source, error, words: [...new Set(all)].join('; '), sinceMs });
  };
  for (const source of SOURCE_NAMES) {
    const list = source === 'mainBalance' ? undefined : listOf<RecordList<unknown>>(sources[source]);
    const [fault] = list?.setAside ?? [];
    if (list === undefined || fault === undefined) continue;
    const why = `${fault.path} is ${fault.got}, not ${fault.expected}`;
    add(source, 'recordsUnreadable', [`${countSetAside(list)} of ${SOURCE_WORDS[source] ?? source}: ${why}`]);
  }
  const [positions, loans] = [listOf(sources.positions), listOf(sources.creditLine)];
  const nulls = (positions?.notOpenYet ?? [])
    .filter(({ positionId }) => findCover(state.positions, positionId) !== undefined)
    .map(({ market }) => `${market} is open, and its figures are null`);
  const wordsOf = ({ subject, figure = 'all', why }: UnknownFigure): string => {
    const position = positions?.records.find(({ positionId }) => positionKey(positionId) === subject);
    const loan = loans?.records.find((one) => creditLineKey(one) === subject);
    const name = position?.market ?? (loan === undefined ? subject : `the credit line in ${loan.asset}`);
    const record = position ?? loan ?? NO_FIELDS;
    const missing = NEEDED[loan === undefined ? 'position' : 'loan'].filter((field) => !(field in record));
    const told = why === 'fieldMissing' && record !== NO_FIELDS ? ` (${missing.join(', ')})` : '';
    return `${figure} of ${name} is unknown: ${UNKNOWN_WORDS[why]}${told}`;
  };
  const isOfLoan = ({ subject }: UnknownFigure): boolean => subject.startsWith('creditLine:');
  const others = unknowns.filter((one) => !isOfLoan(one));
  add('positions', 'figureUnknown', [...nulls, ...others.map(wordsOf)]);
  // With one alone the reply may say that nothing is owed.
  const hidden = state.creditLines
    .map(({ subject, unseen }) => unseen && creditLineParts(subject)?.asset)
    .filter((asset) => loans?.records.some((record) => record.asset === asset) === true)
    .map((asset) => `another credit line in ${asset} is not shown any more`);
  add('creditLine', 'figureUnknown', [...hidden, ...unknowns.filter(isOfLoan).map(wordsOf)]);
  return spots;
}

const NO_FIELDS = {};
/** Fields that documented records have and rules need most. */
const NEEDED = {
  position: ['basePrice', 'unrealizedPnl', 'liquidationPrice', 'liquidationState', 'margin'],
  loan: ['currentLtv', 'initialLtv', 'marginCallLtv', 'liquidationLtv'],
};

function listOf<T>(reading: SourceReading<T> | undefined): T | undefined {
  return reading?.kind === 'read' ? reading.value : undefined;
}

/** Whether the read succeeded and lacks something. */
export function isInPart({ error }: Pick<ReadFailure, 'error'>): boolean {
  return Object.hasOwn(IN_PART, error);
}

const IN_PART = {
  recordsUnreadable: 'recordsUnreadable',
  figureUnknown: 'figureUnknown',
} as const satisfies Readonly<Record<string, StateCause>>;

/** Names of the exchange's error catalogue by their cause; all others are errors of the exchange. */
const CAUSES: Readonly<Record<string, StateCause>> = {
  ...IN_PART,
  ...named('keyRefused', ['unauthenticated', 'permissionDenied', 'nonceRefused', 'addressNotAllowed']),
  ...named('keyRefused', ['loansNotAvailable']),
  ...named('unreachable', ['nameNotResolved', 'certificateRefused', 'connectionRefused', 'connectTimeout']),
  ...named('unreachable', ['connectFailed', 'proxyRefused', 'timeout', 'connectionLost', 'noReply']),
  ...named('rateLimited', ['rateLimited', 'rateBudgetSpent']),
  ...named('replyUnreadable', ['replyInvalid', 'replyNotJson', 'replyTooLarge', 'replyUndecodable']),
};

function named(cause: StateCause, names: readonly string[]): Readonly<Record<string, StateCause>> {
  return Object.fromEntries(names.map((name) => [name, cause]));
}

export function causeOfFailure({ error }: Pick<ReadFailure, 'error'>): StateCause {
  return CAUSES[error] ?? 'exchangeFails';
}

/** `401: key or nonce was not accepted`. */
export function failureWords({ httpStatus, words }: Pick<ReadFailure, 'httpStatus' | 'words'>): string {
  return httpStatus === undefined ? words : `${httpStatus}: ${words}`;
}
