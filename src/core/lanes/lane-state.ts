import type {
  BlockReason,
  DoubtReason,
  GateReason,
  IdleReason,
  IntentEnd,
  RemovalReason,
  WaitReason,
} from '../audit/audit-event.ts';
import type { PendingCost } from '../costs/action-cost.ts';
import type { FiringBasis, JointLimit, KnownMargin } from '../intents/targets.ts';
import type { CancelAllRequest, OrderType, PositionSide, ReduceOnlyStopRequest } from '../ports/exchange.ts';
import type { DecimalString } from '../quantities/decimal.ts';
import type { Mode, ReduceTarget, Rung, Severity } from '../rules/rule.ts';
import type { Direction, LiquidationStateValue } from '../rules/subject.ts';
import type { OwnOrder } from './own-order.ts';

/** Raised when stored lanes of an older form cannot be read any more. */
export const LANE_VERSION = 2;

/** All that is known of one account and market: plain JSON. Times are milliseconds on the lanes' clock. */
export interface LaneState {
  readonly version: typeof LANE_VERSION;
  readonly accountId: string;
  readonly market: string;
  readonly epoch: string;
  /** Rises with every cancel, before it is sent. */
  readonly generation: number;
  /** Rises with every order, before it is sent; never falls within a store epoch. */
  readonly attempt: number;
  readonly intents: readonly Intent[];
  readonly covers: readonly Cover[];
  readonly cancels: readonly CancelTask[];
  /** Our orders that may still fill (design: outstanding), in the order in which they were sent. */
  readonly orders: readonly OwnOrder[];
  /** The newest read that may be sized by; what it does not show is not there for certain only if nothing is `absent`. */
  readonly read: MarketRead | null;
  /** The newest read, also when something of ours was on its way: for prices and full closes only. */
  readonly latestRead: MarketRead | null;
  /** `read` counts only if it was sent at or after this: something of ours changed the market before. */
  readonly readAfterMs: number;
  /** Positions that `read` does not show and that may be open all the same. Absent: none. */
  readonly absent?: readonly Absence[];
  /** Absent: nobody adds to what orders of ours reduce. */
  readonly contests?: readonly Contest[];
  /** Bounds of the maintenance rate that liquidation prices imply, and how many trades in a row agree. Absent: unknown. */
  readonly learnedMaintenance?: { readonly low: number; readonly high: number; readonly agreeing: number };
  /** What stands behind positions, by the account's list or by what a reduction did. Absent: nothing is known. */
  readonly margins?: readonly KnownMargin[];
  /** Of the last minute. Absent: there is none nearer than the positions' own. */
  readonly jointLimits?: readonly JointLimit[];
  /** Our orders that were cancelled, or filled at creation, since a read last showed their position. Absent: none. */
  readonly ended?: readonly OwnOrder[];
  /** New reads sent before this do not tell what became of our orders. */
  readonly ignoreReadsBeforeMs: number;
  readonly doubt: Doubt | null;
  readonly change: Change | null;
  readonly inProgress: InProgress | null;
  /** The account-wide action that holds this lane. */
  readonly heldBy: string | null;
  /** After a refusal by the exchange or a failed read: nothing of this kind before. */
  readonly retryAtMs: Readonly<Record<Exclude<RetryKind, 'inFavour'>, number>> & {
    readonly inFavour?: number;
  };
  /** Mark prices of the last seconds, oldest first; absent: none is known. */
  readonly marks?: readonly MarkSample[];
  /** Raised by inversions: how far mark and last price may be apart here, a fraction; absent: as configured. */
  readonly learnedBasis?: number;
  /** The same of the second stops of urgent closes, on the other side of the market, by their own inversions. */
  readonly learnedInFavour?: number;
  /** Coarser than in the config, as refusals have taught; absent: as configured. */
  readonly learnedSteps?: { readonly amountStep?: DecimalString; readonly priceStep?: DecimalString };
  /** Between what mark less last price lay when an order of ours filled, fractions of the mark; absent: never seen. */
  readonly measuredBasis?: { readonly low: number; readonly high: number };
  /** How long requests in this market take at present; absent: none has been answered yet. */
  readonly roundTripMs?: number;
  /** Requests refused or unanswered since one was last accepted: lengthens the pause before the next try. */
  readonly refusals: number;
  /** The same of cancels, which lengthens no other request's pause; absent: none. */
  readonly cancelRefusals?: number;
  /** When an order was last accepted here; absent: none was, or not since the lane was taken up after a failure. */
  readonly orderAcceptedMs?: number;
  /** When an order was last refused or not answered. */
  readonly orderRefusedMs?: number;
  /** When an order was refused (116) although orders of ours stand on that side: they may take up its room. */
  readonly roomTakenMs?: number;
  /** The same for a stop nearer to the market, by the one that it was to be placed beside. Absent: it was not. */
  readonly coverRoomTakenMs?: number;
  /** Until then a cancel that was not answered may still take effect. */
  readonly cancelPendingUntilMs?: number;
  /** Orders of an earlier store epoch may be open that no cancel of ours can have removed: ours could add to them. */
  readonly priorOrdersPossible: boolean;
  /** When its times were last moved because the clock had been set ahead; absent: never. */
  readonly rebasedMs?: number;
  /** Orders of ours that closed something within the last hour: their price is followed. Absent: none. */
  readonly costs?: readonly PendingCost[];
  /** Closed windows of the gate and blocked orders already reported, so that each is said once. */
  readonly reported: readonly string[];
  /** Orders that observe mode holds back, as they would have been sent, by intent or cover. Absent: none. */
  readonly observed?: readonly ObservedOrder[];
}

