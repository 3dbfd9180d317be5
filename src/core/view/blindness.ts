import { isEveryPoll, type SourceName } from '../fields/field-catalogue.ts';
import type { Severity } from '../rules/rule.ts';
import { type AccountFigures, isHedged, type PositionFigures, type SourceView } from './account-view.ts';
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
  readonly positions: readonly PositionFigures[];
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
  const [failure] = inputs.failures.toSorted((a, b) => failureRank(a.source) - failureRank(b.source));
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
  return partBlindness(inputs);
}

function failureRank(source: SourceName): number {
  return isEveryPoll(source) ? 0 : 1;
}

function partBlindness({ sources, positions }: SightInputs): StateLine | undefined {
  const partial = sources.filter(({ setAside }) => setAside > 0);
  if (partial.length > 0) {
    const detail = partial.map(({ source, setAside }) => `${setAside} of ${SOURCE_WORDS[source] ?? source}`);
    return line('blind', { cause: 'recordsUnreadable', detail: detail.join(', '), severity: 'critical' });
  }
  const unknown = positions.filter((position) => isUnknown(position, positions));
  if (unknown.length === 0) return undefined;
  const markets = [...new Set(unknown.map(({ market }) => market))].join(', ');
  const words = `the distance to liquidation in ${markets} is not known`;
  return line('blind', { cause: 'marketUnknown', words, severity: 'critical' });
}

/** With both sides of a market open, one of them always has passed its liquidation price, which means nothing. */
function isUnknown(position: PositionFigures, all: readonly PositionFigures[]): boolean {
  if (position.liquidationDistance !== null) return false;
  return position.disagreement !== true || !isHedged(position, all);
}

/** Names of the exchange's error catalogue by their cause; all others are errors of the exchange. */
const CAUSES: Readonly<Record<string, StateCause>> = {
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
