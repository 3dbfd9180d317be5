import { heldOrders } from '../approvals/held-orders.ts';
import { stageOf } from '../approvals/question.ts';
import { BLOCK_WORDS, type BlockReason } from '../audit/audit-event.ts';
import { endIntent } from '../intents/end-intent.ts';
import { isOpen } from '../intents/intent.ts';
import { distanceNumber, isHeldByFigures } from '../intents/intent-target.ts';
import { mayAddUp } from '../orders/beside.ts';
import { judgeCancel, whyNeverCancelled, whyNotCancelled } from '../orders/cancel-policy.ts';
import { isHedged } from '../orders/net-exposure.ts';
import { requestOf } from '../orders/order-request.ts';
import { whyLeft } from '../orders/protective-stop.ts';
import type { Admitted, Removal, SetDifference, Want } from '../orders/want.ts';
import { formatDecimal } from '../quantities/decimal.ts';
import { withHeld } from './absence.ts';
import { about, type LaneScene } from './lane-change.ts';
import type { Cover, Intent, LaneState, MarketRead } from './lane-state.ts';
import type { Turn } from './lane-turn.ts';
import { findPosition } from './market-read.ts';
import type { OwnOrder } from './own-order.ts';

export function note(state: LaneState, difference: SetDifference, read: MarketRead, turn: Turn): LaneState {
  const blocked = new Map(difference.blocked.map(({ key, why }) => [key, why]));
  const hedged = new Set(difference.hedged);
  const intents = state.intents.map((intent) => {
    if (!isOpen(intent)) return intent;
    if (hedged.has(intent.key)) {
      const distance = distanceNumber(findPosition(read, intent.positionId));
      return endIntent(intent, { how: 'failed', why: 'hedged' }, turn, distance);
    }
    const why = blocked.get(intent.key) ?? null;
    // What held an intent back when the read was settled is over with another read.
    const isFollowed = intent.target.kind === 'untilDistance' && isHeldByFigures(intent);
    const isHeld = isFollowed && findPosition(read, intent.positionId) !== undefined;
    const isSettled = isHeld || (why === null && intent.targetBase === null);
    return isSettled ? intent : withBlock(intent, why, turn, read);
  });
  const covers = state.covers.map((cover) => withBlock(cover, blocked.get(cover.key) ?? null, turn, read));
  return noteStanding({ ...state, intents, covers }, { ...difference, read }, turn);
}

/** Blocks the covers of a market without settings: no stop can be shaped. Its intents fail when they are settled. */
export function noteUnconfigured(state: LaneState, admitted: Admitted, turn: Turn): LaneState {
  const keys = new Set(admitted.covers.map((cover) => cover.key));
  const covers = state.covers.map((cover) =>
    keys.has(cover.key) ? withBlock(cover, 'marketNotConfigured', turn, null) : cover,
  );
  return { ...state, covers };
}

function withBlock<T extends Intent | Cover>(
  subject: T,
  why: BlockReason | null,
  turn: Turn,
  read: MarketRead | null,
): T {
  if (why === subject.blockedBy) return subject;
  if (why !== null) {
    // An absent position may be the owner's own close, which raises an alarm only when it lasts. With both sides of a
    // market open, one of them is always past its liquidation price, and the smaller one has no stop.
    const isOrdinary = why === 'netExposure' || (why === 'disagreement' && read !== null && isHedged(read));
    const alarm = why !== 'positionNotSeen' && !isOrdinary;
    turn.audit.emit({ kind: 'blocked', ...about(subject), reason: why, words: BLOCK_WORDS[why], alarm });
  }
  return { ...subject, blockedBy: why };
}

/** Drops what may add up with orders of an earlier store epoch: a stop is blocked, an intent fails with an alarm. */
export function withoutAddingUp(
  difference: SetDifference,
  state: LaneState,
  read: MarketRead,
  turn: Turn,
): { readonly difference: SetDifference; readonly refused: readonly Want[] } {
  const { settings } = turn;
  if (!state.priorOrdersPossible) return { difference, refused: [] };
  const scene = { settings, read: withHeld(read, state) };
  // Those orders had the same bound: together with a reduction within the net exposure they do not raise it.
  const isAllowed = ({ role, position }: Want): boolean =>
    role === 'reduce' ? settings.overshoot === 'audited' : mayAddUp(position, scene);
  const isRefused = (want: Want): boolean => !want.isTrimmed && !isAllowed(want);
  const refused = difference.place.filter(isRefused);
  const blocked = refused
    .filter((want) => want.role === 'cover')
    .map(({ key }) => ({ key, why: 'priorOrders' as const }));
  return {
    difference: {
      ...difference,
      place: difference.place.filter((want) => !isRefused(want)),
      blocked: [...difference.blocked, ...blocked],
    },
    refused: refused.filter((want) => want.role === 'reduce'),
  };
}

