import type { Answered, AskedTarget, QuestionState, SettledBy } from '../approvals/question.ts';
import type { Acknowledgement, OperatorOrder, Pause, Silence } from '../controls/controls.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import type { StoreEpoch } from '../ports/state-store.ts';
import type { DecimalString } from '../quantities/decimal.ts';
import type { Mode, Severity } from '../rules/rule.ts';
import type { Phase } from '../rules/rule-state.ts';
import type { Direction, LiquidationStateValue, SubjectKey } from '../rules/subject.ts';
import type { StateLine } from './state-line.ts';
import type { ReadFailure } from './stored-figures.ts';

/**
 * One account as people see it, from shared state and config alone: page, API, `status` and metrics agree. `null` is
 * unknown, `'none'` means that there is none. Ratios are fractions, amounts and prices decimal texts.
 */
export interface AccountView {
  readonly accountId: string;
  /** Its state and the reason, in the same words everywhere. */
  readonly state: StateLine;
  readonly labels: Readonly<Record<string, string>>;
  /** As configured, else as last stored by a daemon; null: unknown. */
  readonly mode: Mode | null;
  /** The pause that stops all actions of the account, if any. */
  readonly pause: Pause | null;
  readonly silences: readonly Silence[];
  readonly epoch: StoreEpoch | null;
  /** Time of the last evaluation; null: never. */
  readonly judgedAtMs: number | null;
  readonly nextDueAtMs: number | null;
  /** Time of the figures below, which are stored less often than evaluated while all is calm. */
  readonly figuresAtMs: number | null;
  /** Highest severity of the firing rules; null: none fires. */
  readonly worst: Severity | null;
  /** As committed with the account; larger is nearer to harm. Sorts accounts. */
  readonly danger: number;
  /** How far all markets may move together before liquidation, a fraction. */
  readonly jointDistance: Figure;
  /** How far prices may move before the first liquidation or margin call, a fraction. */
  readonly nearest: Figure;
  /** Value exposed to liquidation, positions and collateral, by money currency. */
  readonly atRisk: readonly WorthLine[];
  readonly sources: readonly SourceView[];
  /** Why the newest reads of sources failed. */
  readonly failures: readonly ReadFailure[];
  readonly positions: readonly PositionLine[];
  readonly creditLines: readonly CreditLineLine[];
  readonly balances: readonly { readonly asset: string; readonly available: DecimalString }[];
  readonly rules: readonly RuleLine[];
  /** Open notices, oldest first. */
  readonly notices: readonly NoticeLine[];
  readonly intents: readonly IntentLine[];
  readonly orders: readonly OrderLine[];
  /** Operator orders that have not started. */
  readonly inbox: readonly OperatorOrder[];
  readonly questions: readonly QuestionLine[];
  /** Markets in which it is unknown which of our orders are open. */
  readonly doubts: readonly { readonly market: string; readonly why: string; readonly sinceMs: number }[];
  /** Stored state that this program must not touch; nothing else of the account is known then. */
  readonly refused: { readonly document: string; readonly message: string } | null;
}

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

/** Positions and collateral in one money currency; null if any is unknown. */
export interface WorthLine {
  readonly money: string;
  readonly worth: number | null;
}

export interface SourceView {
  readonly source: string;
  /** Time of the last good read; null: none yet. */
  readonly readAtMs: number | null;
  /** Since the last good read, or since watching began if there was none. */
  readonly ageMs: number;
  readonly complete: boolean;
  readonly setAside: number;
  /** Older than the account's `maxSnapshotAge`: rules that need it are frozen. */
  readonly tooOld: boolean;
}

export type Figure = number | 'none' | null;

/** A rule's threshold on a figure that is drawn as a bar. */
export interface ThresholdMark {
  readonly ruleId: string;
  readonly severity: Severity;
  /** Name in the field catalogue: `liquidationDistance`, `currentLtv`, `ltvToMarginCall`, ... */
  readonly field: string;
  readonly op: 'below' | 'above';
  readonly threshold: number;
}

/** A position as JSON; its figures are those that rules use. */
export interface PositionLine {
  readonly subject: SubjectKey;
  readonly positionId: string;
  readonly market: string;
  readonly direction: Direction | null;
  /** Absolute size in the base asset. */
  readonly sizeBase: DecimalString;
  readonly basePrice: DecimalString | null;
  readonly markPrice: DecimalString | null;
  readonly liquidationPrice: DecimalString | 'none' | null;
  readonly liquidationState: LiquidationStateValue | null;
  readonly liquidationDistance: Figure;
  readonly disagreement: boolean | null;
  readonly notional: Figure;
  readonly unrealizedPnl: Figure;
  readonly marginUsage: Figure;
  readonly stopCover: 'ok' | 'missing' | 'beyondLiquidation' | 'unconfirmed' | null;
  /** Fraction of the size that our own confirmed stops close before liquidation. Absent: none stands. */
  readonly stopCoverShare?: number;
  /** Their activation prices, nearest to the market first. Absent: none stands. */
  readonly stopPrices?: readonly DecimalString[];
  readonly unprotectedMs: number | null;
  /** Chance of liquidation within an hour. */
  readonly liquidationProbability1h: Figure;
  readonly minutesToLiquidation: Figure;
  readonly marks: readonly ThresholdMark[];
}

