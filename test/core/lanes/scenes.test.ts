import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import { learnMaintenance } from '../../../src/core/intents/learn-maintenance.ts';
import { learnMargins } from '../../../src/core/intents/own-margin.ts';
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
import { contestOf, noteContests } from '../../../src/core/lanes/contest.ts';
import { advance } from '../../../src/core/lanes/lane.ts';
import { onClock } from '../../../src/core/lanes/lane-clock.ts';
import { observeRead, observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import type { LaneState, MarketRead, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { begin, finish } from '../../../src/core/lanes/lane-step.ts';
import {
  answeredLate,
  hold,
  recover,
  release,
  startEpoch,
  takeUp,
} from '../../../src/core/lanes/recover-lane.ts';
import { learn } from '../../../src/core/orders/market-steps.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { Dice } from '../../support/dice.ts';
import { KeptHash } from '../../support/kept-hash.ts';
import { answerTo, observationOf, stepOf } from './scene-answers.ts';
import { LATE_MS, laneScene } from './scenes.ts';

/**
 * Applies each thing that can happen to random lanes; a hash covers the whole state, the events and the next step.
 * `KEPT=folder` writes them in full, to compare two versions of the sources.
 * `npm test -- test/core/lanes/scenes.test.ts --update` takes new hashes.
 */

const SCENES = 100;

function playLane(dice: Dice, kept: KeptHash): void {
  const { lane: any, settings, context, requests } = laneScene(dice);
  const step = stepOf(dice, any);
  const lane: LaneState = dice.hits(0.1)
    ? { ...any, inProgress: { step, startedMs: LATE_MS - dice.of(0, 500, 1_000) } }
    : any;
  const nowMs = LATE_MS + dice.of(0, 0, 0, 0, 500, 500, 1_000, 10_000, 30_000);
  const seen = observeRead(lane, observationOf(dice, lane, nowMs), settings, nowMs);
  kept.add('read', seen);
  const asked = observeRequests(lane, requests.slice(dice.of(0, 1, 2)), dice.hits(0.7), settings, nowMs);
  kept.add('asked', asked);
  const free: LaneState = { ...lane, inProgress: null };
  const decided = advance(free, context, nowMs);
  kept.add('decided', decided);
  const laterMs = nowMs + dice.of(500, 1_000);
  const from: LaneState = { ...dice.of(seen.state, asked.state, decided.state), inProgress: null };
  const reread = observeRead(from, observationOf(dice, from, laterMs), settings, laterMs).state;
  const then = advance(dice.hits(0.8) ? reread : from, context, laterMs);
  kept.add('next', [then.step, then.events, then.state.reported, then.state.observed]);
  const own = decided.step;
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
  const clock = {
    nowMs: LATE_MS + dice.of(-1_500, -1_000, 0),
    step: dice.of(null, { byMs: 5_000, untilMs }),
  };
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

/** An account-wide cancel over two random lanes. */
function playAccount(dice: Dice, kept: KeptHash): void {
  const { lane, settings, context, requests } = laneScene(dice);
  const other: LaneState = { ...laneScene(dice).lane, market: dice.of('ETH_PERP', 'ETH_USDT') };
  const held = (one: LaneState): LaneState => (dice.hits(0.6) ? { ...one, heldBy: ACCOUNT_HOLDER } : one);
  const lanes = [held(lane), held(other)];
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
    kept.add(
      'answered',
      finishAccountCancel(begun.state, begun.lanes, answer.outcome, settings, nowMs + 500),
    );
  kept.add('dies', recoverAccount(begun.state, begun.lanes, settings, nowMs + 500));
  kept.add('dies idle', recoverAccount(asked, lanes, settings, nowMs));
}

test.for([1, 2, 3, 4])('a hundred accounts by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000 + 1);
  const kept = new KeptHash();
  for (let index = 0; index < SCENES; index += 1) playAccount(dice, kept);
  expect(kept.text).toMatchSnapshot();
});

/** Two reads with a trade between them: what they show of the margin model, the maintenance rate and other traders. */
function playPair(dice: Dice, kept: KeptHash): void {
  const { lane, settings: own } = laneScene(dice);
  const settings = dice.hits(0.9) ? { ...own, marginModel: 'auto' as const } : own;
  const isLong = dice.hits(0.5);
  const sign = isLong ? 1 : -1;
  const positionOf = (size: number, mark: number, liquidation: number): ReadPosition => ({
    positionId: '41',
    positionSide: 'BOTH',
    openDate: dice.hits(0.9) ? 1 : dice.of(null, 2),
    direction: dice.hits(0.95) ? (isLong ? 'long' : 'short') : null,
    sizeBase: String(size) as DecimalString,
    markPrice: dice.hits(0.97) ? (String(mark) as DecimalString) : null,
    markError: 0,
    liquidationPrice: dice.hits(0.97) ? (String(liquidation) as DecimalString) : dice.of('none', null),
    distance: (sign * (mark - liquidation)) / mark,
    liquidationState: dice.of('none', 'none', 'none', 'margin_call', null),
    disagreement: dice.hits(0.03),
    fenceRisk: 0,
    ...(dice.hits(0.1) ? { margin: dice.of('own', 'shared') } : {}),
  });
  const rate = 0.03 * dice.of(1, 1, 0.5, 1.1, 0.9, 2, 12);
  const [size, mark] = [10, 1_000];
  const liquidation = mark * (1 - sign * dice.of(0.02, 0.05, 0.2));
  const [sizeAfter, markAfter] = [
    dice.of(9, 9.5, 8, 5, 10, 11, 12, 9.89, 9.9),
    mark * dice.of(1, 1, 0.99, 1.01, 1.002),
  ];
  const equity = size * sign * (mark - liquidation) + rate * size * liquidation;
  const left = equity + sign * dice.of(size, sizeAfter) * (markAfter - mark);
  const pooled = (sizeAfter * markAfter - sign * left) / (sizeAfter * (1 - sign * rate));
  const moved = liquidation + (pooled - liquidation) * dice.of(0, 0.24, 0.26, 0.5, 0.74, 0.8, 1, 1, 1, -0.3);
  const sentAtMs = LATE_MS - 1_000;
  const before = { sentAtMs, receivedAtMs: sentAtMs, positions: [positionOf(size, mark, liquidation)] };
  const laterMs = sentAtMs + dice.of(500, 500, 500, 500, 10_000, 10_500, 30_000, 30_500);
  const second = { ...positionOf(2, mark, liquidation), positionId: '42' };
  const after: MarketRead = {
    sentAtMs: laterMs,
    receivedAtMs: laterMs,
    positions: [positionOf(sizeAfter, markAfter, moved), ...(dice.hits(0.1) ? [second] : [])],
  };
  const { learned: _, margins: __, ...unlearned } = lane;
  const order = lane.orders[0];
  const state: LaneState = {
    ...(dice.hits(0.5) ? unlearned : lane),
    read: dice.hits(0.95) ? before : null,
    orders: order === undefined ? [] : [{ ...order, positionId: '41' }],
  };
  const audit = recorder('desk', state.market, laterMs);
  const scene = { settings, nowMs: laterMs, audit };
  const learned = learnMaintenance(state, after, scene);
  kept.add('rate', learned);
  kept.add(
    'again',
    learnMaintenance(learned === undefined ? state : learn(state, { maintenance: learned }), after, scene),
  );
  kept.add('margins', learnMargins(state, after, scene));
  kept.add('others', noteContests(state, after, audit));
  kept.add('said', audit.events);
}

test.for([1, 2])('pairs of reads by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000 + 2);
  const kept = new KeptHash();
  for (let index = 0; index < 400; index += 1) playPair(dice, kept);
  expect(kept.text).toMatchSnapshot();
});
