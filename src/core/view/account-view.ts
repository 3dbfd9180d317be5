import { z } from 'zod';
import { questionState, settledBy } from '../approvals/question.ts';
import {
  acknowledgementSchema,
  operatorOrderReply,
  pauseSchema,
  silenceSchema,
} from '../controls/controls.ts';
import { epochSchema } from '../ports/state-store.ts';
import { modeSchema, severitySchema } from '../rules/rule.ts';
import { decimal, figure, named, type OutputOf, timeMs } from '../schema/parts.ts';
import { type StateLine, stateSchema } from './state-line.ts';
import { failureSchema } from './stored-figures.ts';

export type Figure = OutputOf<ReturnType<typeof figure>>;

/** Positions and collateral in one money currency; null if any is unknown. */
export const worthSchema = named('Worth', () => ({ money: z.string(), worth: z.number().nullable() }));
export type WorthLine = OutputOf<typeof worthSchema>;

const sourceSchema = named('Source', () => ({
  source: z.string(),
  /** Time of the last good read; null: none yet. */
  readAtMs: timeMs().nullable(),
  /** Since the last good read, or since watching began if there was none. */
  ageMs: z.number(),
  complete: z.boolean(),
  setAside: z.number().int(),
  /** Older than the account's `maxSnapshotAge`: rules that need it are frozen. */
  tooOld: z.boolean(),
}));
export type SourceView = OutputOf<typeof sourceSchema>;

/** A rule's threshold on a figure that is drawn as a bar. */
const markSchema = named('ThresholdMark', () => ({
  ruleId: z.string(),
  severity: severitySchema,
  /** Name in the field catalogue: `liquidationDistance`, `currentLtv`, `ltvToMarginCall`, ... */
  field: z.string(),
  op: z.enum(['below', 'above']),
  threshold: z.number(),
}));
export type ThresholdMark = OutputOf<typeof markSchema>;

/** A position as JSON; its figures are those that rules use. */
const positionSchema = named('Position', () => ({
  subject: z.string(),
  positionId: z.string(),
  market: z.string(),
  direction: z.enum(['long', 'short']).nullable(),
  /** Absolute size in the base asset. */
  sizeBase: decimal(),
  basePrice: decimal().nullable(),
  markPrice: decimal().nullable(),
  liquidationPrice: z.union([decimal(), z.literal('none'), z.null()]),
  liquidationState: z.enum(['none', 'margin_call', 'liquidation', 'unrecognised']).nullable(),
  liquidationDistance: figure(),
  disagreement: z.boolean().nullable(),
  notional: figure(),
  unrealizedPnl: figure(),
  marginUsage: figure(),
  stopCover: z.enum(['ok', 'missing', 'beyondLiquidation', 'unconfirmed']).nullable(),
  /** Fraction of the size that our own confirmed stops close before liquidation. Absent: none stands. */
  stopCoverShare: z.number().exactOptional(),
  /** Their activation prices, nearest to the market first. Absent: none stands. */
  stopPrices: z.array(decimal()).exactOptional(),
  unprotectedMs: z.number().nullable(),
  /** Chance of liquidation within an hour. */
  liquidationProbability1h: figure(),
  minutesToLiquidation: figure(),
  marks: z.array(markSchema),
}));
export type PositionLine = OutputOf<typeof positionSchema>;

const creditLineSchema = named('CreditLine', () => ({
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
  /**
   * Cures to bring the LTV down to each target of the account's rules: either repaying or adding collateral suffices,
   * both in the credit line's asset, rounded up.
   */
  cures: z.array(z.strictObject({ targetLtv: z.number(), repay: decimal(), addCollateralWorth: decimal() })),
  marks: z.array(markSchema),
}));
export type CreditLineLine = OutputOf<typeof creditLineSchema>;
export type CureLine = CreditLineLine['cures'][number];

