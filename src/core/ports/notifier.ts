import type { DecimalString } from '../quantities/decimal.ts';
import type { Mode, Severity } from '../rules/rule.ts';
import type { SubjectKey } from '../rules/subject.ts';

/** What people are told, plain JSON without secrets and personal data: it travels through a queue. */
export interface Notice {
  readonly version: 1;
  /** One per thing said: the same notice handed over twice is the same id, and is delivered once. */
  readonly id: string;
  /** The same for firing, reminder and resolved of one episode; receivers group and deduplicate by it. */
  readonly key: string;
  readonly kind: NoticeKind;
  readonly accountId: string;
  readonly ruleId: string;
  readonly subject: SubjectKey;
  /** Where the subject is a position, or the whole market. */
  readonly market?: string;
  readonly episode: number;
  readonly stage: number;
  readonly severity: Severity;
  readonly mode: Mode;
  /** Of account and rule, the rule's winning. */
  readonly labels: Readonly<Record<string, string>>;
  /** One sentence with the figures. */
  readonly words: string;
  /** When the episode's stage began, and when this was said; Unix milliseconds. */
  readonly sinceMs: number;
  readonly atMs: number;
  /** Names of channels; empty: the default ones. */
  readonly channels: readonly string[];
  readonly cures: readonly CureFigures[];
  /** Of the position or credit line that it is about, as judged when it was said. */
  readonly figures?: NoticeFigures;
  readonly doing?: NoticeDoing;
  /** Of one that asks; absent where it only says what became of a question. */
  readonly approval?: NoticeApproval;
  /** Of a reminder: who sees to it. Only receivers that end what is not repeated have to hear it. */
  readonly acknowledged?: { readonly author: string; readonly atMs: number };
  /** Of a digest: its lines after the sentence, few enough for every channel. */
  readonly lines?: readonly string[];
  /** Of a resolved notice, where the rule did not find its subject safe. */
  readonly ending?: NoticeEnding;
  /** Set where it is read, never in the queue: it may be somebody else's. */
  readonly isUnproven?: true;
}

/** `gone`: the subject vanished while the rule fired. `restarted`: the rule was changed or removed, or its mode. */
export type NoticeEnding = 'gone' | 'restarted';

/** To whom what is critical goes as well when nobody has acknowledged it for so long. */
export interface Escalation {
  readonly afterMs: number;
  readonly channels: readonly string[];
}

/** A number; `none`: there is none; null: not known. */
type NoticeFigure = number | 'none' | null;

/** Distances and LTVs are fractions, sizes and prices decimal texts, `notional` is in the market's money. */
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

/** What the account does, in the words of page and `status`; what stands for it at the exchange; what comes next. */
export interface NoticeDoing {
  /** Names of `StateKind` and `StateCause`. */
  readonly state: string;
  readonly cause: string;
  readonly words: string;
  /** One sentence each. */
  readonly orders: readonly string[];
  readonly next: string;
}

/**
 * A notice that may be somebody else's, as people get it: it says so first, nobody is got up for it, and no link is signed
 * for what it names.
 */
export function asUnproven(notice: Notice, fault: string): Notice {
  const severity = notice.severity === 'critical' ? 'warning' : notice.severity;
  return {
    ...notice,
    severity,
    isUnproven: true,
    words: `Not proven to be from Breakwater (${fault}). It says: ${notice.words}`,
  };
}

/** What a person may approve or veto. */
export interface NoticeApproval {
  /** Names the question and the revision of it that is shown here. */
  readonly reference: string;
  /** Unix milliseconds. */
  readonly untilMs: number;
  readonly withoutAnswer: 'act' | 'hold';
  /** The exact orders and cancels, one sentence each. */
  readonly orders: readonly string[];
}

/** `words` of a resolved notice when there is no more to say. */
export const RESOLVED = 'resolved';

export type NoticeKind =
  | 'firing'
  | 'reminder'
  | 'resolved'
  /** An action failed, was refused or is in doubt, and somebody has to know. */
  | 'alarm'
  /** Somebody is asked before a rule acts, or the question was settled. */
  | 'approval'
  /** The daily summary of all accounts: of no account, rule or subject. */
  | 'digest';

/** What would bring a credit line back to a target; the daemon cannot do it. */
export interface CureFigures {
  readonly asset: string;
  readonly currentLtv: number;
  readonly targetLtv: number;
  /** In the credit line's asset: what to repay, or the value of collateral to add instead. Rounded up to 8 places. */
  readonly repay: DecimalString;
  readonly addCollateral: DecimalString;
}

/** Hands notices to whoever delivers them. Resolves when they are safely handed over, not when delivered. */
export interface Notifier {
  hand(notices: readonly Notice[]): Promise<void>;
}
