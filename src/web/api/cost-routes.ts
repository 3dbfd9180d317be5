import { z } from 'zod';
import {
  costTotalSchema,
  costTotals,
  type PricedAction,
  pricedActions,
} from '../../core/costs/cost-report.ts';
import { MS_PER_DAY } from '../../core/quantities/units.ts';
import { named, timeMs } from '../../core/schema/parts.ts';
import { byAccount, requireAccount } from './read-routes.ts';
import { type ApiContext, type ApiRoute, route } from './route.ts';

// What protection cost, with the same sums as `breakwater report`; see docs/protection-cost.md.

export const costsReply = named('Costs', () => ({
  fromMs: timeMs(),
  isComplete: z.boolean().describe('false: older orders of the time were not looked at.'),
  totals: z.array(costTotalSchema),
}));

/** Bounds the records read for one request. */
const PAGE = 500;
const MOST_PAGES = 8;

const getCosts = route({
  id: 'getCosts',
  path: '/api/v1/accounts/:id/costs',
  summary: 'What the orders that closed something have cost, by money currency.',
  params: byAccount,
  query: z.strictObject({ days: z.coerce.number().int().min(1).max(366).default(30) }),
  reply: costsReply,
  async answer(context, { params: { id }, query: { days } }) {
    requireAccount(context.views, id);
    const fromMs = context.nowMs() - days * MS_PER_DAY;
    const { actions, isComplete } = await actionsSince(context, id, fromMs);
    return { fromMs, isComplete, totals: costTotals(actions) };
  },
});

/** Reads backwards from the newest record: an order can have several records, and the newest counts. */
async function actionsSince({ audit }: Pick<ApiContext, 'audit'>, id: string, fromMs: number) {
  const actions = new Map<string, PricedAction>();
  let records = await audit.tail(id, PAGE);
  for (let page = 1; ; page += 1) {
    const found = pricedActions(
      records.map(({ record }) => record),
      { fromMs, toMs: Number.POSITIVE_INFINITY },
    );
    for (const action of found) if (!actions.has(action.cost.id)) actions.set(action.cost.id, action);
    const [oldest] = records;
    const isOver = oldest === undefined || oldest.number <= 1 || oldest.record.atMs < fromMs;
    if (isOver || page === MOST_PAGES) return { actions: [...actions.values()], isComplete: isOver };
    const range = { from: Math.max(1, oldest.number - PAGE), to: oldest.number - 1, limit: PAGE };
    records = await audit.read(id, range);
  }
}

export const COST_ROUTES: readonly ApiRoute[] = [getCosts];
