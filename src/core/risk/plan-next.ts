import type { AccountQuantities } from '../quantities/account.ts';
import type { Quantity } from '../quantities/quantity.ts';
import type { RuleSlot } from '../rules/account-state.ts';
import { isInDanger } from '../rules/active-requests.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
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

/** When to poll an account next, from what its evaluation found. */
export function planNext(
  rules: CompiledRules,
  account: AccountQuantities,
  { positions, creditLines }: Subjects,
  slots: readonly RuleSlot[],
  leastIntervalMs: number,
): NextDue {
  const { calmMs, alertMs } = rules.settings.cadence;
  const bounds = { calmMs, alertMs, leastIntervalMs };
  const urgent = findUrgent(account, positions, slots);
  return nextDue(bounds, urgent ?? soonest(rules, account, { positions, creditLines }, calmMs));
}

/** What asks for the alert cadence whatever the figures say. */
function findUrgent(
  account: AccountQuantities,
  positions: SubjectList<'position'>,
  slots: readonly RuleSlot[],
): NextDue | undefined {
  const inDanger = positions.subjects.find(({ of }) => isInDanger(of.position));
  if (inDanger !== undefined) return { inMs: 0, reason: 'marginCall', subject: inDanger.key };
  for (const { entries } of slots) {
    if (entries.length === 0) continue;
    const active = entries.find(({ phase }) => phase !== 'inactive');
    if (active !== undefined) return { inMs: 0, reason: 'ruleActive', subject: active.subject };
  }
  return account.isBlind || account.isPositionUnseen ? { inMs: 0, reason: 'blind' } : undefined;
}

function soonest(
  rules: CompiledRules,
  account: AccountQuantities,
  { positions, creditLines }: Pick<Subjects, 'positions' | 'creditLines'>,
  calmMs: number,
): NextDue {
  let due: NextDue = { inMs: calmMs, reason: 'calm' };
  const consider = (
    subject: SubjectKey,
    levels: NearestLevels | undefined,
    motion: Quantity<Motion>,
  ): void => {
    const inMs = levels?.safeIntervalMs(motion) ?? calmMs;
    if (inMs < due.inMs) due = { inMs, reason: 'nearThreshold', subject };
  };
  for (const { key, of } of positions.subjects) {
    consider(key, priceLevels(of.position, rules.position.thresholds, of.motion), of.motion);
  }
  for (const { key, of } of creditLines.subjects) {
    consider(key, ltvLevels(of.creditLine, rules.creditLine.thresholds, of.motion), of.motion);
  }
  const distance = account.jointDistance;
  if (distance.kind === 'value' || distance.kind === 'atMost') {
    const motions = positions.subjects.map(({ of }) => of.motion);
    for (const dir of directionsOf(account)) {
      const levels = jointLevels(distance.value, dir, rules.account.thresholds);
      consider(ACCOUNT_KEY, levels, jointMotion(motions, dir));
    }
  }
  return due;
}

/** Where all markets have to move to bring the account nearer to liquidation; both ways where nobody knows. */
function directionsOf({ pool }: AccountQuantities): readonly (1 | -1)[] {
  if (pool.kind !== 'value' || pool.value.kind === 'apart') return [1, -1];
  return pool.value.pull < 0 ? [-1] : [1];
}
