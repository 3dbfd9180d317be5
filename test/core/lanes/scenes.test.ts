import { expect, test } from 'vitest';
import { explainedClosures, isCancelHeldBack, isPresumedClosed } from '../../../src/core/lanes/absence.ts';
import {
  ACCOUNT_HOLDER,
  type AccountLane,
  advanceAccount,
  beginAccountCancel,
  finishAccountCancel,
  newAccountLane,
  observeAccountRequests,
  recoverAccount,
} from '../../../src/core/lanes/account-lane.ts';
import { contestOf } from '../../../src/core/lanes/contest.ts';
import { advance } from '../../../src/core/lanes/lane.ts';
import { onClock } from '../../../src/core/lanes/lane-clock.ts';
import { observeRead, observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import type { LaneState } from '../../../src/core/lanes/lane-state.ts';
import { begin, finish } from '../../../src/core/lanes/lane-step.ts';
import { answeredLate, hold, recover, release, startEpoch, takeUp } from '../../../src/core/lanes/recover-lane.ts';
import { Dice } from '../../support/dice.ts';
import { KeptHash } from '../../support/kept-hash.ts';
import { answerTo, LATE_MS, laneScene, observationOf, stepOf } from './scenes.ts';

/**
 * What becomes of any lane by each thing that can happen to it: the whole document, what is said and the next step go
 * into a hash. `KEPT=folder` writes it in full, to compare two versions of the sources.
 * `npm test -- test/core/lanes/scenes.test.ts --update` takes new hashes.
 */

const SCENES = 100;

function playLane(dice: Dice, kept: KeptHash): void {
  const { lane: any, settings, context, requests } = laneScene(dice);
  const step = stepOf(dice, any);
  const lane: LaneState = dice.hits(0.1)
    ? { ...any, inProgress: { step, startedMs: LATE_MS - dice.of(0, 500, 1_000) } }
    : any;
  const nowMs = LATE_MS + dice.of(0, 0, 0, 0, 500, 500, 1_000, 10_000);
  const seen = observeRead(lane, observationOf(dice, lane, nowMs), settings, nowMs);
  kept.add('read', seen);
  const asked = observeRequests(lane, requests.slice(dice.of(0, 1, 2)), dice.hits(0.7), settings, nowMs);
  kept.add('asked', asked);
  for (const state of [lane, seen.state, asked.state]) {
    const advanced = advance({ ...state, inProgress: null }, context, nowMs);
    kept.add('next', [advanced.step, advanced.events, advanced.state.reported, advanced.state.observed]);
    if (state === lane) kept.add('decided', advanced.state);
  }
  const free: LaneState = { ...lane, inProgress: null };
  const own = advance(free, context, nowMs).step;
  const sent = own.kind === 'wait' || own.kind === 'idle' || dice.hits(0.3) ? step : own;
  const begun = begin(free, sent, nowMs);
  kept.add('begun', begun);
  for (let answer = 0; answer < 3; answer += 1) {
    const answeredMs = nowMs + dice.of(0, 500, 1_000);
    const result = answerTo(dice, sent, begun.state, answeredMs);
    kept.add('answered', finish(begun.state, result, settings, answeredMs));
    if (result.kind !== 'readPositions' && sent.kind !== 'readPositions')
      kept.add('answered late', answeredLate(lane, sent, result.outcome, settings, answeredMs));
  }
  kept.add('dies', recover(begun.state, settings, nowMs));
  kept.add('taken up', takeUp(dice.of(lane, begun.state), settings, nowMs));
  kept.add('new store', startEpoch(lane, 'next', settings, nowMs));
  const untilMs = LATE_MS + dice.of(-500, 0, 500);
  const clock = { nowMs: LATE_MS + dice.of(-1_500, -1_000, 0), step: dice.of(null, { byMs: 5_000, untilMs }) };
  kept.add('on clock', onClock(lane, settings, clock));
  kept.add('held', [hold(lane, 'account'), release(lane, 'account').heldBy]);
  kept.add('closed', explainedClosures([lane], new Set(dice.of(['41'], [])), settings, nowMs));
  kept.add('judged', [
    isCancelHeldBack(lane),
    ['41', '42', '43'].map((id) => isPresumedClosed(lane, id)),
    lane.read?.positions.map((position) => contestOf(lane, position, nowMs)),
  ]);
}

test.for([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])('a hundred lanes by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const kept = new KeptHash();
  for (let index = 0; index < SCENES; index += 1) playLane(dice, kept);
  expect(kept.text).toMatchSnapshot();
});

/** An account-wide cancel over two such lanes. */
function playAccount(dice: Dice, kept: KeptHash): void {
  const { lane, settings, context, requests } = laneScene(dice);
  const other: LaneState = { ...laneScene(dice).lane, market: dice.of('ETH_PERP', 'ETH_USDT') };
  const lanes = [lane, other].map((one) => ({
    ...one,
    heldBy: dice.hits(0.6) ? ACCOUNT_HOLDER : one.heldBy,
  }));
  const wide = requests.flatMap(({ request }) => (request.action.kind === 'cancelAll' ? [request] : []));
  const nowMs = LATE_MS + dice.of(0, 500);
  const fresh: AccountLane = {
    ...newAccountLane('desk'),
    retryAtMs: dice.of(0, 0, LATE_MS, LATE_MS + 500, LATE_MS + 60_000, LATE_MS + 60_500),
    refusals: dice.of(0, 1, 3),
    cancels: lane.cancels,
  };
  const asked = observeAccountRequests(fresh, wide.slice(dice.of(0, 1)), dice.hits(0.7), settings, nowMs);
  kept.add('asked', asked);
  const free = lanes.map((one) => ({ ...one, inProgress: null }));
  const advanced = advanceAccount(asked, dice.hits(0.8) ? lanes : [], context, nowMs);
  kept.add('next', advanced);
  const [task] = asked.cancels;
  if (task === undefined) return;
  const cancel =
    advanced.step.kind === 'cancelAll'
      ? advanced.step.cancel
      : { key: task.key, types: task.types, startedMs: nowMs };
  const begun = beginAccountCancel(advanced.state, free, cancel, nowMs);
  kept.add('begun', begun);
  kept.add('next', advanceAccount(begun.state, begun.lanes, context, nowMs).step);
  const step = { kind: 'cancelAll', request: { types: cancel.types }, why: 'cancelAction' } as const;
  const answer = answerTo(dice, { ...step, task: null, admitted: [], unfilled: [] }, lane, nowMs);
  if (answer.kind === 'cancelAll')
    kept.add('answered', finishAccountCancel(begun.state, begun.lanes, answer.outcome, settings, nowMs + 500));
  kept.add('dies', recoverAccount(begun.state, begun.lanes, settings, nowMs + 500));
  kept.add('dies idle', recoverAccount(asked, lanes, settings, nowMs));
}

test.for([1, 2, 3, 4])('a hundred accounts by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000 + 1);
  const kept = new KeptHash();
  for (let index = 0; index < SCENES; index += 1) playAccount(dice, kept);
  expect(kept.text).toMatchSnapshot();
});
