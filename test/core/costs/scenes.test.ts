import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import type { AuditRecord } from '../../../src/core/audit/audit-record.ts';
import { type ActionCost, costFigures, type RecentCost } from '../../../src/core/costs/action-cost.ts';
import { closingsOf, closingsWords } from '../../../src/core/costs/closing-words.ts';
import { costRows, costTotals, pricedActions, totalsOfRows } from '../../../src/core/costs/cost-report.ts';
import { costWords } from '../../../src/core/costs/cost-words.ts';
import { followCosts } from '../../../src/core/costs/follow-costs.ts';
import { noteFills, withDecision } from '../../../src/core/costs/note-fills.ts';
import {
  type WouldBeOrder,
  wouldBeOrders,
  wouldHave,
  wouldHaveWords,
} from '../../../src/core/costs/would-have.ts';
import type { LaneState, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { SpotOrderRecord } from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { Dice } from '../../support/dice.ts';
import { NOW_MS, sceneOf } from '../orders/scenes.ts';

/**
 * Scenes of our orders that close something, and what is reported of their cost: kept for review.
 * `npm test -- test/core/costs/scenes.test.ts --update` rewrites the transcript.
 */

const HOUR_MS = 3_600_000;
const text = (value: string): DecimalString => value as DecimalString;

function costOf(dice: Dice, index: number): ActionCost {
  return {
    id: `o${index}@${NOW_MS}`,
    clientOrderId: `o${index}`,
    role: dice.of('reduce', 'cover'),
    direction: dice.of('long', 'short'),
    amountBase: text(dice.of('0.5', '2')),
    money: dice.of('USDT', 'USDT', 'USDC'),
    filledMs: NOW_MS - dice.of(0, 1_000, 2_000, HOUR_MS),
    decidedPrice: dice.of(text('60000'), text('60000'), null),
    limitPrice: text(dice.of('59400', '60600.5')),
    fill: dice.of(
      null,
      { price: text('59950'), from: 'realizedPnl' },
      { price: text('60000'), from: 'realizedPnl' },
      { price: text('60070'), from: 'orderHistory' },
    ),
    fee: dice.of(null, { from: 'config', rate: 0.001 }, { from: 'orderHistory', paid: text('12.345678') }),
    liquidationPrice: dice.of(text('58000'), text('62000'), null),
  };
}

function recentOf(dice: Dice, index: number): RecentCost {
  const cost = costOf(dice, index);
  return { cost, positionId: '41', key: `rule-${index}`, ruleId: 'near' };
}

const some = <T>(
  dice: Dice,
  counts: readonly [number, ...number[]],
  make: (index: number) => T,
): readonly T[] => Array.from({ length: dice.of(...counts) }, (_, index) => make(index));

function recordOf(dice: Dice, index: number): SpotOrderRecord {
  return {
    market: 'BTC_PERP',
    orderId: `${index}`,
    clientOrderId: `o${index}`,
    ...(dice.hits(0.9) ? { dealStock: text(dice.of('0.5', '2', '3', '0', '-1')) } : {}),
    ...(dice.hits(0.9) ? { dealMoney: text(dice.of('29990.1', '119999', '0')) } : {}),
    ...(dice.hits(0.9) ? { dealFee: text(dice.of('30', '0', '-1.5')) } : {}),
    ...(dice.hits(0.7) ? { feeAsset: dice.of('USDT', 'USDT', 'USDC', 'BTC') } : {}),
  } as SpotOrderRecord;
}

/** What a lane records of recent fills, poll by poll. */
function followed(dice: Dice): readonly string[] {
  const { state } = sceneOf(dice);
  let lane: LaneState = { ...state, costs: some(dice, [1, 1, 2, 3], (index) => recentOf(dice, index)) };
  const lines: string[] = [];
  let nowMs = NOW_MS;
  for (let poll = 0; poll < 8; poll += 1) {
    nowMs += dice.of(0, 1_000, 60_000, HOUR_MS - 1_000, HOUR_MS, 120_000);
    const result = followCosts(lane, {
      accountId: 'desk',
      nowMs,
      orders: dice.hits(0.3) ? some(dice, [1, 2, 3], (index) => recordOf(dice, index)) : [],
    });
    if (result === undefined) continue;
    for (const { reason, words, cost } of result.events) {
      lines.push(`${nowMs - NOW_MS} ${reason}: ${words} ${JSON.stringify(cost)}`);
    }
    ({ lane } = result);
    lines.push(`left ${JSON.stringify(lane.costs ?? 'none')}; ${closingsWords(closingsOf([lane]))}`);
  }
  return lines;
}

function later(dice: Dice, position: ReadPosition): readonly ReadPosition[] {
  const change = dice.of('gone', 'smaller', 'smaller', 'smaller', 'same', 'larger', 'another');
  if (change === 'gone') return [];
  const size = Number(position.sizeBase);
  return [
    {
      ...position,
      sizeBase: text(
        String(
          change === 'smaller'
            ? Math.max(0.5, size - dice.of(0.5, 1, 2))
            : change === 'larger'
              ? size + 1
              : size,
        ),
      ),
      markPrice: dice.of(position.markPrice, text('990'), text('1010'), null),
      ...(dice.hits(0.7) ? { realizedPnl: text(dice.of('-10', '5', '-5000')) } : {}),
      ...(dice.hits(0.1) ? { liquidationState: 'liquidation' } : {}),
      ...(dice.hits(0.1) ? { basePrice: text('1001') } : {}),
      ...(change === 'another' ? { openDate: 2 } : {}),
    },
  ];
}

/** The cost deduced from a read that shows a smaller position. */
function noted(dice: Dice): readonly string[] {
  const { state, settings } = sceneOf(dice);
  const read = state.read;
  if (read === null) return [];
  const positions = read.positions.map((one) => ({
    ...one,
    ...(dice.hits(0.9) ? { basePrice: text('1000') } : {}),
    ...(dice.hits(0.9) ? { realizedPnl: text('0') } : {}),
  }));
  const intents = state.intents.map((intent) => ({
    ...intent,
    basis: dice.hits(0.5) ? ({ markPrice: dice.of(text('1005'), null) } as (typeof intent)['basis']) : null,
  }));
  const orders = state.orders.map((order) => withDecision(order, { ...state, intents }));
  const earlier: LaneState = { ...state, intents, orders, read: { ...read, positions } };
  const nextRead = {
    sentAtMs: NOW_MS + 500,
    receivedAtMs: NOW_MS + 600,
    positions: positions.flatMap((one) => later(dice, one)),
  };
  const left = orders.filter(() => dice.hits(0.5));
  const audit = recorder('desk', 'BTC_PERP', NOW_MS + 600);
  for (const order of orders) {
    if (dice.hits(0.15)) {
      audit.emit({
        kind: 'filled',
        reason: 'found',
        words: '',
        order: order.request,
        positionId: order.positionId,
      });
    }
  }
  const next: LaneState = { ...earlier, orders: left, read: nextRead, latestRead: nextRead };
  const result = noteFills(earlier, next, { settings, nowMs: NOW_MS + 600, audit });
  return [
    orders.map(({ decidedPrice }) => decidedPrice ?? '-').join(),
    JSON.stringify(result.costs ?? 'none'),
    ...audit.events.map(
      ({ kind, reason, words, cost }) => `${kind} ${reason}: ${words} ${JSON.stringify(cost)}`,
    ),
  ];
}

function reported(dice: Dice): readonly string[] {
  const costs = some(dice, [0, 1, 3, 6], (index) => costOf(dice, index));
  const contents = costs.map((cost) => ({
    kind: 'action' as const,
    event: {
      kind: 'priced',
      cost,
      ...(dice.hits(0.8)
        ? { ruleId: dice.of('near', 'far'), market: dice.of('A_B', 'C_D'), positionId: '41' }
        : {}),
    },
  }));
  const records = [
    { content: { kind: 'note' } },
    ...contents.map((content) => ({ content })),
  ] as unknown as readonly Pick<AuditRecord, 'content'>[];
  const actions = pricedActions(records, { fromMs: NOW_MS - 2_000, toMs: NOW_MS });
  const rows = costRows(actions);
  return [
    ...costs.map((cost) => `${costWords(cost)} ${JSON.stringify(costFigures(cost))}`),
    JSON.stringify(actions),
    JSON.stringify([rows, costTotals(actions), totalsOfRows(rows)]),
  ];
}

function observed(dice: Dice): readonly string[] {
  const side = dice.of('sell', 'buy');
  const sign = side === 'sell' ? -1 : 1;
  const order = {
    market: 'BTC_PERP',
    side,
    amount: '0.5',
    activationPrice: String(1_000 + sign * 5),
    price: String(1_000 + sign * 15),
    ...(dice.hits(0.2) ? { inFavour: true } : {}),
  } as unknown as WouldBeOrder['order'];
  const would: WouldBeOrder = { seq: 1, atMs: 1_000, ruleId: 'near', positionId: '41', order };
  const records = (['wouldPlace', 'placing'] as const).flatMap((kind) =>
    ['observeMode', 'awaitingApproval'].map((reason, number) => ({
      number,
      record: {
        atMs: 1_000,
        content: {
          kind: dice.hits(0.9) ? 'action' : 'note',
          event: {
            kind,
            reason,
            ...(dice.hits(0.8) ? { order } : {}),
            ...(dice.hits(0.8) ? { positionId: '41' } : {}),
            ...(dice.hits(0.8) ? { ruleId: 'near' } : {}),
          },
        },
      },
    })),
  ) as unknown as Parameters<typeof wouldBeOrders>[0];
  const points = some(dice, [0, 1, 3, 6], (index) => ({
    atMs: 999 + index,
    values: dice.hits(0.9) ? { markPrice: 1_000 + 5 * dice.of(-4, -3, -2, -1, 0, 1, 2, 3, 4) } : {},
  }));
  const outcome = wouldHave(would, points);
  return [
    JSON.stringify(wouldBeOrders(records)),
    `${JSON.stringify(points.map(({ values }) => values))} ${wouldHaveWords(would, outcome, 'USDT')}`,
  ];
}

const linesOf = (dice: Dice): readonly string[] =>
  [followed, noted, reported, observed].flatMap((make) => make(dice));

test('what orders cost, and how it is told', async () => {
  const dice = new Dice(11);
  const lines = Array.from({ length: 25 }, (_, index) => [`-- ${index}`, ...linesOf(dice)].join('\n'));
  const file = path.join(import.meta.dirname, 'transcripts', 'scenes.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

test.for([1, 2, 3, 4, 5])('two hundred scenes by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 200; index += 1) hash.update(linesOf(dice).join('\n'));
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});

test('what is not known is never taken for nothing', () => {
  const dice = new Dice(12);
  for (let index = 0; index < 500; index += 1) {
    const cost = costOf(dice, index);
    const { slippage, slippageAtMost, fee } = costFigures(cost);
    expect(slippage === null).toBe(cost.fill === null || cost.decidedPrice === null);
    expect(slippageAtMost === null).toBe(cost.decidedPrice === null);
    if (cost.fee === null) expect(fee).toBeNull();
    if (slippage !== null) expect(slippageAtMost).toBe(slippage);
  }
});
