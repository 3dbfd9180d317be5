import process from 'node:process';
import { expect, test } from 'vitest';
import { type Decimal, decimal, formatDecimal, ZERO } from '../../src/core/quantities/decimal.ts';
import { readFault } from '../../src/simulator/control/fault-routes.ts';
import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, TimedFault } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { sliceOf } from '../support/slice.ts';

/** Random ladders in random markets, checked at the exchange ten times a second. */

const ALL = Array.from({ length: Number(process.env['LADDER_SEEDS'] ?? 30) }, (_, index) => index + 1);
/** LADDER_SEEDS sets their number; by default a run plays some of them, and FULL=1 all. */
const SEEDS = process.env['LADDER_SEEDS'] === undefined ? sliceOf(ALL, 6, 'worlds of ladders') : ALL;
const DURATION_MS = 240_000;
const LOOK_MS = 100;
const PRICE_STEP = 0.1;
const BASIS = 0.001;
/** From the read that a stop is computed from until it stands. */
const MOST_LATE_MS = 8_000;

test.each(SEEDS)(
  'a ladder takes no more than twice the position, stands on the right side and clear of liquidation, and loses no stop while orders are refused: seed %i',
  async (seed) => {
    const random = createRandom(seed * 104_729 + 3);
    const spec = specOf(random);
    const world = openWorld(spec);
    for (const [index, { fault }] of spec.faults.entries())
      readFault(world.exchange, fault, `faults[${index}].fault`);
    const found = watch(world);
    await world.run();
    expect(world.errors).toEqual([]);
    expect(world.exchange.model.ledger({ kinds: ['order_placed'] }).length).toBeGreaterThan(0);
    expect([...found, ...cancelledWhileRefused(world, spec.faults)]).toEqual([]);
  },
);

function specOf(random: SeededRandom) {
  const side = random.uniform() < 0.5 ? ('long' as const) : ('short' as const);
  const leverage = [3, 5, 10][random.below(3)] ?? 5;
  const start = 60_000;
  const cancelCoversStops = random.uniform() < 0.5 ? 'yes' : 'no';
  const from = 20_000 + random.below(60_000);
  const faults: readonly TimedFault[] = [
    {
      atMs: from,
      untilMs: from + 20_000 + random.below(120_000),
      fault: { effect: { kind: 'refusal', of: 'orders' } },
    },
  ];
  const events: readonly TimedEvent[] = [
    ...(random.uniform() < 0.5
      ? [
          {
            atMs: 10_000 + random.below(150_000),
            kind: 'trade' as const,
            account: 'desk-1',
            market: 'BTC_PERP',
            side: random.uniform() < 0.5 ? ('buy' as const) : ('sell' as const),
            amount: '0.100',
          },
        ]
      : []),
    ...(random.uniform() < 0.5 ? restart(10_000 + random.below(150_000)) : []),
  ];
  return {
    seed: random.below(1_000_000),
    durationMs: DURATION_MS,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: String(Math.round((start * 0.5) / leverage)) },
          leverage,
          positions: [{ market: 'BTC_PERP', side, amount: '0.500' }],
        },
      ],
      depth: '5',
      readings: {
        reduceOnlyRoom: ['position', 'trimmed', 'refused'][random.below(3)] ?? 'position',
        cancelCoversStops,
      },
    },
    prices: [
      {
        market: 'BTC_USDT',
        walk: {
          dailyVolatility: 0.3 + random.uniform() * 2,
          jumpsPerDay: 300,
          jumpSize: 0.01,
        },
      },
    ],
    daemons: [{ name: 'north', config: configOf(random, cancelCoversStops) }],
    faults,
    events,
  };
}

function restart(atMs: number): readonly TimedEvent[] {
  return [
    { atMs, kind: 'kill', daemon: 'north' },
    { atMs: atMs + 5_000, kind: 'start', daemon: 'north' },
  ];
}

