import type {
  CancelStep,
  LaneState,
  PlaceStep,
  ReadPosition,
  RequestStep,
} from '../../../src/core/lanes/lane-state.ts';
import type { StepResult } from '../../../src/core/lanes/lane-step.ts';
import type { ReadObservation } from '../../../src/core/lanes/market-read.ts';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import type { OrderType } from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { Dice } from '../../support/dice.ts';
import { size } from '../intents/scenes.ts';
import { failure, placed } from './driver.ts';
import { inMarket } from './fixtures.ts';
import { readPositionOf } from './scenes.ts';

/** Reads, requests and answers for a lane of scenes.ts. */

/** A read a little later: mostly what the lane has seen, with something moved, missing or new. */
export function observationOf(dice: Dice, { read }: LaneState, nowMs: number): ReadObservation {
  const before = read?.positions ?? [];
  const seen = before.filter(() => dice.hits(0.9)).map((position) => later(dice, position));
  const added = dice.hits(0.15) ? [later(dice, readPositionOf(dice, dice.of('43', '44')))] : [];
  const elsewhere = dice.hits(0.3) ? [later(dice, readPositionOf(dice, '51'))] : [];
  const sentAtMs = nowMs - dice.of(0, 500, 1_000);
  const about = {
    sentAtMs,
    receivedAtMs: dice.of(sentAtMs, nowMs),
    complete: dice.hits(0.85),
    ...(dice.hits(0.2) ? { ofMarket: true } : {}),
    ...(dice.hits(0.1) ? { notOpenYet: [dice.of('41', '42', '43')] } : {}),
    ...(dice.hits(0.1) ? { sizesBefore: new Map([['41', '6' as DecimalString]]) } : {}),
    ...(dice.hits(0.3)
      ? {
          earlierMarks: (_: string, isMissing: (sentAtMs: number) => boolean) =>
            [20_000, 10_000, 5_000, 3_000, 1_000, 500, 0]
              .map((agoMs) => ({ atMs: nowMs - agoMs, mark: 1_000 + agoMs / 500 }))
              .filter(({ atMs }) => isMissing(atMs)),
        }
      : {}),
  };
  const fenceRisk = ({ sizeBase }: ReadPosition) => (sizeBase === '0' ? null : dice.of(0, 0.5, null));
  const here = [...seen, ...added].map((position) =>
    Object.assign(position, { fenceRisk: fenceRisk(position) }),
  );
  return { ...about, byMarket: new Map([...inMarket(here), ...inMarket(elsewhere, 'ETH_PERP')]) };
}

function later(dice: Dice, position: ReadPosition): ReadPosition {
  const { positionId, positionSide, openDate, direction, markPrice, liquidationPrice } = position;
  const moved = (price: DecimalString): DecimalString =>
    String(Number(price) + 5 * dice.of(0, 0, 0, 1, -1, 2, -4)) as DecimalString;
  const mark = markPrice === null || dice.hits(0.05) ? null : moved(markPrice);
  const liquidation =
    liquidationPrice === null || liquidationPrice === 'none' ? liquidationPrice : moved(liquidationPrice);
  const isLong = direction === 'long';
  const distance =
    mark === null || liquidation === null
      ? null
      : ((isLong ? 1 : -1) * (Number(mark) - Number(liquidation))) / Number(mark);
  const date = dice.hits(0.9) ? openDate : dice.of(null, 1, 2);
  const side = dice.hits(0.95) ? direction : dice.of(null, 'long', 'short');
  const sizeBase = dice.hits(0.6) ? position.sizeBase : dice.of(size(dice), '0' as DecimalString);
  const error = dice.hits(0.9) ? dice.of(0, 0, 5) : null;
  return {
    positionId,
    positionSide,
    openDate: date,
    direction: side,
    sizeBase,
    markPrice: error === null ? null : mark,
    markError: error ?? 0,
    liquidationPrice: liquidation,
    distance: liquidation === 'none' ? 'none' : distance,
    liquidationState: dice.of('none', 'none', 'none', 'margin_call', 'liquidation', null),
    disagreement: dice.hits(0.05),
    fenceRisk: null,
    ...(dice.hits(0.5) ? { basePrice: '1010' as DecimalString, realizedPnl: '0.5' as DecimalString } : {}),
    ...(dice.hits(0.2) ? { margin: dice.of('own', 'shared') } : {}),
    ...(dice.hits(0.2) ? { jointLiquidationPrice: String(dice.of(940, 960, 1_045)) as DecimalString } : {}),
  };
}

