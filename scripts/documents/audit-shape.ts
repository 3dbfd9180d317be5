import { z } from 'zod';
import { auditEventSchema } from '../../src/core/audit/audit-event.ts';
import { acknowledgementSchema, pauseSchema, silenceSchema } from '../../src/core/controls/controls.ts';
import { operatorOrderSchema } from '../../src/core/controls/operator-schemas.ts';
import { modeSchema, severitySchema } from '../../src/core/rules/rule.ts';
import { timeMs } from '../../src/core/schema/parts.ts';

const phase = z.enum(['inactive', 'pending', 'firing']);
const texts = z.array(z.string());
const fraction = z.number();

const target = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('by'), fraction }),
  z.strictObject({ kind: z.literal('to'), fraction }),
  z.strictObject({ kind: z.literal('toNotional'), notional: z.string() }),
  z.strictObject({ kind: z.literal('untilDistance'), distance: fraction }),
]);

const action = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('reduce'),
    target,
    slippageSteps: z.array(fraction),
    positions: texts.optional(),
  }),
  z.strictObject({
    kind: z.literal('protect'),
    at: fraction,
    slippage: fraction,
    ladder: z.array(z.unknown()).optional(),
    positions: texts.optional(),
  }),
  z.strictObject({ kind: z.literal('cancelAll'), types: texts, scope: z.enum(['market', 'account']) }),
  z.strictObject({ kind: z.literal('notify'), channels: texts, cure: z.array(fraction) }),
]);

const ofRule = {
  ruleId: z.string(),
  ruleChecksum: z.string(),
  subject: z.string(),
  episode: z.number().int(),
  mode: modeSchema,
  severity: severitySchema,
  atMs: timeMs(),
};

const decision = z.strictObject({
  kind: z.literal('decision'),
  atMs: timeMs(),
  transitions: z
    .array(
      z.strictObject({
        ...ofRule,
        reason: z.string(),
        from: phase,
        to: phase,
        stage: z.number().int().optional(),
        words: z.string(),
        labels: z.record(z.string(), z.string()),
      }),
    )
    .describe('Rules that changed their phase.'),
  decisions: z
    .array(
      z.strictObject({
        ruleId: z.string(),
        subject: z.string(),
        phase,
        reason: z.string(),
        unknown: z.string().optional().describe('Why the whole subject could not be evaluated.'),
      }),
    )
    .describe('The phase of each rule for each of its subjects, and why.'),
  active: z
    .array(
      z.strictObject({
        ...ofRule,
        accountId: z.string(),
        subjectKind: z.string(),
        stage: z.number().int().describe('0: `do` of the rule; from 1 on its escalation.'),
        actionIndex: z.number().int(),
        action,
        because: z.string(),
        exemptFromLimits: z.boolean(),
        hasCleared: z.boolean().optional(),
        continuesForMs: z.number().optional(),
      }),
    )
    .describe('What the rules want to be done.'),
  inputs: z
    .string()
    .describe('What it was computed from, as a JSON text; `audit show --inputs` restores it.'),
});

const pruned = { lastSeq: z.number().int(), lastHash: z.string() };

const content = z.discriminatedUnion('kind', [
  decision,
  z.strictObject({ kind: z.literal('action'), event: auditEventSchema }),
  z.strictObject({
    kind: z.literal('notification'),
    atMs: timeMs(),
    detail: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    kind: z.literal('control'),
    change: z.enum(['put', 'lifted']),
    control: z.union([pauseSchema, silenceSchema, acknowledgementSchema]),
    by: pauseSchema.pick({ author: true, reason: true, atMs: true, seal: true }),
  }),
  z.strictObject({ kind: z.literal('operatorOrder'), order: operatorOrderSchema }),
  z.strictObject({
    kind: z.literal('note'),
    atMs: timeMs(),
    about: z.string().describe('Stable: `configChanged`.'),
    words: z.string(),
    detail: z.record(z.string(), z.unknown()).optional(),
  }),
  z.strictObject({
    kind: z.literal('epochStarted'),
    atMs: timeMs(),
    epoch: z.string(),
    previousEpoch: z.string().nullable(),
    why: z.string(),
  }),
  z.strictObject({
    kind: z.literal('checkpoint'),
    atMs: timeMs(),
    ...pruned,
    exportSha256: z.string().nullable().describe('null: pruned without an export.'),
    reason: z.string(),
    lanes: z
      .record(z.string(), z.strictObject(pruned))
      .optional()
      .describe('By market: the same of their chains.'),
  }),
  z.strictObject({
    kind: z.literal('lanes'),
    atMs: timeMs(),
    heads: z
      .record(z.string(), z.strictObject({ seq: z.number().int(), hash: z.string() }))
      .describe('By market: ends of the chains that grew.'),
  }),
]);

/** A record of the audit trail, as `audit tail` and `audit show` print it. */
export const auditRecord = z.strictObject({
  number: z.number().int().describe('Among all records of the account.'),
  hash: z.string().describe('SHA-256 of the canonical JSON of the record: of all but this and `number`.'),
  version: z.literal(1),
  accountId: z.string(),
  market: z.string().optional().describe("Whose chain it is; absent: the account's own."),
  seq: z.number().int().describe('In its chain, from 1, without gaps.'),
  atMs: timeMs(),
  epoch: z.string(),
  previous: z.string().describe('Hash of the record before it in its chain.'),
  quiet: z
    .strictObject({ count: z.number().int(), sinceMs: timeMs() })
    .nullable()
    .describe('Evaluations before it that only repeated their decisions; null: none.'),
  content,
  attachments: z.record(z.string(), z.string()).describe('Their hashes, by name.'),
  seal: z.string().optional().describe('Made with `operators.key`; absent: there was none.'),
  inputs: z
    .looseObject({})
    .optional()
    .describe('Only with `--inputs`: all that the decision was computed from, rules included.'),
});
