import { describe, expect, test } from 'vitest';
import type { Reply } from '../../src/simulator/http/reply.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { auditTrailOf } from '../faults/audit-trail.ts';
import { Dice } from '../support/dice.ts';
import { isOurs } from '../support/own-orders.ts';
import { sliceOf } from '../support/slice.ts';
import { alterReplies } from './altered-replies.ts';
import { longAccount } from './long-account.ts';

/**
 * The acting daemon over arbitrary replies to its orders and cancels: any status, any body, in any order, whether the
 * exchange took the request or not. The market stands still, so nothing explains a request: judged by what arrives.
 * `SEED=17 npm test -- test/world/any-reply.test.ts` plays one seed alone.
 */

const STOP_LIMIT = 'order/collateral/stop-limit';
const CANCEL = 'order/cancel/all';
const POSITIONS = 'collateral-account/positions/open';
const PLAYED_MS = 150_000;
const MOST_SETS = 12;

/** Within a tenth of liquidation one set goes every 10 s, else one a minute. */
const ACCOUNTS = {
  near: { usdt: '2500', below: '7%', paceMs: 10_000 },
  far: { usdt: '20000', below: '90%', paceMs: 60_000 },
} as const;

function specOf(seed: number, { usdt, below }: (typeof ACCOUNTS)['near' | 'far']): WorldSpec {
  const target = ['by: 50%', 'by: 30%', 'to: 0%', 'by: 50%'][seed % 4];
  const cancel = seed % 5 === 0 ? 'never' : 'always';
  const config = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], cancelCoversStops: ${seed % 3 === 0 ? 'no' : 'yes'} }
acting: { cancel: ${cancel}, maxAttempts: 1000, maxRenewals: 1000 }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: ${below} } }
    severity: critical
    do: [${seed % 2 === 0 ? '{ cancelAll: { types: [futures], scope: market } }, ' : ''}{ reduce: { ${target}, slippage: 1% } }]