const CANCELS: readonly [CancelStep['why'], ...CancelStep['why'][]] = [
  'resolved',
  'marketMovedAway',
  'notFilled',
  'doubt',
  'cancelAction',
];
const TYPES: readonly [readonly OrderType[], ...(readonly OrderType[])[]] = [
  ['futures'],
  ['spot', 'margin'],
  ['spot', 'margin', 'futures'],
];

/** A request that the lane may have sent. */
export function stepOf(dice: Dice, { orders, cancels, intents, covers, market }: LaneState): RequestStep {
  const order = dice.of<OwnOrder | undefined>(orders[0], ...orders);
  if (dice.hits(0.2)) return { kind: 'readPositions', market };
  if (order !== undefined && dice.hits(0.75)) return placeStepOf(dice, order);
  const task = cancels[0]?.key ?? null;
  return {
    kind: 'cancelAll',
    request: { market, ...(dice.hits(0.9) ? { types: dice.of(...TYPES) } : {}) },
    why: dice.of(...CANCELS),
    task: dice.hits(0.4) ? task : null,
    admitted: [...intents, ...covers].slice(0, 1).map(({ key }) => key),
    unfilled: dice.hits(0.3) ? [dice.of('41', '42')] : [],
    ...(dice.hits(0.5) ? { answerWithinMs: 1_000 } : {}),
  };
}

function placeStepOf(dice: Dice, of: OwnOrder): PlaceStep {
  const isResend = dice.hits(0.4);
  const order: OwnOrder = {
    ...of,
    status: 'sending',
    request: isResend || dice.hits(0.3) ? of.request : { ...of.request, clientOrderId: 'new' },
  };
  return {
    kind: 'place',
    request: order.request,
    order,
    ahead: dice.hits(0.2),
    isResend,
    ...(dice.hits(0.1) ? { byAnother: true as const } : {}),
    ...(dice.hits(0.3) ? { answerWithinMs: 1_000 } : {}),
    anchor: dice.hits(0.3)
      ? {
          markPrice: '1000' as DecimalString,
          liquidationPrice: '900' as DecimalString,
          openDate: 1,
          direction: 'long',
        }
      : null,
  };
}

const REFUSALS = [
  'reduceOnlyRefused',
  'duplicateClientOrderId',
  'cancelledOnCreation',
  'rateLimited',
  'timeout',
  'marketInvalid',
  'amountInvalid',
  'priceInvalid',
  'permissionDenied',
] as const;

/** An answer to it. */
export function answerTo(dice: Dice, step: RequestStep, lane: LaneState, nowMs: number): StepResult {
  if (step.kind === 'readPositions') {
    return { kind: step.kind, observation: dice.hits(0.2) ? null : observationOf(dice, lane, nowMs) };
  }
  const others = dice.hits(0.3) ? { othersAct: true } : {};
  const fate = dice.next();
  if (fate < 0.15) {
    const error = failure({ name: 'timeout', effect: 'possible' });
    return { kind: step.kind, outcome: { kind: 'unknown', error } };
  }
  if (fate < 0.65) {
    const error = failure({
      name: dice.of(...REFUSALS),
      effect: dice.hits(0.9) ? 'none' : 'possible',
      ...(dice.hits(0.2) ? { retryAfterMs: dice.of(100, 1_500, 60_000) } : {}),
    });
    const outcome = { kind: 'rejected', error } as const;
    return step.kind === 'place' ? { kind: 'place', outcome, ...others } : { kind: 'cancelAll', outcome };
  }
  const timing = { sentAtMs: nowMs - 20, receivedAtMs: nowMs, attempts: 1 };
  if (step.kind === 'cancelAll') {
    return { kind: 'cancelAll', outcome: { kind: 'accepted', value: null, timing } };
  }
  const isTrimmed = dice.hits(0.3);
  const value = placed(step, {
    status: dice.hits(0.9)
      ? { known: true, value: dice.of('NEW', 'NEW', 'FILLED', 'PARTIALLY_FILLED', 'CANCELLED') }
      : { known: false, raw: 'HALTED' },
    ...(isTrimmed ? { amount: size(dice), adjustedFrom: dice.of(step.request.amount, size(dice)) } : {}),
  });
  return { kind: 'place', outcome: { kind: 'accepted', value, timing }, ...others };
}