export function failPriorOrders(state: LaneState, refused: readonly Want[], turn: Turn): LaneState {
  if (refused.length === 0) return state;
  const intents = state.intents.map((intent) => {
    const want = refused.find(({ position }) => position.positionId === intent.positionId);
    if (want === undefined || !isOpen(intent)) return intent;
    return endIntent(intent, { how: 'failed', why: 'priorOrders' }, turn, distanceNumber(want.position));
  });
  return { ...state, intents };
}

/** Longer than a fast fall and the pauses between cancels. An order that still stands after this needs a person. */
const TOLD_AFTER_MS = 60_000;

type StandingScene = Pick<SetDifference, 'standing' | 'remove'> & { readonly read: MarketRead };

/** Reports once why each unwanted order stays, and raises an alarm once it has stayed too long. */
export function noteStanding(
  state: LaneState,
  { standing, remove, read }: StandingScene,
  turn: Turn,
): LaneState {
  const leftBy = (removal: Removal) => whyLeft(removal, { ...turn, state, read });
  const unwanted = [...standing, ...remove];
  const marks = unwanted.flatMap((removal) => {
    const { order, why } = removal;
    const left = leftBy(removal);
    const said = markOf(order);
    const { alarm, words } =
      left === undefined || why === 'fillUnproven'
        ? stayOf(order, why, state, turn)
        : leftWords(order, left, state, read);
    const loud = left === undefined ? `${said}:alarm` : leftMarkOf(order);
    const mark = alarm ? loud : said;
    const known = state.reported.filter((entry) => entry === loud || entry.startsWith(said));
    // An order that a cancel removes now is not reported, unless it has stayed too long.
    if (known.includes(mark) || (!alarm && !standing.includes(removal))) return known;
    const { request } = order;
    turn.audit.emit({ kind: 'standingOrder', ...about(order), reason: why, words, alarm, order: request });
    return [...known, mark];
  });
  const due = unwanted.filter((removal) => leftBy(removal) === undefined);
  return withUnwanted(state, due, marks, turn);
}

function markOf({ request }: OwnOrder): string {
  return `standing:${request.clientOrderId}`;
}

/** Kept while the position has orders: its stops may fit again and again. */
function leftMarkOf({ positionId }: OwnOrder): string {
  return `left:${positionId}`;
}

function leftWords(
  { request }: OwnOrder,
  left: NonNullable<ReturnType<typeof whyLeft>>,
  { accountId }: LaneState,
  { positions: [position] }: MarketRead,
) {
  if (left === 'resized') {
    return { alarm: false, words: 'this stop no longer fits; stops were re-sized here a moment ago' };
  }
  const kept = 'stays, as a cancel would take down the owner’s orders too (acting.ownOrders)';
  if (position === undefined)
    return {
      alarm: false,
      words: `this order has probably filled, and there is nothing to close; it ${kept}`,
    };
  const command = `breakwater reduce --account ${accountId} --position ${position.positionId} --to 100% --reason renew`;
  const words = `our stop at ${request.activationPrice} no longer fits and ${kept}; \`${command}\` renews what stands`;
  return { alarm: true, words };
}

function stayOf(order: OwnOrder, why: Removal['why'], state: LaneState, turn: Turn) {
  // The position moved by exactly its amount: the missing proof needs no alarm.
  if (why === 'fillUnproven') {
    return {
      alarm: false,
      words: 'this order has filled, as the position shows; no cancel can prove it now',
    };
  }
  const never = turn.market === undefined ? NOT_CONFIGURED : whyNeverCancelled(order, turn.settings);
  if (never !== undefined)
    return { alarm: true, words: `this order should go and stays, as cover: ${never}` };
  const because = whyNotCancelled(order, judgeCancel(state, turn.context, turn.nowMs), state, turn);
  const forMs = turn.nowMs - (order.unwantedSinceMs ?? turn.nowMs);
  return forMs < TOLD_AFTER_MS
    ? { alarm: false, words: `this order should go, but not yet: ${because}` }
    : {
        alarm: true,
        words: `this order should have gone ${Math.round(forMs / 1_000)} s ago and still stands: ${because}`,
      };
}

const NOT_CONFIGURED =
  'its market is not in the config, so what else a cancel takes down could not be placed again';

function withUnwanted(
  state: LaneState,
  removals: readonly Removal[],
  marks: readonly string[],
  { nowMs }: Turn,
): LaneState {
  const unwanted = new Set(removals.map(({ order }) => order.request.clientOrderId));
  const orders = state.orders.map((order): OwnOrder => {
    if (unwanted.has(order.request.clientOrderId)) return { unwantedSinceMs: nowMs, ...order };
    // The outcome of the last cancel is not known yet.
    if (order.status !== 'open') return order;
    const { unwantedSinceMs, ...wanted } = order;
    return unwantedSinceMs === undefined ? order : wanted;
  });
  const unsure = orders.filter(({ status }) => status !== 'open').map(markOf);
  const lasting = [...unsure, ...orders.map(leftMarkOf)];
  const others = state.reported.filter(
    (entry) => !/^(standing|left):/.test(entry) || lasting.some((mark) => entry.startsWith(mark)),
  );
  const reported = [...new Set([...others, ...marks])];
  const isSame =
    reported.length === state.reported.length &&
    reported.every((mark) => state.reported.includes(mark)) &&
    orders.every(({ unwantedSinceMs }, index) => unwantedSinceMs === state.orders[index]?.unwantedSinceMs);
  return isSame ? state : { ...state, orders, reported };
}

