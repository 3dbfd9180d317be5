import type {
  BlockReason,
  DoubtReason,
  GateReason,
  IdleReason,
  IntentEnd,
  RemovalReason,
  WaitReason,
} from '../audit/audit-event.ts';
import type { RecentCost } from '../costs/action-cost.ts';
import type { Brake, UnclosedOrder } from '../intents/brake-count.ts';
import type { FiringBasis, JointLimit, KnownMargin } from '../intents/targets.ts';
import type { CancelAllRequest, OrderType, PositionSide, ReduceOnlyStopRequest } from '../ports/exchange.ts';
import type { DecimalString } from '../quantities/decimal.ts';
import type { TaughtBounds } from '../quantities/settings.ts';
import type { Mode, ReduceTarget, Rung, Severity } from '../rules/rule.ts';
import type { Direction, LiquidationStateValue } from '../rules/subject.ts';
import type { OwnOrder } from './own-order.ts';

/** Raised when older stored lanes can no longer be read. */
export const LANE_VERSION = 2;

/** Everything known about one market of an account, as plain JSON. Times are milliseconds on the lanes' clock. */
export interface LaneState {
  readonly version: typeof LANE_VERSION;
  readonly accountId: string;
  readonly market: string;
  readonly epoch: string;
  /** Incremented before each cancel is sent. */
  readonly generation: number;
  /** Incremented before each order is sent; never falls within a store epoch. */
  readonly attempt: number;
  readonly intents: readonly Intent[];
  readonly covers: readonly Cover[];
  readonly cancels: readonly CancelTask[];
  /** Our orders that may still fill (design: outstanding), in sending order. */
  readonly orders: readonly OwnOrder[];
  /** The newest read usable for sizing. A position that it lacks may still be open: see `absent`. */
  readonly read: MarketRead | null;
  /** The newest read of all, even if sent during one of our requests: not for sizing, except ahead of the fence. */
  readonly latestRead: MarketRead | null;
  /** `read` counts only if it was sent at or after this time: earlier reads may miss what our own requests changed. */
  readonly readAfterMs: number;
  /** Positions that `read` does not show: open, or closed with orders, covers or intents left. Absent: none. */
  readonly absent?: readonly Absence[];
  /** Positions that somebody else trades while our orders reduce them. Absent: none. */
  readonly contests?: readonly Contest[];
  /** Intents of rules that fire no more, each ended when its rule did; a new episode may continue theirs. */
  readonly past?: readonly Intent[];
  /** Margin behind positions, learned from the account's list or from a reduction. Absent: unknown. */
  readonly margins?: readonly KnownMargin[];
  /** Limits seen within the last minute. Absent: none is nearer than the positions' own liquidation prices. */
  readonly jointLimits?: readonly JointLimit[];
  /** Our orders that were cancelled, or filled at creation, since a read last showed their position. Absent: none. */
  readonly ended?: readonly OwnOrder[];
  /** Reads sent before this time do not show what became of our orders. */
  readonly ignoreReadsBeforeMs: number;
  readonly doubt: Doubt | null;
  readonly change: Change | null;
  readonly inProgress: InProgress | null;
  /** The account-wide action that holds this lane. */
  readonly heldBy: string | null;
  /** Earliest time of the next request of each kind, after a refusal by the exchange or a failed read. */
  readonly retryAtMs: Readonly<Record<Exclude<RetryKind, 'inFavour'>, number>> & {
    readonly inFavour?: number;
  };
  /** Mark prices of the last seconds, oldest first; absent: none is known. */
  readonly marks?: readonly MarkSample[];
  /** The newest last price that was shown, and when it was asked for. Absent: none. */
  readonly lastPrice?: { readonly atMs: number; readonly price: number };
  /** What refusals, fills and reads have taught of the market. Absent: nothing. */
  readonly learned?: Learned;
  /** How long requests in this market take at present. Absent: none was answered yet. */
  readonly roundTripMs?: number;
  /** Number of requests refused or unanswered since the last accepted one; lengthens the pause before the next try. */
  readonly refusals: number;
  /** The same for cancels; it lengthens no other request's pause. Absent: none. */
  readonly cancelRefusals?: number;
  /** When an order was last accepted here. Absent: never, or not since the lane was recovered. */
  readonly orderAcceptedMs?: number;
  /** When an order was last refused or not answered. */
  readonly orderRefusedMs?: number;
  /** When a reply last lacked the id that was sent, in any lane of the account: see `isKnownById`. Absent: never. */
  readonly unechoedMs?: number;
  /** The last order that was refused because others, ours or the owner's, take up its room. Absent: none was. */
  readonly roomTaken?: { readonly atMs: number; readonly positionId: string };
  /** The same for a stop that was to be placed beside a standing one. Absent: none was refused. */
  readonly coverRoomTakenMs?: number;
  /** When a cancel last did nothing but re-size standing stops, or make room. Absent: never. */
  readonly cancelledMs?: { readonly resize?: number; readonly room?: number };
  /** Until this time an unanswered cancel may still take effect. */
  readonly cancelPendingUntilMs?: number;
  /** Orders of an earlier store epoch may be open that our cancels cannot have removed; ours could add to them. */
  readonly priorOrdersPossible: boolean;
  /** When the lane's times were last moved because the clock had been set ahead. Absent: never. */
  readonly rebasedMs?: number;
  /** Our orders that closed something within the last hour. Absent: none. */
  readonly costs?: readonly RecentCost[];
  /** What was sent since a read last showed a change. Absent: nothing. */
  readonly brake?: Brake;
  /** Reductions not shown as closed, whatever was answered, of positions with intents; oldest first. Absent: none. */
  readonly unclosed?: readonly UnclosedOrder[];
  /** Marks of standing orders and held-back actions already reported, so that each is reported once. */
  readonly reported: readonly string[];
  /** Orders held back by observe mode or a pending approval, as they would be sent. Absent: none. */
  readonly observed?: readonly ObservedOrder[];
}