export interface ObservedOrder {
  readonly key: string;
  readonly role: OwnOrder['role'];
  readonly positionId: string;
  readonly request: ReduceOnlyStopRequest;
}

/** A position on which somebody works against what a rule does, or does the same. */
export interface Contest {
  readonly positionId: string;
  /** It fell while orders of ours stood, and has not grown since. */
  readonly isReduced: boolean;
  /** When it was seen to have grown after a reduction, oldest first. */
  readonly addsMs: readonly number[];
  /** Episodes with a fall that our orders do not explain, and when it was seen; oldest first. Absent: none. */
  readonly falls?: readonly { readonly episodeKey: string; readonly atMs: number }[];
}

/** A position that the newest reads do not show. */
export interface Absence {
  readonly positionId: string;
  /** As it was last seen; null when it never was. */
  readonly last: ReadPosition | null;
  /** When the first complete list without it was asked for; null before that. */
  readonly sinceMs: number | null;
  /** Complete lists in a row without it. */
  readonly reads: number;
  /**
   * `held`: counts as open. `explained`: our orders may have closed it. `closed`: for certain; what stands is
   * cancelled.
   */
  readonly phase: 'held' | 'explained' | 'closed';
  /** Whether people were told that a rule cannot act on it. */
  readonly told: boolean;
}

export interface MarkSample {
  readonly atMs: number;
  readonly mark: number;
}

/** `inFavour`: the second stop of an urgent close, which must not hold up the first. */
export type RetryKind = 'reduce' | 'inFavour' | 'cover' | 'cancel' | 'read';

/** An action that is asked for, as the gate judges it. */
interface AskedAction {
  /** Unique in the lane: rule, subject, episode, stage, action and position. */
  readonly key: string;
  readonly episodeKey: string;
  readonly ruleId: string;
  readonly mode: Mode;
  readonly exemptFromLimits: boolean;
  readonly refusedBy: GateReason | null;
}

interface PositionAction extends AskedAction {
  readonly positionId: string;
  readonly episode: number;
  readonly stage: number;
  readonly severity: Severity;
  readonly blockedBy: BlockReason | null;
}

