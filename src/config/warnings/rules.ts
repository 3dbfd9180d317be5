import { fieldsOf } from '../../core/fields/field-catalogue.ts';
import { MS_PER_MINUTE } from '../../core/quantities/units.ts';
import { actingMs, WORST_MINUTE_MOVE, worstCaseMs } from '../../core/risk/time-left.ts';
import type { ActionSpec, ReduceTarget, RuleSpec } from '../../core/rules/rule.ts';
import { actionsOf, comparisonsOf, modeOf } from '../../core/rules/rule-parts.ts';
import type { UncheckedAccount } from '../compile-config.ts';
import type { Path, Problem, ProblemCode } from '../problem.ts';
import type { UsedRule } from '../rules/use.ts';
import { warningAt } from '../shape/read.ts';
import { durationInWords, percentInWords } from '../shape/units.ts';
import { nodeAt, type YamlNode } from '../yaml/document.ts';
import { blindAlleys, contradictions, oddities } from './comparisons.ts';

interface Placed {
  readonly condition: Extract<RuleSpec['when'], { kind: 'field' }>;
  readonly path: Path;
}

type Warn = (inRule: Path, code: ProblemCode, message: string) => void;

/** Warns of what is legal but dangerous in one rule, as the account uses it. */
export function ruleWarnings(rule: RuleSpec, used: UsedRule, account: UncheckedAccount): readonly Problem[] {
  const found: Problem[] = [];
  const warn: Warn = (inRule, code, message) => {
    const path = [...used.path, ...inRule];
    const exists = nodeAt(used.document.root, path) !== undefined;
    // For a rule of a set, point to the account's use and name the rule.
    const shown = exists ? message : `${message} (rule ${rule.id})`;
    found.push(warningAt(used.document, exists ? path : used.path, code, shown));
  };
  const when = nodeAt(used.document.root, [...used.path, 'when']);
  const paths = when === undefined ? [] : comparisonPaths(when, ['when'], rule);
  const placed = [...comparisonsOf(rule.when)].map((condition, index) => ({
    condition,
    path: paths[index] ?? ['when'],
  }));
  for (const { path, condition } of placed) {
    for (const { code, message } of oddities(rule.on, condition)) warn(path, code, message);
  }
  for (const { code, message } of contradictions(rule.when)) warn(['when'], code, message);
  const { maxSnapshotAgeMs } = account.settings;
  for (const { code, message } of blindAlleys(rule, maxSnapshotAgeMs)) warn(['when'], code, message);
  blindness(placed, account, warn);
  const stages = [
    { actions: rule.actions, inRule: [] as Path },
    ...rule.escalate.map(({ actions }, stage) => ({ actions, inRule: ['escalate', stage] })),
  ];
  for (const { actions, inRule } of stages) {
    for (const [index, action] of actions.entries()) {
      actionWarnings(rule, action, account.settings, (code, message) =>
        warn([...inRule, 'do', index, 'reduce'], code, message),
      );
    }
  }
  healthy(rule, placed, warn);
  neverWaits(rule, placed, account, warn);
  weaker(rule, warn);
  return found;
}

const DISTANCES: ReadonlySet<string> = new Set(['liquidationDistance', 'jointDistance']);

/** Warns of a rule that reduces positions far from liquidation: its comparison is probably reversed. */
function healthy(rule: RuleSpec, all: readonly Placed[], warn: Warn): void {
  if (!actionsOf(rule).some(({ kind }) => kind === 'reduce')) return;
  for (const { condition, path } of all) {
    const { field, comparison } = condition;
    if (!DISTANCES.has(field) || comparison.op !== 'above') continue;
    const isBounded = all.some(({ condition: one }) => one.field === field && one.comparison.op === 'below');
    if (isBounded) continue;
    warn(
      path,
      'reduces-when-healthy',
      `expected below, got above ${percentInWords(comparison.threshold)}: the rule reduces positions that are far from liquidation, and leaves those that are near`,
    );
  }
}

/** Warns of a later stage that takes away less than an earlier one: it does nothing. */
function weaker(rule: RuleSpec, warn: Warn): void {
  const stages = [rule.actions, ...rule.escalate.map(({ actions }) => actions)];
  for (const [stage, actions] of stages.entries()) {
    for (const [index, action] of actions.entries()) {
      if (action.kind !== 'reduce' || stage === 0) continue;
      const { target } = action;
      const earlier = stages.slice(0, stage).flat();
      const [key, own] = strengthOf(target);
      const strongest = Math.max(
        ...earlier.flatMap((one) => {
          if (one.kind !== 'reduce') return [];
          const [otherKey, strength] = strengthOf(one.target);
          return otherKey === key ? [strength] : [];
        }),
      );
      if (own >= strongest) continue;
      const message = 'expected at least what an earlier step takes away, got less: this step does nothing';
      warn(['escalate', stage - 1, 'do', index, 'reduce'], 'weaker-escalation', message);
    }
  }
}