export interface CreditLineLine {
  readonly subject: SubjectKey;
  readonly asset: string;
  readonly amount: DecimalString;
  readonly totalFunding: DecimalString | null;
  readonly debt: DecimalString | null;
  readonly currentLtv: Figure;
  readonly initialLtv: Figure;
  readonly marginCallLtv: Figure;
  readonly liquidationLtv: Figure;
  readonly ltvToMarginCall: Figure;
  readonly collateralMayFall: Figure;
  readonly minutesToMarginCall: Figure;
  /** Cures to bring the LTV down to each target of the account's rules. */
  readonly cures: readonly CureLine[];
  readonly marks: readonly ThresholdMark[];
}

/** Either repaying or adding collateral suffices; both in the credit line's asset, rounded up. */
export interface CureLine {
  readonly targetLtv: number;
  readonly repay: DecimalString;
  readonly addCollateralWorth: DecimalString;
}

/** One configured rule for one subject that it selects. */
export interface RuleLine {
  readonly ruleId: string;
  readonly subject: SubjectKey;
  /** null: the rule is not in the config of this process. */
  readonly severity: Severity | null;
  readonly mode: Mode;
  readonly phase: Phase;
  /** The data did not decide at the last evaluation, or no longer do. */
  readonly frozen: boolean;
  readonly episode: number;
  readonly stage: number | null;
  /** Start of the present phase, as far as remembered. */
  readonly sinceMs: number | null;
  readonly silenced: boolean;
  /** In words, including why nothing happens. */
  readonly reason: string;
  /** The condition in words: `distance to liquidation below 5 %`; empty for a rule that is not in the config. */
  readonly condition: string;
}

export interface NoticeLine {
  readonly ruleId: string;
  readonly subject: SubjectKey;
  readonly market: string | null;
  readonly severity: Severity;
  /** As in its acknowledgement; see `episodeOf`. */
  readonly episode: number;
  /** Highest stage reached. */
  readonly stage: number;
  readonly sinceMs: number;
  /** Time of its last notice. */
  readonly toldAtMs: number;
  /** null: not acknowledged, or it got worse since. */
  readonly acknowledged: Acknowledgement | null;
}

export interface IntentLine {
  readonly key: string;
  readonly market: string;
  readonly positionId: string;
  /** `operator:ID` for an operator order. */
  readonly ruleId: string;
  readonly mode: Mode;
  readonly target: string;
  /** The most that may remain; null: not known yet. */
  readonly targetBase: DecimalString | null;
  readonly openedMs: number;
  readonly deadlineMs: number;
  readonly failures: number;
  readonly state: string;
  readonly ended: boolean;
}

/** A question to people, open or answered. */
export interface QuestionLine {
  /** Reference for answers; null: not asked yet. */
  readonly reference: string | null;
  readonly ruleId: string;
  readonly subject: SubjectKey;
  readonly stage: number;
  readonly state: QuestionState;
  /** Whether it can be approved or vetoed now. */
  readonly answerable: boolean;
  /** Why it stopped waiting; null: it waits. */
  readonly settledBy: SettledBy | null;
  /** When people were asked; null: not yet. */
  readonly askedMs: number | null;
  /** When the wait ends. */
  readonly untilMs: number;
  readonly withoutAnswer: 'act' | 'hold';
  /** Its notice reached somebody. */
  readonly delivered: boolean;
  readonly targets: readonly Omit<AskedTarget, 'openDate' | 'direction'>[];
  /** Orders as they would be sent now. */
  readonly orders: readonly OrderLine[];
  readonly answer: Answered | null;
}

export interface OrderLine {
  readonly market: string;
  readonly role: 'reduce' | 'cover';
  readonly positionId: string;
  readonly side: string;
  readonly amount: DecimalString;
  readonly activationPrice: DecimalString;
  readonly price: DecimalString;
  /** Activates when the market moves in the position's favour: one of the two stops of an urgent close. */
  readonly inFavour?: true;
  /**
   * `unsure`: unknown whether it stands. `presumedFilled`: kept only to be cancelled before anything is placed.
   * `observed`: would be sent, but the rule is in observe mode or awaits approval.
   */
  readonly status: OwnOrder['status'] | 'presumedFilled' | 'observed';
  readonly clientOrderId: string;
}
