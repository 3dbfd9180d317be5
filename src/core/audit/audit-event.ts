import type { ActionCost } from '../costs/action-cost.ts';
import type { CancelAllRequest, ReduceOnlyStopRequest } from '../ports/exchange.ts';
import type { DecimalString } from '../quantities/decimal.ts';

/** Why the gate holds an action back (design: gate). Closed list, also a metric label. */
export type GateReason =
  | 'observeMode'
  | 'paused'
  | 'sharedAccount'
  | 'silenced'
  | 'cooldown'
  | 'perHour'
  | 'largestReduction'
  | 'awaitingApproval'
  | 'vetoed'
  | 'notAnswered';

/** Why a wanted order cannot be shaped or sized right now. Closed list, also a metric label. */
export type BlockReason =
  | 'markUnknown'
  | 'markTooCoarse'
  | 'directionUnknown'
  | 'liquidationPriceUnknown'
  | 'disagreement'
  | 'marketNotConfigured'
  | 'priceNotPositive'
  | 'noRoomForStop'
  | 'positionNotSeen'
  | 'contested'
  | 'reducedByOthers'
  | 'netExposure'
  | 'priorOrders'
  | 'stopNotCancellable'
  | 'cancelForbidden';

/** How an intent ended (design: follow-up). */
export type IntentEnd =
  | {
      readonly how: 'reached';
      readonly why: 'target' | 'dust' | 'tolerance' | 'positionGone' | 'nothingToReduce';
    }
  | { readonly how: 'resolved'; readonly why: 'ruleResolved' | 'withdrawn' }
  | { readonly how: 'superseded'; readonly why: 'laterStage' | 'targetReachedEarlier' }
  | { readonly how: 'expired'; readonly why: ExpiryReason }
  | { readonly how: 'failed'; readonly why: FailureReason };

export type ExpiryReason = 'ttl' | 'newPosition' | 'grown' | 'rebuilt';
export type FailureReason =
  | 'hedged'
  | 'attempts'
  | 'renewals'
  /** The exchange did not answer, or refused to judge, to the last. */
  | 'unanswered'
  | 'priorOrders'
  | 'marketNotConfigured'
  /** Which positions it concerns could not be told: no complete list of them came in time. */
  | 'positionsUnknown'
  | `refused:${GateReason}`
  | `blocked:${BlockReason}`;

/** Why orders of ours have to go, so that the market is cancelled, read and placed anew. */
export type RemovalReason =
  | 'resolved'
  | 'positionGone'
  | 'exceedsTarget'
  | 'exceedsNetExposure'
  | 'ambiguousMove'
  | 'fillUnproven'
  | 'notFilled'
  /** The market passed its activation before it arrived. */
  | 'inverted'
  | 'marketMovedAway'
  | 'needGrew'
  | 'slippageRose'
  /** Orders of ours leave no room for the reduction. */
  | 'noRoom'
  | 'stopLoosened'
  | 'tooManyStops'
  | 'stopGone'
  | 'coverTriggered';

/** Why the lane does not know what is open at the exchange. */
export type DoubtReason = 'newStore' | 'unknownOutcome' | 'processDied' | 'duplicateUnexpected';

/** Why a lane does nothing at the moment. */
export type IdleReason = 'nothingWanted' | 'setInPlace' | 'held' | 'busy' | 'gateClosed' | 'blocked';

/** Why a lane waits. */
export type WaitReason = 'lateArrival' | 'readLag' | 'backoff';

export type RejectionReason =
  /** Nothing to reduce on this side (116). */
  | 'side'
  | 'duplicateId'
  | 'cancelledAtCreation'
  | 'rateLimited'
  /** Not sent, or turned away before it was judged. */
  | 'notProcessed'
  /** The market is not known, or takes no orders (31). */
  | 'marketClosed'
  /** The amount (32) or a price (33) breaks a rule of the market. */
  | 'amountStep'
  | 'priceStep'
  | 'other';

/** What the order sets decide, for audit, metrics and alerts. `words` are for people; `alarm` must reach one. */
export interface AuditEvent {
  readonly kind: AuditKind;
  readonly atMs: number;
  readonly accountId: string;
  /** Absent for what concerns the account as a whole. */
  readonly market?: string;
  readonly positionId?: string;
  /** The intent, cover or cancel that this is about. */
  readonly key?: string;
  readonly ruleId?: string;
  readonly reason: string;
  readonly words: string;
  readonly alarm: boolean;
  readonly order?: ReduceOnlyStopRequest;
  readonly cancel?: CancelAllRequest;
  readonly targetBase?: DecimalString;
  readonly sizeBase?: DecimalString;
  /** Of `priced`: what the order is known to have cost. */
  readonly cost?: ActionCost;
  /** Of an intent that ended: when it was opened. */
  readonly openedMs?: number;
}

export type AuditKind =
  | 'intentOpened'
  | 'targetSet'
  | 'intentEnded'
  | 'intentRenewed'
  | 'intentReopened'
  | 'refused'
  | 'blocked'
  | 'doubt'
  | 'doubtResolved'
  | 'setChanged'
  | 'placing'
  | 'accepted'
  | 'adjusted'
  | 'rejected'
  | 'unknown'
  | 'cancelling'
  | 'cancelAccepted'
  | 'cancelRejected'
  | 'filled'
  /** What an order of ours that closed something has cost, and later what it kept. */
  | 'priced'
  | 'ambiguousMove'
  | 'coverTriggered'
  | 'coverChanged'
  | 'overshoot'
  | 'standingOrder'
  /** A position is not in the list, or is again, or is taken to be closed. */
  | 'positionAbsent'
  /** The market's maintenance margin is not the configured one. */
  | 'maintenanceDiffers'
  /** A position turned out to stand by its own margin, or not to after all: what its targets are changes with it. */
  | 'marginLearned'
  /** Two accounts of the config are one account of the exchange. */
  | 'sharedAccount'
  /** An order by hand that nobody with the operators' key has given. */
  | 'operatorOrderRefused'
  /** Our orders do not explain how far a position fell while a rule reduced it. */
  | 'reducedByOthers'
  | 'wouldPlace'
  /** People are asked about a stage; the question was settled; an answer came too late. */
  | 'approvalAsked'
  | 'approvalSettled'
  | 'approvalIgnored'
  | 'wouldCancel'
  | 'readIgnored';

/** Collects events of one reducer call; the market and account are filled in once. */
export interface Recorder {
  readonly events: AuditEvent[];
  emit(
    event: Omit<AuditEvent, 'accountId' | 'market' | 'atMs' | 'alarm'> & { readonly alarm?: boolean },
  ): void;
}

export function recorder(accountId: string, market: string | undefined, atMs: number): Recorder {
  const events: AuditEvent[] = [];
  const place = market === undefined ? { accountId } : { accountId, market };
  return {
    events,
    emit(event) {
      events.push({ atMs, ...place, ...event, alarm: event.alarm ?? false });
    },
  };
}
