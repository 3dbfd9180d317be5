import { z } from 'zod';
import { actionCostSchema } from '../costs/action-cost.ts';
import { cancelRequestSchema, stopRequestSchema } from '../ports/exchange.ts';
import { decimal, named, type OutputOf, timeMs } from '../schema/parts.ts';

/** Why the gate holds an action back (design: gate). Closed list, also a metric label. */
export type GateReason = keyof typeof GATE_WORDS;
export const GATE_WORDS = {
  observeMode: 'the rule is in observe mode',
  paused: 'actions are paused',
  sharedAccount: 'another account of the config shows the same positions and acts for both',
  silenced: 'the rule is silenced',
  cooldown: 'the last episode that acted ended less than the cooldown ago',
  perHour: 'as many episodes acted within the last hour as the rule allows',
  largestReduction: 'the account bounds how much of a position one intent may take away',
  awaitingApproval: 'a person is asked first',
  vetoed: 'a person has vetoed it',
  notAnswered: 'nobody has approved it in time',
} as const;

/** Why a wanted order cannot be shaped or sized right now. Closed list, also a metric label. */
export type BlockReason = keyof typeof BLOCK_WORDS;
export const BLOCK_WORDS = {
  markUnknown: 'the mark price is unknown; nothing is guessed',
  markTooCoarse: 'the mark price is less exact than half the slippage',
  directionUnknown: 'the direction of the position is unknown',
  liquidationPriceUnknown: 'the liquidation price is unknown',
  disagreement: 'the liquidation price lies on the wrong side although the exchange does not liquidate',
  marketNotConfigured: 'the market has no entry in the config',
  priceNotPositive: 'the order would need a price of zero or less',
  noRoomForStop: 'there is no room for a stop between mark and liquidation price',
  priceBand: 'the exchange takes no price that far from the market',
  positionNotSeen: 'the position is not in the newest list; what stands for it stays',
  contested:
    'somebody adds to the position after each reduction: it is not reduced again before a margin call, or for an hour',
  reducedByOthers:
    'somebody else reduces the position whenever a rule does: it is not reduced again before a margin call, or for an hour',
  netExposure: 'the other side of the market is open: more would raise the net exposure',
  priorOrders: 'orders of an earlier store epoch may still be open, and overshoot is forbidden',
  stopNotCancellable: 'our orders stand, and none is cancelled for another one',
  cancelForbidden: 'an order of ours may still stand, and cancel is forbidden',
} as const;

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
  /** All that is to go is less than the exchange takes. */
  | 'belowMinimum'
  | 'renewals'
  /** Every attempt went unanswered, or the exchange refused to process it. */
  | 'unanswered'
  | 'priorOrders'
  | 'marketNotConfigured'
  /** No complete list of positions came in time. */
  | 'positionsUnknown'
  /** The sizes to leave could not be computed. */
  | 'planUnknown'
  | `refused:${GateReason}`
  | `blocked:${BlockReason}`;

/** Why orders must be removed: the market is then cancelled, read and placed anew. */
export type RemovalReason =
  | 'resolved'
  | 'positionGone'
  | 'exceedsTarget'
  | 'exceedsNetExposure'
  | 'ambiguousMove'
  | 'fillUnproven'
  | 'notFilled'
  /** The market passed its activation before the order arrived. */
  | 'inverted'
  | 'marketMovedAway'
  /** Our own orders leave no room for the reduction. */
  | 'noRoom'
  | 'stopLoosened'
  | 'tooManyStops'
  | 'stopGone'
  | 'coverTriggered';

/** Why the lane does not know which orders are open at the exchange. */
export type DoubtReason = 'newStore' | 'unknownOutcome' | 'processDied' | 'duplicateUnexpected';

/** Why a lane does nothing at the moment. */
export type IdleReason = 'nothingWanted' | 'setInPlace' | 'held' | 'busy' | 'gateClosed' | 'blocked';

/** Why a lane waits. */
export type WaitReason = 'lateArrival' | 'readLag' | 'backoff' | 'braked';

