import { fieldsOf } from '../../core/fields/field-catalogue.ts';
import type { ActionSpec, RuleSpec } from '../../core/rules/rule.ts';
import type { UncheckedAccount } from '../compile-config.ts';
import type { Path, Problem, ProblemCode } from '../problem.ts';
import type { UsedRule } from '../rules/use.ts';
import { warningAt } from '../shape/read.ts';
import { durationInWords, percentInWords } from '../shape/units.ts';
import { comparisonsOf } from '../sources.ts';
import { nodeAt, type YamlNode } from '../yaml/document.ts';
import { blindAlleys, contradictions, oddities } from './comparisons.ts';

type Warn = (inRule: Path, code: ProblemCode, message: string) => void;

/** What is legal but dangerous in one rule, as the account uses it. */
export function ruleWarnings(rule: RuleSpec, used: UsedRule, account: UncheckedAccount): readonly Problem[] {
  const found: Problem[] = [];
  const warn: Warn = (inRule, code, message) => {
    const path = [...used.path, ...inRule];
    const exists = nodeAt(used.document.root, path) !== undefined;
    // A rule of a set, as an account uses it: point to the use, and name the rule.
    const shown = exists ? message : `${message} (rule ${rule.id})`;
    found.push(warningAt(used.document, exists ? path : used.path, code, shown));
  };
  const when = nodeAt(used.document.root, [...used.path, 'when']);
  const paths = when === undefined ? [] : comparisonPaths(when, ['when'], rule);
  for (const [index, condition] of [...comparisonsOf(rule.when)].entries()) {
    for (const { code, message } of oddities(rule.on, condition))
      warn(paths[index] ?? ['when'], code, message);
  }
  for (const { code, message } of contradictions(rule.when)) warn(['when'], code, message);
  const { maxSnapshotAgeMs } = account.settings;
  for (const { code, message } of blindAlleys(rule, maxSnapshotAgeMs)) warn(['when'], code, message);
  blindness(rule, paths, account, warn);
  for (const { action, path } of actionsWithPaths(rule)) actionWarnings(rule, action, path, account, warn);
  return found;
}

/** Paths of the comparisons of a condition, in the order in which the compiled condition has them. */
function comparisonPaths(node: YamlNode, path: Path, rule: RuleSpec): readonly Path[] {
  const found: Path[] = [];
  for (const key of ['all', 'any']) {
    for (const [index, child] of node.children.get(key)?.children ?? []) {
      found.push(...comparisonPaths(child, [...path, key, index], rule));
    }
  }
  const not = node.children.get('not');
  if (not !== undefined) found.push(...comparisonPaths(not, [...path, 'not'], rule));
  for (const { name } of fieldsOf(rule.on)) if (node.children.has(name)) found.push([...path, name]);
  return found;
}

/** An age that is reached between two looks as planned is no blindness. */
function blindness(rule: RuleSpec, paths: readonly Path[], { settings }: UncheckedAccount, warn: Warn): void {
  for (const [index, { field, comparison }] of [...comparisonsOf(rule.when)].entries()) {
    if (field !== 'dataAge' || comparison.op !== 'above') continue;
    const { calmMs } = settings.cadence;
    if (comparison.threshold * 1000 > calmMs) continue;
    warn(
      paths[index] ?? ['when'],
      'timing',
      `expected more than the calm cadence of ${durationInWords(calmMs)}, got ${durationInWords(comparison.threshold * 1000)}: data grows that old as planned`,
    );
  }
}

function actionsWithPaths(rule: RuleSpec): readonly { action: ActionSpec; path: Path }[] {
  return [
    ...rule.actions.map((action, index) => ({ action, path: ['do', index] })),
    ...rule.escalate.flatMap(({ actions }, stage) =>
      actions.map((action, index) => ({ action, path: ['escalate', stage, 'do', index] })),
    ),
  ];
}

function actionWarnings(
  rule: RuleSpec,
  action: ActionSpec,
  path: Path,
  account: UncheckedAccount,
  warn: Warn,
): void {
  if (action.kind !== 'reduce') return;
  const { target } = action;
  const { settings } = account;
  const left =
    target.kind === 'to' ? target.fraction : target.kind === 'by' ? 1 - target.fraction : undefined;
  const at = [...path, 'reduce'];
  if (left === 0 && rule.limits.cooldownMs === undefined && (rule.mode ?? settings.mode) === 'enforce') {
    warn(
      at,
      'close-without-cooldown',
      'expected limits.cooldown on a rule that closes positions in enforce mode, got none: it closes again whatever is opened next, at once',
    );
  }
  const largest = settings.largestReduction;
  if (left !== undefined && 1 - left > largest + Number.EPSILON) {
    warn(
      at,
      'reduction-above-largest',
      `expected at most acting.largestReduction (${percentInWords(largest)}), got a reduction by ${percentInWords(1 - left)}: it is always refused`,
    );
  }
  if (target.kind === 'untilDistance')
    insideThreshold(rule, { ...OWN_DISTANCE, distance: target.distance }, at, warn);
  if (target.kind === 'untilJointDistance')
    insideThreshold(rule, { ...JOINT_DISTANCE, distance: target.distance }, at, warn);
  if (target.kind === 'untilMarginUsage') usageInsideThreshold(rule, target, at, warn);
}

const OWN_DISTANCE = { field: 'liquidationDistance', key: 'untilDistance' } as const;
const JOINT_DISTANCE = { field: 'jointDistance', key: 'until.jointDistance' } as const;

/** Reducing until the position is where the rule fired achieves nothing, and the rule goes on firing. */
function insideThreshold(
  rule: RuleSpec,
  of: { readonly field: string; readonly key: string; readonly distance: number },
  at: Path,
  warn: Warn,
): void {
  const { distance } = of;
  for (const { field, comparison } of comparisonsOf(rule.when)) {
    if (field !== of.field || comparison.op !== 'below') continue;
    const clear = comparison.clearAbove ?? comparison.threshold;
    if (distance > clear) continue;
    warn(
      at,
      'target-inside-threshold',
      `expected ${of.key} to be more than ${percentInWords(clear)}, where the rule clears, got ${percentInWords(distance)}: it would go on firing at its target`,
    );
  }
}

function usageInsideThreshold(
  rule: RuleSpec,
  { asset, usage }: { readonly asset: string; readonly usage: number },
  at: Path,
  warn: Warn,
): void {
  for (const { field, parameter, comparison } of comparisonsOf(rule.when)) {
    if (field !== 'marginUsage' || parameter?.asset !== asset || comparison.op !== 'above') continue;
    const clear = comparison.clearBelow ?? comparison.threshold;
    if (usage < clear) continue;
    warn(
      at,
      'target-inside-threshold',
      `expected until.marginUsage to be less than ${percentInWords(clear)}, where the rule clears, got ${percentInWords(usage)}: it would go on firing at its target`,
    );
  }
}