export interface Intent extends PositionAction {
  readonly source: 'rule' | 'operator' | 'cover';
  readonly target: ReduceTarget;
  /** The target as a size, persisted once known; within an episode it never rises. */
  readonly targetBase: DecimalString | null;
  /** Of a target of the account as a whole: what its newest plan leaves of this position. */
  readonly plannedBase?: DecimalString | null;
  readonly slippageSteps: readonly number[];
  /** People have approved a reduction to this, and no further; absent: it is not bound by an approval. */
  readonly approvedBase?: DecimalString;
  /** Lifts the bound to the market's net exposure. */
  readonly perLeg: boolean;
  /** A full close with a stop on either side of the market. Absent: on the one that the position loses by. */
  readonly urgent?: true;
  /** Its rule is only kept firing: the condition does not hold any more. */
  readonly hasCleared?: boolean;
  /** When the stage began; later stages of an episode whose target was reached before are not opened. */
  readonly stageAtMs: number;
  readonly openedMs: number;
  readonly deadlineMs: number;
  /** Orders that were activated and did not fill, or were refused: chooses the slippage step. */
  readonly failures: number;
  readonly renewals: number;
  /** The exchange said that there is nothing to reduce on this side (116); the next read tells. */
  readonly sideRefused: boolean;
  readonly end: IntentEnd | null;
  readonly endedMs: number | null;
  /** Distance when it ended: nearer than this (reached: well nearer) opens it again. */
  readonly endDistance: number | null;
  readonly basis: IntentBasis | null;
}

export interface IntentBasis extends FiringBasis {
  readonly positionSide: PositionSide;
  readonly openDate: number | null;
  readonly direction: Direction | null;
  /** Beyond this the position has grown and the intent expires; renewed, it follows the size. */
  readonly growthBoundBase: DecimalString;
}

export interface Cover extends PositionAction {
  readonly at: number;
  readonly slippage: number;
  readonly ladder?: readonly Rung[];
  readonly anchor: CoverAnchor | null;
}

/** What the market was when a cover's stop was first placed for a position: while that lasts, it stays there. */
export interface CoverAnchor {
  readonly markPrice: DecimalString;
  readonly liquidationPrice: DecimalString;
  readonly openDate: number | null;
  readonly direction: Direction | null;
  /** The size of which each rung of a ladder closes its part; absent: there is no ladder. */
  readonly sizeBase?: DecimalString;
}

/** A `cancelAll` action of a rule in this market; done once per episode and stage. */
export interface CancelTask extends AskedAction {
  readonly types: readonly OrderType[];
  readonly failures: number;
  readonly openedMs: number;
  readonly deadlineMs: number;
  readonly state: 'open' | 'done' | 'failed';
}

export interface Doubt {
  readonly why: DoubtReason;
  readonly sinceMs: number;
  /** Positions for which an order was sent ahead of the fence. */
  readonly sentAhead: readonly string[];
}

/** A started cancel-read-place. It completes whatever the gate says, for what was admitted when it started. */
export interface Change {
  readonly why: RemovalReason | 'doubt' | 'cancelAction';
  readonly startedMs: number;
  readonly phase: 'cancel' | 'place';
  /** Keys of the intents and covers that are placed again. */
  readonly admitted: readonly string[];
  readonly rounds: number;
}

export interface MarketRead {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** A record was set aside, in some market (`list`) or in this one: it may be the other side. Absent: none was. */
  readonly partial?: 'list' | 'market';
  readonly positions: readonly ReadPosition[];
}

/**
 * A position as lanes act on it and store it: plain data, amounts and prices as decimal texts. `null` is unknown,
 * `liquidationPrice: 'none'` the API's null.
 */
