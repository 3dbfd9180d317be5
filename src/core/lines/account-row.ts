import { z } from 'zod';
import { modeSchema, severitySchema } from '../rules/rule.ts';
import { figure, named, type OutputOf } from '../schema/parts.ts';
import { type AccountView, worthSchema } from '../view/account-view.ts';
import { rankOf, stateSchema } from '../view/state-line.ts';

/**
 * One account as a row in the list of all: enough to sort, group and find it, and to see whether it needs a person.
 * Figures are rounded, so that a row changes only when the change is visible.
 */
export const accountRowSchema = named(
  { id: 'Row', description: 'One account in one line; figures are rounded.' },
  () => ({
    accountId: z.string(),
    state: stateSchema,
    labels: z.record(z.string(), z.string()),
    mode: modeSchema.nullable(),
    worst: severitySchema.nullable(),
    /** How far prices may move before the first liquidation or margin call, a fraction. */
    nearest: figure(),
    atRisk: z.array(worthSchema),
    /** Distinct and sorted, as the ids below. */
    holds: z.array(z.string()).describe('Markets of positions and assets of credit lines.'),
    firing: z.array(z.string()).describe('Ids of the rules that fire.'),
    doing: z.strictObject({
      /** In progress. */
      reductions: z.number().int(),
      /** Of reductions. */
      orders: z.number().int().describe('At the exchange, or on their way.'),
      stops: z.number().int().describe('Standing ones.'),
      byHand: z.number().int().describe('Orders by hand that have not begun.'),
    }),
    silences: z.number().int(),
    rank: z.number().int().describe('Smaller matters more to a person.'),
  }),
);
export type AccountRow = OutputOf<typeof accountRowSchema>;

const DISTANCE_DIGITS = 4;
const WORTH_DIGITS = 3;

export function accountRow(view: AccountView): AccountRow {
  const { accountId, state, labels, mode, worst, nearest, atRisk, positions, creditLines, rules } = view;
  const { intents, orders, inbox, silences } = view;
  const out = orders.filter(({ status }) => status !== 'presumedFilled' && status !== 'observed');
  const fired = rules.filter(({ phase }) => phase === 'firing').map(({ ruleId }) => ruleId);
  return {
    accountId,
    state,
    labels,
    mode,
    worst,
    nearest: typeof nearest === 'number' ? Number(nearest.toFixed(DISTANCE_DIGITS)) : nearest,
    atRisk: atRisk.map(({ money, worth }) => ({
      money,
      worth: worth === null ? null : Number(worth.toPrecision(WORTH_DIGITS)),
    })),
    holds: [
      ...new Set([...positions.map(({ market }) => market), ...creditLines.map(({ asset }) => asset)]),
    ].toSorted(),
    firing: [...new Set(fired)].toSorted(),
    doing: {
      reductions: intents.filter(({ ended }) => !ended).length,
      orders: out.filter(({ role }) => role === 'reduce').length,
      stops: out.filter(({ role }) => role === 'cover').length,
      byHand: inbox.filter(({ kind }) => kind === 'reduce').length,
    },
    silences: silences.length,
    rank: rankOf(state),
  };
}
