import { BUCKETS } from '../../core/ports/state-store.ts';
import type { CadenceReason } from '../../core/risk/cadence.ts';
import type { Evaluation } from '../../core/rules/evaluate.ts';

/** Ticks come a little early or late: an account falls due this part of a tick before the tick that takes it. */
const EARLY_SHARE = 0.5;
/** A wanted time that exceeds whole ticks by less than this share of a tick is rounded down to them. */
const SLACK_SHARE = 0.05;

/** Milliseconds until an account is due: with the last tick that is not later than wanted, at least one tick ahead. */
export function dueIn(wantedMs: number, tick: { readonly everyMs: number }, sinceTickMs: number): number {
  const ticks = Math.max(1, Math.floor(wantedMs / tick.everyMs + SLACK_SHARE));
  const inMs = (ticks - EARLY_SHARE) * tick.everyMs - sinceTickMs;
  return Math.max(0, Math.round(inMs));
}

/** Accounts closer together than this had better share commits. */
const LEAST_APART_MS = 3;

/** Time between the polls of a bucket's accounts, so that none waits for another; 0: poll all at once. */
export function timeApart(everyMs: number, count: number): number {
  const apartMs = everyMs / BUCKETS / Math.max(1, count);
  return apartMs < LEAST_APART_MS ? 0 : apartMs;
}

const RANKS: Readonly<Record<CadenceReason, number>> = {
  calm: 0,
  budget: 0,
  nearThreshold: 1,
  blind: 2,
  ruleActive: 3,
  marginCall: 4,
};

/** Urgency of an account: ranked by why it is watched closely, then by how soon it is due. */
export function dangerOf({ nextDue, active }: Pick<Evaluation, 'nextDue' | 'active'>): number {
  const rank = RANKS[nextDue.reason] + (active.some(({ severity }) => severity === 'critical') ? 0.5 : 0);
  return rank + 0.4 / (1 + nextDue.inMs / 1000);
}
