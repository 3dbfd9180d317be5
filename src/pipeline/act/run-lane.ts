import { advance } from '../../core/lanes/lane.ts';
import type { LaneChange } from '../../core/lanes/lane-change.ts';
import { inEpoch } from '../../core/lanes/lane-clock.ts';
import type { LaneState, ReadStep, RequestStep, Step } from '../../core/lanes/lane-state.ts';
import { begin, finish, type StepResult, wasSentByAnother } from '../../core/lanes/lane-step.ts';
import { answeredLate, takeUp } from '../../core/lanes/recover-lane.ts';
import type { CallOptions } from '../../core/ports/exchange.ts';
import type { LaneRef, SeenAccount } from '../../core/ports/lane-dispatcher.ts';
import type { LaneRunEnd } from '../../core/ports/telemetry.ts';
import type { PipelineContext } from '../pipeline-context.ts';
import { pass } from '../points.ts';
import {
  acquire,
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
import { type MarketRecords, readMarket } from './read-market.ts';
import { runAccountLane } from './run-account-lane.ts';
import { isSameJson } from './same-json.ts';

/** Steps of one run; a lane with more to do is taken up again later. */
const MOST_STEPS = 200;

/**
 * Runs a lane until it has nothing to do now: each request is written ahead, sent once, and its outcome recorded.
 * Rejects if the store is lost, or for a defect; the next run then treats what was in progress as unknown.
 */
export async function runLane(
  context: PipelineContext,
  lane: LaneRef,
  signal: AbortSignal,
  seen?: SeenAccount,
): Promise<LaneRunEnd> {
  const { accountId, market } = lane;
  const { accounts, clock, telemetry } = context;
  const startedMs = clock.monotonicMs();
  const account = accounts.get(accountId);
  const steps = { count: 0 };
  const end =
    account === undefined
      ? 'unknownAccount'
      : await runWanted({ context, account, market, steps, signal, seen });
  const durationMs = clock.monotonicMs() - startedMs;
  telemetry.emit({ kind: 'laneRun', accountId, market, end, steps: steps.count, durationMs });
  return end;
}

interface Run extends WantedLane {
  readonly steps: { count: number };
}

async function runWanted(asked: Run): Promise<LaneRunEnd> {
  const { context, account, market } = asked;
  if (market === null) return await runAccountLane(asked);
  // A lane is often done when its job comes: finding that out costs one read.
  const seen = asked.seen ?? (await look(context, account));
  if (asked.seen === undefined && isDone({ ...asked, seen })) return 'idle';
  return await underLease({ ...asked, seen }, (session) => runMarket({ ...asked, session, market }));
}

/** Whether a run would do and write nothing, so that the lane need not be held. */
function isDone({ context, account, market, seen }: Run): boolean {
  if (market === null || seen === undefined) return false;
  const plan = { ...planOf(context, { accountId: account.id, market }), endOf: () => undefined };
  const { isSame, value } = planStep(viewOf(context, account, seen), market, takenUp, plan);
  return isSame === true && value.step?.kind === 'idle';
}

interface MarketRun {
  readonly context: PipelineContext;
  readonly session: LaneSession;
  readonly market: string;
  readonly steps: { count: number };
  readonly signal: AbortSignal;
}

async function runMarket(run: MarketRun): Promise<LaneRunEnd> {
  const { session, market, steps } = run;
  const about = { accountId: session.account.id, market };
  await session.load();
  pass('lane.loaded', about);
  let next = await nextStep(run, takenUp);
  while (next.step !== null) {
    const { step } = next;
    pass('lane.advanced', { ...about, step: step.kind });
    if (step.kind === 'idle') return 'idle';
    if (step.kind === 'wait') {
      const waited = await wait(run, step.untilMs);
      if (waited !== undefined) return waited;
      next = await nextStep(run, asStored);
      continue;
    }
    steps.count += 1;
    next =
      step.kind === 'readPositions'
        ? await nextStep(run, await readStep(run, step, next))
        : await carryOutStep(run, step, next.isInChange);
  }
  return next.end;
}

/** Turns the lane as stored into the lane that the next step is decided for. */
type Before = (lane: LaneState, view: SessionView) => LaneChange;

const takenUp: Before = (lane, { context, nowMs }) => takeUp(lane, context.settings, nowMs);

/** Within a run the lane is not taken up again: its waits would start anew each time and never end. */
const asStored: Before = (state) => ({ state, events: [] });

/** The next step of a lane, or why its run ends before that. */
type Planned =
  | {
      readonly step: Step;
      readonly startedMs: number;
      /** The step belongs to a change that is under way and must not be left half done. */
      readonly isInChange: boolean;
    }
  | { readonly step: null; readonly end: LaneRunEnd };

/** Whether a run goes on, and a request of its lane may leave. */
interface Plan {
  readonly endOf: (lane: LaneState) => LaneRunEnd | undefined;
  /** Called for each step. False: it is the turn of another process. */
  readonly isTurn: (step: Step, isInChange: boolean) => boolean;
}

function planOf({ turns }: PipelineContext, lane: LaneRef): Omit<Plan, 'endOf'> {
  return {
    isTurn(step, isInChange) {
      const isIdle = step.kind === 'idle' && step.why !== 'busy' && step.why !== 'held';
      if (isIdle) turns.rest(lane);
      if (step.kind === 'idle') return true;
      // A process that has cancelled orders also places the ones that replace them.
      return turns.isTurn(lane) || (isInChange && turns.carries(lane));
    },
  };
}

/** Applies `before` and, unless the run ends, decides the next step; a step that changes something is written ahead. */
function planStep(
  view: SessionView,
  market: string,
  before: Before,
  { endOf, isTurn }: Plan,
): SessionChange<Planned> {
  const known = before(laneOf(view, market), view);
  const end = endOf(known.state);
  if (end !== undefined) return written(view, known, { step: null, end });
  const ahead = advance(known.state, view.context, view.nowMs);
  const { step } = ahead;
  const isSent = step.kind === 'place' || step.kind === 'cancelAll';
  // The next poll asks again. The events of a request are not recorded before it is sent.
  if (!isTurn(step, known.state.change !== null) && isSent) {
    return written(view, known, { step: null, end: 'later' });
  }
  const begun = isSent ? begin(ahead.state, step, view.nowMs) : { state: ahead.state, events: [] };
  const events = [...known.events, ...ahead.events, ...begun.events];
  const isInChange = begun.state.change !== null;
  return written(view, { state: begun.state, events }, { step, startedMs: view.nowMs, isInChange });
}

function laneOf({ stored, context, moment }: SessionView, market: string): LaneState {
  return inEpoch(stored, market, context.settings, moment);
}

function written<T>(view: SessionView, { state, events }: LaneChange, value: T): SessionChange<T> {
  const stored = view.stored.lanes.get(state.market);
  const isSame = events.length === 0 && isSameJson(state, stored);
  return { commit: { lanes: new Map([[state.market, state]]) }, events, isSame, value };
}

interface Reading {
  readonly records: Promise<MarketRecords | null>;
  readonly giveUp: () => void;
}
type SentStep = Exclude<RequestStep, ReadStep>;
type Answered = Extract<StepResult, { readonly outcome: unknown }>;

/** `reading`: a read that is already under way. */
type NextStep = Planned & { readonly reading?: Reading | undefined };

/**
 * Records the previous result and decides the next step in one commit, so that neither is ever stored without the
 * other.
 */
async function nextStep(run: MarketRun, before: Before, finished?: RequestStep): Promise<NextStep> {
  const { session, market } = run;
  const about = { accountId: session.account.id, market };
  pass('step.beginning', about);
  let reading: Reading | undefined;
  const ahead = ({ step }: Planned): void => {
    if (step?.kind === 'place' || step?.kind === 'cancelAll') {
      session.account.prefetch(step.kind === 'place' ? 'reduceOnlyStop' : 'cancelAll');
      void session.cover();
    } else if (step?.kind === 'readPositions') reading ??= startRead(run);
  };
  // The controls that the gate used may have changed since: the commit holds only if they have not.
  const next = await session.change((view) => {
    const change = planStep(view, market, before, planWithin(run));
    // A run begun with what a poll saw is written before it reads: what another one left in progress is found then.
    const isSame =
      change.isSame === true && !(before === takenUp && change.value.step?.kind === 'readPositions');
    return { ...change, isSame, meanwhile: () => ahead(change.value) };
  }, true);
  if (finished !== undefined) pass('step.finished', { ...about, step: finished.kind });
  if (next.step !== null) pass('step.begun', { ...about, step: next.step.kind });
  return { ...next, reading };
}

function planWithin(run: MarketRun): Plan {
  const lane = { accountId: run.session.account.id, market: run.market };
  return { ...planOf(run.context, lane), endOf: (state) => endOf(run, state) };
}

/** Whether a run ends here: between two steps, never within a change that can be completed. */
function endOf({ context, session, steps, signal }: MarketRun, lane: LaneState): LaneRunEnd | undefined {
  if (session.isWanted) return 'wanted';
  if (signal.aborted && lane.change === null) return 'stopped';
  const { turns } = context;
  if (lane.change === null && (turns.isSettling || !turns.mayAct(session.account.id))) return 'later';
  return steps.count < MOST_STEPS ? undefined : 'later';
}

async function wait(
  { context, session, market, signal }: MarketRun,
  untilMs: number,
): Promise<LaneRunEnd | undefined> {
  const { clock, time, settings } = context;
  const waitMs = Math.max(1, untilMs - time.nowMs());
  if (waitMs > settings.longestWaitMs) return 'later';
  pass('lane.waiting', { accountId: session.account.id, market });
  await clock.sleep(Math.min(waitMs, WAIT_PIECE_MS), signal).catch(() => undefined);
  session.refresh();
  if (signal.aborted) return 'stopped';
  return session.isWanted ? 'wanted' : undefined;
}

async function carryOutStep(run: MarketRun, step: SentStep, isInChange: boolean): Promise<NextStep> {
  const { context, session, market } = run;
  const about = { accountId: session.account.id, market, step: step.kind };
  // Written ahead, but not sent: the next run of the lane treats it as unknown.
  if (!session.isHeld) throw new LaneRunEnded('leaseLost');
  session.overtakeReads();
  await session.cover();
  pass('step.sending', about);
  const result = await send(run, step, isInChange);
  session.uncover();
  // The same in every attempt to record it, so that a read that began later stays later.
  const answeredMs = context.time.nowMs();
  pass('step.answered', about);
  pass('step.finishing', about);
  const before: Before = (lane, view) => finish(lane, result, view.context.settings, answeredMs);
  try {
    return await nextStep(run, before, step);
  } catch (error) {
    if (error instanceof LaneRunEnded && error.end === 'leaseLost') await writeDown(run, step, result);
    throw error;
  }
}

/** Records the outcome once the lane can be held again: its present holder does not know what was sent. */
async function writeDown(
  { context, session, market, signal }: MarketRun,
  step: SentStep,
  result: Answered,
): Promise<void> {
  const late = await acquire({ context, account: session.account, market, signal, seen: undefined });
  if (late === undefined) return;
  try {
    await late.change((view) => {
      const {
        context: { settings },
        nowMs,
      } = view;
      return written(
        view,
        answeredLate(laneOf(view, market), step, result.outcome, settings, nowMs),
        undefined,
      );
    }, false);
  } finally {
    await late.release().catch(() => undefined);
  }
}

async function send(
  { context: { clock, telemetry, turns }, session, market }: MarketRun,
  step: SentStep,
  isInChange: boolean,
): Promise<Answered> {
  const { id: accountId, exchange } = session.account;
  const startedMs = clock.monotonicMs();
  const { answerWithinMs } = step;
  const lane = { accountId, market };
  const mayLeave = (timeoutMs: number): boolean => {
    const may = session.covers(timeoutMs) && (turns.isTurn(lane) || (isInChange && turns.carries(lane)));
    if (may) turns.noteSent(lane);
    return may;
  };
  const options: CallOptions = {
    priority: 'protective',
    mayLeave,
    ...(answerWithinMs === undefined ? {} : { answerWithinMs }),
  };
  const result: Answered =
    step.kind === 'place'
      ? {
          kind: 'place',
          outcome: await exchange.reduceOnlyStop(step.request, options),
          othersAct: turns.othersAct,
        }
      : { kind: 'cancelAll', outcome: await exchange.cancelAll(step.request, options) };
  if (step.kind === 'place' && result.kind === 'place' && wasSentByAnother(step, result)) {
    turns.yieldTurn(lane);
  }
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

function startRead({ context, session, market }: MarketRun): Reading {
  pass('lane.reading', { accountId: session.account.id, market });
  const givenUp = new AbortController();
  const records = readMarket(context, session.account, market, givenUp.signal);
  // Avoids an unhandled rejection if nobody awaits it.
  records.catch(() => undefined);
  return { records, giveUp: () => givenUp.abort() };
}

/** A read changes nothing at the exchange, so it is not written ahead; its result is recorded with its end. */
async function readStep(
  run: MarketRun,
  step: ReadStep,
  { startedMs, reading = startRead(run) }: Extract<NextStep, { readonly step: Step }>,
): Promise<Before> {
  const records = await firstRead(run, reading);
  if (records === 'elsewhere') return asStored;
  pass('lane.read', { accountId: run.session.account.id, market: run.market });
  return (lane, view) => {
    const begun = lane.inProgress === null ? { ...lane, inProgress: { step, startedMs } } : lane;
    const observation = records === null ? null : records.observationFor(view.stored.documents);
    return finish(begun, { kind: 'readPositions', observation }, view.context.settings, view.nowMs);
  };
}

/**
 * The records of a read. `elsewhere`: it was given up, as a poll has meanwhile brought what the lane needs. A read that
 * is refused again and again must not hold up a lane whose account other reads show.
 */
async function firstRead(run: MarketRun, { records, giveUp }: Reading) {
  const { context, session, market } = run;
  for (;;) {
    const over = new AbortController();
    const pause = context.clock.sleep(WAIT_PIECE_MS, over.signal).then(() => 'under way' as const);
    const first = await Promise.race([records, pause.catch(() => 'under way' as const)]);
    over.abort();
    if (first !== 'under way') return first;
    session.refresh();
    const { value } = planStep(
      viewOf(context, session.account, await session.load()),
      market,
      asStored,
      planWithin(run),
    );
    if (value.step?.kind === 'readPositions') continue;
    giveUp();
    return 'elsewhere' as const;
  }
}
