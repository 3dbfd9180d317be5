import type { ChainHead } from '../audit/audit-record.ts';
import { type CostRow, type CostTotal, totalsOfRows } from '../costs/cost-report.ts';
import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import type { Mode, Severity } from '../rules/rule.ts';
import type { Sighting } from './sighting.ts';

/** From the first moment to before the last, Unix milliseconds. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What happened to all accounts within a time, from audit, history and views. Plain JSON, without secrets. */
export interface Digest extends Period {
  readonly versions: { readonly breakwater: string; readonly node: string };
  /** What has to be known beforehand, whole sentences. */
  readonly notes: readonly string[];
  /** In the order of the config. */
  readonly accounts: readonly AccountDigest[];
  /** All orders that closed something, by money currency. */
  readonly costs: readonly CostTotal[];
  /** Where the audit chains ended when it was made, for `audit verify --head`; those without a record are left out. */
  readonly heads: readonly DigestHead[];
}

export interface DigestHead {
  /** The account whose chain it is, or `OPERATOR_CHAIN`. */
  readonly chain: string;
  readonly head: ChainHead;
}

export interface AccountDigest {
  readonly accountId: string;
  /** The nearest that anything of it was to harm; null: nothing is known. */
  readonly nearest: Sighting | null;
  /** Nearer than `NEAR`, or called. */
  readonly cameNear: boolean;
  readonly rules: readonly RuleDigest[];
  readonly gone: readonly GoneDigest[];
  readonly answers: readonly AnswerDigest[];
  readonly requests: RequestCounts;
  /** What was closed and what that cost, by rule and market. */
  readonly costs: readonly CostRow[];
  readonly observed: readonly ObservedDigest[];
  readonly troubles: readonly TroubleDigest[];
  /** The source that has not been read for longest, of those that rules may not use any more; null: all are read. */
  readonly unread: UnreadDigest | null;
  /** Records before this are pruned, so that the time from the beginning to here is not known; null: none is missing. */
  readonly recordsFromMs: number | null;
  /** Why what is stored could not be read; null: it could. */
  readonly unreadable: string | null;
}

/** A rule that fired, or fires. */
export interface RuleDigest {
  readonly ruleId: string;
  readonly severity: Severity;
  readonly mode: Mode;
  /** How often it began to fire; 0: it only fired on. */
  readonly fired: number;
  /** How often an escalation stage began. */
  readonly escalated: number;
  /** Markets and credit lines, in words. */
  readonly subjects: readonly string[];
  /** At the end. */
  readonly isFiring: boolean;
}

/** A position or credit line that was not listed any more while rules fired for it. */
export interface GoneDigest {
  /** Its market or asset, in words. */
  readonly name: string;
  readonly ruleIds: readonly string[];
  readonly atMs: number;
}

/** What became of questions to people. */
export interface AnswerDigest {
  readonly ruleId: string;
  /** Why they did not wait any longer: `approved`, `vetoed`, `deadline` and others. */
  readonly end: string;
  readonly times: number;
  /** Of the last time. */
  readonly words: string;
}

/** Requests that were begun, by what became of them. */
export interface RequestCounts {
  readonly orders: OutcomeCounts;
  readonly cancels: OutcomeCounts;
}

export interface OutcomeCounts {
  readonly accepted: number;
  readonly rejected: number;
  /** No answer came, or none yet. */
  readonly unknown: number;
}

/** What enforce mode would have sent where a rule only observed. */
export interface ObservedDigest {
  readonly ruleId: string;
  readonly market: string | null;
  readonly orders: number;
  readonly cancels: number;
  /** The order that would have closed most; null: only cancels. */
  readonly largest: ReduceOnlyStopRequest | null;
}

/** `heldBack`: by Breakwater itself. `alarm`: anything else that a person had to see. */
export type TroubleKind = 'heldBack' | 'orderRefused' | 'cancelRefused' | 'blocked' | 'failed' | 'alarm';

export interface TroubleDigest {
  readonly kind: TroubleKind;
  readonly reason: string;
  readonly ruleId: string | null;
  readonly market: string | null;
  readonly times: number;
  /** Of the last time. */
  readonly words: string;
  readonly lastMs: number;
  readonly alarm: boolean;
}

export interface UnreadDigest {
  readonly source: string;
  /** Of the last good read; null: there was none. */
  readonly sinceMs: number | null;
  /** Why the newest read failed; null: not known. */
  readonly why: string | null;
}

/** An account came near a call when something of it was nearer than this, a fraction. */
export const NEAR = 0.1;

/** Pure: what all accounts together come to. */
export function digestOf(
  accounts: readonly AccountDigest[],
  { fromMs, toMs }: Period,
  about: Pick<Digest, 'versions' | 'notes'> & Partial<Pick<Digest, 'heads'>>,
): Digest {
  const { versions, notes, heads = [] } = about;
  return {
    fromMs,
    toMs,
    versions,
    notes,
    accounts,
    costs: totalsOfRows(accounts.flatMap(({ costs }) => costs)),
    heads,
  };
}