/** What is known of a market beyond its settings; absent: as configured, or unknown. `marketOf` applies it. */
export interface Learned extends TaughtBounds {
  /** From refusals: coarser steps and a larger least amount. */
  readonly amountStep?: DecimalString | undefined;
  readonly priceStep?: DecimalString | undefined;
  readonly minAmount?: DecimalString | undefined;
  /** The lowest limit price that was refused for its total, a part of the mark. */
  readonly totalAt?: number | undefined;
  /** Orders name the position side in the other form: LONG or SHORT where positions say BOTH, else BOTH. */
  readonly otherSide?: true | undefined;
  /** Bounds of the rate implied by liquidation prices; `agreeing`: trades in a row. */
  readonly maintenance?:
    | { readonly low: number; readonly high: number; readonly agreeing: number }
    | undefined;
  /** How far apart mark and last price may be, a fraction; raised by inversions. */
  readonly basis?: number | undefined;
  /** The same for the second stops of urgent closes, on the other side of the market, by their own inversions. */
  readonly basisInFavour?: number | undefined;
}

export type ObservedOrder = Pick<OwnOrder, 'key' | 'role' | 'positionId' | 'request'>;

/** A position that somebody else increases against a rule, or reduces along with it. */
export interface Contest {
  readonly positionId: string;
  /** It fell while our orders stood, and has not grown since. */
  readonly isReduced: boolean;
  /** When it was seen to have grown after a reduction, oldest first. */
  readonly addsMs: readonly number[];
  /** Episodes with a fall that our orders do not explain, and when it was seen; oldest first. Absent: none. */
  readonly falls?: readonly { readonly episodeKey: string; readonly atMs: number }[];
}

/** A position that the newest reads do not show. */
export interface Absence {
  readonly positionId: string;
  /** The position as last seen; null if it never was. */
  readonly last: ReadPosition | null;
  /** When the first complete list without it was requested; null before that. */
  readonly sinceMs: number | null;
  /** Number of complete lists in a row without it. */
  readonly reads: number;
  /**
   * `held`: counts as open. `explained`: our orders may have closed it. `closed`: certain, its orders are cancelled.
   */
  readonly phase: 'held' | 'explained' | 'closed';
  /** Whether an alarm said that a rule cannot act on it. */
  readonly told: boolean;
}

export interface MarkSample {
  readonly atMs: number;
  readonly mark: number;
}

/** `inFavour`: the second stop of an urgent close, which must not hold up the first. */
export type RetryKind = 'reduce' | 'inFavour' | 'cover' | 'cancel' | 'read';

/** A requested action, as the gate judges it. */
export interface AskedAction {
  /** By `actionKey` or `stageKeyOf`, unique in the lane: rule, subject, episode, stage, action and position. */
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
  /** For an account-wide target: what its newest plan leaves of this position. Null or absent: no plan. */
  readonly plannedBase?: DecimalString | null;
  readonly slippageSteps: readonly number[];
  /** The size down to which a reduction is approved. Absent: no approval bounds the intent. */
  readonly approvedBase?: DecimalString;
  /** Exempts the intent from the bound by the market's net exposure. */
  readonly perLeg: boolean;
  /** A full close with a stop on both sides of the market. Absent: only on the losing side. */
  readonly urgent?: true;
  /** The rule still fires although its condition no longer holds. */
  readonly hasCleared?: boolean;
  /** See `ActionRequest`. */
  readonly continuesForMs?: number;
  /** When the stage began. If an earlier stage had reached its target by then, this one is superseded. */
  readonly stageAtMs: number;
  readonly openedMs: number;
  readonly deadlineMs: number;
  /** Number of orders that activated without filling, or were refused; chooses the slippage step. */
  readonly failures: number;
  readonly renewals: number;
  /** The exchange found nothing to reduce on this side (116); the next read decides. */
  readonly sideRefused: boolean;
  readonly end: IntentEnd | null;
  readonly endedMs: number | null;
  /** Distance when it ended; a failed intent reopens when the distance is clearly smaller. */
  readonly endDistance: number | null;
  readonly basis: IntentBasis | null;
}

