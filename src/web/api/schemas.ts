import { z } from 'zod';
import {
  acknowledgementSchema,
  operatorOrderReply,
  pauseSchema,
  silenceSchema,
} from '../../core/controls/controls.ts';
import { wouldHaveSchema } from '../../core/costs/would-have.ts';
import { accountRowSchema } from '../../core/lines/account-row.ts';
import { exchangeLinkSchema } from '../../core/lines/exchange-link.ts';
import { historyPointSchema } from '../../core/ports/history-reader.ts';
import { modeSchema } from '../../core/rules/rule.ts';
import { decimal, named, timeMs } from '../../core/schema/parts.ts';
import { accountSchema } from '../../core/view/account-view.ts';
import { actionLineSchema } from '../../core/view/action-log.ts';
import { headlineSchema } from '../../core/view/state-line.ts';
import { storyEntrySchema } from '../../core/view/story.ts';
import { storedStressSchema } from '../../core/view/stress-result.ts';
import { SCOPES } from '../access.ts';
import { API_ERROR_CODES } from './errors.ts';

// Replies of the API that are more than one of the things that core defines.

export const subjectKey = () =>
  z.string().min(1).max(200).describe('`position:42`, `creditLine:BTC@1700000000` or `account`.');

export const queueLine = named('Queue', () => ({
  queue: z.string(),
  waiting: z.int(),
  active: z.int(),
  delayed: z.int(),
  failed: z.int(),
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
  mode: z.enum([...modeSchema.options, 'mixed']).describe('Of the accounts.'),
  accounts: z.int(),
  firing: z
    .strictObject({ critical: z.int(), warning: z.int(), info: z.int() })
    .describe('Rules that fire, once per subject.'),
  headline: headlineSchema,
  pauses: z.array(pauseSchema),
  silences: z.array(silenceSchema),
  acknowledgements: z.array(acknowledgementSchema),
  refusedControls: z
    .array(z.string())
    .describe('What of these is stored and not obeyed, each with the reason.'),
  health: readiness,
  degraded: z.array(z.string()).describe('What works only in part.'),
  reachesAll: z
    .boolean()
    .describe(
      'Whether every process hears of a pause, silence or acknowledgement that is put or lifted here. `false`: Redis is lost, and others may run, which go on as before.',
    ),
  degradedWords: z.record(z.string(), z.string()).describe('Each of `degraded`, in words.'),
  exchange: exchangeLinkSchema.describe(
    'Whether the exchange answers, as the newest polls found; null: not known.',
  ),
  oldestJudgedAtMs: timeMs()
    .nullable()
    .describe('Of the account that was judged longest ago; null: none was.'),
  queues: z.array(queueLine),
  polling: z.int().describe('Processes that run and poll, as far as this one knows.'),
  may: z
    .strictObject({ control: z.boolean(), operate: z.boolean(), topUp: z.boolean() })
    .describe('What this server is set up to do for those who have the scope or the control token.'),
}));

export const observedReply = named('Observed', () => ({
  orders: z.array(
    z.strictObject({
      seq: z.int().describe('Number of its record in the audit.'),
      atMs: timeMs(),
      ruleId: z.string(),
      positionId: z.string(),
      market: z.string(),
      side: z.string(),
      amount: decimal(),
      activationPrice: decimal(),
      price: decimal(),
      money: z.string(),
      outcome: wouldHaveSchema,
      words: z.string(),
    }),
  ),
}));

export const historyReply = named('History', () => ({
  subject: z.string(),
  points: z.array(historyPointSchema),
}));

export const storyReply = named('Story', () => ({
  entries: z.array(storyEntrySchema),
  nextBeforeSeq: z.int().nullable().describe('`beforeSeq` of the next, older part; null: there is none.'),
}));

export const auditReply = named(
  {
    id: 'AuditRecord',
    description: 'One record of the audit trail. Addresses and memos of transfers are left out.',
  },
  () => ({
    hash: z.string(),
    record: z.looseObject({ seq: z.int(), accountId: z.string(), atMs: timeMs() }),
    inputs: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('What a decision was computed from; null for other records.'),
  }),
);

export const rowsReply = named('Rows', () => ({
  atMs: timeMs(),
  rows: z.array(accountRowSchema).describe('Of every account, in no particular order.'),
}));

export const accountsReply = named('Accounts', () => ({
  atMs: timeMs(),
  total: z.int().describe('Accounts that the query finds.'),
  offset: z.int(),
  limit: z.int(),
  accounts: z.array(accountSchema).describe('Most endangered first.'),
}));

export const stressReply = named('StressStatus', () => ({
  scheduled: z.boolean().describe('Whether the config has a schedule.'),
  stored: storedStressSchema.nullable().describe('null: none is scheduled, or none has run yet.'),
}));

export const actionsReply = named('Actions', () => ({ actions: z.array(actionLineSchema) }));

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
  order: operatorOrderReply.describe('As it is kept for the next poll.'),
}));

export const liftedReply = named('Lifted', () => ({
  lifted: z.array(z.union([pauseSchema, silenceSchema, acknowledgementSchema])),
}));

export const acknowledgedReply = named('Acknowledged', () => ({
  acknowledgements: z
    .array(acknowledgementSchema)
    .describe('In force now; where somebody had acknowledged it before, theirs.'),
}));

export const processLine = named('Process', () => ({
  instance: z.string(),
  host: z.string(),
  acts: z.boolean().describe('It polls accounts, or acts on them.'),
  confirmed: z
    .boolean()
    .describe('It obeys the same pauses, silences and acknowledgements as the process that answers.'),
}));

export const processesReply = named('Processes', () => ({
  reachesAll: z
    .boolean()
    .describe('`false`: others may run of which the process that answers does not know.'),
  processes: z
    .array(processLine)
    .describe('Those that were heard of in the last day and have not said that they end.'),
}));

export const prunedReply = named('Pruned', () => ({
  pruned: z.int().describe('Records that were taken away.'),
  lastNumber: z.int(),
  exportSha256: z.string().nullable(),
}));

export const errorReply = named('Error', () => ({
  error: z.strictObject({ code: z.enum(API_ERROR_CODES), message: z.string() }),
}));
