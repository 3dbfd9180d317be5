import type { AccountQuantities } from './account.ts';
import type { RuleSlot } from './account-state.ts';
import { isInDanger } from './active-requests.ts';
import { ltvLevels, type NextDue, nextDue, priceLevels, safeIntervalToLevels } from './cadence.ts';
import type { CompiledRules } from './compiled-rules.ts';
import type { SubjectKey } from './subject.ts';
import type { SubjectList, Subjects } from './subjects.ts';

/** When to poll an account next, from what its evaluation found. */
export function planNext(
  rules: CompiledRules,
  account: AccountQuantities,
  { positions, loans }: Subjects,
  slots: readonly RuleSlot[],
  leastIntervalMs: number,
): NextDue {
  const { calmMs, alertMs } = rules.settings.cadence;
  const bounds = { calmMs, alertMs, leastIntervalMs };
  const urgent = findUrgent(account, positions, slots);
  return nextDue(bounds, urgent ?? soonest(rules, positions, loans, calmMs));
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
    const active = entries.find(({ phase }) => phase !== 'inactive');
    if (active !== undefined) return { inMs: 0, reason: 'ruleActive', subject: active.subject };
  }
  return account.isBlind ? { inMs: 0, reason: 'blind' } : undefined;
}

function soonest(
  { position, creditLine }: CompiledRules,
  positions: SubjectList<'position'>,
  loans: SubjectList<'creditLine'>,
  calmMs: number,
): NextDue {
  let due: NextDue = { inMs: calmMs, reason: 'calm' };
  const consider = (inMs: number, subject: SubjectKey): void => {
    if (inMs < due.inMs) due = { inMs, reason: 'nearThreshold', subject };
  };
  for (const { key, of } of positions.subjects) {
    const { position: quantities, motion } = of;
    if (quantities.markPrice.kind !== 'value') continue;
    const levels = priceLevels(quantities, position.thresholds, motion);
    consider(safeIntervalToLevels(quantities.markPrice.value, levels, motion), key);
  }
  for (const { key, of } of loans.subjects) {
    const current = of.loan.ltv('currentLtv');
    if (current.kind !== 'value' || current.value <= 0) continue;
    consider(
      safeIntervalToLevels(current.value, ltvLevels(of.loan, creditLine.thresholds, of.motion), of.motion),
      key,
    );
  }
  return due;
}
