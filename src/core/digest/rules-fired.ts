import type { Transition } from '../rules/decision.ts';
import { creditLineParts } from '../rules/memory.ts';
import { SEVERITY_RANKS } from '../rules/rule.ts';
import type { SubjectKey } from '../rules/subject.ts';
import type { RuleLine } from '../view/account-view.ts';
import type { RuleDigest } from './digest.ts';

interface RulesScene {
  /** Transitions within the period, oldest first. */
  readonly transitions: readonly Transition[];
  /** The rules at the end of the period; absent: the last transitions count. */
  readonly lines: readonly RuleLine[] | undefined;
  /** Names of subjects: their markets. */
  readonly names: ReadonlyMap<SubjectKey, string>;
  /** End of the period. */
  readonly toMs: number;
}

type Counting = { -readonly [K in keyof RuleDigest]: RuleDigest[K] };

/** Rules that fired or are firing, most severe first. */
export function rulesIn({ transitions, lines, names, toMs }: RulesScene): readonly RuleDigest[] {
  const found = new Map<string, Counting>();
  const last = new Map<string, Transition>();
  for (const transition of transitions) {
    last.set(JSON.stringify([transition.ruleId, transition.subject]), transition);
    count(ruleIn(found, transition), transition, subjectWords(transition.subject, names));
  }
  const firing =
    lines === undefined
      ? [...last.values()].filter(({ to }) => to === 'firing')
      : lines.filter(({ phase, sinceMs }) => phase === 'firing' && (sinceMs ?? 0) < toMs);
  for (const { ruleId, mode, severity, subject } of firing) {
    // A rule that the config lacks keeps the severity it fired with, or counts as critical, as in views.
    const counted = severity ?? found.get(ruleId)?.severity ?? 'critical';
    const rule = ruleIn(found, { ruleId, mode, severity: counted });
    rule.isFiring = true;
    addTo(rule, subjectWords(subject, names));
  }
  return [...found.values()]
    .filter(({ fired, escalated, isFiring }) => fired + escalated > 0 || isFiring)
    .toSorted(compareRules);
}

/** Negative if `a` comes first. */
export function compareRules(a: RuleDigest, b: RuleDigest): number {
  const byName = Number(a.ruleId > b.ruleId) - Number(a.ruleId < b.ruleId);
  return SEVERITY_RANKS[b.severity] - SEVERITY_RANKS[a.severity] || b.fired - a.fired || byName;
}

function ruleIn(
  found: Map<string, Counting>,
  { ruleId, mode, severity }: Pick<RuleDigest, 'ruleId' | 'mode' | 'severity'>,
): Counting {
  const known = found.get(ruleId);
  if (known !== undefined) return Object.assign(known, { mode, severity });
  const rule: Counting = { ruleId, mode, severity, fired: 0, escalated: 0, subjects: [], isFiring: false };
  found.set(ruleId, rule);
  return rule;
}

function count(rule: Counting, { from, to, stage }: Transition, subject: string): void {
  if (to !== 'firing') return;
  addTo(rule, subject);
  if (from !== 'firing') rule.fired += 1;
  else if (stage !== undefined) rule.escalated += 1;
}

function addTo(rule: Counting, subject: string): void {
  if (!rule.subjects.includes(subject)) rule.subjects = [...rule.subjects, subject].toSorted();
}

/** `BTC_PERP`, `credit line in BTC`, `the account`; a subject without a name is called by its key. */
export function subjectWords(subject: SubjectKey, names: ReadonlyMap<SubjectKey, string>): string {
  if (subject === 'account') return 'the account';
  const creditLine = creditLineParts(subject);
  if (creditLine !== undefined) return `credit line in ${creditLine.asset}`;
  return names.get(subject) ?? subject.replace(':', ' ');
}
