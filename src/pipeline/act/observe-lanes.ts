import type { AuditEvent } from '../../core/audit/audit-event.ts';
import type { LaneContext } from '../../core/intents/admission.ts';
import { type LaneRequest, operatorIntent, withdrawOperatorIntent } from '../../core/intents/intent.ts';
import {
  type AccountLane,
  advanceAccount,
  newAccountLane,
  observeAccountRequests,
} from '../../core/lanes/account-lane.ts';
import { advance } from '../../core/lanes/lane.ts';
import { changeLane, type LaneChange } from '../../core/lanes/lane-change.ts';
import { type LaneMoment, onClock } from '../../core/lanes/lane-clock.ts';
import { observeRead, observeRequests } from '../../core/lanes/lane-observe.ts';
import { type LaneState, newLane } from '../../core/lanes/lane-state.ts';
import type { ReadObservation } from '../../core/lanes/market-read.ts';
import { startEpoch } from '../../core/lanes/recover-lane.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import type { LaneOrder } from '../poll/take-inbox.ts';
import { isAtRest } from './lane-at-rest.ts';

/** What one evaluation asks of the lanes of an account. */
export interface LaneInputs {
  readonly byMarket: ReadonlyMap<string, readonly LaneRequest[]>;
  readonly accountWide: readonly ActionRequest[];
  readonly operator: readonly LaneOrder[];
  /** Whether what is not asked for any more has ended. */
  readonly conclusive: boolean;
  /** Markets with positions that some rule could act on: their lanes exist before they are needed. */
  readonly markets: readonly string[];
  /** The newest read, if any: a lane takes it if it knows no newer one. */
  readonly read: ReadObservation | undefined;
}

export interface LanesChanged {
  readonly lanes: ReadonlyMap<string, LaneState>;
  readonly accountLane: AccountLane | undefined;
  readonly events: readonly AuditEvent[];
  /** Markets whose lane has something to do, or may have. */
  readonly toRun: readonly string[];
  /** Whether the account's own lane has. */
  readonly accountToRun: boolean;
}

/** Brings all lanes of an account in line with what is asked for and seen now. Pure. */
export function observeLanes(
  stored: StoredAccount,
  operatorOrders: LaneInputs,
  context: LaneContext,
  moment: LaneMoment,
): LanesChanged {
  const { nowMs } = moment;
  const lanes = new Map<string, LaneState>();
  const events: AuditEvent[] = [];
  const toRun: string[] = [];
  for (const market of marketsOf(stored, operatorOrders)) {
    const before = stored.lanes.get(market);
    const asked = operatorOrders.byMarket.get(market) ?? [];
    const operator = operatorOrders.operator.filter((order) => order.market === market);
    const living = inEpoch(stored, market, context, moment);
    if (living === before && operator.length === 0) {
      if (asked.length === 0 && hasNothingToDo(living)) continue;
      if (isAtRest(living, asked, operatorOrders.read, context.settings)) continue;
    }
    const { lane, wants } = observeLane(
      living,
      { ...operatorOrders, asked, operator },
      context,
      nowMs,
      events,
    );
    if (lane !== before) lanes.set(market, lane);
    if (wants) toRun.push(market);
  }
  const all = [...stored.lanes.values()].map((lane) => lanes.get(lane.market) ?? lane);
  const own = observeAccountLane(stored, operatorOrders, all, context, nowMs, events);
  return { lanes, events, toRun, ...own };
}

function marketsOf(stored: StoredAccount, operatorOrders: LaneInputs): Set<string> {
  const operator = operatorOrders.operator.map(({ market }) => market);
  return new Set([
    ...stored.lanes.keys(),
    ...operatorOrders.byMarket.keys(),
    ...operator,
    ...operatorOrders.markets,
  ]);
}

/**
 * The lane as it is in this store epoch and on this clock; one of an earlier store epoch, or of none, trusts nothing
 * that it does not read.
 */
export function inEpoch(
  stored: StoredAccount,
  market: string,
  { settings }: LaneContext,
  moment: LaneMoment,
): LaneState {
  const { id } = stored.epoch;
  const lane = stored.lanes.get(market);
  if (lane === undefined) return newLane(stored.accountId, market, id, moment.nowMs);
  if (lane.epoch !== id) return startEpoch(lane, id, settings, moment.nowMs);
  return onClock(lane, settings, moment);
}

/** Nothing is wanted, nothing of ours is open: the lane need not be looked at. */
export function hasNothingToDo(lane: LaneState): boolean {
  const { intents, covers, cancels, orders, inProgress, heldBy, change } = lane;
  const kept = intents.length + covers.length + cancels.length + orders.length;
  return kept === 0 && inProgress === null && heldBy === null && change === null;
}

interface Asked extends LaneInputs {
  readonly asked: readonly LaneRequest[];
}

function observeLane(
  lane: LaneState,
  { asked, operator, conclusive, read }: Asked,
  context: LaneContext,
  nowMs: number,
  events: AuditEvent[],
): { readonly lane: LaneState; readonly wants: boolean } {
  const { settings } = context;
  const take = ({ state, events: said }: LaneChange): LaneState => {
    events.push(...said);
    return state;
  };
  let state = take(
    changeLane(lane, settings, nowMs, (scene) =>
      operator.reduce(
        (before, order) =>
          order.kind === 'withdraw'
            ? withdrawOperatorIntent(before, order.orderId, scene)
            : operatorIntent(before, order.request, scene),
        lane,
      ),
    ),
  );
  state = take(observeRequests(state, asked, conclusive, settings, nowMs));
  if (read !== undefined && isNews(read, state)) state = take(observeRead(state, read, settings, nowMs));
  if (hasNothingToDo(state)) return { lane: state, wants: false };
  const { step, ...ahead } = advance(state, context, nowMs);
  // What is going to be sent is decided again, and said, by the run that sends it.
  if (step.kind !== 'idle' && step.kind !== 'wait') return { lane: state, wants: true };
  events.push(...ahead.events);
  const rests = step.kind === 'idle' && step.why !== 'busy' && step.why !== 'held';
  return { lane: ahead.state, wants: !rests };
}

function isNews({ sentAtMs }: ReadObservation, { latestRead }: LaneState): boolean {
  return latestRead === null || sentAtMs > latestRead.sentAtMs;
}

function observeAccountLane(
  stored: StoredAccount,
  { accountWide, conclusive }: LaneInputs,
  lanes: readonly LaneState[],
  context: LaneContext,
  nowMs: number,
  events: AuditEvent[],
): Pick<LanesChanged, 'accountLane' | 'accountToRun'> {
  const before = stored.documents.accountLane;
  const isHeld = lanes.some(({ heldBy }) => heldBy !== null);
  if (before === undefined && accountWide.length === 0 && !isHeld) {
    return { accountLane: undefined, accountToRun: false };
  }
  const { settings } = context;
  const known = before ?? newAccountLane(stored.accountId);
  if (accountWide.length === 0 && known.cancels.length === 0 && known.inProgress === null && !isHeld) {
    return { accountLane: undefined, accountToRun: false };
  }
  const asked = observeAccountRequests(known, accountWide, conclusive, settings, nowMs);
  const ahead = advanceAccount(asked, lanes, context, nowMs);
  events.push(...ahead.events);
  const wants = ahead.step.kind !== 'idle' || asked.inProgress !== null;
  return { accountLane: ahead.state, accountToRun: wants };
}
