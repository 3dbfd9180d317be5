import { z } from 'zod';
import type { ChainedRecord } from '../../core/audit/audit-record.ts';
import { NOTHING_MEANT, operatorOrderReply, slippageFault } from '../../core/controls/controls.ts';
import { isPolled, missingOrder, openOrders } from '../../core/controls/open-orders.ts';
import {
  closesWhen,
  type MeantOrder,
  missingPosition,
  orderObstacles,
  planLines,
} from '../../core/controls/order-plan.ts';
import type { OperatorOrderDraft } from '../../core/ports/operator-controls.ts';
import { isDecimalString, parseDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { MS_PER_MINUTE } from '../../core/quantities/units.ts';
import type { ReduceTarget } from '../../core/rules/rule.ts';
import { named } from '../../core/schema/parts.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { authorOf, by, inForce, line } from './authored.ts';
import { ApiError } from './errors.ts';
import { byAccount, viewOf } from './read-routes.ts';
import { type ApiContext, type ApiRoute, route } from './route.ts';

// Operator orders, like `breakwater reduce` and `breakwater flatten`: a preview first, then the order.

const fraction = z.number().min(0).max(1);
const above0 = z.number().gt(0).max(1);
const target: z.ZodType<ReduceTarget> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('by'), fraction: above0 }),
  z.strictObject({ kind: z.literal('to'), fraction }),
  z.strictObject({ kind: z.literal('toNotional'), notional: z.string().refine(isAbove0, 'must be above 0') }),
  z.strictObject({ kind: z.literal('untilDistance'), distance: above0 }),
]);

function isAbove0(text: string): boolean {
  const value = isDecimalString(text) ? parseDecimal(text) : undefined;
  return value?.gt(ZERO) === true;
}

const slippageSteps = z
  .array(z.number().min(0).max(0.5))
  .min(1)
  .max(10)
  .default([0.005, 0.01, 0.02])
  .describe('Of each attempt in turn, as fractions.');

const meant = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('reduce'),
    positionId: z.string().min(1).max(100),
    target,
    slippageSteps,
  }),
  z.strictObject({
    kind: z.literal('flatten'),
    markets: z
      .array(z.string().min(1).max(100))
      .min(1)
      .max(50)
      .default(['*'])
      .describe('Markets; `*` and `?` stand for anything.'),
    slippageSteps,
    urgent: z
      .literal(true)
      .exactOptional()
      .describe('Close whichever way the market moves: a stop on either side of it.'),
  }),
]);

const orderId = () =>
  z
    .string()
    .regex(/^[a-z0-9]{1,64}$/i)
    .describe('As it was answered when it was made.');

export type AskedOrder = z.output<typeof meant>;

const shown = {
  plan: z
    .array(z.strictObject({ label: z.string(), text: z.string() }))
    .describe('What it will do, in words.'),
  closesWhen: z.string(),
  obstacles: z.array(z.string()).describe('Why nothing may happen, as far as it can be seen now.'),
};

export const orderPreview = named('OrderPreview', () => shown);

export const preview = route({
  id: 'previewOrder',
  method: 'POST',
  path: '/api/v1/accounts/:id/orders/preview',
  access: 'operate',
  summary: 'What an order by hand would do. Nothing is ordered.',
  params: byAccount,
  body: z.strictObject({ order: meant }),
  status: 200,
  reply: orderPreview,
  async answer(context, { params: { id }, body }) {
    return planOf(context, await known(context, id), meantOrder(body.order));
  },
});

export const submit = route({
  id: 'order',
  method: 'POST',
  path: '/api/v1/accounts/:id/orders',
  access: 'operate',
  summary: 'Put an order by hand into the inbox of an account; the daemon carries it out with its next poll.',
  params: byAccount,
  body: z.strictObject({
    order: meant,
    ...by,
    withinMs: z
      .int()
      .min(1000)
      .max(1440 * MS_PER_MINUTE)
      .default(10 * MS_PER_MINUTE)
      .describe('Not begun later than this.'),
    key: line(64).describe('Names this order: sent again with the same key, it is not done twice.'),
  }),
  reply: named('OrderMade', () => ({ order: operatorOrderReply, ...shown })),
  async answer(context, { params: { id }, body, caller }) {
    const { order, reason, author: said, withinMs, key } = body;
    const author = authorOf(caller, said);
    const wanted = meantOrder(order);
    const plan = planOf(context, await known(context, id), wanted);
    const draft: OperatorOrderDraft = {
      kind: 'reduce',
      ...wanted,
      author,
      reason,
      expiresAtMs: context.nowMs() + withinMs,
    };
    return { order: await inForce(context.process, () => context.controls.submit(id, draft, key)), ...plan };
  },
});

export const orderOutcome = named('OrderOutcome', () => ({
  kind: z
    .enum(['waiting', 'taken', 'nothing', 'held', 'refused'])
    .describe(
      '`waiting`: in the inbox. `taken`: a daemon carries it out. `nothing`: it means no open position. `held`: nothing is sent for now.',
    ),
  why: z.string().nullable(),
}));

