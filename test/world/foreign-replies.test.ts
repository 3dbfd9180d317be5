import { describe, expect, test } from 'vitest';
import type { FaultSpec } from '../../src/simulator/http/faults.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldEvent, WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { type Alter, alterReplies } from './altered-replies.ts';
import { longAccount } from './long-account.ts';

/** The acting daemon, with replies as other servers write them: judged by the exchange's ledger. */

const BREACH_MS = 30_000;

const configOf = (rule: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: ${rule}
    severity: critical
`;

const HALVE = configOf(
  '{ liquidationDistance: { below: 5%, clearAbove: 8% } }\n    do: [{ reduce: { by: 50%, slippage: 1% } }]',
);

function worldOf(
  alters: Readonly<Record<string, Alter>>,
  config = HALVE,
  to = '55200',
  faults: readonly FaultSpec[] = [],
  market = 'BTC_PERP',
): World {
  const spec: WorldSpec = {
    seed: 5,
    durationMs: BREACH_MS + 60_000,
    exchange: {
      accounts: [longAccount('4500', { positions: [{ market, side: 'long', amount: '0.500' }] })],
      depth: '5',
      ...(market === 'BTC_PERP' ? {} : { prices: { [market]: '60000' } }),
    },
    prices: [
      {
        market: market === 'BTC_PERP' ? 'BTC_USDT' : market,
        points: [
          [0, '60000'],
          [BREACH_MS, '60000'],
          [BREACH_MS + 100, to],
          [BREACH_MS + 20_000, to],
          [BREACH_MS + 30_000, String(Number(to) - 300)],
        ],
        tickMs: 100,
      },
    ],
    daemons: [{ name: 'north', config }],
    faults: faults.map((fault) => ({ atMs: 0, fault })),
  };
  const world = openWorld(spec);
  alterReplies(world, alters);
  return world;
}

const STOP_LIMIT = 'order/collateral/stop-limit';
const POSITIONS = 'collateral-account/positions/open';

const entries = (world: World, kind: 'order_placed' | 'liquidation_started') =>
  world.exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' });
const ourOrders = (world: World): number => entries(world, 'order_placed').filter(isOurs).length;
const sizeLeft = (world: World): string =>
  world.exchange.model.openPositions('desk-1')[0]?.amount.abs().toFixed(3) ?? '0.000';

describe('a resting stop', () => {
  test.each([
    ['FILLED', 'with everything left: it is counted, not sent again'],
    ['RESTING', 'which nobody knows'],
    [undefined, 'left out'],
  ])('is answered with status %s, %s', async (status, _what) => {
    const world = worldOf({ [STOP_LIMIT]: (body) => ({ ...(body as object), status }) });
    await world.run();
    expect(sizeLeft(world)).toBe('0.250');
    expect(ourOrders(world)).toBeLessThanOrEqual(3);
    expect(world.errors).toEqual([]);
  });
});

const AT_MARGIN_CALL = configOf(
  '{ liquidationState: { in: [margin_call, liquidation, unrecognised] } }\n    do: [{ reduce: { by: 50%, slippage: 1% } }]',
);
const CLOSED = { amount: '0', liquidationPrice: '0', basePrice: '0', pnl: '0', unrealizedPnl: '0' };
const CLOSE: WorldEvent = {
  kind: 'trade',
  account: 'desk-1',
  market: 'BTC_PERP',
  side: 'sell',
  amount: '0.5',
};
const withField =
  (name: string, value: unknown): Alter =>
  (body) =>
    (body as object[]).map((position) => Object.assign(position, { [name]: value }));

describe('at a margin call one field of the position cannot be read', () => {
  test.each([
    ['unrealizedPnl', null],
    ['basePrice', ''],
    ['margin', null],
    ['freeMargin', null],
    ['funding', ''],
    ['openDate', null],
    ['modifyDate', 'yesterday'],
    ['positionSide', null],
    ['pnl', {}],
    ['pnlPercent', 'n/a'],
    ['tpsl', []],
    ['liquidationPrice', 'n/a'],
  ])('%s is %j: the position is reduced all the same', async (name, value) => {
    const world = worldOf({ [POSITIONS]: withField(name, value) }, AT_MARGIN_CALL, '52700');
    await world.run();
    expect(entries(world, 'liquidation_started')).toEqual([]);
    expect(sizeLeft(world)).toBe('0.250');
  });
});

const CANCEL = 'order/cancel/all';
const STEPWISE = configOf(
  '{ liquidationDistance: { below: 5%, clearAbove: 12% } }\n    do: [{ reduce: { untilDistance: 10%, slippage: 1% } }]\n    escalate: [{ after: 5s, do: [{ cancelAll: { types: [futures], scope: market } }, { reduce: { by: 50%, slippage: 2% } }] }]',
);

test.each([
  '{"response":null,"status":503}',
  '{"success":false}',
  '{"code":"30","message":"internal error"}',
])('a cancel that failed with %s under HTTP 200 is believed, and too much is closed', async (text) => {
  const failed: FaultSpec = { effect: { kind: 'status', status: 503 }, target: { endpoint: 'cancelAll' } };
  const world = worldOf({ [CANCEL]: () => text }, STEPWISE, '55200', [failed]);
  await world.run();
  expect(sizeLeft(world)).toBe('0.250');
});

describe('the client order id is not echoed', () => {
  const withoutId: Alter = (body) => Object.assign(body as object, { client_order_id: '' });
  const lostAfter = (skip: number): FaultSpec => ({
    effect: { kind: 'lostReply' },
    target: { endpoint: 'stopLimit' },
    skip,
    count: 1,
  });

  /** A server that does not know the field takes the same order twice. */
  function forgetIds({ exchange: { model } }: World): void {
    const place = model.placeCollateralOrder.bind(model);
    model.placeCollateralOrder = (id, order) => place(id, { ...order, clientOrderId: '' });
  }

  const WITH_STOP = HALVE.replace('below: 5%, clearAbove: 8%', 'below: 8%, clearAbove: 11%')
    .replace('rules: [near]', 'rules: [keep, near]')
    .replace(
      'rules:\n  - id: near',
      `rules:
  - id: keep
    on: position
    when: { liquidationDistance: { below: 50% } }
    do: [{ protect: { at: 60%, slippage: 2% } }]
  - id: near`,
    );

  test('and one reply is lost: a second order asks whether it stands, and both fill', async () => {
    const world = worldOf({ [STOP_LIMIT]: withoutId }, WITH_STOP, '56800', [lostAfter(1)]);
    forgetIds(world);
    await world.run();
    expect(sizeLeft(world)).toBe('0.250');
  });
});

test.each(['kPEPE_PERP', '币安人生_PERP'])('the market %s is watched, and never reduced', async (market) => {
  const world = worldOf({}, HALVE.replace('BTC_PERP', market), '55200', [], market);
  await world.run();
  expect(sizeLeft(world)).toBe('0.250');
});

test('a closed position is still listed, with amount 0 and liquidation price 0: reminders without end', async () => {
  let last: object = {};
  const listed: Alter = (body) => {
    const [position] = body as object[];
    if (position === undefined) return [{ ...last, ...CLOSED }];
    last = position;
    return body;
  };
  const config = AT_MARGIN_CALL.replace(
    'do: [{ reduce: { by: 50%, slippage: 1% } }]',
    'do: [{ notify: {} }]',
  );
  const world = worldOf({ [POSITIONS]: listed }, config, '52700');
  world.schedule(BREACH_MS + 5_000, () => void world.apply(CLOSE));
  await world.run(3 * 3_600_000);
  const told = world.daemon('north').notices.map(({ kind }) => kind);
  expect(told.filter((kind) => kind === 'firing' || kind === 'reminder')).toHaveLength(1);
  expect(told).toContain('resolved');
});