/** One configured rule for one subject that it selects. */
const ruleSchema = named('Rule', () => ({
  ruleId: z.string(),
  subject: z.string(),
  severity: severitySchema.nullable().describe('null: the rule is not in the config any more.'),
  mode: modeSchema,
  phase: z.enum(['inactive', 'pending', 'firing']),
  /** The data did not decide at the last evaluation, or no longer do. */
  frozen: z.boolean(),
  episode: z.number().int(),
  stage: z.number().int().nullable(),
  /** Start of the present phase, as far as remembered. */
  sinceMs: timeMs().nullable(),
  silenced: z.boolean(),
  /** In words, including why nothing happens. */
  reason: z.string(),
  /** The condition in words: `distance to liquidation below 5 %`; empty for a rule that is not in the config. */
  condition: z.string(),
}));
export type RuleLine = OutputOf<typeof ruleSchema>;

const noticeSchema = named('Notice', () => ({
  ruleId: z.string(),
  subject: z.string(),
  market: z.string().nullable(),
  severity: severitySchema,
  /** See `episodeOf`. */
  episode: z.number().describe('As in an acknowledgement of it.'),
  stage: z.number().int().describe('The highest that is reached.'),
  sinceMs: timeMs(),
  /** Time of its last notice. */
  toldAtMs: timeMs(),
  acknowledged: acknowledgementSchema
    .nullable()
    .describe('null: nobody sees to it, or it has got worse since somebody said so.'),
}));
export type NoticeLine = OutputOf<typeof noticeSchema>;

const intentSchema = named('Intent', () => ({
  key: z.string(),
  market: z.string(),
  positionId: z.string(),
  /** `operator:ID` for an operator order. */
  ruleId: z.string(),
  mode: modeSchema,
  target: z.string(),
  /** The most that may remain; null: not known yet. */
  targetBase: decimal().nullable(),
  openedMs: timeMs(),
  deadlineMs: timeMs(),
  failures: z.number().int(),
  state: z.string(),
  ended: z.boolean(),
}));
export type IntentLine = OutputOf<typeof intentSchema>;

const orderSchema = named('Order', () => ({
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
  /** `unsure`: unknown whether it stands. `presumedFilled`: kept only to be cancelled before anything is placed. */
  status: z
    .enum(['sending', 'open', 'unsure', 'presumedFilled', 'observed'])
    .describe(
      'presumedFilled: the position fell by its amount; it counts as filled. observed: would be sent; the rule is in observe mode, or somebody is asked first.',
    ),
  clientOrderId: z.string(),
}));
export type OrderLine = OutputOf<typeof orderSchema>;

