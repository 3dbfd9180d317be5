import { z } from 'zod';
import type { OperatorOrder } from '../../core/controls/controls.ts';
import { SOURCE_NAMES } from '../../core/fields/field-catalogue.ts';
import type { AccountRow } from '../../core/lines/account-row.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { STATE_CAUSES, STATE_KINDS } from '../../core/view/state-line.ts';
import { acknowledgement, decimal, mode, named, pause, severity, silence, timeMs } from './schemas.ts';

// Schemas of `AccountView` and `AccountRow`; see there for the meaning of the figures.

const figure = () =>
  z.union([z.number(), z.literal('none'), z.null()]).describe('null: unknown; `none`: there is none.');
const price = () => z.union([decimal(), z.literal('none'), z.null()]);

const thresholdMark = named('ThresholdMark', () => ({
  ruleId: z.string(),
  severity: severity(),
  field: z.string(),
  op: z.enum(['below', 'above']),
  threshold: z.number(),
}));

const source = named('Source', () => ({
  source: z.string(),
  readAtMs: timeMs().nullable(),
  ageMs: z.number(),
  complete: z.boolean(),
  setAside: z.number().int(),
  tooOld: z.boolean(),
}));

const position = named('Position', () => ({
  subject: z.string(),
  positionId: z.string(),
  market: z.string(),
  direction: z.enum(['long', 'short']).nullable(),
  sizeBase: decimal(),
  basePrice: decimal().nullable(),
  markPrice: decimal().nullable(),
  liquidationPrice: price(),
  liquidationState: z.enum(['none', 'margin_call', 'liquidation', 'unrecognised']).nullable(),
  liquidationDistance: figure(),
  disagreement: z.boolean().nullable(),
  notional: figure(),
  unrealizedPnl: figure(),
  marginUsage: figure(),
  stopCover: z.enum(['ok', 'missing', 'beyondLiquidation', 'unconfirmed']).nullable(),
  stopCoverShare: z.number().exactOptional(),
  stopPrices: z.array(decimal()).exactOptional(),
  unprotectedMs: z.number().nullable(),
  liquidationProbability1h: figure(),
  minutesToLiquidation: figure(),
  marks: z.array(thresholdMark),
}));

const creditLine = named('CreditLine', () => ({
  subject: z.string(),
  asset: z.string(),
  amount: decimal(),
  totalFunding: decimal().nullable(),
  debt: decimal().nullable(),
  currentLtv: figure(),
  initialLtv: figure(),
  marginCallLtv: figure(),
  liquidationLtv: figure(),
  ltvToMarginCall: figure(),
  collateralMayFall: figure(),
  minutesToMarginCall: figure(),
  cures: z.array(z.strictObject({ targetLtv: z.number(), repay: decimal(), addCollateralWorth: decimal() })),
  marks: z.array(thresholdMark),
}));

const rule = named('Rule', () => ({
  ruleId: z.string(),
  subject: z.string(),
  severity: severity().nullable().describe('null: the rule is not in the config any more.'),
  mode: mode(),
  phase: z.enum(['inactive', 'pending', 'firing']),
  frozen: z.boolean(),
  episode: z.number().int(),
  stage: z.number().int().nullable(),
  sinceMs: timeMs().nullable(),
  silenced: z.boolean(),
  reason: z.string(),
  condition: z.string(),
}));

const notice = named('Notice', () => ({
  ruleId: z.string(),
  subject: z.string(),
  market: z.string().nullable(),
  severity: severity(),
  episode: z.number().describe('As in an acknowledgement of it.'),
  stage: z.number().int().describe('The highest that is reached.'),
  sinceMs: timeMs(),
  toldAtMs: timeMs(),
  acknowledged: acknowledgement
    .nullable()
    .describe('null: nobody sees to it, or it has got worse since somebody said so.'),
}));

const intent = named('Intent', () => ({
  key: z.string(),
  market: z.string(),
  positionId: z.string(),
  ruleId: z.string(),
  mode: mode(),
  target: z.string(),
  targetBase: decimal().nullable(),
  openedMs: timeMs(),
  deadlineMs: timeMs(),
  failures: z.number().int(),
  state: z.string(),
  ended: z.boolean(),
}));

const order = named('Order', () => ({
  market: z.string(),
  role: z.enum(['reduce', 'cover']),
  positionId: z.string(),
  side: z.string(),
  amount: decimal(),
  activationPrice: decimal(),
  price: decimal(),
  inFavour: z
    .literal(true)
    .exactOptional()
    .describe(
      'Activates where the market moves in the favour of the position: one of two of an urgent close.',
    ),
  status: z
    .enum(['sending', 'open', 'unsure', 'presumedFilled', 'observed'])
    .describe(
      'presumedFilled: the position fell by its amount; it counts as filled. observed: would be sent; the rule is in observe mode, or somebody is asked first.',
    ),
  clientOrderId: z.string(),
}));

