import { advance } from '../core/lane.ts';
import type { InProgress, LaneState, ReadStep, RequestStep, Step } from '../core/lane-state.ts';
import { begin, finish, type StepResult } from '../core/lane-step.ts';
import { recover } from '../core/life.ts';
import type { CallOptions } from '../core/ports/exchange.ts';
import type { LaneRunEnd } from '../core/ports/telemetry.ts';
import type { LaneRef } from '../core/ports/work.ts';
import type { PipelineContext, WatchedAccount } from './account.ts';
import { runAccountLane } from './act-account.ts';
import { LaneRunEnded, LaneSession, type SessionChange, type SessionView } from './lane-session.ts';
import { inLife } from './lanes.ts';
import { pass } from './points.ts';
import { readMarket } from './read-market.ts';

/** Steps of one run; a lane that has more to do is taken up again. */
const MOST_STEPS = 200;

/**
 * Runs a lane until it has nothing to do now: each request is written ahead, sent once, and its outcome recorded.
 * One run per lane at a time, by its lease. Rejects only when the store is lost, or for a defect; what was in
 * progress is then taken up as unknown by the next run.
 */
export async function runLane(
  context: PipelineContext,
  lane: LaneRef,
  signal: AbortSignal,
): Promise<LaneRunEnd> {
  const { accountId, market } = lane;
  const { accounts, clock, telemetry } = context;
  const startedMs = clock.monotonicMs();
  const account = accounts.get(accountId);
  const steps = { count: 0 };
  const end =
    account === undefined ? 'unknownAccount' : await runHeld(context, account, market, steps, signal);
  const durationMs = clock.monotonicMs() - startedMs;
  telemetry.emit({ kind: 'laneRun', accountId, market, end, steps: steps.count, durationMs });
  return end;
}

interface Steps {
  count: number;
}

async function runHeld(
  context: PipelineContext,
  account: WatchedAccount,
  market: string | null,
  steps: Steps,
  signal: AbortSignal,
): Promise<LaneRunEnd> {
  const session = await acquire(context, account, market, signal);
  if (session === undefined) return signal.aborted ? 'stopped' : 'busy';
  const about = { accountId: account.id, market };
  pass('lane.acquired', about);
  try {
    return market === null
      ? await runAccountLane(context, session, steps, signal)
      : await runMarket(context, session, market, steps, signal);
  } catch (error) {
    if (!(error instanceof LaneRunEnded)) throw error;
    if (error.problem !== undefined)
      context.telemetry.emit({ kind: 'accountRefused', problem: error.problem });
    return error.end;
  } finally {
    pass('lane.releasing', about);
    await session.release().catch(() => undefined);
    pass('lane.released', about);
  }
}

/** Longest pause between two attempts at a lane that somebody else holds. */
const ACQUIRE_PAUSE_MS = 100;

async function acquire(
  context: PipelineContext,
  account: WatchedAccount,
  market: string | null,
  signal: AbortSignal,
): Promise<LaneSession | undefined> {
  const { clock, store, settings, random } = context;
  const owner = `${settings.instance}.${Math.floor(random() * 2 ** 48).toString(36)}`;
  const giveUpMs = clock.monotonicMs() + settings.longestWaitMs;
  pass('lane.acquiring', { accountId: account.id, market });
  for (;;) {
    const askedAtMs = clock.monotonicMs();
    const reply = await store.leases.acquire(account.id, market, owner, settings.laneLeaseMs);
    if (reply.kind === 'held') {
      const session = new LaneSession(context, account, reply.lease, askedAtMs + settings.laneLeaseMs);
      session.keep();
      return session;
    }
    if (signal.aborted || clock.monotonicMs() >= giveUpMs) {
      await store.leases.release({ accountId: account.id, market, owner });
      return undefined;
    }
    await clock.sleep(Math.min(reply.retryInMs, ACQUIRE_PAUSE_MS), signal).catch(() => undefined);
  }
}

async function runMarket(
  context: PipelineContext,
  session: LaneSession,
  market: string,
  steps: Steps,
  signal: AbortSignal,
): Promise<LaneRunEnd> {
  await takeUp(session, market);
  pass('lane.loaded', { accountId: session.account.id, market });
  while (steps.count < MOST_STEPS) {
    const next = await nextStep(session, market);
    pass('lane.advanced', { accountId: session.account.id, market, step: next.step.kind });
    if (next.step.kind === 'idle') return 'idle';
    if (next.step.kind === 'wait') {
      const waited = await wait(context, session, market, next.step.untilMs, signal);
      if (waited !== undefined) return waited;
      continue;
    }
    steps.count += 1;
    await carryOutStep(context, session, market, next.step, next.startedMs);
    // Between two steps, never within a change: a lane that is given away half done is taken up by its next run.
    if (session.isWanted) return 'wanted';
    if (signal.aborted && !(await isHalfDone(session, market))) return 'stopped';
  }
  return 'later';
}

/** What a run before this one left in progress has an unknown outcome: this run holds the lane, so that one ended. */
async function takeUp(session: LaneSession, market: string): Promise<void> {
  await session.change((view) => {
    const before = view.stored.lanes.get(market);
    const lane = inLife(view.stored, market, before, view.context, view.nowMs);
    if (lane === before && !needsRecovery(lane, view.nowMs)) return { ...UNCHANGED, value: undefined };
    if (!needsRecovery(lane, view.nowMs)) return laneChange(lane, [], undefined);
    const { state, events } = recover(lane, view.context.settings, view.nowMs);
    return laneChange(state, events, undefined);
  }, false);
}

const UNCHANGED = { commit: {}, events: [], isSame: true } as const;