function configOf(random: SeededRandom, cancelCoversStops: string): string {
  const count = 1 + random.below(5);
  const ways = Array.from({ length: count }, () => 0.3 + random.uniform() * 0.65).toSorted((a, b) => a - b);
  // Nearer than a stop may be: it must keep its distance.
  ways[count - 1] = 0.995;
  const rungs = [...new Set(ways.map((way) => (way * 100).toFixed(1)))].map((at, index, all) => {
    const close = index === all.length - 1 ? 'rest' : `${Math.floor(90 / all.length)}%`;
    return `{ at: ${at}%, close: ${close} }`;
  });
  const reduces = random.uniform() < 0.5;
  return `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"], cancelCoversStops: ${cancelCoversStops} }
acting: { ownOrders: none }
cadence: { calm: 5s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "${PRICE_STEP}", minAmount: "0.001", maintenanceMargin: 3%, basisAllowance: ${BASIS * 100}% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [stops${reduces ? ', near' : ''}] }
rules:
  - id: stops
    on: position
    when: { markPrice: { above: 1 } }
    do: [{ protect: { ladder: [${rungs.join(', ')}], slippage: 3% } }]
${reduces ? '  - { id: near, on: position, when: { liquidationDistance: { below: 6%, clearAbove: 9% } }, do: [{ reduce: { by: 50%, slippage: 2% } }] }\n' : ''}`;
}

const numberOf = (value: Decimal): number => Number(formatDecimal(value));

/** Errors of the open stops, reported once for each order. */
function watch(world: World): readonly string[] {
  const found: string[] = [];
  const seen = new Set<number>();
  const marks: { readonly atMs: number; readonly price: number }[] = [];
  const look = (): void => {
    const { model } = world.exchange;
    const [position] = model.openPositions('desk-1');
    if (position === undefined) return;
    const stops = model.openOrders('desk-1').filter((order) => !order.active && isOurs(order));
    const atMs = world.elapsedMs();
    const side = position.direction;
    const mark = numberOf(position.markPrice);
    marks.push({ atMs, price: mark });
    const late = marks.filter((one) => one.atMs >= atMs - MOST_LATE_MS).map(({ price }) => price);
    const say = (words: string): void => void found.push(`${atMs} ms: ${words}`);
    const sum = stops.reduce((total, { left }) => total.plus(left), ZERO);
    const most = position.amount.times(decimal('2.001'));
    for (const { orderId, activationPrice, reduceOnly, side: orderSide } of stops) {
      if (seen.has(orderId)) continue;
      seen.add(orderId);
      // Stops from before a partial close stay until a calm: placing adds up to two generations at most.
      if (sum.gt(most)) say(`${formatDecimal(sum)} in stops over ${formatDecimal(position.amount)}`);
      const sign = side === 'long' ? 1 : -1;
      const at = numberOf(activationPrice ?? ZERO);
      if (!reduceOnly || orderSide !== (side === 'long' ? 'sell' : 'buy')) say(`${orderId} does not reduce`);
      const best = sign > 0 ? Math.max(...late) : Math.min(...late);
      if ((best - at) * sign <= 0) say(`${orderId} stands at ${at} on the wrong side of ${best}`);
      if (position.liquidationPrice === null) continue;
      const clear = (at - numberOf(position.liquidationPrice)) * sign;
      const least = BASIS * at + 2 * PRICE_STEP;
      if (clear < least * 0.999) say(`${orderId} at ${at} is ${clear} from liquidation, less than ${least}`);
    }
  };
  for (let atMs = 0; atMs < DURATION_MS; atMs += LOOK_MS) world.schedule(atMs, look);
  return found;
}

/** A cancel then may leave nothing in place, because orders are refused. */
function cancelledWhileRefused(world: World, faults: readonly TimedFault[]): readonly string[] {
  const cancelled = world.exchange.model.ledger({ kinds: ['order_cancelled'], accountId: 'desk-1' });
  return cancelled
    .filter((order) => isOurs(order) && order.reason === 'cancelled by the customer')
    .map(({ atMs, orderId }) => ({ atMs: atMs - world.startMs, orderId }))
    .filter(({ atMs }) => faults.some((fault) => atMs > fault.atMs && atMs < (fault.untilMs ?? Infinity)))
    .map(({ atMs, orderId }) => `${atMs} ms: ${orderId} was cancelled while orders were refused`);
}
