import { z } from 'zod';
import type { AuditEvent } from '../audit/audit-event.ts';
import type { ChainedRecord } from '../audit/audit-record.ts';
import { waitsForFall } from '../orders/outstanding.ts';
import type { HistoryPoint } from '../ports/history-reader.ts';
import { stockOf } from '../quantities/units.ts';
import type { SubjectKey } from '../rules/subject.ts';
import { positionKey } from '../rules/subjects.ts';
import { type OutputOf, timeMs } from '../schema/parts.ts';
import { moneyText } from './cost-words.ts';

/** An order that observe mode held back, from the audit. */
export interface WouldBeOrder extends Required<Pick<AuditEvent, 'atMs' | 'ruleId' | 'positionId' | 'order'>> {
  /** Number of its audit record. */
  readonly seq: number;
}

/** What an order would have done, estimated from the marks recorded since. */
export const wouldHaveSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('unknown') }),
  z.strictObject({ kind: z.literal('notReached'), mark: z.number() }),
  /** Activated, but the market has been past its limit ever since. */
  z.strictObject({ kind: z.literal('notFilled'), mark: z.number() }),
  z.strictObject({
    kind: z.literal('closed'),
    atMs: timeMs(),
    price: z.number(),
    mark: z.number(),
    gained: z.number().describe('In money; below 0: it would have cost as much.'),
  }),
]);
export type WouldHave = OutputOf<typeof wouldHaveSchema>;

/** Orders that observe mode held back. Those that awaited approval are omitted: they are reported with their answer. */
export function wouldBeOrders(records: readonly ChainedRecord[]): readonly WouldBeOrder[] {
  return records.flatMap(({ number, record }) => {
    const { content, atMs } = record;
    if (content.kind !== 'action') return [];
    const { kind, reason, order, positionId, ruleId = '' } = content.event;
    if (kind !== 'wouldPlace' || reason !== 'observeMode') return [];
    return order === undefined || positionId === undefined
      ? []
      : [{ seq: number, atMs, ruleId, positionId, order }];
  });
}

/**
 * Assumes a fill at the activation if a mark is at or past it and within the limit, and at the limit if the market came
 * back from beyond it. Nothing is known between two recorded marks.
 * @param points of its position, oldest first
 */
export function wouldHave({ order, atMs }: WouldBeOrder, points: readonly HistoryPoint[]): WouldHave {
  const marks = points.flatMap((point) => {
    const mark = Number(point.values['markPrice']);
    return point.atMs >= atMs && mark > 0 ? [{ atMs: point.atMs, mark }] : [];
  });
  const mark = marks.at(-1)?.mark;
  if (mark === undefined) return { kind: 'unknown' };
  const [activation, limit] = [Number(order.activationPrice), Number(order.price)];
  const isPast = waitsForFall(order)
    ? (price: number) => price <= activation
    : (price: number) => price >= activation;
  const first = marks.findIndex((one) => isPast(one.mark));
  if (first < 0) return { kind: 'notReached', mark };
  const isWithin = (price: number): boolean => (order.side === 'sell' ? price >= limit : price <= limit);
  const filled = marks.findIndex((one, index) => index >= first && isWithin(one.mark));
  const at = marks[filled];
  if (at === undefined) return { kind: 'notFilled', mark };
  const price = filled === first ? activation : limit;
  const direction = order.side === 'sell' ? 1 : -1;
  return {
    kind: 'closed',
    atMs: at.atMs,
    price,
    mark,
    gained: direction * (price - mark) * Number(order.amount),
  };
}

export interface JudgedOrder {
  readonly order: WouldBeOrder;
  readonly outcome: WouldHave;
}

/** Judges several orders, reading the marks of each position once. */
export async function outcomesBy(
  orders: readonly WouldBeOrder[],
  read: (subject: SubjectKey) => Promise<readonly HistoryPoint[]>,
): Promise<readonly JudgedOrder[]> {
  const ids = [...new Set(orders.map(({ positionId }) => positionId))];
  const points = new Map(
    await Promise.all(ids.map(async (id) => [id, await read(positionKey(id))] as const)),
  );
  return orders.map((order) => ({ order, outcome: wouldHave(order, points.get(order.positionId) ?? []) }));
}

/** `would have closed 0.5 BTC at about 59940; the mark is 61200 now: that would have cost 630 USD`. */
export function wouldHaveWords({ order }: WouldBeOrder, outcome: WouldHave, money: string): string {
  switch (outcome.kind) {
    case 'unknown':
      return 'no mark is recorded since';
    case 'notReached':
      return `would not have filled: the price has not been at ${order.activationPrice}; the mark is ${outcome.mark} now`;
    case 'notFilled':
      return `would not have filled: the price leapt past the limit ${order.price}; the mark is ${outcome.mark} now`;
    case 'closed': {
      const amount = moneyText(Math.abs(outcome.gained), money);
      const worth =
        outcome.gained === 0
          ? 'neither cost nor saved anything'
          : `${outcome.gained < 0 ? 'cost' : 'saved'} ${amount}`;
      return `would have closed ${order.amount} ${stockOf(order.market)} at about ${outcome.price}; the mark is ${outcome.mark} now: that would have ${worth}`;
    }
  }
}