export interface ReadPosition {
  readonly positionId: string;
  /** As reported. In hedge mode our orders name it. */
  readonly positionSide: PositionSide;
  /** Unix seconds, as reported; another one under the same id is another position. */
  readonly openDate: number | null;
  readonly direction: Direction | null;
  /** Absolute size in the stock currency. */
  readonly sizeBase: DecimalString;
  /** Before other processes, which cannot be seen, reduced it a moment ago. Absent: none did, as far as is known. */
  readonly sizeBeforeBase?: DecimalString;
  readonly markPrice: DecimalString | null;
  /** Bound on the error of `markPrice`, same unit. */
  readonly markError: number;
  readonly liquidationPrice: DecimalString | 'none' | null;
  readonly distance: number | 'none' | null;
  readonly liquidationState: LiquidationStateValue | null;
  /** Negative distance while the exchange does not liquidate: alert, no sizing. */
  readonly disagreement: boolean;
  /** Average entry price, and what partial closes have realized; absent: not said. */
  readonly basePrice?: DecimalString;
  readonly realizedPnl?: DecimalString;
  /** What stands behind it: its own margin (isolated), or what it shares with others; absent: not known. */
  readonly margin?: KnownMargin['margin'];
  /** Where its pool is used up if all markets move together; absent: no nearer than its own, or not known. */
  readonly jointLiquidationPrice?: DecimalString;
  /** Chance of liquidation before a fence that starts now has passed; unknown is null. */
  readonly fenceRisk: number | null;
}

/** What the executor is to do next, as data. Only the first three reach the exchange. */
export type Step = RequestStep | WaitStep | IdleStep;
export type RequestStep = CancelStep | PlaceStep | ReadStep;

export interface CancelStep {
  readonly kind: 'cancelAll';
  readonly request: CancelAllRequest;
  readonly why: Change['why'];
  /** The rule's own action that this carries out; null when it serves the order set. */
  readonly task: string | null;
  readonly admitted: readonly string[];
  /** Positions whose order was not filled in time: their next attempt takes the next slippage step. */
  readonly unfilled: readonly string[];
  /** Unanswered for so long it counts as lost, and what waits for it goes on; absent: as long as the client waits. */
  readonly answerWithinMs?: number;
}

export interface PlaceStep {
  readonly kind: 'place';
  readonly request: ReduceOnlyStopRequest;
  readonly order: OwnOrder;
  /** Sent before the fence has passed. */
  readonly ahead: boolean;
  /** An order of ours that is sent again under its own id. */
  readonly isResend: boolean;
  /** Another process sent it first, as its answer says. */
  readonly byAnother?: true;
  /** Unanswered for so long it counts as lost; absent: as long as the client waits. */
  readonly answerWithinMs?: number;
  /** What a cover's activation was reckoned from; null for a reduction. */
  readonly anchor: CoverAnchor | null;
}

export interface ReadStep {
  readonly kind: 'readPositions';
  readonly market: string;
}

export interface WaitStep {
  readonly kind: 'wait';
  readonly untilMs: number;
  readonly why: WaitReason;
}

export interface IdleStep {
  readonly kind: 'idle';
  readonly why: IdleReason;
  /** When time alone could change this. */
  readonly wakeAtMs: number | null;
}

export interface InProgress {
  readonly step: RequestStep;
  readonly startedMs: number;
}

/** A lane of which nothing is known yet: what is open in its market at the exchange is in doubt. */
export function newLane(accountId: string, market: string, epoch: string, nowMs: number): LaneState {
  return {
    version: LANE_VERSION,
    accountId,
    market,
    epoch,
    generation: 0,
    attempt: 0,
    intents: [],
    covers: [],
    cancels: [],
    orders: [],
    read: null,
    latestRead: null,
    readAfterMs: nowMs,
    ignoreReadsBeforeMs: nowMs,
    doubt: { why: 'newStore', sinceMs: nowMs, sentAhead: [] },
    change: null,
    inProgress: null,
    heldBy: null,
    retryAtMs: { reduce: nowMs, cover: nowMs, cancel: nowMs, read: nowMs },
    refusals: 0,
    priorOrdersPossible: false,
    reported: [],
  };
}
