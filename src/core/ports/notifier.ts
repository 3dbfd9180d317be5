import type { DecimalString } from '../quantities/decimal.ts';
import type { Mode, Severity } from '../rules/rule.ts';
import type { SubjectKey } from '../rules/subject.ts';

/** A notice to people; plain JSON without secrets and personal data, since it travels through a queue. */
export interface Notice {
  readonly version: 1;
  /** Unique per statement: a notice handed over twice has the same id and is delivered once. */
  readonly id: string;
  /** The same for firing, reminder and resolved of one episode; receivers group and deduplicate by it. */
  readonly key: string;
  readonly kind: NoticeKind;
  readonly accountId: string;
  readonly ruleId: string;
  readonly subject: SubjectKey;
  /** Market of the subject, if that is a position or a whole market. */
  readonly market?: string;
  readonly episode: number;
  readonly stage: number;
  readonly severity: Severity;
  readonly mode: Mode;
  /** Labels of account and rule; the rule's win. */
  readonly labels: Readonly<Record<string, string>>;
  /** One sentence with the figures. */
  readonly words: string;
  /** Start of the episode's stage, and time of the notice; Unix milliseconds. */
  readonly sinceMs: number;
  readonly atMs: number;
  /** Channel names; empty: the default channels. */
  readonly channels: readonly string[];
  readonly cures: readonly CureFigures[];
  /** Figures of the position or credit line it is about, at the time of the notice. */
  readonly figures?: NoticeFigures;
  readonly doing?: NoticeDoing;
  /** For a notice that asks; absent if it only reports how a question was settled. */
  readonly approval?: NoticeApproval;
  /** For a reminder: who handles it. Only needed by receivers that close alerts which are not repeated. */
  readonly acknowledged?: { readonly author: string; readonly atMs: number };
  /** For a digest: its lines after the sentence, few enough for every channel. */
  readonly lines?: readonly string[];
  /** For a resolved notice whose rule did not find its subject safe. */
  readonly ending?: NoticeEnding;
  /** Set when the notice is read, never in the queue: it may be forged. */
  readonly isUnproven?: true;
}

/**
 * `gone`: the subject vanished while the rule fired. `notJudged`: the rule or its mode changed, it was removed, or it
 * is outside its active window.
 */
export type NoticeEnding = 'gone' | 'notJudged';

/** Additional channels for critical notices that nobody has acknowledged within `afterMs`. */
export interface Escalation {
  readonly afterMs: number;
  readonly channels: readonly string[];
}

/** A number; `none`: there is none; null: not known. */
type NoticeFigure = number | 'none' | null;

/** Distances and LTVs are fractions, sizes and prices decimal texts; `notional` is in the market's money. */
export type NoticeFigures =
  | {
      readonly kind: 'position';
      readonly market: string | null;
      readonly direction: 'long' | 'short' | null;
      readonly sizeBase: DecimalString | null;
      readonly notional: NoticeFigure;
      readonly markPrice: DecimalString | null;
      readonly liquidationPrice: DecimalString | 'none' | null;
      readonly liquidationDistance: NoticeFigure;
      readonly minutesToLiquidation: NoticeFigure;
    }
  | {
      readonly kind: 'creditLine';
      readonly asset: string;
      readonly debt: DecimalString | null;
      readonly currentLtv: NoticeFigure;
      readonly marginCallLtv: NoticeFigure;
      readonly liquidationLtv: NoticeFigure;
      readonly minutesToMarginCall: NoticeFigure;
    };

/** Activity of the account, in the words of page and `status`; its orders at the exchange; what comes next. */
export interface NoticeDoing {
  /** Names of `StateKind` and `StateCause`. */
  readonly state: string;
  readonly cause: string;
  readonly words: string;
  /** One sentence each. */
  readonly orders: readonly string[];
  readonly next: string;
}

/** Marks a notice that may be forged: it says so first, is never critical (wakes nobody) and gets no signed links. */
export function asUnproven(notice: Notice, fault: string): Notice {
  const severity = notice.severity === 'critical' ? 'warning' : notice.severity;
  return {
    ...notice,
    severity,
    isUnproven: true,
    words: `Not proven to be from Breakwater (${fault}). It says: ${notice.words}`,
  };
}

/** A question that a person may approve or veto. */
export interface NoticeApproval {
  /** Identifies the question and the revision shown. */
  readonly reference: string;
  /** Unix milliseconds. */
  readonly untilMs: number;
  readonly withoutAnswer: 'act' | 'hold';
  /** The exact orders and cancels, one sentence each. */
  readonly orders: readonly string[];
}

/** `words` of a resolved notice without further details. */
export const RESOLVED = 'resolved';

export type NoticeKind =
  | 'firing'
  | 'reminder'
  | 'resolved'
  /** An action failed, was refused or is in doubt, and a person should know. */
  | 'alarm'
  /** A rule asks before it acts, or the question was settled. */
  | 'approval'
  /** Daily summary of all accounts; belongs to no account, rule or subject. */
  | 'digest';

/** A way to bring a credit line back to a target LTV; the daemon cannot do it. */
export interface CureFigures {
  readonly asset: string;
  readonly currentLtv: number;
  readonly targetLtv: number;
  /** In the credit line's asset: amount to repay, or value of collateral to add instead. Rounded up to 8 places. */
  readonly repay: DecimalString;
  readonly addCollateral: DecimalString;
}

/** Hands notices over for delivery. Resolves when they are safely handed over, not when delivered. */
export interface Notifier {
  hand(notices: readonly Notice[]): Promise<void>;
}
