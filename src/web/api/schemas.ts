import { z } from 'zod';
import type { Acknowledgement, Pause, Silence } from '../../core/controls/controls.ts';
import type { DecimalString } from '../../core/quantities/decimal.ts';
import type { ActionLine } from '../../core/view/action-log.ts';
import { STATE_CAUSES, STATE_KINDS } from '../../core/view/state-line.ts';
import type { StoryEntry } from '../../core/view/story.ts';
import { SCOPES } from '../access.ts';
import { API_ERROR_CODES } from './errors.ts';

// Schemas of the API. They validate requests, and the description is generated from them.

export const decimal = (): z.ZodType<DecimalString> =>
  z.string().regex(/^-?\d+(\.\d+)?$/) as unknown as z.ZodType<DecimalString>;
export const timeMs = () => z.number().int().describe('Unix milliseconds.');
export const severity = () => z.enum(['info', 'warning', 'critical']);
export const mode = () => z.enum(['observe', 'approve', 'enforce']);
export const subjectKey = () =>
  z.string().min(1).max(200).describe('`position:42`, `creditLine:BTC@1700000000` or `account`.');

/**
 * A strict object schema with a name in the description of the API. Its keys are built on first use: replies are not
 * validated, only described.
 */
export const named = <S extends z.ZodRawShape>(
  meta: string | { id: string; description: string },
  shape: () => S,
): z.ZodObject<S, z.core.$strict> => {
  let made: S | undefined;
  const schema = new z.ZodObject({
    type: 'object',
    get shape() {
      return (made ??= shape());
    },
    catchall: NO_MORE,
  }) as unknown as z.ZodObject<S, z.core.$strict>;
  return schema.meta(typeof meta === 'string' ? { id: meta } : meta);
};

const NO_MORE = z.never();

const authored = {
  author: z.string(),
  reason: z.string(),
  atMs: timeMs(),
  seal: z.string().exactOptional().describe('Where there is an `operators.key`: made with it.'),
};

export const pause = named({ id: 'Pause', description: 'No actions.' }, () => ({
  kind: z.literal('pause'),
  id: z.string(),
  accountId: z.string().nullable().describe('null: everywhere.'),
  expiresAtMs: timeMs().nullable().describe('Unix milliseconds; null: until it is lifted.'),
  ...authored,
})) satisfies z.ZodType<Pause>;

export const silence = named(
  { id: 'Silence', description: 'No actions and no notifications of one rule.' },
  () => ({
    kind: z.literal('silence'),
    id: z.string(),
    accountId: z.string().nullable().describe('null: everywhere.'),
    ruleId: z.string(),
    subject: z.string().nullable().describe('null: all subjects of the rule.'),
    expiresAtMs: timeMs(),
    ...authored,
  }),
) satisfies z.ZodType<Silence>;

export const acknowledgement = named(
  {
    id: 'Acknowledgement',
    description: 'Somebody sees to it: no reminders and no escalation, until it is over or gets worse.',
  },
  () => ({
    kind: z.literal('acknowledgement'),
    id: z.string(),
    accountId: z.string().nullable().describe('null: it is about no account.'),
    ruleId: z.string(),
    subject: z.string(),
    episode: z.number(),
    stage: z.number().int().describe('A higher one is worse, and is told.'),
    expiresAtMs: timeMs(),
    ...authored,
  }),
) satisfies z.ZodType<Acknowledgement>;

export const queueLine = named('Queue', () => ({
  queue: z.string(),
  waiting: z.number().int(),
  active: z.number().int(),
  delayed: z.number().int(),
  failed: z.number().int(),
  oldestMs: timeMs().nullable().describe('When the oldest waiting job came; null: none waits.'),
  isPaused: z.boolean().describe('Somebody has paused it: nothing is taken out of it.'),
}));

export const readiness = named('Readiness', () => ({
  ready: z.boolean(),
  checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), why: z.string() })),
}));

export const me = named('Me', () => ({
  name: z.string().nullable().describe('null: nobody in particular, or a token that several share.'),
  scopes: z.array(z.enum(SCOPES)),
  address: z.string().describe('From where.'),
}));

