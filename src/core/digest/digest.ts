import type { ChainHead } from '../audit/audit-record.ts';
import { type CostRow, type CostTotal, totalsOfRows } from '../costs/cost-report.ts';
import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import type { Mode, Severity } from '../rules/rule.ts';
import type { Sighting } from './sighting.ts';

/** From `fromMs` up to, but not including, `toMs`, Unix milliseconds. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Summary of all accounts over a period, from audit, history and views. Plain JSON, without secrets. */
export interface Digest extends Period {
  readonly versions: { readonly breakwater: string; readonly node: string };
  /** Notes to read first, whole sentences. */
  readonly notes: readonly string[];
  /** In the order of the config. */
  readonly accounts: readonly AccountDigest[];
  /** All orders that closed something, by money currency. */
  readonly costs: readonly CostTotal[];
  /** Heads of the audit chains when the digest was made, for `audit verify --head`; empty chains are omitted. */
  readonly heads: readonly DigestHead[];
}

export interface DigestHead {
  /** Account id, or `OPERATOR_CHAIN`. */
  readonly chain: string;
  readonly head: ChainHead;
}

export interface AccountDigest {
  readonly accountId: string;
  /** The nearest call of the account; null: nothing is known. */
  readonly nearest: Sighting | null;
  /** Nearer than `NEAR`, or a call was made. */
  readonly cameNear: boolean;
  readonly rules: readonly RuleDigest[];
  readonly gone: readonly GoneDigest[];
  readonly answers: readonly AnswerDigest[];
  readonly requests: RequestCounts;
  /** Costs of what was closed, by rule and market. */
  readonly costs: readonly CostRow[];
  readonly observed: readonly ObservedDigest[];
  readonly troubles: readonly TroubleDigest[];
  /** Among the sources too old for rules, the one not read for the longest time; null: all are read. */
  readonly unread: UnreadDigest | null;
  /** Records before this were pruned, so the start of the period is not covered; null: none is missing. */
  readonly recordsFromMs: number | null;
  /** Why the stored data could not be read; null: it could. */
  readonly unreadable: string | null;
}

/** A rule that fired or is firing. */
export interface RuleDigest {
  readonly ruleId: string;
  readonly severity: Severity;
  readonly mode: Mode;
  /** How often it started to fire; 0: it was firing already. */
  readonly fired: number;
  /** How often an escalation stage started. */
  readonly escalated: number;
  /** Names of markets and credit lines. */
  readonly subjects: readonly string[];
  /** At the end of the period. */
  readonly isFiring: boolean;
}

/** A position or credit line that left the list while rules fired for it. */
export interface GoneDigest {
  /** Name of its market or asset. */
  readonly name: string;
  readonly ruleIds: readonly string[];
  readonly atMs: number;
}

/** Outcome of questions to people. */
export interface AnswerDigest {
  readonly ruleId: string;
  /** Why the questions stopped waiting: `approved`, `vetoed`, `deadline` and others. */
  readonly end: string;
  readonly times: number;
  /** Words of the last one. */
  readonly words: string;
}

/** Requests that were started, by outcome. */
export interface RequestCounts {
  readonly orders: OutcomeCounts;
  readonly cancels: OutcomeCounts;
}

export interface OutcomeCounts {
  readonly accepted: number;
  readonly rejected: number;
  /** No answer came, or not yet. */
  readonly unknown: number;
}

/** Orders and cancels that enforce mode would have sent for a rule that only observes. */
export interface ObservedDigest {
  readonly ruleId: string;
  readonly market: string | null;
  readonly orders: number;
  readonly cancels: number;
  /** The order that would have closed most; null: only cancels. */
  readonly largest: ReduceOnlyStopRequest | null;
}

/** `heldBack`: by Breakwater itself. `alarm`: anything else that a person should see. */
export type TroubleKind = 'heldBack' | 'orderRefused' | 'cancelRefused' | 'blocked' | 'failed' | 'alarm';

export interface TroubleDigest {
  readonly kind: TroubleKind;
  readonly reason: string;
  readonly ruleId: string | null;
  readonly market: string | null;
  readonly times: number;
  /** Words of the last one. */
  readonly words: string;
  readonly lastMs: number;
  readonly alarm: boolean;
}

export interface UnreadDigest {
  readonly source: string;
  /** Time of the last good read; null: there was none. */
  readonly sinceMs: number | null;
  /** Why the newest read failed; null: unknown. */
  readonly why: string | null;
}

/** An account counts as near when its nearest distance is below this fraction. */
export const NEAR = 0.1;

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
