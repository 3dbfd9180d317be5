import {
  ACCOUNT_HOLDER,
  type AccountChange,
  type AccountLane,
  type AccountStep,
  advanceAccount,
  beginAccountCancel,
  finishAccountCancel,
  newAccountLane,
  recoverAccount,
} from '../../core/lanes/account-lane.ts';
import { inEpoch } from '../../core/lanes/lane-clock.ts';
import type { LaneState } from '../../core/lanes/lane-state.ts';
import { hold, release, takeUp } from '../../core/lanes/recover-lane.ts';
import type { LaneRunEnd } from '../../core/ports/telemetry.ts';
import type { PipelineContext } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import {
  LaneRunEnded,
  type LaneSession,
  look,
  type SessionChange,
  type SessionView,
  underLease,
  viewOf,
  WAIT_PIECE_MS,
  type WantedLane,
} from './lane-session.ts';
import { isSameJson } from './same-json.ts';

/** Steps of one run; the next poll takes up the rest. */
const MOST_STEPS = 50;
/** Length of the first wait for all lanes; each later one is a second longer. Meanwhile no other run gets a lane. */
const WAIT_FOR_ALL_MS = 1_000;
const MOST_WAITS_FOR_ALL = 3;
/** Pause between two such waits, in which the lanes run on their own. */
const BUSY_PAUSE_MS = 2_000;

export interface AccountRun extends Omit<WantedLane, 'market'> {
  readonly steps: { count: number };
}

/**
 * Runs what concerns all lanes of an account, under every lane's lease. While it waits for a request that was put
 * off, or for a lane, it holds no lane, so that each lane can read and place what it has to.
 */
export async function runAccountLane(run: AccountRun): Promise<LaneRunEnd> {
  const { context, account, signal } = run;
  let waits = 0;
  for (let { seen } = run; ; seen = undefined) {
    const known = await withoutLanes({ ...run, seen });
    const ended = known ?? (await withLanes({ ...run, seen }, WAIT_FOR_ALL_MS * (waits + 1)));
    if (known === undefined && !signal.aborted) await redispatch(context, account.id);
    if (typeof ended === 'string' && ended !== 'busy') return ended;
    if (ended === 'busy') waits += 1;
    const untilMs = ended === 'busy' ? await putOff(run) : ended.untilMs;
    if (waits === MOST_WAITS_FOR_ALL) return 'busy';
    const end = await rest(run, untilMs);
    if (end !== undefined) return end;
  }
}

type Wait = Extract<AccountStep, { kind: 'wait' }>;

/** Decides the run without holding any lane; undefined: lanes must be held. */
async function withoutLanes(run: AccountRun): Promise<LaneRunEnd | Wait | undefined> {
  const { context, account } = run;
  const seen = run.seen ?? (await look(context, account));
  if (seen === undefined || seen.stored.isNewEpoch) return undefined;
  const view = viewOf(context, account, seen);
  if (accountLaneOf(view).inProgress !== null || heldOf(lanesOf(view)).length > 0) return undefined;
  const { value: step, isSame } = nextStep(view, run);
  if (step === undefined) return unsent(run);
  if (isSame !== true) return undefined;
  if (step.kind === 'wait') return step;
  return step.kind === 'idle' ? 'idle' : undefined;
}

async function withLanes(run: AccountRun, waitForAllMs: number): Promise<LaneRunEnd | Wait> {
  return await underLease({ ...run, market: null }, (session) => runHeld(run, session), waitForAllMs);
}

/** Treats what earlier runs left in progress as unknown. */
async function runHeld(run: AccountRun, session: LaneSession): Promise<LaneRunEnd | Wait> {
  const { context, steps } = run;
  await session.change(takeUpAll, false);
  const about = { accountId: session.account.id, market: null };
  for (;;) {
    pass('account.beginning', about);
    const step = await session.change((view) => nextStep(view, run), true);
    if (step === undefined) return unsent(run);
    pass('account.begun', { ...about, step: step.kind });
    if (step.kind === 'idle') return 'idle';
    if (step.kind === 'wait') return step;
    steps.count += 1;
    if (step.kind === 'cancelAll') await cancel(context, session, step);
    else pass(step.kind === 'takeLanes' ? 'account.held' : 'account.releasing', about);
  }
}

/** Why a run that had something to send ended without it. */
function unsent({ signal }: AccountRun): LaneRunEnd {
  return signal.aborted ? 'stopped' : 'later';
}

/** Other processes wait for all lanes too: without a pause they would together keep every lane blocked. */
async function putOff({ context, account }: AccountRun): Promise<number> {
  const untilMs = context.time.nowMs() + BUSY_PAUSE_MS;
  const seen = await look(context, account);
  const accountLane = seen?.stored.documents.accountLane;
  if (seen !== undefined && accountLane !== undefined) {
    const retryAtMs = Math.max(accountLane.retryAtMs, untilMs);
    // A conflict means that another process has looked meanwhile, and waits itself.
    await context.store.commit([
      { base: seen.stored, documents: { accountLane: { ...accountLane, retryAtMs } } },
    ]);
  }
  return untilMs;
}

async function rest({ context, signal }: AccountRun, untilMs: number): Promise<LaneRunEnd | undefined> {
  const { clock, time, turns, settings } = context;
  const waitMs = untilMs - time.nowMs();
  if (waitMs > settings.longestWaitMs) return 'later';
  const restedMs = clock.monotonicMs() + waitMs;
  for (;;) {
    if (signal.aborted) return 'stopped';
    if (turns.isSettling) return 'later';
    const leftMs = restedMs - clock.monotonicMs();
    if (leftMs <= 0) return undefined;
    await clock.sleep(Math.min(leftMs, WAIT_PIECE_MS), signal).catch(() => undefined);
  }
}