export const overview = named('Overview', () => ({
  version: z.string(),
  instance: z.string().describe('The process that answers.'),
  atMs: timeMs(),
  startedAtMs: timeMs(),
  mode: z.enum(['observe', 'approve', 'enforce', 'mixed']).describe('Of the accounts.'),
  accounts: z.number().int(),
  firing: z
    .strictObject({ critical: z.number().int(), warning: z.number().int(), info: z.number().int() })
    .describe('Rules that fire, once per subject.'),
  headline: named(
    { id: 'Headline', description: 'How all accounts are: the worst state first, with a count by cause.' },
    () => ({
      kind: z.enum(STATE_KINDS),
      severity: severity().nullable(),
      words: z.string(),
      groups: z.array(
        z.strictObject({
          kind: z.enum(STATE_KINDS),
          cause: z.enum(STATE_CAUSES),
          severity: severity().nullable().describe('Of the worst of them.'),
          words: z.string(),
          count: z.number().int(),
          accountIds: z.array(z.string()).describe('The first of them.'),
        }),
      ),
    }),
  ),
  pauses: z.array(pause),
  silences: z.array(silence),
  acknowledgements: z.array(acknowledgement),
  health: readiness,
  degraded: z.array(z.string()).describe('What works only in part.'),
  reachesAll: z
    .boolean()
    .describe(
      'Whether every process hears of a pause, silence or acknowledgement that is put or lifted here. `false`: Redis is lost, and others may run, which go on as before.',
    ),
  degradedWords: z.record(z.string(), z.string()).describe('Each of `degraded`, in words.'),
  quietHours: z
    .strictObject({
      untilMs: timeMs()
        .nullable()
        .describe('When they end; null: they are over, and what they held back is being told.'),
      held: z.number().int().nullable().describe('Notices that wait; null: not known.'),
      words: z.string(),
    })
    .nullable()
    .describe('What quiet hours hold back; null: they are not on, and nothing waits.'),
  exchange: z
    .strictObject({ ok: z.boolean().nullable(), words: z.string() })
    .describe('Whether the exchange answers, as the newest polls found; null: not known.'),
  oldestJudgedAtMs: timeMs()
    .nullable()
    .describe('Of the account that was judged longest ago; null: none was.'),
  queues: z.array(queueLine),
  may: z
    .strictObject({ control: z.boolean(), operate: z.boolean(), topUp: z.boolean() })
    .describe('What this server is set up to do for those who have the scope or the control token.'),
}));

export type OverviewReply = z.output<typeof overview>;

export const observedReply = named('Observed', () => ({
  orders: z.array(
    z.strictObject({
      seq: z.number().int().describe('Number of its record in the audit.'),
      atMs: timeMs(),
      ruleId: z.string(),
      positionId: z.string(),
      market: z.string(),
      side: z.string(),
      amount: decimal(),
      activationPrice: decimal(),
      price: decimal(),
      money: z.string(),
      outcome: z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('unknown') }),
        z.strictObject({ kind: z.literal('notReached'), mark: z.number() }),
        z.strictObject({ kind: z.literal('notFilled'), mark: z.number() }),
        z.strictObject({
          kind: z.literal('closed'),
          atMs: timeMs(),
          price: z.number(),
          mark: z.number(),
          gained: z.number().describe('In money; below 0: it would have cost as much.'),
        }),
      ]),
      words: z.string(),
    }),
  ),
}));

export const historyReply = named('History', () => ({
  subject: z.string(),
  points: z.array(
    z.strictObject({
      atMs: timeMs(),
      values: z.record(z.string(), z.union([z.number(), z.string()])),
    }),
  ),
}));

export const storyEntry = named('StoryEntry', () => ({
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
})) satisfies z.ZodType<StoryEntry>;

export const storyReply = named('Story', () => ({
  entries: z.array(storyEntry),
  nextBeforeSeq: z
    .number()
    .int()
    .nullable()
    .describe('`beforeSeq` of the next, older part; null: there is none.'),
}));

export const auditReply = named(
  {
    id: 'AuditRecord',
    description: 'One record of the audit trail. Addresses and memos of transfers are left out.',
  },
  () => ({
    hash: z.string(),
    record: z.looseObject({ seq: z.number().int(), accountId: z.string(), atMs: timeMs() }),
    inputs: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('What a decision was computed from; null for other records.'),
  }),
);

export const actionLine = named('Action', () => ({
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
})) satisfies z.ZodType<ActionLine>;

export const actionsReply = named('Actions', () => ({ actions: z.array(actionLine) }));

export const topUpOffer = named('TopUpOffer', () => ({
  tickers: z.array(z.string()).describe('The first one is the default.'),
  minAmount: decimal().nullable(),
  maxAmount: decimal().nullable(),
}));

export const topUpOfferReply = named('TopUpOfferReply', () => ({
  offer: topUpOffer.nullable().describe('null: nothing is configured.'),
}));

export const topUpReply = named('TopUp', () => ({
  url: z.string().describe('Personal, and good for one use: open it, do not keep it.'),
  uniqueId: z.string(),
  opensWith: z
    .literal('referrer')
    .describe(
      'Open it from a link with `referrerpolicy="origin"` and without `noreferrer`: the card provider demands a Referer header.',
    ),
}));

export const answerReply = named('Answer', () => ({
  reference: z.string(),
  decision: z.enum(['approve', 'veto']),
  author: z.string(),
  reason: z.string(),
  atMs: timeMs(),
}));

export const liftedReply = named('Lifted', () => ({
  lifted: z.array(z.union([pause, silence, acknowledgement])),
}));

export const acknowledgedReply = named('Acknowledged', () => ({
  acknowledgements: z
    .array(acknowledgement)
    .describe('In force now; where somebody had acknowledged it before, theirs.'),
}));

export const errorReply = named('Error', () => ({
  error: z.strictObject({ code: z.enum(API_ERROR_CODES), message: z.string() }),
}));

/** Replies are immutable: they are serialised, never changed. */
export type Immutable<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : { readonly [K in keyof T]: Immutable<T[K]> };
