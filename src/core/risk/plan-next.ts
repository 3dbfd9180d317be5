import type { PositionSubject } from '../fields/field-values.ts';
import type { AccountQuantities } from '../quantities/account.ts';
import { leastJointDistance } from '../quantities/least-joint-distance.ts';
import type { Quantity } from '../quantities/quantity.ts';
import type { RuleSlot } from '../rules/account-state.ts';
import { isInDanger } from '../rules/active-requests.ts';
import type { CompiledRule, CompiledRules } from '../rules/compiled-rules.ts';
import type { RuleEntry } from '../rules/rule-state.ts';
import type { SubjectKey } from '../rules/subject.ts';
import { ACCOUNT_KEY, type SubjectList, type Subjects } from '../rules/subjects.ts';
import {
  jointLevels,
  jointMotion,
  ltvLevels,
  type NearestLevels,
  type NextDue,
  nextDue,
  priceLevels,
} from './cadence.ts';
import type { Motion } from './forecast.ts';

interface Evaluated {
  readonly rules: CompiledRules;
  readonly account: AccountQuantities;
  readonly subjects: Subjects;
  readonly slots: readonly RuleSlot[];
}

/** When to poll an account next, given its evaluation. */
export function planNext(found: Evaluated, leastIntervalMs: number): NextDue {
  const { rules, account, slots } = found;
  const { positions, creditLines } = found.subjects;
  const { calmMs, alertMs } = rules.settings.cadence;
  const bounds = { calmMs, alertMs, leastIntervalMs };
  const urgent = findUrgent(rules, account, positions, slots);
  if (urgent?.isPressing === true) return nextDue(bounds, urgent);
  const near = nearestThreshold(rules, account, { positions, creditLines });
  const calm: NextDue = { inMs: calmDueMs(account, rules.settings.cadence), reason: 'calm' };
  const due = urgent ?? (near !== undefined && near.inMs < calm.inMs ? near : calm);
  // Also where another source is overdue: that alone would be calm.
  const isNear = near !== undefined && near.inMs <= alertMs;
  return nextDue(bounds, isNear ? { ...due, isPressing: true } : due);
}

/** Returns what requires the alert cadence regardless of the figures. */
function findUrgent(
  { byId }: CompiledRules,
  account: AccountQuantities,
  positions: SubjectList<'position'>,
  slots: readonly RuleSlot[],
): NextDue | undefined {
  const inDanger = positions.subjects.find(({ of }) => isInDanger(of.position));
  if (inDanger !== undefined) {
    return { inMs: 0, reason: 'marginCall', subject: inDanger.key, isPressing: true };
  }
  let other: NextDue | undefined;
  for (const { ruleId, entries } of slots) {
    if (entries.length === 0) continue;
    const rule = byId.get(ruleId);
    const active = entries.find((entry) => entry.phase !== 'inactive' && !isAtRest(rule, entry, positions));
    if (active === undefined) continue;
    const due: NextDue = { inMs: 0, reason: 'ruleActive', subject: active.subject };
    if (rule?.sendsOrders === true) return { ...due, isPressing: true };
    other ??= due;
  }
  if (account.isPositionUnseen) return { inMs: 0, reason: 'blind', isPressing: true };
  if (other !== undefined) return other;
  return account.isBlind ? { inMs: 0, reason: 'blind' } : undefined;
}

/** True if a rule fires for stops that stand, or only observes: it may do so for months, and needs no closer watch. */
function isAtRest(
  rule: CompiledRule | undefined,
  { phase, subject }: RuleEntry,
  positions: SubjectList<'position'>,
): boolean {
  if (rule?.onlyProtects !== true || phase !== 'firing') return false;
  if (rule.mode === 'observe') return true;
  const meant =
    rule.spec.on === 'position'
      ? positions.subjects.filter(({ key }) => key === subject)
      : positions.subjects;
  return meant.length > 0 && meant.every(({ of }) => isCovered(of));
}

function isCovered({ account, position }: PositionSubject): boolean {
  const cover = account.coverOf(position);
  return cover.kind === 'value' && cover.value === 'ok';
}

/** When the first threshold may be reached; undefined: none can be. */
function nearestThreshold(
  rules: CompiledRules,
  account: AccountQuantities,
  { positions, creditLines }: Pick<Subjects, 'positions' | 'creditLines'>,
): NextDue | undefined {
  let due: NextDue | undefined;
  // Counted from when the figures were requested: the next request is due by then.
  const consider = (
    source: 'positions' | 'creditLine',
    subject: SubjectKey,
    levels: NearestLevels | undefined,
    motion: Quantity<Motion>,
  ): void => {
    if (levels === undefined) return;
    const inMs = levels.safeIntervalMs(motion) - (account.ageMs(source) ?? 0);
    if (due === undefined || inMs < due.inMs) due = { inMs, reason: 'nearThreshold', subject };
  };
  for (const { key, of } of positions.subjects) {
    consider('positions', key, priceLevels(of.position, rules.position.thresholds, of.motion), of.motion);
  }
  for (const { key, of } of creditLines.subjects) {
    consider('creditLine', key, ltvLevels(of.creditLine, rules.creditLine.thresholds, of.motion), of.motion);
  }
  const distance = leastJointDistance(account);
  if (distance !== undefined) {
    const motions = positions.subjects.map(({ of }) => of.motion);
    for (const dir of directionsOf(account)) {
      const levels = jointLevels(distance, dir, rules.account.thresholds);
      consider('positions', ACCOUNT_KEY, levels, jointMotion(motions, dir));
    }
  }
  return due;
}

/** Calm accounts must be read at this interval: if the last poll read nothing, the time since the last read counts. */
function calmDueMs(
  account: AccountQuantities,
  { calmMs, alertMs }: CompiledRules['settings']['cadence'],
): number {
  const ageMs = Math.max(account.ageMs('positions') ?? 0, account.ageMs('creditLine') ?? 0);
  return ageMs > alertMs ? calmMs - ageMs : calmMs;
}

/** Directions in which a joint move brings liquidation nearer; both if unknown. */
function directionsOf({ pool }: AccountQuantities): readonly (1 | -1)[] {
  if (pool.kind !== 'value' || pool.value.kind === 'apart') return [1, -1];
  return pool.value.pull < 0 ? [-1] : [1];
}