`;
  const points = [
    [0, '60000'],
    [PLAYED_MS, '60000'],
  ] as const;
  return {
    seed,
    durationMs: PLAYED_MS,
    exchange: { accounts: [longAccount(usdt)], depth: '5' },
    prices: [{ market: 'BTC_USDT', points, tickMs: 1_000 }],
    daemons: [{ name: 'north', config }],
    faults: [],
  };
}

const STATUSES: readonly [number, ...number[]] = [
  200, 200, 200, 200, 201, 204, 302, 400, 401, 403, 404, 409, 418, 422, 429, 451, 500, 502, 503, 504,
];
const LABELS: readonly [unknown, ...unknown[]] = [
  'FILLED',
  'CANCELLED',
  'NEW',
  'OPEN',
  'PARTIALLY_FILLED',
  'REJECTED',
  '',
  'ODD',
  null,
  7,
];
const NUMBERS: readonly [unknown, ...unknown[]] = ['0', '0.25', '1e9', '-1', '', null, 0, 'NaN', {}, []];
const CODES: readonly [unknown, ...unknown[]] = [
  0,
  1,
  2,
  10,
  13,
  30,
  31,
  32,
  33,
  36,
  112,
  114,
  116,
  150,
  174,
  250,
  453,
  -1,
  '30',
  null,
];
const WORDS: readonly [string, ...string[]] = [
  '',
  'no',
  'Too many requests',
  'price too low',
  'not found',
  '<html>',
  'step 0.1',
];

/** A body that some server might send: the true one with other fields, an error, or anything at all. */
function bodyOf(text: string, dice: Dice): string {
  const kind = Math.floor(dice.next() * 6);
  if (kind === 0)
    return dice.of('', '{}', '[]', 'null', 'true', '"ok"', '<html></html>', '{"a":', '\u{feff}{}');
  if (kind === 1) return JSON.stringify({ response: null, status: dice.of(...STATUSES) });
  if (kind === 2) {
    const errors = { [dice.of('amount', 'price', 'market', 'total', 'nonce')]: [dice.of(...WORDS)] };
    return JSON.stringify({ code: dice.of(...CODES), message: dice.of(...WORDS), errors });
  }
  const changed: unknown = {
    ...(dice.hits(0.9) && { status: dice.of(...LABELS) }),
    ...(dice.hits(0.5) && { left: dice.of(...NUMBERS), dealStock: dice.of(...NUMBERS) }),
    ...(dice.hits(0.5) && { deal_stock: dice.of(...NUMBERS), amount: dice.of(...NUMBERS) }),
    ...(dice.hits(0.3) && { clientOrderId: dice.of('', 'other', null), client_order_id: dice.of('', 'x') }),
    ...(dice.hits(0.2) && { orderId: dice.of(...NUMBERS), market: dice.of('ETH_PERP', null) }),
  };
  return JSON.stringify(Object.assign(JSON.parse(text.startsWith('{') ? text : '{}'), changed));
}

interface Arrival {
  readonly atMs: number;
  readonly place: string;
}

/** Answers anything, half the time in the same way for a while; returns what arrives. */
function answerAnything(world: World, dice: Dice): readonly Arrival[] {
  const { front } = world.exchange;
  const receive = front.receive.bind(front);
  const arrivals: Arrival[] = [];
  const isSteady = dice.hits(0.5);
  let [seed, isTaken] = [Math.floor(dice.next() * 1e6), dice.hits(0.5)];
  front.receive = (region, request, connection) => {
    const path = request.path.replace('/api/v4/', '');
    if (path === POSITIONS && dice.hits(0.1)) {
      connection.send({ status: dice.of(500, 503, 200), body: 'no' }, '', false);
      return;
    }
    if (path !== STOP_LIMIT && path !== CANCEL) {
      receive(region, request, connection);
      return;
    }
    arrivals.push({ atMs: world.elapsedMs(), place: placeOf(path, request.body.toString()) });
    if (!isSteady || dice.hits(0.05)) [seed, isTaken] = [Math.floor(dice.next() * 1e6), dice.hits(0.5)];
    const reply = new Dice(seed);
    if (reply.hits(0.1)) {
      connection.reset();
      return;
    }
    const status = reply.of(...STATUSES);
    const changed = (text: string): Reply => ({ status, body: bodyOf(text, reply) });
    if (!isTaken) connection.send(changed('{}'), '', false);
    else
      receive(region, request, {
        send: ({ body }, dateText, isCut) => connection.send(changed(body), dateText, isCut),
        reset: () => connection.reset(),
      });
  };
  return arrivals;
}

/** The smallest amount is that of a trial order, which stands beside a reduction. */
function placeOf(path: string, body: string): string {
  if (path === CANCEL) return 'cancel';
  return Number((JSON.parse(body) as { amount: string }).amount) < 0.01 ? 'trial' : 'reduce';
}

/** When the sets of orders began, and when the cancels were sent. */
function setsOf(arrivals: readonly Arrival[]): { readonly orders: number[]; readonly cancels: number[] } {
  const sets = { orders: [] as number[], cancels: [] as number[] };
  let places = new Set<string>();
  for (const { atMs, place } of arrivals) {
    if (place === 'cancel') sets.cancels.push(atMs);
    else if (places.size === 0 || places.has(place)) sets.orders.push(atMs);
    places = place === 'cancel' ? new Set() : places.has(place) ? new Set([place]) : places.add(place);
  }
  return sets;
}

async function play(seed: number): Promise<{ readonly braked: number; readonly most: number }> {
  const account = ACCOUNTS[seed % 2 === 0 ? 'near' : 'far'];
  const dice = new Dice(seed);
  const world = openWorld(specOf(seed, account));
  const arrivals = answerAnything(world, dice);
  await world.run();
  const { orders, cancels } = setsOf(arrivals);
  for (const times of [orders, cancels]) {
    const [firstMs = 0] = times;
    for (const [index, atMs] of times.entries()) {
      const allowed = MOST_SETS + 1 + Math.floor((atMs - firstMs) / account.paceMs);
      expect(index + 1, `seed ${seed}: sets within ${atMs - firstMs} ms`).toBeLessThanOrEqual(allowed);
    }
  }
  const { events } = await auditTrailOf(world, 0);
  const alarms = events.filter(({ kind, reason }) => kind === 'braked' && reason === 'nothingChanges');
  expect(alarms.length, `seed ${seed}: alarms`).toBeLessThanOrEqual(2);
  expect(world.errors, `seed ${seed}`).toEqual([]);
  return { braked: alarms.length, most: Math.max(orders.length, cancels.length) };
}

const ONLY = process.env['SEED'];

describe('whatever is answered, a stream of requests that changes nothing is a dozen sets', () => {
  const all = Array.from({ length: 30 }, (_, chunk) => chunk * 10);
  const chunks = ONLY === undefined ? sliceOf(all, 5, 'tens of seeds') : [Number(ONLY)];
  let braked = 0;
  test.each(chunks)('ten seeds from %i', async (from) => {
    const seeds = ONLY === undefined ? Array.from({ length: 10 }, (_, index) => from + index) : [from];
    for (const seed of seeds) braked += (await play(seed)).braked;
  });
  test.runIf(ONLY === undefined)('and many of these streams do reach the brake', () => {
    expect(braked).toBeGreaterThan(1.5 * chunks.length);
  });
});

test('orders that are answered as filled in full, and rest, added up to twelve times the reduction', async () => {
  // By 30 %, far from liquidation.
  const world = openWorld(specOf(1, ACCOUNTS.far));
  alterReplies(world, {
    [STOP_LIMIT]: (body, { amount }) => ({
      ...(body as object),
      status: 'FILLED',
      left: '0',
      deal_stock: amount,
      dealStock: amount,
    }),
  });
  await world.run();
  const placed = world.exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' }).filter(isOurs);
  const [first] = placed;
  if (first === undefined) throw new Error('nothing was sent');
  // One order more than what is to be closed, then one a minute.
  let sum = 0;
  for (const { atMs, amount } of placed) {
    sum += Number(amount);
    const most = 2 + Math.floor((atMs - first.atMs) / 60_000);
    expect(sum / 0.15, `${atMs - first.atMs} ms after the first`).toBeLessThanOrEqual(most + 1e-9);
  }
  expect(placed.length).toBeGreaterThan(1);
  const { events } = await auditTrailOf(world, 0);
  expect(events.filter(({ kind }) => kind === 'braked').map(({ reason }) => reason)).toEqual([
    'sumOfAmounts',
  ]);
});
