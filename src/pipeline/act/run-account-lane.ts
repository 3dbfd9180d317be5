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
import { LaneRunEnded, type LaneSession, type SessionChange, type SessionView } from './lane-session.ts';

const MOST_STEPS = 50;

/** Runs what concerns all lanes of an account, under every lane's lease. What their runs left is unknown. */
export async function runAccountLane(
  context: PipelineContext,
  session: LaneSession,
  steps: { count: number },
  signal: AbortSignal,
): Promise<LaneRunEnd> {
  await session.change(takeUpAll, false);
  const about = { accountId: session.account.id, market: null };
  while (steps.count < MOST_STEPS) {
    pass('account.beginning', about);
    const step = await session.change((view) => nextStep(view, context), true);
    if (step === undefined) return 'later';
    pass('account.begun', { ...about, step: step.kind });
    if (step.kind === 'idle') {
      await redispatch(context, session);
      return 'idle';
    }
    if (step.kind === 'wait') {
      const waitMs = step.untilMs - context.time.nowMs();
      if (waitMs > context.settings.longestWaitMs) return 'later';
      await context.clock.sleep(Math.max(1, waitMs), signal).catch(() => undefined);
      session.refresh();
      if (signal.aborted) return 'stopped';
      continue;
    }
    steps.count += 1;
    if (step.kind === 'cancelAll') await cancel(context, session, step);
    else pass(step.kind === 'takeLanes' ? 'account.held' : 'account.releasing', about);
  }
  return 'later';
}

function lanesOf({ stored, context, moment }: SessionView): readonly LaneState[] {
  return [...stored.lanes.keys()].map((market) => inEpoch(stored, market, context.settings, moment));
}

function accountLaneOf({ stored }: SessionView): AccountLane {
  return stored.documents.accountLane ?? newAccountLane(stored.accountId);
}

function changed<T>(view: SessionView, { state, lanes, events }: AccountChange, value: T): SessionChange<T> {
  const written = lanes.filter((lane) => view.stored.lanes.get(lane.market) !== lane);
  return {
    commit: {
      documents: { accountLane: state },
      ...(written.length === 0 ? {} : { lanes: new Map(written.map((lane) => [lane.market, lane])) }),
    },
    events,
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
 * The next step, taken if it only changes what is stored, written ahead if it is a request. Undefined: it is the turn of
 * another process.
 */
function nextStep(
  view: SessionView,
  { turns }: Pick<PipelineContext, 'turns'>,
): SessionChange<AccountStep | undefined> {
  const lanes = lanesOf(view);
  const { state, step, events } = advanceAccount(accountLaneOf(view), lanes, view.context, view.nowMs);
  const lane = { accountId: view.stored.accountId, market: null };
  if (step.kind === 'idle') turns.rest(lane);
  else if (step.kind !== 'releaseLanes' && !turns.isTurn(lane) && step.kind !== 'wait') {
    return { commit: {}, events: [], isSame: true, value: undefined };
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

async function redispatch(context: PipelineContext, session: LaneSession): Promise<void> {
  const accountId = session.account.id;
  const markets = await session.change(
    (view) => ({ commit: {}, events: [], isSame: true, value: [...view.stored.lanes.keys()] }),
    false,
  );
  if (markets.length > 0) await context.lanes.dispatch(markets.map((market) => ({ accountId, market })));
}
