import { recorder } from '../../../src/core/audit/audit-event.ts';
import { coverIntent } from '../../../src/core/intents/intent.ts';
import type { Cover, Intent, LaneState, Learned, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { newLane } from '../../../src/core/lanes/lane-state.ts';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import type { SetScene } from '../../../src/core/orders/want.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../../../src/core/quantities/settings.ts';
import type { Dice } from '../../support/dice.ts';
import { settings as usual, market as usualMarket } from '../lanes/fixtures.ts';

/**
 * A random scene of a market with our orders, possible or not. Prices lie on steps of 5, sizes are whole and times are
 * multiples of half a second, so that compared values are often equal.
 */

export const NOW_MS = 200_000;
const STEP = 5;

const market: MarketSettings = {
  ...usualMarket,
  amountStep: '1' as DecimalString,
  minAmount: '1' as DecimalString,
  priceStep: '5' as DecimalString,
  basisAllowance: 0.005,
  maintenanceMargin: 0.03,
};

export function sceneOf(dice: Dice): SetScene {
  const settings: AccountSettings = {
    ...usual,
    cancelCoversStops: dice.hits(0.7),
    cancel: dice.hits(0.8) ? 'always' : 'never',
    hedge: dice.of('net', 'perLeg'),
    overshoot: dice.hits(0.8) ? 'audited' : 'never',
    nonceMode: dice.of('unique', 'increasing'),
    readLagMs: dice.of(0, 0, 1_000),
    fillWithinMs: 3_000,
    marketSettings: () => market,
  };
  const isHedged = dice.hits(0.4);
  const positions = [positionOf(dice, '41', isHedged), positionOf(dice, '42', isHedged)].slice(
    0,
    dice.of(1, 2, 2),
  );
  const covers = Array.from({ length: dice.of(0, 1, 1, 2) }, (_, index) => coverOf(dice, index));
  const intents = Array.from({ length: dice.of(0, 1, 1, 1, 2) }, (_, index) =>
    intentOf(dice, index, covers, settings),
  );
  const orders = Array.from({ length: dice.of(0, 1, 1, 2, 2, 3, 4) }, (_, index) =>
    orderOf(dice, positions, index),
  );
  const sentAtMs = NOW_MS - dice.of(0, 500, 1_000);
  const read = { sentAtMs, receivedAtMs: dice.of(sentAtMs, NOW_MS), positions };
  const state: LaneState = {
    ...newLane('desk', 'BTC_PERP', 'epoch', 0),
    doubt: null,
    priorOrdersPossible: false,
    intents,
    covers,
    orders,
    read,
    latestRead: read,
    marks: marksOf(dice, positions),
    ...taughtBy(dice),
    ...(dice.hits(0.3)
      ? { roomTaken: { atMs: NOW_MS - dice.of(500, 10_000, 10_500), positionId: '41' } }
      : {}),
    ...(dice.hits(0.2) ? { coverRoomTakenMs: NOW_MS - dice.of(500, 10_000, 10_500) } : {}),
    ...(dice.hits(0.5) ? { orderAcceptedMs: NOW_MS - dice.of(500, 10_000, 10_500) } : {}),
    ...(dice.hits(0.3) ? { orderRefusedMs: NOW_MS - dice.of(500, 10_000, 10_500) } : {}),
    ...(dice.hits(0.2)
      ? { jointLimits: [{ positionId: '41', liquidationPrice: text(dice.of(-8, -12, 9)), atMs: 0 }] }
      : {}),
    ...(dice.hits(0.2)
      ? {
          absent: [
            {
              positionId: dice.of('42', '43'),
              last: null,
              sinceMs: null,
              reads: 1,
              phase: dice.of('held', 'explained', 'closed'),
              told: false,
            },
          ],
        }
      : {}),
    ...(dice.hits(0.1)
      ? { contests: [{ positionId: '41', isReduced: true, addsMs: [NOW_MS - 2_000, NOW_MS - 1_000] }] }
      : {}),
  };
  const open = intents.filter(({ end }) => end === null);
  const mayCancel = dice.hits(0.7);
  return { state, read, admitted: { intents: open, covers }, market, settings, nowMs: NOW_MS, mayCancel };
}

/** Marks up to the one shown now, often on their way towards liquidation. */
function marksOf(dice: Dice, positions: readonly ReadPosition[]): NonNullable<LaneState['marks']> {
  const now = Number(positions[0]?.markPrice ?? 1_000);
  const earlier = Array.from({ length: dice.of(0, 1, 1, 2, 3) }, () => ({
    atMs: NOW_MS - 500 - dice.of(500, 1_000, 3_000, 3_500, 20_000),
    mark: now + STEP * dice.of(-4, -2, -1, 0, 1, 2, 4),
  }));
  return [...earlier.toSorted((a, b) => a.atMs - b.atMs), { atMs: NOW_MS - 500, mark: now }];
}

const price = (steps: number): number => 1_000 + steps * STEP;
const text = (steps: number): DecimalString => String(price(steps)) as DecimalString;
const amount = (dice: Dice): DecimalString => dice.of('1', '2', '3', '4', '6') as DecimalString;

function positionOf(dice: Dice, positionId: string, isHedged: boolean): ReadPosition {
  const isLong = isHedged ? positionId === '41' : dice.hits(0.5);
  const steps = dice.of(-3, -2, -1, 0, 0, 1, 2, 3);
  const liquidationSteps = (isLong ? -1 : 1) * dice.of(4, 8, 20, 40);
  const distance = ((isLong ? 1 : -1) * (price(steps) - price(liquidationSteps))) / price(steps);
  const lacks = dice.hits(0.85) ? 'nothing' : dice.of('mark', 'liquidation', 'side', 'danger');
  return {
    positionId,
    positionSide: isHedged ? (isLong ? 'LONG' : 'SHORT') : 'BOTH',
    openDate: dice.of(1, 1, 1, 2, null),
    direction: lacks === 'side' ? null : isLong ? 'long' : 'short',
    sizeBase: amount(dice),
    ...(dice.hits(0.1) ? { sizeBeforeBase: '6' as DecimalString } : {}),
    markPrice: lacks === 'mark' ? null : text(steps),
    markError: dice.of(0, 0, 0, 5),
    liquidationPrice: lacks === 'liquidation' ? dice.of('none', null) : text(liquidationSteps),
    distance: lacks === 'liquidation' ? null : distance,
    liquidationState: lacks === 'danger' ? 'margin_call' : 'none',
    disagreement: dice.hits(0.05),
    fenceRisk: dice.of(0, 0.1, 0.5, null),
  };
}

function orderOf(dice: Dice, positions: readonly ReadPosition[], index: number): OwnOrder {
  const position = dice.hits(0.9) ? dice.of(positions[0], positions[0], positions.at(-1)) : undefined;
  const role = dice.of('reduce', 'reduce', 'cover');
  const isSell = position === undefined ? dice.hits(0.5) : position.direction !== 'short';
  const side = isSell === dice.hits(0.9) ? 'sell' : 'buy';
  const steps = (side === 'sell' ? -1 : 1) * dice.of(0, 1, 2, 3, 6, 15);
  const at = (chance: number): number | null =>
    dice.hits(chance) ? NOW_MS - dice.of(0, 500, 3_000, 10_000) : null;
  const size = dice.hits(0.3) ? (position?.sizeBase ?? amount(dice)) : amount(dice);
  return {
    role,
    key: dice.of(role === 'cover' ? 'stop-0' : 'rule-0', 'rule-1'),
    ruleId: 'near',
    positionId: position?.positionId ?? '43',
    openDate: dice.hits(0.9) ? (position?.openDate ?? null) : 2,
    request: {
      market: 'BTC_PERP',
      side,
      amount: size,
      activationPrice: text(steps),
      price: text(steps + (side === 'sell' ? -1 : 1) * dice.of(1, 2)),
      clientOrderId: `o${index}`,
      positionSide: 'BOTH',
      ...(dice.hits(0.1) ? { inFavour: true as const } : {}),
    },
    amount: size,
    slippage: dice.of(0.005, 0.01, 0.02),
    status: dice.of('open', 'open', 'open', 'unsure', 'sending'),
    sentMs: NOW_MS - dice.of(500, 2_500, 3_000, 10_000),
    arrivedByMs: NOW_MS + dice.of(-3_000, -1_000, 0, 500),
    placedSizeBase: amount(dice),
    baseSizeBase: amount(dice),
    seenAbove: dice.hits(0.5),
    seenBelow: dice.hits(0.5),
    activatedMs: at(0.2),
    reachedMs: at(0.4),
    presumedFilled: dice.hits(0.1),
    ambiguous: dice.hits(0.1),
    overshoot: false,
    ...(dice.hits(0.15) ? { inverted: true } : {}),
    ...(dice.hits(0.1) ? { mayHaveVanished: true } : {}),
    ...(dice.hits(0.1) ? { behindCancel: true } : {}),
    ...(dice.hits(0.05) ? { trial: true } : {}),
    coverBasis:
      role === 'cover'
        ? {
            liquidationPrice: text((side === 'sell' ? -1 : 1) * dice.of(4, 8, 20, 20, 22, 40)),
            roomBase: dice.of(100, 95, 200),
            ...(dice.hits(0.3)
              ? { leave: dice.of(0.5, 0), leftBase: dice.of('1', '2', '0') as DecimalString }
              : {}),
          }
        : null,
  };
}

function coverOf(dice: Dice, index: number): Cover {
  return {
    key: `stop-${index}`,
    episodeKey: 'stop',
    ruleId: `stop-${index}`,
    mode: 'enforce',
    exemptFromLimits: false,
    refusedBy: null,
    positionId: dice.of('41', '41', '42'),
    episode: 1,
    stage: 0,
    severity: 'info',
    blockedBy: null,
    at: dice.of(0.4, 0.5, 0.6),
    slippage: dice.of(0.005, 0.01),
    ...(dice.hits(0.3)
      ? {
          ladder: [
            { at: 0.4, leave: 0.5 },
            { at: 0.7, leave: dice.of(0, 0.25) },
          ],
        }
      : {}),
    anchor: dice.hits(0.4)
      ? {
          markPrice: text(dice.of(0, 1)),
          liquidationPrice: text(dice.of(-20, -40, 20)),
          openDate: 1,
          direction: dice.of('long', 'short'),
          ...(dice.hits(0.5) ? { sizeBase: amount(dice) } : {}),
        }
      : null,
  };
}

function intentOf(dice: Dice, index: number, covers: readonly Cover[], settings: AccountSettings): Intent {
  const blank: Cover = { ...coverOf(dice, index), key: `rule-${index}`, episodeKey: 'rule' };
  const audit = recorder('desk', 'BTC_PERP', NOW_MS);
  const scene = { settings, nowMs: NOW_MS, audit };
  const [cover] = covers;
  const isTriggered = dice.hits(0.2);
  const base = coverIntent(
    isTriggered && cover !== undefined ? cover : blank,
    dice.of('0', '0', '1', '2') as DecimalString,
    scene,
  );
  return {
    ...base,
    source: isTriggered ? 'cover' : dice.of('rule', 'rule', 'operator'),
    target: dice.of(
      { kind: 'to', fraction: 0 },
      { kind: 'by', fraction: 0.5 },
      { kind: 'untilDistance', distance: 0.1 },
    ),
    targetBase: base.targetBase ?? dice.of<DecimalString | null>('0' as DecimalString, null),
    slippageSteps: [0.005, 0.01, 0.02],
    failures: dice.of(0, 0, 1, 2),
    perLeg: dice.hits(0.1),
    ...(dice.hits(0.2) ? { urgent: true as const } : {}),
    ...(dice.hits(0.2) ? { hasCleared: true } : {}),
    sideRefused: dice.hits(0.1),
  };
}

function taughtBy(dice: Dice): Pick<LaneState, 'learned' | 'roundTripMs'> {
  const learned: Learned = {
    basis: dice.hits(0.3) ? dice.of(0, 0.005, 0.01, 0.02, 0.1) : undefined,
    basisInFavour: dice.hits(0.2) ? dice.of(0, 0.01, 0.2) : undefined,
  };
  const roundTrip = dice.hits(0.5) ? { roundTripMs: dice.of(100, 125, 400, 500, 600, 1_000) } : {};
  const steps = dice.hits(0.3)
    ? dice.of({ amountStep: '2' as DecimalString }, { priceStep: '10' as DecimalString })
    : {};
  const maintenance = dice.hits(0.3)
    ? { low: dice.of(0.02, 0.03, 0.04), high: 0.05, agreeing: dice.of(1, 2) }
    : undefined;
  return { ...roundTrip, learned: { ...learned, ...steps, maintenance } };
}
