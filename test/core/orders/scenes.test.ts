import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import type { LaneState, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import {
  awaitsLastPrice,
  gapInFavour,
  hasMovedAway,
  isInverted,
  isPastLimit,
  isRacing,
  placingGap,
  taughtByPrice,
} from '../../../src/core/orders/activation-gap.ts';
import {
  isAfterOutage,
  restInClosedMarket,
  suspectStops,
  trustStops,
} from '../../../src/core/orders/after-outage.ts';
import { isSpent } from '../../../src/core/orders/beside.ts';
import {
  cancelAnswerMs,
  judgeCancel,
  whyNeverCancelled,
  whyNotCancelled,
} from '../../../src/core/orders/cancel-policy.ts';
import { coarserStep, marketOf, unlearn } from '../../../src/core/orders/market-steps.ts';
import { mayRaiseNet, netExposure, netRoom } from '../../../src/core/orders/net-exposure.ts';
import { requestOf } from '../../../src/core/orders/order-request.ts';
import { orderSetDifference } from '../../../src/core/orders/order-set.ts';
import {
  absorbRead,
  afterCancel,
  afterFill,
  isRemovable,
  standsAlready,
} from '../../../src/core/orders/outstanding.ts';
import { standingStops } from '../../../src/core/orders/protective-stop.ts';
import { trialOrder } from '../../../src/core/orders/trial-order.ts';
import type { SetScene, Want } from '../../../src/core/orders/want.ts';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import { Dice } from '../../support/dice.ts';
import { NOW_MS, sceneOf } from './scenes.ts';

/**
 * Keeps for review which orders random scenes want and which have to go, and how each standing order is judged.
 * `npm test -- test/core/orders/scenes.test.ts --update` rewrites the transcript.
 */

const nameOf = (order: OwnOrder, { state }: SetScene): string => `#${state.orders.indexOf(order)}`;

function wantLine(want: Want, scene: SetScene): string {
  const { position, amount, prices, resend, mayAddUp, isTrimmed, coverBasis, anchor } = want;
  const { clientOrderId: _, ...request } = requestOf(scene.state, want);
  return JSON.stringify([
    want.role,
    want.key,
    position.positionId,
    amount.toString(),
    prices.activationPrice.toString(),
    prices.price.toString(),
    want.slippage,
    want.targetBase.toString(),
    resend === null ? '' : nameOf(resend, scene),
    mayAddUp === true,
    isTrimmed,
    coverBasis,
    anchor,
    request,
  ]);
}

function differenceLines(scene: SetScene): readonly string[] {
  const { place, remove, standing, blocked, hedged } = orderSetDifference(scene);
  const removals = (all: typeof remove): string =>
    all.map(({ order, why }) => `${nameOf(order, scene)} ${why}`).join(', ');
  return [
    ...place.map((want) => `place ${wantLine(want, scene)}`),
    `remove ${removals(remove)}; standing ${removals(standing)}`,
    `blocked ${blocked.map(({ key, why }) => `${key} ${why}`).join(', ')}; hedged ${hedged.join()}`,
  ];
}

function orderLine(order: OwnOrder, position: ReadPosition, scene: SetScene): string {
  const { settings, market, state } = scene;
  const verdict = judgeCancel(state, { settings }, NOW_MS);
  const verdicts = {
    spent: isSpent(order, position, scene),
    movedAway: hasMovedAway(order, position, scene),
    awaitsLast: awaitsLastPrice(order, position, scene),
    inverted: isInverted(order, position, market),
    pastLimit: isPastLimit(order, position),
    removable: isRemovable(order, settings, NOW_MS),
    standsAlready: standsAlready(state, { ...order, amount: position.sizeBase }),
  };
  const holds = Object.entries(verdicts).flatMap(([name, isSo]) => (isSo ? [name] : []));
  const never = whyNeverCancelled(order, settings) ?? '';
  const words = whyNotCancelled(order, verdict, state, scene);
  return `${nameOf(order, scene)} on ${position.positionId}: ${holds.join()} ${never} ${words}`;
}

function positionLine(position: ReadPosition, scene: SetScene): string {
  const { state, settings, read } = scene;
  const { direction, markPrice } = position;
  const gaps =
    direction === null || markPrice === null
      ? ''
      : [
          placingGap({ ...position, markPrice }, direction, scene),
          gapInFavour({ ...position, markPrice }, direction, scene),
        ];
  const net = [netExposure(position, read), netRoom(position, read, state.orders, true)];
  const words = [...net.map(String), mayRaiseNet(position, read), isRacing(position, state, settings)];
  return `${position.positionId} ${JSON.stringify(gaps)} ${words.join(' ')}`;
}

function accountLines(scene: SetScene): readonly string[] {
  const { state, settings, read, market } = scene;
  const short = (orders: readonly OwnOrder[]): string =>
    orders
      .map(({ request, status, placedSizeBase, baseSizeBase, ...order }) =>
        [
          request.clientOrderId,
          status,
          placedSizeBase,
          baseSizeBase,
          order.seenAbove,
          order.seenBelow,
          order.activatedMs,
          order.reachedMs,
          order.ambiguous,
          order.presumedFilled,
        ].join(' '),
      )
      .join('; ');
  const isAbsent = (positionId: string): boolean => positionId === '43';
  const absorbed = absorbRead(state.orders, read, { settings, market, isAbsent, before: state.read });
  const sent = { types: undefined, ownTypes: ['futures' as const], cancelSentMs: NOW_MS };
  const [first] = state.orders;
  const about = { key: 'k', ruleId: 'r' };
  const trial = trialOrder({ state, read, market, settings, nowMs: NOW_MS }, about);
  return [
    ...learnedLines(scene),
    `read ${short(absorbed.orders)} | filled ${short(absorbed.filled)} | moved ${short(absorbed.ambiguous)}`,
    `cancelled ${short(afterCancel(state.orders, sent, settings))}`,
    `spot cancelled ${short(afterCancel(state.orders, { ...sent, types: ['spot'] }, settings))}`,
    `filled ${first === undefined ? '' : short(afterFill(state.orders, first, decimal('2')))}`,
    `stops ${JSON.stringify(standingStops(state, state.epoch))}`,
    `trial ${trial === undefined ? '' : wantLine(trial, scene)}`,
    `cancel ${judgeCancel(state, { settings }, NOW_MS)} answered in ${cancelAnswerMs(state)}`,
  ];
}

/** The lessons of refusals and outages. */
function learnedLines({ state, settings, read, nowMs }: SetScene): readonly string[] {
  const [order] = state.orders;
  const audit = recorder('desk', state.market, nowMs);
  const known = ({ learned, orders }: LaneState): string =>
    JSON.stringify([learned, orders.map(({ status }) => status)]);
  const steps = (['amountStep', 'priceStep', 'side'] as const).map((reason) => ({
    words: order && coarserStep(reason, order.request, state, settings)?.words,
    forgotten: known(unlearn(state, reason)),
    taught: [true, false].map(
      (isGivenUp) => order && known(taughtByPrice(state, order, { reason, isGivenUp }, settings)),
    ),
  }));
  const outages = [60_000, 60_001].map((gapMs) => {
    const later = { ...read, sentAtMs: read.receivedAtMs + gapMs };
    return isAfterOutage(read, later, settings);
  });
  return [
    JSON.stringify([steps, marketOf(state, settings), outages]),
    [suspectStops(state, 'outage', audit), trustStops(state)].map(known).join(' '),
    audit.events.map(({ kind, reason }) => `${kind} ${reason}`).join(),
    JSON.stringify(restInClosedMarket(state, nowMs).retryAtMs),
  ];
}

function linesOf(scene: SetScene): readonly string[] {
  const { state, read } = scene;
  return [
    ...differenceLines(scene),
    ...read.positions.map((position) => positionLine(position, scene)),
    ...read.positions.flatMap((position) => state.orders.map((order) => orderLine(order, position, scene))),
    ...accountLines(scene),
  ];
}

test('scenes of orders, and what is made of them', async () => {
  const dice = new Dice(3);
  const scenes = Array.from({ length: 40 }, (_, index) => {
    const scene = sceneOf(dice);
    const { positions } = scene.read;
    const shown = positions.map(
      (one) => `${one.positionId} ${one.direction} ${one.sizeBase} at ${one.markPrice}`,
    );
    const orders = scene.state.orders.map(
      ({ role, positionId, amount, request, status }) =>
        `${role} ${positionId} ${request.side} ${amount} at ${request.activationPrice} ${status}`,
    );
    return [`-- ${index}: ${shown.join(', ')}`, `   ${orders.join(', ')}`, ...linesOf(scene)].join('\n');
  });
  const file = path.join(import.meta.dirname, 'transcripts', 'scenes.txt');
  await expect(`${scenes.join('\n')}\n`).toMatchFileSnapshot(file);
});

/** Rare cases need more scenes than anybody reads: of a hundred each only the hash is kept. */
test.for([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])('a hundred scenes by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 100; index++) hash.update(linesOf(sceneOf(dice)).join('\n'));
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});