/** Records the orders and cancels that observe mode or a pending approval holds back, once per intent and target. */
export function recordObserved(state: LaneState, scene: LaneScene): LaneState {
  const { audit } = scene;
  const cancelled = recordCancels(state, audit);
  const groups = heldGroups(state);
  if (groups.length === 0) return withObserved(cancelled, []);
  const reported = [...cancelled.reported];
  const keys = new Set(
    groups.flatMap(({ intents, covers }) => [...intents, ...covers]).map(({ key }) => key),
  );
  let observed = (state.observed ?? []).filter(({ key }) => keys.has(key));
  for (const group of groups) {
    const place = heldOrders(state, group, scene);
    if (place === undefined) return cancelled;
    // Keeps the first of several orders for the same key.
    const firsts = new Map(place.toReversed().map((want) => [want.key, want]));
    const own = new Set([...group.intents, ...group.covers].map(({ key }) => key));
    observed = observed.filter(({ key }) => !own.has(key) || firsts.has(key));
    for (const want of firsts.values()) {
      const mark = `would:${want.key}:${formatDecimal(want.targetBase)}`;
      const isSaid = reported.includes(mark);
      const request = requestOf(state, want);
      const { key, role } = want;
      // The position may have shrunk since the order was reported.
      const known = observed.find((one) => one.key === key);
      if (isSaid && known?.request.amount === request.amount) continue;
      const { positionId } = want.position;
      observed = [...observed.filter((one) => one !== known), { key, role, positionId, request }];
      if (isSaid) continue;
      reported.push(mark);
      audit.emit({
        kind: 'wouldPlace',
        key,
        positionId,
        ruleId: want.ruleId,
        reason: group.reason,
        words: WOULD_WORDS[group.reason],
        order: request,
        sizeBase: want.position.sizeBase,
      });
    }
  }
  return withObserved({ ...cancelled, reported: stillMeant(reported, state) }, observed);
}

type RecordedReason = 'observeMode' | 'awaitingApproval';

const WOULD_WORDS: Readonly<Record<RecordedReason, string>> = {
  observeMode: 'would have been sent; the rule is in observe mode',
  awaitingApproval: 'will be sent once it may; a person is asked first',
};

function isRecorded(refusedBy: Intent['refusedBy']): refusedBy is RecordedReason {
  return refusedBy === 'observeMode' || refusedBy === 'awaitingApproval';
}

interface HeldGroup extends Pick<LaneState, 'intents' | 'covers'> {
  readonly reason: RecordedReason;
}

/** Groups what is held back: everything in observe mode together, and each approval question by itself. */
function heldGroups(state: LaneState): readonly HeldGroup[] {
  const held = state.intents.filter((intent) => isOpen(intent) && isRecorded(intent.refusedBy));
  const covers = state.covers.filter((cover) => cover.refusedBy === 'observeMode');
  const watched = held.filter(({ refusedBy }) => refusedBy === 'observeMode');
  const asked = held.filter(({ refusedBy }) => refusedBy === 'awaitingApproval');
  const byStage = Map.groupBy(asked, ({ key }) => stageOf(key));
  return [
    ...(watched.length + covers.length === 0
      ? []
      : [{ reason: 'observeMode' as const, intents: watched, covers }]),
    ...[...byStage.values()].map((intents) => ({ reason: 'awaitingApproval' as const, intents, covers: [] })),
  ];
}

function withObserved(state: LaneState, observed: NonNullable<LaneState['observed']>): LaneState {
  if (observed.length > 0) return { ...state, observed };
  if (state.observed === undefined) return state;
  const { observed: _, ...without } = state;
  return without;
}

function recordCancels(state: LaneState, audit: LaneScene['audit']): LaneState {
  const marks: string[] = [];
  for (const { key, ruleId, types, refusedBy, state: progress } of state.cancels) {
    const mark = `would:${key}:cancel`;
    if (progress !== 'open' || !isRecorded(refusedBy) || state.reported.includes(mark)) continue;
    const cancel = { market: state.market, types };
    audit.emit({
      kind: 'wouldCancel',
      key,
      ruleId,
      reason: refusedBy,
      words: WOULD_WORDS[refusedBy],
      cancel,
    });
    marks.push(mark);
  }
  return marks.length === 0 ? state : { ...state, reported: [...state.reported, ...marks] };
}

function stillMeant(reported: readonly string[], state: LaneState): readonly string[] {
  const keys = [...state.intents, ...state.covers, ...state.cancels].map((subject) => subject.key);
  return reported.filter(
    (mark) => !mark.startsWith('would:') || keys.some((key) => mark.startsWith(`would:${key}:`)),
  );
}