/** Makes targets comparable: with the same key, the larger number takes more away. */
function strengthOf(target: ReduceTarget): readonly [key: string, strength: number] {
  switch (target.kind) {
    case 'by':
      return ['share', target.fraction];
    case 'to':
      return ['share', 1 - target.fraction];
    case 'toNotional':
      return [target.kind, -Number(target.notional)];
    case 'untilDistance':
    case 'untilJointDistance':
      return [target.kind, target.distance];
    case 'untilMarginUsage':
      return [`${target.kind} ${target.asset}`, -target.usage];
  }
}

/** Returns the paths of a condition's comparisons, in the order of the compiled condition. */
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

/** Warns of a `dataAge` threshold that is reached between two regular polls. */
function blindness(placed: readonly Placed[], { settings }: UncheckedAccount, warn: Warn): void {
  for (const { condition, path } of placed) {
    const { field, comparison } = condition;
    if (field !== 'dataAge' || comparison.op !== 'above') continue;
    const { calmMs } = settings.cadence;
    if (comparison.threshold * 1000 > calmMs) continue;
    warn(
      path,
      'timing',
      `expected more than the calm cadence of ${durationInWords(calmMs)}, got ${durationInWords(comparison.threshold * 1000)}: data grows that old as planned`,
    );
  }
}

function actionWarnings(
  rule: RuleSpec,
  action: ActionSpec,
  settings: UncheckedAccount['settings'],
  warn: (code: ProblemCode, message: string) => void,
): void {
  if (action.kind !== 'reduce') return;
  const { target } = action;
  const left =
    target.kind === 'to' ? target.fraction : target.kind === 'by' ? 1 - target.fraction : undefined;
  if (left === 0 && rule.limits.cooldownMs === undefined && modeOf(rule, settings) !== 'observe') {
    warn(
      'close-without-cooldown',
      'expected limits.cooldown on a rule that closes positions in enforce mode, got none: it closes again whatever is opened next, at once',
    );
  }
  const largest = settings.largestReduction;
  if (left !== undefined && 1 - left > largest + Number.EPSILON) {
    warn(
      'reduction-above-largest',
      `expected at most acting.largestReduction (${percentInWords(largest)}), got a reduction by ${percentInWords(1 - left)}: it is always refused`,
    );
  }
  insideThreshold(rule, target, (message) => warn('target-inside-threshold', message));
}

/** Warns of an approval rule that fires so late that no answer could come in time at the speed of the worst minutes. */
function neverWaits(
  rule: RuleSpec,
  placed: readonly Placed[],
  { settings }: UncheckedAccount,
  warn: Warn,
): void {
  const { approval } = settings;
  if (approval === undefined || modeOf(rule, settings) !== 'approve') return;
  if (!actionsOf(rule).some(({ kind }) => kind === 'reduce' || kind === 'cancelAll')) return;
  const neededMs = approval.withinMs + actingMs(settings);
  for (const { condition, path } of placed) {
    const { field, comparison } = condition;
    if (!DISTANCES.has(field) || comparison.op !== 'below') continue;
    const leftMs = worstCaseMs(comparison.threshold);
    if (leftMs > neededMs) continue;
    warn(
      path,
      'never-waits',
      `expected at least ${percentInWords((WORST_MINUTE_MOVE * neededMs) / MS_PER_MINUTE)} for an approval within ${durationInWords(approval.withinMs)}, got ${percentInWords(comparison.threshold)}: at the speed of the worst minutes on record that lasts ${durationInWords(Math.floor(leftMs / 1_000) * 1_000)}, so it acts without asking`,
    );
  }
}

/** Returns the field that a reduction moves to a value, and on which side of that value a rule fires. */
function reachedBy(target: ReduceTarget) {
  switch (target.kind) {
    case 'untilDistance':
      return { key: 'untilDistance', field: 'liquidationDistance', op: 'below', value: target.distance };
    case 'untilJointDistance':
      return { key: 'until.jointDistance', field: 'jointDistance', op: 'below', value: target.distance };
    case 'untilMarginUsage':
      return { key: 'until.marginUsage', field: 'marginUsage', op: 'above', value: target.usage };
    case 'toNotional':
      return { key: 'toNotional', field: 'notional', op: 'above', value: Number(target.notional) };
    default:
      return undefined;
  }
}

/** Warns of a target at which the rule would still fire: the reduction would not end the episode. */
function insideThreshold(rule: RuleSpec, target: ReduceTarget, warn: (message: string) => void): void {
  const reached = reachedBy(target);
  if (reached === undefined) return;
  const { key, field, op, value } = reached;
  const asset = target.kind === 'untilMarginUsage' ? target.asset : undefined;
  for (const { field: compared, parameter, comparison } of comparisonsOf(rule.when)) {
    if (compared !== field || (comparison.op !== 'below' && comparison.op !== 'above')) continue;
    if (comparison.op !== op || (asset !== undefined && parameter?.asset !== asset)) continue;
    const [own, side] =
      comparison.op === 'below' ? [comparison.clearAbove, 'more'] : [comparison.clearBelow, 'less'];
    const clear = own ?? comparison.threshold;
    if (op === 'below' ? value > clear : value < clear) continue;
    const words = field === 'notional' ? String : percentInWords;
    warn(
      `expected ${key} to be ${side} than ${words(clear)}, where the rule clears, got ${words(value)}: it would go on firing at its target`,
    );
  }
}
