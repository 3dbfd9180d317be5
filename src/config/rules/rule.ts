import { z } from 'zod';
import type { Mode, RuleSpec, SubjectKind } from '../../core/rules/rule.ts';
import { comparisonsOf } from '../../core/rules/rule-parts.ts';
import { duration, name, oneOf, type ScalarIssue, text, wholeNumber } from '../shape/scalars.ts';
import { across, list, perKind, renamed } from '../shape/shape.ts';
import { type ActionDraft, actionsSchema } from './actions.ts';
import { activeWindowSchema } from './active-window.ts';
import { conditionSchema } from './condition.ts';
import { filterSchema } from './filter.ts';

/** A rule of a file in normal form; it lacks an account's defaults. */
export interface RuleDraft extends Omit<RuleSpec, 'actions' | 'escalate' | 'checksum'> {
  readonly actions: readonly ActionDraft[];
  readonly escalate: readonly { readonly afterMs: number; readonly actions: readonly ActionDraft[] }[];
}

export const SUBJECT_KINDS = ['position', 'creditLine', 'account'] as const satisfies readonly SubjectKind[];

export function modeSchema(): z.ZodType<Mode> {
  return oneOf('observe', 'approve', 'enforce');
}

export const labelsSchema = z
  .record(
    text({
      expected: 'a label name: letters, digits and underscores',
      pattern: /^[a-zA-Z_][a-zA-Z0-9_]*$/,
      maxLength: 40,
    }),
    text({ expected: 'a text (in quotes when it looks like a number)', maxLength: 100 }),
  )
  .describe('Free labels, added to metrics, messages and audit.');

const limitsSchema = renamed(
  z.strictObject({
    cooldown: duration()
      .exactOptional()
      .describe('Least time from the end of one episode to the next one that acts; none by default.'),
    perHour: wholeNumber(1, 3600)
      .exactOptional()
      .describe('Episodes of one subject that may act within any hour; no bound by default.'),
  }),
  { cooldown: 'cooldownMs' },
);

export const ruleId = name('an id');

export const ruleSchema: (on: SubjectKind) => z.ZodType<RuleDraft> = perKind(buildRuleSchema);

/**
 * Rejects `untilDistance` in a rule on `jointDistance`: all markets together can be near liquidation while no single
 * position is, and then nothing would be reduced.
 */
function ownDistanceForAll({ when, actions, escalate }: RuleDraft): ScalarIssue | undefined {
  const isJoint = [...comparisonsOf(when)].some(({ field }) => field === 'jointDistance');
  const hasOwn = [...actions, ...escalate.flatMap((stage) => stage.actions)].some(
    (action) => action.kind === 'reduce' && action.target.kind === 'untilDistance',
  );
  if (!isJoint || !hasOwn) return undefined;
  return {
    expected: 'reduce: { until: { jointDistance: ... } } in a rule on jointDistance',
    got: 'untilDistance, which is of one position',
  };
}

function buildRuleSchema(on: SubjectKind): z.ZodType<RuleDraft> {
  const keys = z.strictObject({
    id: ruleId.describe('Name of the rule, unique in the file.'),
    on: oneOf(on).describe('What the rule judges: each position, each credit line, or the account.'),
    where: filterSchema(on).prefault({}).describe('Which of them; without it all.'),
    when: conditionSchema(on).describe('The condition.'),
    for: duration().prefault('0s').describe('How long the condition must hold before the rule fires.'),
    keepFiringFor: duration()
      .prefault('0s')
      .describe('How long the rule goes on firing after the condition stopped to hold.'),
    do: actionsSchema(on).prefault([]).describe('What happens when it fires; nothing: the rule only shows.'),
    escalate: escalateSchema(on).prefault([]).describe('What happens when it goes on firing.'),
    limits: limitsSchema
      .prefault({})
      .describe('How often it may act. Margin calls and liquidations are exempt.'),
    severity: oneOf('info', 'warning', 'critical')
      .prefault('warning')
      .describe('How urgent it is to people.'),
    labels: labelsSchema.prefault({}),
    mode: modeSchema()
      .exactOptional()
      .describe("`observe`, `approve` or `enforce` for this rule; without it the account's."),
    active: activeWindowSchema.exactOptional().describe('When the rule is active; always by default.'),
  });
  const schema = keys.transform((written): RuleDraft => {
    const { for: forMs, keepFiringFor, do: actions, mode, active, ...same } = written;
    return {
      ...same,
      forMs,
      keepFiringForMs: keepFiringFor,
      actions,
      ...(mode === undefined ? {} : { mode }),
      ...(active === undefined ? {} : { activeWindow: active }),
    };
  });
  if (on !== 'account') return schema;
  return schema.superRefine((rule, context) => {
    const issue = ownDistanceForAll(rule);
    if (issue !== undefined) context.issues.push({ code: 'custom', input: rule, params: { ...issue } });
  });
}

function escalateSchema(on: SubjectKind): z.ZodType<RuleDraft['escalate']> {
  const stage = z.strictObject({
    after: duration({ minMs: 1, bounds: 'above 0' }).describe(
      'Since the rule fired, counted only while the condition itself holds.',
    ),
    do: actionsSchema(on).describe('What happens then.'),
  });
  return across(list(stage), (stages) => {
    const unordered = stages.findIndex(
      (entry, index) => index > 0 && entry?.after <= (stages[index - 1]?.after ?? 0),
    );
    if (unordered === -1) return undefined;
    return {
      expected: 'stages by rising after',
      got: `stage ${unordered + 1} not after stage ${unordered}`,
    };
  }).transform((stages) => stages.map(({ after, do: actions }) => ({ afterMs: after, actions })));
}
