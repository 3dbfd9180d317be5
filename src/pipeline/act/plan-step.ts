import { advance } from '../../core/lanes/lane.ts';
import type { LaneChange } from '../../core/lanes/lane-change.ts';
import type { LaneState, Step } from '../../core/lanes/lane-state.ts';
import { begin } from '../../core/lanes/lane-step.ts';
import { recover } from '../../core/lanes/recover-lane.ts';
import type { LaneRunEnd } from '../../core/ports/telemetry.ts';
import type { SessionChange, SessionView } from './lane-session.ts';
import { inEpoch } from './observe-lanes.ts';
import { isSameJson } from './same-json.ts';

/** From the lane as stored to the lane that the next step is decided for. */
export type Before = (lane: LaneState, view: SessionView) => LaneChange;

/** What a run before this one left in progress has an unknown outcome: whoever holds the lane knows that one ended. */
export const takenUp: Before = (lane, { context, nowMs }) =>
  lane.inProgress === null ? { state: lane, events: [] } : recover(lane, context.settings, nowMs);

/** Within a run, which has taken up the lane already: taken up again and again, what it waits for would never end. */
export const asStored: Before = (state) => ({ state, events: [] });

/** The next step of a lane, or why its run ends before that. */
export type Planned =
  | { readonly step: Step; readonly startedMs: number }
  | { readonly step: null; readonly end: LaneRunEnd };

/** What came before and, unless the run ends, the next step; one that changes something is written ahead. Pure. */
export function planStep(
  view: SessionView,
  market: string,
  before: Before,
  endOf: (lane: LaneState) => LaneRunEnd | undefined,
): SessionChange<Planned> {
  const known = before(laneOf(view, market), view);
  const end = endOf(known.state);
  if (end !== undefined) return written(view, known, { step: null, end });
  const { state, step, events } = advance(known.state, view.context, view.nowMs);
  const value = { step, startedMs: view.nowMs };
  const soFar = [...known.events, ...events];
  if (step.kind !== 'place' && step.kind !== 'cancelAll') {
    return written(view, { state, events: soFar }, value);
  }
  const begun = begin(state, step, view.nowMs);
  return written(view, { state: begun.state, events: [...soFar, ...begun.events] }, value);
}

/** A change of one lane, from how it is stored. Pure. */
export function changeLane(
  view: SessionView,
  market: string,
  change: (lane: LaneState) => LaneChange,
): SessionChange<undefined> {
  return written(view, change(laneOf(view, market)), undefined);
}

/** Whether a run of the lane would do nothing and write nothing: then it need not be held for that. Pure. */
export function hasNothingToDo(view: SessionView, market: string): boolean {
  const { isSame, value } = planStep(view, market, takenUp, () => undefined);
  return isSame === true && value.step?.kind === 'idle';
}

function laneOf({ stored, context, moment }: SessionView, market: string): LaneState {
  return inEpoch(stored, market, context, moment);
}

function written<T>(view: SessionView, { state, events }: LaneChange, value: T): SessionChange<T> {
  const stored = view.stored.lanes.get(state.market);
  const isSame = events.length === 0 && isSameJson(state, stored);
  return { commit: { lanes: new Map([[state.market, state]]) }, events, isSame, value };
}
