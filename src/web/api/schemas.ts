import { z } from 'zod';
import type { Pause, Silence } from '../../core/controls/controls.ts';
import type { DecimalString } from '../../core/quantities/decimal.ts';
import type { ActionLine } from '../../core/view/action-log.ts';
import type { StoryEntry } from '../../core/view/story.ts';
import { API_ERROR_CODES } from './errors.ts';

/** Shapes of what the API takes and gives, in one place: requests are read by them, the description is made from them. */

export const decimal = (): z.ZodType<DecimalString> =>
  z.string().regex(/^-?\d+(\.\d+)?$/) as unknown as z.ZodType<DecimalString>;
export const timeMs = () => z.number().int().describe('Unix milliseconds.');
export const severity = () => z.enum(['info', 'warning', 'critical']);
export const mode = () => z.enum(['observe', 'enforce']);
export const subjectKey = () =>
  z.string().min(1).max(200).describe('`position:42`, `creditLine:BTC@1700000000` or `account`.');

const authored = {
  author: z.string(),
  reason: z.string(),
  atMs: timeMs(),
};

export const pause = z
  .strictObject({
    kind: z.literal('pause'),
    id: z.string(),
    accountId: z.string().nullable().describe('null: everywhere.'),
    expiresAtMs: timeMs().nullable().describe('Unix milliseconds; null: until it is lifted.'),
    ...authored,
  })
  .meta({ id: 'Pause', description: 'No actions.' }) satisfies z.ZodType<Pause>;

export const silence = z
  .strictObject({
    kind: z.literal('silence'),
    id: z.string(),
    accountId: z.string().nullable().describe('null: everywhere.'),
    ruleId: z.string(),
    subject: z.string().nullable().describe('null: all subjects of the rule.'),
    expiresAtMs: timeMs(),
    ...authored,
  })
  .meta({
    id: 'Silence',
    description: 'No actions and no notifications of one rule.',
  }) satisfies z.ZodType<Silence>;

export const queueLine = z
  .strictObject({
    queue: z.string(),
    waiting: z.number().int(),
    active: z.number().int(),
    delayed: z.number().int(),
    failed: z.number().int(),
    oldestMs: timeMs().nullable().describe('When the oldest waiting job came; null: none waits.'),
  })
  .meta({ id: 'Queue' });

export const readiness = z
  .strictObject({
    ready: z.boolean(),
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), why: z.string() })),
  })
  .meta({ id: 'Readiness' });

export const overview = z
  .strictObject({
    version: z.string(),
    instance: z.string().describe('The process that answers.'),
    atMs: timeMs(),
    startedAtMs: timeMs(),
    mode: z.enum(['observe', 'enforce', 'mixed']).describe('Of the accounts.'),
    accounts: z.number().int(),
    firing: z
      .strictObject({ critical: z.number().int(), warning: z.number().int(), info: z.number().int() })
      .describe('Rules that fire, once per subject.'),
    pauses: z.array(pause),
    silences: z.array(silence),
    health: readiness,
    degraded: z.array(z.string()).describe('What works only in part.'),
    queues: z.array(queueLine),
    may: z
      .strictObject({ control: z.boolean(), topUp: z.boolean() })
      .describe('What this server is set up to do for whoever has the control token.'),
  })
  .meta({ id: 'Overview' });

export type OverviewReply = z.output<typeof overview>;

export const historyReply = z
  .strictObject({
    subject: z.string(),
    points: z.array(
      z.strictObject({
        atMs: timeMs(),
        values: z.record(z.string(), z.union([z.number(), z.string()])),
      }),
    ),
  })
  .meta({ id: 'History' });

export const storyEntry = z
  .strictObject({
    seq: z.number().int().describe('Of the audit record.'),
    part: z.number().int().describe('Tells the entries of one record apart.'),
    atMs: timeMs(),
    kind: z.enum(['transition', 'decision', 'order', 'cancel', 'intent', 'operator', 'other']),
    words: z.string(),
    ruleId: z.string().exactOptional(),
    subject: z.string().exactOptional(),
    market: z.string().exactOptional(),
    outcome: z.string().exactOptional(),
    reason: z.string().exactOptional(),
    tookMs: z.number().exactOptional().describe('Of an outcome: since its request was recorded.'),
    alarm: z.boolean().exactOptional(),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'StoryEntry' }) satisfies z.ZodType<StoryEntry>;

export const storyReply = z
  .strictObject({
    entries: z.array(storyEntry),
    nextBeforeSeq: z
      .number()
      .int()
      .nullable()
      .describe('`beforeSeq` of the next, older part; null: there is none.'),
  })
  .meta({ id: 'Story' });

export const auditReply = z
  .strictObject({
    hash: z.string(),
    record: z.looseObject({ seq: z.number().int(), accountId: z.string(), atMs: timeMs() }),
    inputs: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('What a decision was computed from; null for other records.'),
  })
  .meta({
    id: 'AuditRecord',
    description: 'One record of the audit trail. Addresses and memos of transfers are left out.',
  });

export const actionLine = z
  .strictObject({
    id: z.string().describe('The same for every state of one request.'),
    accountId: z.string(),
    market: z.string().nullable().describe('null: all markets of the account.'),
    positionId: z.string().nullable(),
    kind: z.enum(['place', 'cancelAll']),
    outcome: z.enum(['pending', 'accepted', 'rejected', 'unknown', 'observed']),
    reason: z.string(),
    atMs: timeMs(),
    tookMs: z.number().nullable(),
    words: z.string(),
  })
  .meta({ id: 'Action' }) satisfies z.ZodType<ActionLine>;

export const actionsReply = z.strictObject({ actions: z.array(actionLine) }).meta({ id: 'Actions' });

export const topUpOffer = z
  .strictObject({
    tickers: z.array(z.string()).describe('The first one is the default.'),
    minAmount: decimal().nullable(),
    maxAmount: decimal().nullable(),
  })
  .meta({ id: 'TopUpOffer' });

export const topUpOfferReply = z
  .strictObject({ offer: topUpOffer.nullable().describe('null: nothing is configured.') })
  .meta({ id: 'TopUpOfferReply' });

export const topUpReply = z
  .strictObject({
    url: z.string().describe('Personal, and good for one use: open it, do not keep it.'),
    uniqueId: z.string(),
    opensWith: z
      .literal('referrer')
      .describe(
        'Open it from a link with `referrerpolicy="origin"` and without `noreferrer`: the card provider demands a Referer header.',
      ),
  })
  .meta({ id: 'TopUp' });

export const liftedReply = z
  .strictObject({ lifted: z.array(z.union([pause, silence])) })
  .meta({ id: 'Lifted' });

export const errorReply = z
  .strictObject({ error: z.strictObject({ code: z.enum(API_ERROR_CODES), message: z.string() }) })
  .meta({ id: 'Error' });

/** What is answered is written out, never changed. */
export type Immutable<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : { readonly [K in keyof T]: Immutable<T[K]> };