export type RejectionReason =
  /** Nothing to reduce on this side (116). */
  | 'side'
  | 'duplicateId'
  | 'cancelledAtCreation'
  | 'rateLimited'
  /** Not sent, or rejected before it was processed. */
  | 'notProcessed'
  /** The market is unknown or accepts no orders (31). */
  | 'marketClosed'
  /** The amount (32) or a price (33) has more digits than the market takes, or breaks an unknown rule of it. */
  | 'amountStep'
  | 'priceStep'
  /** The market is at the activation price or past it (33, 30). */
  | 'activationPassed'
  /** The amount, or the amount at its price, is too small. */
  | 'minAmount'
  | 'minTotal'
  /** Pending orders use up a limit or the balance (112, 10). */
  | 'noRoom'
  /** The price is outside the band around the market (250). */
  | 'priceBand'
  /** The position side does not fit the hedge mode (114). */
  | 'hedgeSide'
  | 'other';

const AUDIT_KINDS = [
  'intentOpened',
  'targetSet',
  'intentEnded',
  'intentRenewed',
  'intentReopened',
  'refused',
  'blocked',
  'doubt',
  'doubtResolved',
  'setChanged',
  'placing',
  'accepted',
  'adjusted',
  'rejected',
  'unknown',
  'cancelling',
  'cancelAccepted',
  'cancelRejected',
  'filled',
  /** Cost of an order that closed something. */
  'priced',
  'ambiguousMove',
  'coverTriggered',
  'coverChanged',
  'overshoot',
  'standingOrder',
  /** Requests change nothing that can be seen: the lane holds back. */
  'braked',
  /** A position left the list, came back, or is taken to be closed. */
  'positionAbsent',
  /** The market's maintenance margin differs from the configured one. */
  'maintenanceDiffers',
  /** A position was found to have its own margin, or no longer so; its targets change accordingly. */
  'marginLearned',
  /** Two configured accounts are the same account of the exchange. */
  'sharedAccount',
  /** An operator order without a valid seal of `operators.key`. */
  'operatorOrderRefused',
  /** Our orders do not explain how far a position fell while a rule reduced it. */
  'reducedByOthers',
  /** None of our orders certainly closed it; `reason`: who did, `sizeBase`: the amount. */
  'closedByOthers',
  'wouldPlace',
  /** People are asked about a stage; the question is settled; an answer is ignored. */
  'approvalAsked',
  'approvalSettled',
  'approvalIgnored',
  'wouldCancel',
  'readIgnored',
] as const;

/** A decision or outcome of a lane, for audit, metrics and notices. `words` are for people, who must see an `alarm`. */
export const auditEventSchema = named('AuditEvent', () => ({
  kind: z.enum(AUDIT_KINDS),
  atMs: timeMs(),
  accountId: z.string(),
  market: z.string().exactOptional().describe('Absent: it concerns the whole account.'),
  positionId: z.string().exactOptional(),
  key: z.string().exactOptional().describe('Of the intent, cover, cancel or question.'),
  ruleId: z.string().exactOptional(),
  reason: z.string(),
  words: z.string(),
  alarm: z.boolean().describe('People must see it.'),
  order: stopRequestSchema.exactOptional(),
  cancel: cancelRequestSchema.exactOptional(),
  targetBase: decimal().exactOptional(),
  sizeBase: decimal().exactOptional(),
  cost: actionCostSchema.exactOptional().describe('For `priced`: the known cost of the order.'),
  openedMs: z.number().exactOptional().describe('For `intentEnded`: when it was opened, Unix milliseconds.'),
}));
export type AuditEvent = OutputOf<typeof auditEventSchema>;
export type AuditKind = AuditEvent['kind'];

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

/** Whether the event is a rejection that shows our order standing, because its id is taken. */
export function showsOrderStands({
  kind,
  reason,
  alarm,
}: Pick<AuditEvent, 'kind' | 'reason' | 'alarm'>): boolean {
  return kind === 'rejected' && reason === 'duplicateId' && !alarm;
}