function lanesOf({ stored, context, moment }: SessionView): readonly LaneState[] {
  return [...stored.lanes.keys()].map((market) => inEpoch(stored, market, context.settings, moment));
}

function heldOf(lanes: readonly LaneState[]): readonly string[] {
  return lanes.filter(({ heldBy }) => heldBy === ACCOUNT_HOLDER).map(({ market }) => market);
}

function accountLaneOf({ stored }: SessionView): AccountLane {
  return stored.documents.accountLane ?? newAccountLane(stored.accountId);
}

function changed<T>(view: SessionView, { state, lanes, events }: AccountChange, value: T): SessionChange<T> {
  const written = lanes.filter((lane) => view.stored.lanes.get(lane.market) !== lane);
  const isSame = written.length === 0 && isSameJson(state, view.stored.documents.accountLane);
  return {
    commit: {
      documents: { accountLane: state },
      ...(written.length === 0 ? {} : { lanes: new Map(written.map((lane) => [lane.market, lane])) }),
    },
    events,
    isSame: isSame && events.length === 0,
    value,
  };
}

function takeUpAll(view: SessionView): SessionChange<undefined> {
  const { settings } = view.context;
  const taken = lanesOf(view).map((lane) => takeUp(lane, settings, view.nowMs));
  const lanes = taken.map(({ state }) => state);
  const said = taken.flatMap(({ events }) => events);
  const state = accountLaneOf(view);
  const isRecovering = state.inProgress !== null || view.stored.isNewEpoch;
  if (!isRecovering) return changed(view, { state, lanes, events: said }, undefined);
  const recovered = recoverAccount(state, lanes, settings, view.nowMs);
  return changed(view, { ...recovered, events: [...said, ...recovered.events] }, undefined);
}

/**
 * The next step: committed if it only changes stored state, written ahead if it is a request. Undefined: nothing is
 * sent now, and no lane is held for it.
 */
function nextStep(
  view: SessionView,
  { context: { turns }, steps, signal }: AccountRun,
): SessionChange<AccountStep | undefined> {
  const maySend = steps.count < MOST_STEPS && !turns.isSettling && !signal.aborted;
  const lanes = lanesOf(view);
  const ahead = advanceAccount(accountLaneOf(view), lanes, view.context, view.nowMs);
  const { state, events } = ahead;
  const lane = { accountId: view.stored.accountId, market: null };
  let { step } = ahead;
  if (step.kind === 'idle') turns.rest(lane);
  const isToSend = step.kind === 'takeLanes' || step.kind === 'cancelAll';
  if (isToSend && !(turns.isTurn(lane) && maySend)) {
    const markets = heldOf(lanes);
    if (markets.length === 0) return { commit: {}, events: [], isSame: true, value: undefined };
    step = { kind: 'releaseLanes', markets };
  }
  switch (step.kind) {
    case 'takeLanes': {
      const held = lanes.map((lane) => hold(lane, ACCOUNT_HOLDER) ?? lane);
      return changed(view, { state, lanes: held, events }, step);
    }
    case 'releaseLanes': {
      const released = lanes.map((lane) => release(lane, ACCOUNT_HOLDER));
      return changed(view, { state, lanes: released, events }, step);
    }
    case 'cancelAll': {
      const begun = beginAccountCancel(state, lanes, step.cancel, view.nowMs);
      return changed(view, { ...begun, events: [...events, ...begun.events] }, step);
    }
    default:
      return changed(view, { state, lanes, events }, step);
  }
}

async function cancel(
  context: PipelineContext,
  session: LaneSession,
  step: Extract<AccountStep, { kind: 'cancelAll' }>,
): Promise<void> {
  const { clock, telemetry } = context;
  const accountId = session.account.id;
  if (!session.isHeld) throw new LaneRunEnded('leaseLost');
  session.overtakeReads();
  const startedMs = clock.monotonicMs();
  await session.cover();
  pass('account.sending', { accountId });
  const outcome = await session.account.exchange.cancelAll(step.request, {
    priority: 'protective',
    answerWithinMs: step.answerWithinMs,
    mayLeave(timeoutMs) {
      const lane = { accountId, market: null };
      const may = session.covers(timeoutMs) && context.turns.isTurn(lane);
      if (may) context.turns.noteSent(lane);
      return may;
    },
  });
  session.uncover();
  pass('account.answered', { accountId });
  telemetry.emit({
    kind: 'step',
    accountId,
    market: null,
    step: 'cancelAll',
    outcome: outcome.kind,
    durationMs: clock.monotonicMs() - startedMs,
    ...(outcome.kind === 'accepted' ? {} : { error: outcome.error.name }),
  });
  pass('account.finishing', { accountId });
  await session.change((view) => {
    const { settings } = view.context;
    const ended = finishAccountCancel(accountLaneOf(view), lanesOf(view), outcome, settings, view.nowMs);
    return changed(view, ended, undefined);
  }, false);
  pass('account.finished', { accountId });
}

async function redispatch(context: PipelineContext, accountId: string): Promise<void> {
  const { load } = await context.store.read(accountId);
  if (load.kind === 'refused') return;
  const markets = [...load.account.lanes.keys()];
  if (markets.length > 0) await context.lanes.dispatch(markets.map((market) => ({ accountId, market })));
}
