import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** `flatten --urgent`: a stop on either side of the market, judged by the exchange's ledger. */

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
acting: { fillWithin: 2s }
cadence: { calm: 1s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [watch] }
rules:
  - id: watch
    on: position
    when: { liquidationDistance: { below: 1% } }
    do: [{ reduce: { to: 0%, slippage: 1% } }]
`;

const START = 60_000;
const ORDERED_MS = 5_000;
const MOVES_MS = 15_000;

interface Scene {
  /** The price from `MOVES_MS` on, over ten seconds; default: constant. */
  readonly to?: number;
  readonly side?: 'long' | 'short';
  readonly hedgedBy?: string;
  /** A position in another market, which stays. */
  readonly beside?: string;
  readonly urgent?: boolean;
  readonly slippage?: number;
  readonly readings?: object;
  readonly depth?: string;
  readonly faults?: WorldSpec['faults'];
  readonly events?: readonly TimedEvent[];
}

function open({ to = START, side = 'long', ...scene }: Scene): World {
  const { hedgedBy, beside, urgent = true, slippage = 0.01, readings = {}, depth = '5', faults = [] } = scene;
  const other = side === 'long' ? 'short' : 'long';
  return openWorld({
    seed: 11,
    durationMs: 60_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '20000' },
          hedgeMode: hedgedBy !== undefined,
          positions: [
            { market: 'BTC_PERP', side, amount: '0.5' },
            ...(hedgedBy === undefined
              ? []
              : [{ market: 'BTC_PERP', side: other, amount: hedgedBy } as const]),
            ...(beside === undefined ? [] : [{ market: 'ETH_PERP', side, amount: beside }]),
          ],
        },
      ],
      readings: { ...readings },
      depth,
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, String(START)],
          [MOVES_MS, String(START)],
          [MOVES_MS + 10_000, String(to)],
        ],
        tickMs: 100,
      },
    ],
    daemons: [{ name: 'north', config: CONFIG }],
    faults,
    events: [
      {
        atMs: ORDERED_MS,
        kind: 'reduce',
        account: 'desk-1',
        markets: ['BTC_PERP'],
        target: { kind: 'to', fraction: 0 },
        slippage,
        flatten: true,
        ...(urgent ? { urgent: true } : {}),
      },
      ...(scene.events ?? []),
    ],
  });
}

async function played(scene: Scene) {
  const world = open(scene);
  await world.run();
  expect(world.errors).toEqual([]);
  return outcomeOf(world);
}

function outcomeOf({ exchange, startMs }: World) {
  const { model } = exchange;
  const of = (kind: 'order_placed' | 'order_rejected' | 'fill') =>
    model.ledger({ kinds: [kind], accountId: 'desk-1' });
  const fills = of('fill').map(({ side, amount, price }) => ({
    side,
    amount: Number(amount),
    price: Number(price),
  }));
  const stops = of('order_placed').map(({ atMs, side, amount, details = {} }) => ({
    atMs: atMs - startMs,
    side,
    amount: Number(amount),
    reduceOnly: details['reduceOnly'],
    above: Number(details['activationPrice']) > START,
    at: Number(details['activationPrice']),
  }));
  const sizes = model.openPositions('desk-1').map(({ direction, amount }) => [direction, String(amount)]);
  const refused = of('order_rejected').length;
  return { fills, stops, refused, sizes, open: model.openOrders('desk-1').length };
}

const sumOf = (fills: readonly { readonly amount: number }[]): number =>
  Number(fills.reduce((sum, { amount }) => sum + amount, 0).toFixed(6));

test.each([
  ['long', 'falls', START * 0.995],
  ['long', 'rises', START * 1.005],
  ['short', 'falls', START * 0.995],
  ['short', 'rises', START * 1.005],
] as const)(
  'an urgent close of a %s closes where the market %s, once, within its slippage',
  async (side, _, to) => {
    const { fills, stops, sizes, open: left } = await played({ side, to });
    expect(stops.every(({ reduceOnly }) => reduceOnly === true)).toBe(true);
    expect(new Set(stops.map(({ above }) => above))).toEqual(new Set([true, false]));
    expect(sumOf(fills)).toBe(0.5);
    expect(new Set(fills.map((fill) => fill.side))).toEqual(new Set([side === 'long' ? 'sell' : 'buy']));
    for (const { price } of fills) expect(Math.abs(price / START - 1)).toBeLessThan(0.011);
    expect({ sizes, left }).toEqual({ sizes: [], left: 0 });
  },
);

test('without --urgent nothing closes in a rising market, and one stop stands', async () => {
  const { fills, stops, sizes } = await played({ to: START * 1.005, urgent: false });
  expect([fills, sizes]).toEqual([[], [['long', '0.5']]]);
  const early = stops.filter(({ atMs }) => atMs < MOVES_MS);
  expect(early.map(({ above }) => above)).toEqual([false]);
});

test('in a constant market one stop stands on either side, and no order follows another', async () => {
  const { fills, stops, sizes, open: left } = await played({});
  expect([fills, sizes, left]).toEqual([[], [['long', '0.5']], 2]);
  expect(stops.map(({ above }) => above)).toEqual([false, true]);
});

test.each([0.997, 1.003])(
  'a partial fill on one side: the rest is closed, and no more (to %d)',
  async (factor) => {
    // The book within a slippage of 0.1 % holds less than the position.
    const { fills, sizes, open: left } = await played({ to: START * factor, slippage: 0.001, depth: '0.05' });
    expect(fills.length).toBeGreaterThan(1);
    expect(sumOf(fills)).toBe(0.5);
    expect({ sizes, left }).toEqual({ sizes: [], left: 0 });
  },
);

test('both sides of a hedge: two stops each, both closed, nothing opened', async () => {
  for (const to of [START * 0.995, START * 1.005]) {
    const { fills, stops, sizes, open: left } = await played({ to, hedgedBy: '0.2' });
    expect(new Set(stops.map(({ side, above }) => `${side} ${above}`)).size).toBe(4);
    expect(sumOf(fills.filter(({ side }) => side === 'sell'))).toBe(0.5);
    expect(sumOf(fills.filter(({ side }) => side === 'buy'))).toBe(0.2);
    expect({ sizes, left }).toEqual({ sizes: [], left: 0 });
  }
});

/** Readings with which the second stop is refused, or closes at once. */
test.each([
  [{ wrongSideActivation: 'refused' }, 'code 33: an activation above the market'],
  [{ reduceOnlyRoom: 'refused' }, 'code 116: no room beside the first'],
  [{ reduceOnlyRoom: 'trimmed' }, 'code 116: nothing is left beside the first'],
])(
  'a second stop that is refused (%j, %s) does not delay the first',
  async (readings: object, _why: string) => {
    const { fills, stops, sizes, open: left } = await played({ to: START * 0.995, readings });
    expect(new Set(stops.map(({ above }) => above))).toEqual(new Set([false]));
    const first = stops[0]?.atMs ?? Number.POSITIVE_INFINITY;
    expect(first).toBeLessThan(MOVES_MS);
    expect(sumOf(fills)).toBe(0.5);
    expect({ sizes, left }).toEqual({ sizes: [], left: 0 });
  },
);

test('a refusal on the other side does not change the prices of the first stop', async () => {
  // In a market that moves away the first stop is placed anew, at a price of what was learned until then.
  const scene = { to: START * 1.005, readings: { wrongSideActivation: 'refused' } } as const;
  const [urgent, alone] = [await played(scene), await played({ ...scene, urgent: false })];
  expect(urgent.stops.map(({ at }) => at)).toEqual(alone.stops.map(({ at }) => at));
  expect(urgent.stops.length).toBeGreaterThan(1);
  // Retried every 10 s, not at the pace of a reduction.
  expect(urgent.refused).toBeGreaterThan(0);
  expect(urgent.refused).toBeLessThanOrEqual(6);
  expect(urgent.sizes).toEqual(alone.sizes);
});

test('where an activation on the other side triggers at once it closes at once', async () => {
  const { fills, sizes, open: left } = await played({ readings: { wrongSideActivation: 'atOnce' } });
  expect(sumOf(fills)).toBe(0.5);
  expect({ sizes, left }).toEqual({ sizes: [], left: 0 });
});

const orderFault = (effect: object, skip: number) =>
  [{ atMs: 0, fault: { effect, target: { endpoint: 'stopLimit' }, count: 1, skip } }] as WorldSpec['faults'];

test.each([
  ['refused', { kind: 'status', status: 503 }, 0],
  ['refused', { kind: 'status', status: 503 }, 1],
  ['unanswered, and done all the same', { kind: 'lostReply', connection: 'reset' }, 0],
  ['unanswered, and done all the same', { kind: 'lostReply', connection: 'reset' }, 1],
  ['late', { kind: 'appliedLate', delayMs: 3_000 }, 1],
] as const)('one order %s (%j, number %d): closed once, in either direction', async (_, effect, skip) => {
  for (const to of [START * 0.995, START * 1.005]) {
    const { fills, sizes, open: left } = await played({ to, faults: orderFault(effect, skip) });
    expect(sumOf(fills)).toBe(0.5);
    expect({ sizes, left }).toEqual({ sizes: [], left: 0 });
  }
});

test('killed between the two orders, or after both, and started again: closed once, nothing left over', async () => {
  for (const killMs of [5_400, 5_900, 6_200, 9_000, 17_000, 18_200]) {
    for (const to of [START * 0.995, START * 1.005]) {
      const events: readonly TimedEvent[] = [
        { atMs: killMs, kind: 'kill', daemon: 'north' },
        { atMs: killMs + 2_000, kind: 'start', daemon: 'north' },
      ];
      const { fills, sizes, open: left } = await played({ to, events });
      expect([killMs, sumOf(fills)]).toEqual([killMs, 0.5]);
      expect([killMs, sizes, left]).toEqual([killMs, [], 0]);
    }
  }
});

test('after an urgent close the stop on the other side is removed at once', async () => {
  const readings = { reduceOnlyAfterClose: 'kept' };
  const scene = { to: START * 1.005, readings } as const;
  const world = open({ ...scene, beside: '1' });
  await world.run();
  const { fills, open: left } = outcomeOf(world);
  expect([sumOf(fills), left]).toEqual([0.5, 0]);
  const { model } = world.exchange;
  const [fill] = model.ledger({ kinds: ['fill'], accountId: 'desk-1' });
  const [gone] = model.ledger({ kinds: ['order_cancelled'], accountId: 'desk-1' });
  // Two lists that show the other position, and the cancel.
  expect((gone?.atMs ?? 0) - (fill?.atMs ?? 0)).toBeLessThan(4_000);
  // An empty list proves nothing: the stop stays, and the audit trail says why.
  const alone = open(scene);
  await alone.run();
  expect(outcomeOf(alone).open).toBe(1);
  const said = async ({ audit }: World) =>
    (await audit.tail('desk-1', 10_000)).flatMap(({ record: { content } }) =>
      content.kind === 'action'
        ? [`${content.event.kind} ${content.event.reason}: ${content.event.words}`]
        : [],
    );
  const words = [...(await said(world)), ...(await said(alone))];
  expect(words.filter((one) => one.startsWith('ambiguousMove'))).toEqual([]);
  expect(await said(alone)).toContainEqual(
    expect.stringMatching(
      /^positionAbsent probablyClosedByOurs: .* an order of ours has probably closed it\. .* 3 minutes agree$/,
    ),
  );
});

test('after a crash the stop on the other side of an urgent close stands no farther away than previewed', async () => {
  const jump = (atMs: number, price: number): TimedEvent => {
    return { atMs, kind: 'setPrice', market: 'BTC_USDT', price: String(price) };
  };
  const world = openWorld({
    seed: 11,
    durationMs: 200_000,
    exchange: {
      accounts: [longAccount('4000')],
    },
    daemons: [
      {
        name: 'north',
        config: CONFIG.replace('below: 1%', 'below: 4%').replace(
          'to: 0%, slippage: 1%',
          'to: 20%, slippage: 2%',
        ),
      },
    ],
    events: [
      jump(20_000, 55_700),
      jump(35_000, 54_700),
      {
        atMs: 150_000,
        kind: 'reduce',
        account: 'desk-1',
        markets: ['*'],
        target: { kind: 'to', fraction: 0 },
        slippage: 0.01,
        flatten: true,
        urgent: true,
      },
    ],
  });
  await world.run();
  const { fills, stops } = outcomeOf(world);
  expect(fills).toHaveLength(1);
  const urgent = stops.filter(({ atMs }) => atMs > 150_000).map(({ at }) => Math.abs(at / 54_700 - 1));
  // As the preview of the command says, on both sides.
  for (const away of urgent.slice(-2)) expect(away).toBeLessThan(0.0013);
});

test('the leftover stop does not reduce what the owner opens right after', async () => {
  const { fills, sizes } = await played({
    to: START * 1.005,
    readings: { reduceOnlyAfterClose: 'kept' },
    events: [
      { atMs: 35_000, kind: 'trade', account: 'desk-1', market: 'BTC_PERP', side: 'buy', amount: '0.1' },
      { atMs: 50_000, kind: 'setPrice', market: 'BTC_USDT', price: String(START * 0.99) },
    ],
  });
  expect(sumOf(fills.filter(({ side }) => side === 'sell'))).toBe(0.5);
  expect(sizes).toEqual([['long', '0.1']]);
});

test('an urgent close with an entry price of endless digits is priced, and the account watched further', async () => {
  const to = START * 0.99;
  const again = MOVES_MS + 20_000;
  const trade = { kind: 'trade', account: 'desk-1', market: 'BTC_PERP' } as const;
  const world = open({
    to,
    events: [
      // 0.5 at 60,000 and 0.1 at 60,007 or so.
      { atMs: 1_000, kind: 'setPrice', market: 'BTC_USDT', price: String(START + 7) },
      { atMs: 1_500, ...trade, side: 'buy', amount: '0.1' },
      { atMs: again, ...trade, side: 'buy', amount: '0.3' },
    ],
  });
  await world.run();
  expect(world.errors).toEqual([]);
  const trail = await world.audit.tail('desk-1', 500);
  const events = trail.flatMap(({ record: { content } }) =>
    content.kind === 'action' ? [content.event] : [],
  );
  expect(events.map(({ kind }) => kind)).toContain('priced');
  expect(world.exchange.model.openPositions('desk-1').map(({ amount }) => String(amount))).toEqual(['0.3']);
});
