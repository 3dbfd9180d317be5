import { z } from 'zod';
import { modeSchema, severitySchema } from '../rules/rule.ts';
import { decimalText, figure, type OutputOf } from '../schema/parts.ts';

/** A way to bring a credit line back to a target LTV; the daemon cannot do it. */
const cureSchema = z.object({
  asset: z.string(),
  currentLtv: z.number(),
  targetLtv: z.number(),
  /** In the credit line's asset: amount to repay, or value of collateral to add instead. Rounded up to 8 places. */
  repay: decimalText,
  addCollateral: decimalText,
});
export type CureFigures = OutputOf<typeof cureSchema>;

/** Distances and LTVs are fractions, sizes and prices decimal texts; `notional` is in the market's money. */
const figuresSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('position'),
    market: z.string().nullable(),
    direction: z.enum(['long', 'short']).nullable(),
    sizeBase: decimalText.nullable(),
    notional: figure(),
    markPrice: decimalText.nullable(),
    liquidationPrice: z.union([z.literal('none'), decimalText]).nullable(),
    liquidationDistance: figure(),
    minutesToLiquidation: figure(),
  }),
  z.object({
    kind: z.literal('creditLine'),
    asset: z.string(),
    debt: decimalText.nullable(),
    currentLtv: figure(),
    marginCallLtv: figure(),
    liquidationLtv: figure(),
    minutesToMarginCall: figure(),
  }),
]);
export type NoticeFigures = OutputOf<typeof figuresSchema>;

/** Activity of the account, in the words of page and `status`; its orders at the exchange; what comes next. */
const doingSchema = z.object({
  /** Names of `StateKind` and `StateCause`. */
  state: z.string(),
  cause: z.string(),
  words: z.string(),
  /** One sentence each. */
  orders: z.array(z.string()),
  next: z.string(),
});
export type NoticeDoing = OutputOf<typeof doingSchema>;

/**
 * A notice to people; plain JSON without secrets and personal data, since it travels through a queue. Reading it drops
 * what is not named here.
 */
export const noticeSchema = z.object({
  version: z.literal(1),
  /** Unique per statement: a notice handed over twice has the same id and is delivered once. */
  id: z.string().min(1),
  /** The same for firing, reminder and resolved of one episode; receivers group and deduplicate by it. */
  key: z.string(),
  /**
   * `alarm`: an action failed, was refused or is in doubt, and a person should know. `approval`: a rule asks before it
   * acts, or the question was settled. `digest`: daily summary of all accounts; belongs to no account, rule or subject.
   */
  kind: z.enum(['firing', 'reminder', 'resolved', 'alarm', 'approval', 'digest']),
  accountId: z.string(),
  ruleId: z.string(),
  subject: z.string(),
  /** Market of the subject, if that is a position or a whole market. */
  market: z.string().exactOptional(),
  episode: z.number(),
  stage: z.number(),
  severity: severitySchema,
  mode: modeSchema,
  /** Labels of account and rule; the rule's win. */
  labels: z.record(z.string(), z.string()),
  /** One sentence with the figures. */
  words: z.string(),
  /** Start of the episode's stage, and time of the notice; Unix milliseconds. */
  sinceMs: z.number(),
  atMs: z.number(),
  /** Channel names; empty: the default channels. */
  channels: z.array(z.string()),
  cures: z.array(cureSchema),
  /** Figures of the position or credit line it is about, at the time of the notice. */
  figures: figuresSchema.exactOptional(),
  doing: doingSchema.exactOptional(),
  /** For a notice that asks; absent if it only reports how a question was settled. */
  approval: z
    .object({
      /** Identifies the question and the revision shown. */
      reference: z.string(),
      /** Unix milliseconds. */
      untilMs: z.number(),
      withoutAnswer: z.enum(['act', 'hold']),
      /** The exact orders and cancels, one sentence each. */
      orders: z.array(z.string()),
    })
    .exactOptional(),
  /** For a reminder: who handles it. Only needed by receivers that close alerts which are not repeated. */
  acknowledged: z.object({ author: z.string(), atMs: z.number() }).exactOptional(),
  /** For a digest: its lines after the sentence, few enough for every channel. */
  lines: z.array(z.string()).exactOptional(),
  /**
   * For a resolved notice whose rule did not find its subject safe. `gone`: the subject vanished while the rule fired.
   * `notJudged`: the rule or its mode changed, it was removed, or it is outside its active window.
   */
  ending: z.enum(['gone', 'notJudged']).exactOptional(),
});

export type Notice = OutputOf<typeof noticeSchema> & {
  /** Set when the notice is read, never in the queue: it may be forged. */
  readonly isUnproven?: true;
};
/** What a notice that is of no rule says where others name one. */
export const OF_NO_RULE = {
  version: 1,
  accountId: '',
  ruleId: '',
  subject: 'account',
  episode: 0,
  stage: 0,
  severity: 'info',
  mode: 'observe',
  labels: {},
  channels: [],
  cures: [],
} as const satisfies Partial<Notice>;

export type NoticeEnding = NonNullable<Notice['ending']>;
export type NoticeKind = Notice['kind'];

/** Additional channels for critical notices that nobody has acknowledged within `afterMs`. */
export interface Escalation {
  readonly afterMs: number;
  readonly channels: readonly string[];
}

/** Marks a notice that may be forged: it says so first, is never critical (wakes nobody) and gets no buttons. */
export function asUnproven(notice: Notice, fault: string): Notice {
  const severity = notice.severity === 'critical' ? 'warning' : notice.severity;
  return {
    ...notice,
    severity,
    isUnproven: true,
    words: `Not proven to be from Breakwater (${fault}). It says: ${notice.words}`,
  };
}

/** `words` of a resolved notice without further details. */
export const RESOLVED = 'resolved';

/** Hands notices over for delivery. Resolves when they are safely handed over, not when delivered. */
export interface Notifier {
  hand(notices: readonly Notice[]): Promise<void>;
}
