import { z } from 'zod';
import type { AuditRecord } from '../audit/audit-record.ts';
import { decimal, named, type OutputOf, timeMs } from '../schema/parts.ts';
import { actionCostSchema, costFigures } from './action-cost.ts';

/** An order that closed something, with the newest cost that the audit has of it. */
export const pricedActionSchema = named('PricedAction', () => ({
  atMs: timeMs(),
  ruleId: z.string(),
  market: z.string(),
  positionId: z.string(),
  cost: actionCostSchema,
}));
export type PricedAction = OutputOf<typeof pricedActionSchema>;

/** Sum of the known figures. */
const knownSumSchema = named('KnownSum', () => ({
  known: z.number(),
  unknown: z.number().int().describe('Orders of which the figure is not known; they are not in the sum.'),
}));
export type KnownSum = OutputOf<typeof knownSumSchema>;

export const costTotalSchema = named('CostTotal', () => ({
  money: z.string(),
  orders: z.number().int(),
  slippage: knownSumSchema,
  fees: knownSumSchema,
  /** Known fills, else limit prices. */
  slippageAtMost: knownSumSchema,
}));
export type CostTotal = OutputOf<typeof costTotalSchema>;
type Sums = Omit<CostTotal, 'money'>;

export const costRowSchema = named('CostRow', () => ({
  ruleId: z.string(),
  market: z.string(),
  ...costTotalSchema.shape,
}));
export type CostRow = OutputOf<typeof costRowSchema>;

/** Fills from `fromMs` up to `toMs`; records oldest first, as the audit reads them. */
export function pricedActions(
  records: readonly Pick<AuditRecord, 'content'>[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly PricedAction[] {
  const actions = new Map<string, PricedAction>();
  for (const { content } of records) {
    if (content.kind !== 'action') continue;
    const { cost, ruleId = '', market = '', positionId = '' } = content.event;
    if (cost === undefined || cost.filledMs < fromMs || cost.filledMs >= toMs) continue;
    actions.set(cost.id, { atMs: cost.filledMs, ruleId, market, positionId, cost });
  }
  return [...actions.values()].toSorted((a, b) => a.atMs - b.atMs);
}

/** What others closed, or nobody knows who, oldest first. */
export const otherClosingSchema = named('OtherClosing', () => ({
  atMs: timeMs(),
  market: z.string(),
  by: z.string(),
  amountBase: decimal().describe('Base currency.'),
  words: z.string(),
}));
export type OtherClosing = OutputOf<typeof otherClosingSchema>;

export function otherClosings(
  records: readonly Pick<AuditRecord, 'content'>[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly OtherClosing[] {
  return records.flatMap(({ content }): readonly OtherClosing[] => {
    if (content.kind !== 'action' || content.event.kind !== 'closedByOthers') return [];
    const { atMs, market = '', reason: by, sizeBase: amountBase, words } = content.event;
    return amountBase === undefined || atMs < fromMs || atMs >= toMs
      ? []
      : [{ atMs, market, by, amountBase, words }];
  });
}

/** By rule and market. Currencies are never added up. */
export function costRows(actions: readonly PricedAction[]): readonly CostRow[] {
  const groups = Map.groupBy(actions, ({ ruleId, market, cost }) =>
    JSON.stringify([ruleId, market, cost.money]),
  );
  return [...groups].map(([key, group]) => {
    const [ruleId = '', market = '', money = ''] = JSON.parse(key) as string[];
    return sumOf(group, { ruleId, market, money });
  });
}

/** Totals by money currency. */
export function costTotals(actions: readonly PricedAction[]): readonly CostTotal[] {
  const groups = Map.groupBy(actions, ({ cost }) => cost.money);
  return [...groups].map(([money, group]) => sumOf(group, { money }));
}

/** Totals of the rows of several accounts, by money currency. */
export function totalsOfRows(rows: readonly CostRow[]): readonly CostTotal[] {
  const add = (group: readonly CostRow[], of: (row: CostRow) => KnownSum): KnownSum => ({
    known: group.reduce((sum, row) => sum + of(row).known, 0),
    unknown: group.reduce((sum, row) => sum + of(row).unknown, 0),
  });
  return [...Map.groupBy(rows, ({ money }) => money)].map(([money, group]) => ({
    money,
    orders: group.reduce((sum, { orders }) => sum + orders, 0),
    slippage: add(group, ({ slippage }) => slippage),
    slippageAtMost: add(group, ({ slippageAtMost }) => slippageAtMost),
    fees: add(group, ({ fees }) => fees),
  }));
}

function sumOf<T>(actions: readonly PricedAction[], group: T): T & Sums {
  const figures = actions.map(({ cost }) => costFigures(cost));
  const sum = (of: (one: (typeof figures)[number]) => number | null): KnownSum => {
    const values = figures.map(of);
    const known = values.filter((value) => value !== null);
    return {
      known: known.reduce((total, value) => total + value, 0),
      unknown: values.length - known.length,
    };
  };
  return {
    ...group,
    orders: actions.length,
    slippage: sum(({ slippage }) => slippage),
    slippageAtMost: sum(({ slippageAtMost }) => slippageAtMost),
    fees: sum(({ fee }) => fee),
  };
}