export interface IntentBasis
  extends FiringBasis,
    Pick<ReadPosition, 'positionSide' | 'openDate' | 'direction'> {
  /** A larger position counts as grown and the intent expires; once renewed, the bound is the new size. */
  readonly growthBoundBase: DecimalString;
}

export interface Cover extends PositionAction {
  readonly at: number;
  readonly slippage: number;
  readonly ladder?: readonly Rung[];
  readonly anchor: CoverAnchor | null;
}

/** The market when a cover's stop was first placed for a position. The stop stays in place while the anchor does. */
export interface CoverAnchor extends Pick<ReadPosition, 'openDate' | 'direction'> {
  readonly markPrice: DecimalString;
  readonly liquidationPrice: DecimalString;
  /** The size that the rungs of a ladder divide up. Absent: there is no ladder. */
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

/** A cancel-read-place under way. What was admitted at its start completes even if the gate closes (`boundChange`). */
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
  /** A record, perhaps the other side, was set aside in some market (`list`) or in this one. Absent: none was. */
  readonly partial?: 'list' | 'market';
  readonly positions: readonly ReadPosition[];
}

/**
 * A position as lanes use and store it: plain data, with amounts and prices as decimal strings. `null` means unknown;
 * `liquidationPrice: 'none'` is the API's null.
 */
export interface ReadPosition {
  readonly positionId: string;
  /** As reported. In hedge mode our orders name it. */
  readonly positionSide: PositionSide;
  /** Unix seconds, as reported. A different date under the same id means a different position. */
  readonly openDate: number | null;
  readonly direction: Direction | null;
  /** Absolute size in the stock currency. */
  readonly sizeBase: DecimalString;
  /** Size before unseen other processes reduced it a moment ago. Absent: none is known to have done so. */
  readonly sizeBeforeBase?: DecimalString;
  readonly markPrice: DecimalString | null;
  /** Bound on the error of `markPrice`, same unit. */
  readonly markError: number;
  readonly liquidationPrice: DecimalString | 'none' | null;
  readonly distance: number | 'none' | null;
  readonly liquidationState: LiquidationStateValue | null;
  /** The distance is negative although the exchange does not liquidate: an alarm, and no sizing. */
  readonly disagreement: boolean;
  /** Average entry price, and the PnL that partial closes have realized. Absent: not reported. */
  readonly basePrice?: DecimalString;
  readonly realizedPnl?: DecimalString;
  /** The margin behind it: its own (isolated), or shared with other positions. Absent: unknown. */
  readonly margin?: KnownMargin['margin'];
  /** Price at which its pool is used up if all markets move together. Absent: no nearer than its own, or unknown. */
  readonly jointLiquidationPrice?: DecimalString;
  /** Probability of liquidation before a fence that starts now has passed; null if unknown. */
  readonly fenceRisk: number | null;
}

/** The executor's next step, as data. Only a `RequestStep` reaches the exchange. */
export type Step = RequestStep | WaitStep | IdleStep;
export type RequestStep = CancelStep | PlaceStep | ReadStep;

export interface CancelStep {
  readonly kind: 'cancelAll';
  readonly request: CancelAllRequest;
  readonly why: Change['why'];
  /** Key of the rule's own action that this carries out; null when it serves the order set. */
  readonly task: string | null;
  readonly admitted: readonly string[];
  /** Positions whose order was not filled in time: their next attempt takes the next slippage step. */
  readonly unfilled: readonly string[];
  /** After this time without an answer it counts as lost, and the lane goes on. Absent: as long as the client waits. */
  readonly answerWithinMs?: number;
}

export interface PlaceStep {
  readonly kind: 'place';
  readonly request: ReduceOnlyStopRequest;
  readonly order: OwnOrder;
  /** Sent before the fence has passed. */
  readonly ahead: boolean;
  /** One of our orders, sent again under its own id. */
  readonly isResend: boolean;
  /** The answer shows that another process sent it first. */
  readonly byAnother?: true;
  /** After this time without an answer it counts as lost. Absent: as long as the client waits. */
  readonly answerWithinMs?: number;
  /** The anchor of a cover's activation; null for a reduction. */
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
  /** When time alone could change the step. */
  readonly wakeAtMs: number | null;
}

export interface InProgress {
  readonly step: RequestStep;
  readonly startedMs: number;
}

/** Returns a lane without history: what is open in its market at the exchange is in doubt. */
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