export const getOutcome = route({
  id: 'getOrderOutcome',
  path: '/api/v1/accounts/:id/orders/:orderId',
  summary: 'What has become of an order by hand in the first moments.',
  params: byAccount.extend({ orderId: orderId() }),
  reply: orderOutcome,
  async answer(context, { params: { id, orderId: order } }) {
    // The view first: the commit that takes the order out of the inbox also writes the reason to the audit.
    const view = await viewOf(context, id);
    if (!view.inbox.some((one) => one.id === order))
      return endOf(await context.audit.tail(id, RECORDS), view, order);
    const isNobody = context.orders.expected([]).kind === 'nobody' && !isPolled(view, context.nowMs());
    return { kind: 'waiting' as const, why: isNobody ? 'no daemon runs that could take it' : null };
  },
});

/** Newest records to search: they include those that a poll writes with the order. */
const RECORDS = 100;

function endOf(
  records: readonly ChainedRecord[],
  view: AccountView,
  order: string,
): z.output<typeof orderOutcome> {
  const contents = records.map(({ record }) => record.content);
  const ruleId = `operator:${order}`;
  const isBegun = contents.some(
    (one) => one.kind === 'action' && one.event.kind === 'intentOpened' && one.event.ruleId === ruleId,
  );
  const note = contents.findLast((one) => one.kind === 'note' && one.detail?.['orderId'] === order);
  if (note?.kind === 'note' && note.words === NOTHING_MEANT) return { kind: 'nothing', why: null };
  if (note?.kind === 'note' && !isBegun)
    return { kind: 'refused', why: note.words.replace(/^refused: /, '') };
  if (view.pause !== null) return { kind: 'held', why: 'it is paused: nothing is sent before it is resumed' };
  if (view.intents.some((intent) => intent.ruleId === ruleId && intent.mode === 'observe'))
    return { kind: 'held', why: 'the account is in observe mode: it is recorded, and nothing is sent' };
  return { kind: 'taken', why: null };
}

export const withdraw = route({
  id: 'withdrawOrder',
  method: 'DELETE',
  path: '/api/v1/accounts/:id/orders/:orderId',
  access: 'operate',
  summary: 'Take an order by hand back, begun or not; orders of Breakwater for it are cancelled.',
  params: byAccount.extend({ orderId: orderId() }),
  body: z.strictObject(by),
  reply: named('OrderWithdrawn', () => ({
    order: operatorOrderReply,
    isSeen: z
      .boolean()
      .describe(
        'It was open; otherwise the account has not been polled for a minute, or its store is lost, and nobody can tell.',
      ),
  })),
  async answer(context, { params: { id, orderId: taken }, body: { reason, author: said }, caller }) {
    const view = await known(context, id);
    expectedOf(context.orders, []);
    const missing = missingOrder(taken, view, context.nowMs());
    if (missing !== undefined) throw new ApiError(404, 'notFound', `${missing.words} ${missing.cure}`);
    const draft: OperatorOrderDraft = {
      kind: 'withdraw',
      orderId: taken,
      author: authorOf(caller, said),
      reason,
      expiresAtMs: context.nowMs() + 10 * MS_PER_MINUTE,
    };
    const order = await inForce(context.process, () =>
      context.controls.submit(id, draft, `withdraw ${taken}`),
    );
    return { order, isSeen: openOrders(view).includes(taken) };
  },
});

function meantOrder(order: z.output<typeof meant>): MeantOrder {
  const { slippageSteps: steps } = order;
  return order.kind === 'flatten'
    ? {
        markets: order.markets,
        target: { kind: 'to', fraction: 0 },
        slippageSteps: steps,
        flatten: true,
        ...(order.urgent === true ? { urgent: order.urgent } : {}),
      }
    : { positionId: order.positionId, target: order.target, slippageSteps: steps, flatten: false };
}

/** @throws ApiError if there is no such account, or its stored state cannot be read */
async function known(context: ApiContext, id: string): Promise<AccountView> {
  const view = await viewOf(context, id);
  if (view.refused !== null) throw new ApiError(409, 'refused', view.refused.message);
  return view;
}

const LESS_SLIPPAGE =
  'nothing was ordered. Say less, or set operators.maxSlippage in the config and restart the daemon';

/** @throws ApiError if the position does not exist, or every daemon would refuse the order */
function planOf({ orders, nowMs }: ApiContext, view: AccountView, order: MeantOrder) {
  const fault = slippageFault(order.slippageSteps, orders.maxSlippage);
  if (fault !== undefined) throw new ApiError(400, 'badRequest', `${fault}: ${LESS_SLIPPAGE}`);
  const missing = missingPosition(order, view);
  if (missing !== undefined) throw new ApiError(404, 'notFound', `${missing.words} ${missing.cure}`);
  const expected = expectedOf(orders, order.slippageSteps);
  const unsure =
    expected.kind === 'unsure' ? [`One of several daemons would refuse it: ${expected.why}.`] : [];
  return {
    plan: planLines(order, view, (market) => orders.gapOf(view.accountId, market)),
    closesWhen: closesWhen(order),
    obstacles: [...unsure, ...orderObstacles(view, nowMs())],
  };
}

/** @throws ApiError if every daemon would refuse it */
function expectedOf(orders: ApiContext['orders'], slippageSteps: readonly number[]) {
  const expected = orders.expected(slippageSteps);
  if (expected.kind !== 'refused') return expected;
  const message = `${expected.why}: nothing was ordered. To be flat now use the exchange`;
  throw new ApiError(409, 'refused', message);
}

export const ORDER_ROUTES: readonly ApiRoute[] = [preview, submit, getOutcome, withdraw];