function laneChange<T>(lane: LaneState, events: SessionChange<T>['events'], value: T): SessionChange<T> {
  return { commit: { lanes: new Map([[lane.market, lane]]) }, events, value };
}

/** A time further ahead than this was written by a clock that has been set back since. */
const CLOCK_TOLERANCE_MS = 1_000;

function needsRecovery(lane: LaneState, nowMs: number): boolean {
  const latestMs = Math.max(
    lane.read?.sentAtMs ?? 0,
    lane.doubt?.sinceMs ?? 0,
    ...lane.orders.map(({ sentMs }) => sentMs),
    ...lane.intents.map(({ openedMs }) => openedMs),
  );
  return lane.inProgress !== null || latestMs > nowMs + CLOCK_TOLERANCE_MS;
}

interface NextStep {
  readonly step: Step;
  readonly startedMs: number;
}

/** Decides the next step and, if it is one that changes something, writes it ahead: in one commit. */
async function nextStep(session: LaneSession, market: string): Promise<NextStep> {
  pass('step.beginning', { accountId: session.account.id, market });
  // The gate was asked with controls that may have changed since: the commit holds only if they have not.
  const next = await session.change((view): SessionChange<NextStep> => {
    const before = laneOf(view, market);
    const { state, step, events } = advance(before, view.context, view.nowMs);
    const value = { step, startedMs: view.nowMs };
    if (step.kind !== 'place' && step.kind !== 'cancelAll') {
      const isSame = events.length === 0 && JSON.stringify(state) === JSON.stringify(before);
      return { ...laneChange(state, events, value), isSame };
    }
    const begun = begin(state, step, view.nowMs);
    return laneChange(begun.state, [...events, ...begun.events], value);
  }, true);
  pass('step.begun', { accountId: session.account.id, market, step: next.step.kind });
  return next;
}

function laneOf({ stored, context, nowMs }: SessionView, market: string): LaneState {
  return inLife(stored, market, stored.lanes.get(market), context, nowMs);
}

async function isHalfDone(session: LaneSession, market: string): Promise<boolean> {
  return await session.change(
    (view) => ({ ...UNCHANGED, value: laneOf(view, market).change !== null }),
    false,
  );
}

async function wait(
  { clock, time, settings }: PipelineContext,
  session: LaneSession,
  market: string,
  untilMs: number,
  signal: AbortSignal,
): Promise<LaneRunEnd | undefined> {
  const waitMs = Math.max(1, untilMs - time.nowMs());
  if (waitMs > settings.longestWaitMs) return 'later';
  pass('lane.waiting', { accountId: session.account.id, market });
  await clock.sleep(Math.min(waitMs, WAIT_PIECE_MS), signal).catch(() => undefined);
  session.refresh();
  if (signal.aborted) return 'stopped';
  return session.isWanted ? 'wanted' : undefined;
}

/** What is polled meanwhile may change the plan. */
const WAIT_PIECE_MS = 250;

async function carryOutStep(
  context: PipelineContext,
  session: LaneSession,
  market: string,
  step: RequestStep,
  startedMs: number,
): Promise<void> {
  const about = { accountId: session.account.id, market, step: step.kind };
  if (step.kind === 'readPositions') {
    await readStep(context, session, step, startedMs);
    return;
  }
  // Written ahead, but not sent: whoever takes the lane up next treats it as unknown.
  if (!session.isHeld) throw new LaneRunEnded('leaseLost');
  context.memory.abortReads(session.account.id);
  pass('step.sending', about);
  const result = await send(context, session.account, step);
  pass('step.answered', about);
  pass('step.finishing', about);
  await session.change((view) => {
    const lane = laneOf(view, market);
    const { state, events } = finish(lane, result, view.context.settings, view.nowMs);
    return state === lane ? { ...UNCHANGED, value: undefined } : laneChange(state, events, undefined);
  }, false);
  pass('step.finished', about);
}

const PROTECTIVE: CallOptions = { priority: 'protective' };

async function send(
  { clock, telemetry }: PipelineContext,
  { id: accountId, exchange }: WatchedAccount,
  step: Exclude<RequestStep, ReadStep>,
): Promise<StepResult> {
  const startedMs = clock.monotonicMs();
  const result: StepResult =
    step.kind === 'place'
      ? { kind: 'place', outcome: await exchange.reduceOnlyStop(step.request, PROTECTIVE) }
      : { kind: 'cancelAll', outcome: await exchange.cancelAll(step.request, PROTECTIVE) };
  const { outcome } = result;
  telemetry.emit({
    kind: 'step',
    accountId,
    market: step.request.market ?? null,
    step: step.kind,
    outcome: outcome.kind,
    ...(outcome.kind === 'accepted' ? {} : { error: outcome.error.name }),
    durationMs: clock.monotonicMs() - startedMs,
  });
  return result;
}

/** A read changes nothing at the exchange, so it is not written ahead; what it says is recorded with its end. */
async function readStep(
  context: PipelineContext,
  session: LaneSession,
  step: ReadStep,
  startedMs: number,
): Promise<void> {
  const about = { accountId: session.account.id, market: step.market };
  pass('lane.reading', about);
  const records = await readMarket(context, session.account, step.market);
  pass('lane.read', about);
  await session.change((view) => {
    const lane = laneOf(view, step.market);
    const inProgress: InProgress = { step, startedMs };
    const begun = lane.inProgress === null ? { ...lane, inProgress } : lane;
    const observation = records === null ? null : records.observationFor(view.stored.documents);
    const { state, events } = finish(
      begun,
      { kind: 'readPositions', observation },
      view.context.settings,
      view.nowMs,
    );
    return laneChange(state, events, undefined);
  }, false);
}