/** A question to people, open or answered. */
const questionSchema = named('Question', () => ({
  reference: z.string().nullable().describe('What an answer names; null: it has not been asked yet.'),
  ruleId: z.string(),
  subject: z.string(),
  stage: z.number().int(),
  state: questionState,
  answerable: z.boolean().describe('Whether it can be approved or vetoed now.'),
  settledBy: settledBy.nullable().describe('Why it is not waited for; null: it is.'),
  /** When people were asked; null: not yet. */
  askedMs: timeMs().nullable(),
  /** When the wait ends. */
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
  orders: z.array(orderSchema).describe('The exact orders, as they would be sent now.'),
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
export type QuestionLine = OutputOf<typeof questionSchema>;

/**
 * One account as people see it, from shared state and config alone: page, API, `status` and metrics agree. `null` is
 * unknown, `'none'` means that there is none. Ratios are fractions, amounts and prices decimal texts.
 */
export const accountSchema = named('Account', () => ({
  accountId: z.string(),
  /** Its state and the reason, in the same words everywhere. */
  state: stateSchema,
  labels: z.record(z.string(), z.string()),
  /** As configured, else as last stored by a daemon; null: unknown. */
  mode: modeSchema.nullable(),
  /** The pause that stops all actions of the account, if any. */
  pause: pauseSchema.nullable(),
  silences: z.array(silenceSchema),
  epoch: epochSchema.nullable(),
  /** Time of the last evaluation; null: never. */
  judgedAtMs: timeMs().nullable(),
  nextDueAtMs: timeMs().nullable(),
  /** Time of the figures below, which are stored less often than evaluated while all is calm. */
  figuresAtMs: timeMs().nullable(),
  /** Highest severity of the firing rules; null: none fires. */
  worst: severitySchema.nullable(),
  /** As committed with the account; larger is nearer to harm. Sorts accounts. */
  danger: z.number(),
  jointDistance: figure().describe('How far all markets may move together before liquidation, a fraction.'),
  nearest: figure().describe(
    'How far prices may move before the first liquidation or margin call, a fraction.',
  ),
  atRisk: z
    .array(worthSchema)
    .describe('What stands to be liquidated: positions and collateral, by money currency.'),
  sources: z.array(sourceSchema),
  failures: z
    .array(failureSchema)
    .describe('Why the newest reads failed, of sources that could not be read.'),
  positions: z.array(positionSchema),
  creditLines: z.array(creditLineSchema),
  balances: z.array(z.strictObject({ asset: z.string(), available: decimal() })),
  rules: z.array(ruleSchema),
  notices: z.array(noticeSchema).describe('What people were told and is not over, the oldest first.'),
  intents: z.array(intentSchema),
  orders: z.array(orderSchema),
  inbox: z.array(operatorOrderReply).describe('Orders by hand that have not begun.'),
  questions: z.array(questionSchema).describe('What people are asked before a rule acts.'),
  /** Markets in which it is unknown which of our orders are open. */
  doubts: z.array(z.strictObject({ market: z.string(), why: z.string(), sinceMs: timeMs() })),
  /** Stored state that this program must not touch; nothing else of the account is known then. */
  refused: z.strictObject({ document: z.string(), message: z.string() }).nullable(),
}));
export type AccountView = OutputOf<typeof accountSchema>;

export function emptyView(accountId: string, state: StateLine): AccountView {
  return {
    accountId,
    state,
    labels: {},
    mode: null,
    pause: null,
    silences: [],
    epoch: null,
    judgedAtMs: null,
    nextDueAtMs: null,
    figuresAtMs: null,
    worst: null,
    danger: 0,
    jointDistance: null,
    nearest: null,
    atRisk: [],
    sources: [],
    failures: [],
    positions: [],
    creditLines: [],
    balances: [],
    rules: [],
    notices: [],
    intents: [],
    orders: [],
    inbox: [],
    questions: [],
    doubts: [],
    refused: null,
  };
}

/** The numeric and enumerated part of the view, for the state gauges of /metrics. */
export interface AccountFigures
  extends Pick<
    AccountView,
    'accountId' | 'mode' | 'pause' | 'judgedAtMs' | 'danger' | 'jointDistance' | 'sources' | 'refused'
  > {
  readonly state: Pick<StateLine, 'kind' | 'cause' | 'severity'>;
  readonly positions: readonly PositionFigures[];
  readonly creditLines: readonly CreditLineFigures[];
  readonly rules: readonly RuleFigures[];
  readonly intents: readonly IntentFigures[];
}

/** The part that needs neither decimals nor words. */
export type PositionFigures = Omit<
  PositionLine,
  'sizeBase' | 'basePrice' | 'markPrice' | 'liquidationPrice' | 'minutesToLiquidation' | 'marks'
>;

/** Whether both sides of its market are open. An unknown direction is no other side: nothing wrong may hide behind it. */
export function isHedged({ market, direction }: PositionFigures, all: readonly PositionFigures[]): boolean {
  const isOther = (side: PositionFigures['direction']): boolean => side !== null && side !== direction;
  return direction !== null && all.some((other) => other.market === market && isOther(other.direction));
}

export type CreditLineFigures = Omit<
  CreditLineLine,
  'amount' | 'totalFunding' | 'ltvToMarginCall' | 'cures' | 'marks'
>;

export type RuleFigures = Pick<RuleLine, 'ruleId' | 'subject' | 'severity' | 'phase' | 'frozen' | 'sinceMs'>;

export type IntentFigures = Pick<IntentLine, 'mode' | 'openedMs' | 'deadlineMs' | 'ended'>;