const question = named('Question', () => ({
  reference: z.string().nullable().describe('What an answer names; null: it has not been asked yet.'),
  ruleId: z.string(),
  subject: z.string(),
  stage: z.number().int(),
  state: z
    .enum(['waiting', 'approved', 'vetoed', 'unanswered', 'released'])
    .describe('released: it acts without an answer. unanswered: it does not, and can still be approved.'),
  answerable: z.boolean().describe('Whether it can be approved or vetoed now.'),
  settledBy: z
    .enum(['approved', 'vetoed', 'deadline', 'timeTooShort', 'notDelivered', 'unanswered', 'notNeeded'])
    .nullable()
    .describe('Why it is not waited for; null: it is.'),
  askedMs: timeMs().nullable(),
  untilMs: timeMs(),
  withoutAnswer: z.enum(['act', 'hold']),
  delivered: z.boolean().describe('A notice of it has reached somebody.'),
  targets: z
    .array(
      z.strictObject({
        positionId: z.string(),
        market: z.string(),
        targetBase: decimal(),
        sizeBase: decimal(),
      }),
    )
    .describe('What is approved: at most targetBase of sizeBase is left.'),
  orders: z.array(order).describe('The exact orders, as they would be sent now.'),
  answer: z
    .strictObject({
      decision: z.enum(['approve', 'veto']),
      author: z.string(),
      reason: z.string(),
      atMs: timeMs(),
      revision: z.number().int(),
    })
    .nullable(),
}));

export const operatorOrder = z
  .looseObject({
    kind: z.enum(['reduce', 'withdraw', 'answer']),
    id: z.string(),
    author: z.string(),
    reason: z.string(),
    atMs: timeMs(),
    expiresAtMs: timeMs(),
  })
  .meta({ id: 'OperatorOrder' }) as unknown as z.ZodType<OperatorOrder>;

const state = named('State', () => ({
  kind: z.enum(STATE_KINDS),
  cause: z.enum(STATE_CAUSES).describe('What accounts are counted by.'),
  words: z.string(),
  severity: severity().nullable().describe('How much it matters to a person; null: not at all.'),
  sinceMs: z.number().nullable().describe('Unix milliseconds; null: not known.'),
}));

const worth = named('Worth', () => ({ money: z.string(), worth: z.number().nullable() }));

export const account = named('Account', () => ({
  accountId: z.string(),
  state,
  labels: z.record(z.string(), z.string()),
  mode: mode().nullable(),
  pause: pause.nullable(),
  silences: z.array(silence),
  epoch: z
    .strictObject({
      id: z.string(),
      why: z.enum(['empty', 'serverChanged', 'rolledBack']),
      sinceMs: timeMs(),
    })
    .nullable(),
  judgedAtMs: timeMs().nullable(),
  nextDueAtMs: timeMs().nullable(),
  figuresAtMs: timeMs().nullable(),
  worst: severity().nullable(),
  danger: z.number(),
  jointDistance: figure().describe('How far all markets may move together before liquidation, a fraction.'),
  nearest: figure().describe(
    'How far prices may move before the first liquidation or margin call, a fraction.',
  ),
  atRisk: z
    .array(worth)
    .describe('What stands to be liquidated: positions and collateral, by money currency.'),
  sources: z.array(source),
  failures: z
    .array(
      named('ReadFailure', () => ({
        source: z.enum(SOURCE_NAMES),
        error: z.string().describe('Name in the error catalogue of the client.'),
        httpStatus: z.number().int().exactOptional(),
        words: z.string(),
        sinceMs: timeMs(),
      })),
    )
    .describe('Why the newest reads failed, of sources that could not be read.'),
  positions: z.array(position),
  creditLines: z.array(creditLine),
  balances: z.array(z.strictObject({ asset: z.string(), available: decimal() })),
  rules: z.array(rule),
  notices: z.array(notice).describe('What people were told and is not over, the oldest first.'),
  intents: z.array(intent),
  orders: z.array(order),
  inbox: z.array(operatorOrder).describe('Orders by hand that have not begun.'),
  questions: z.array(question).describe('What people are asked before a rule acts.'),
  doubts: z.array(z.strictObject({ market: z.string(), why: z.string(), sinceMs: timeMs() })),
  refused: z.strictObject({ document: z.string(), message: z.string() }).nullable(),
})) satisfies z.ZodType<AccountView>;

export const accountRow = named(
  { id: 'Row', description: 'One account in one line; figures are rounded.' },
  () => ({
    accountId: z.string(),
    state,
    labels: z.record(z.string(), z.string()),
    mode: mode().nullable(),
    worst: severity().nullable(),
    nearest: figure(),
    atRisk: z.array(worth),
    holds: z.array(z.string()).describe('Markets of positions and assets of credit lines.'),
    firing: z.array(z.string()).describe('Ids of the rules that fire.'),
    doing: z.strictObject({
      reductions: z.number().int(),
      orders: z.number().int().describe('At the exchange, or on their way.'),
      stops: z.number().int().describe('Standing ones.'),
      byHand: z.number().int().describe('Orders by hand that have not begun.'),
    }),
    silences: z.number().int(),
    rank: z.number().int().describe('Smaller matters more to a person.'),
  }),
) satisfies z.ZodType<AccountRow>;

export const rowsReply = named('Rows', () => ({
  atMs: timeMs(),
  rows: z.array(accountRow).describe('Of every account, in no particular order.'),
}));

export const accountsReply = named('Accounts', () => ({
  atMs: timeMs(),
  total: z.number().int().describe('Accounts that the query finds.'),
  offset: z.number().int(),
  limit: z.number().int(),
  accounts: z.array(account).describe('Most endangered first.'),
}));
