import { type PricedFrom, pricedFrom, type Range } from './priced-from.ts';
import { CADENCE_MS, type Group, PRICE_STEP, pathsOf, scenarioOf } from './scenario.ts';
import type { Trace, TracedOrder } from './trace.ts';

/** Compares both plays, and describes each difference in words. */
export function differences(group: Group, world: Trace, real: Trace): readonly string[] {
  return [
    ...listsDiffer('episodes', world.episodes, real.episodes),
    ...listsDiffer('actions', world.actions, real.actions),
    ...listsDiffer('ledger', world.ledger, real.ledger),
    ...listsDiffer('orders', ordersByMarket(world), ordersByMarket(real)),
    ...(JSON.stringify(world.sizes) === JSON.stringify(real.sizes)
      ? []
      : [`sizes: ${JSON.stringify(world.sizes)} in the world, ${JSON.stringify(real.sizes)} for real`]),
    ...pairsOf(world, real).flatMap((pair) => pairDiffers(group, pair)),
  ];
}

type Lists = Readonly<Record<string, readonly string[]>>;

function listsDiffer(what: string, world: Lists, real: Lists): readonly string[] {
  const keys = new Set([...Object.keys(world), ...Object.keys(real)]);
  return [...keys].flatMap((key) => {
    const [inWorld, forReal] = [world[key] ?? [], real[key] ?? []];
    const at = inWorld.findIndex((words, index) => words !== forReal[index]);
    if (at === -1 && inWorld.length === forReal.length) return [];
    const index = at === -1 ? inWorld.length : at;
    const place = `${what} of ${key}, ${index + 1} of ${inWorld.length} and ${forReal.length}`;
    return [`${place}: ${inWorld[index] ?? 'none'} in the world, ${forReal[index] ?? 'none'} for real`];
  });
}

function ordersByMarket({ orders }: Trace): Lists {
  const lists: Record<string, string[]> = {};
  for (const { market, what, isOurs } of orders) {
    (lists[market] ??= []).push(`${isOurs ? 'ours' : 'the owner’s'}: ${what}`);
  }
  return lists;
}

interface Pair {
  readonly world: Placed;
  readonly real: Placed;
}

/** An order of the daemon, with the trace of its account. */
interface Placed extends TracedOrder {
  readonly trace: Trace;
}

/** Orders of the daemon at the same place in the sequence of their market. */
export function pairsOf(world: Trace, real: Trace): readonly Pair[] {
  const [inWorld, forReal] = [placedIn(world), placedIn(real)];
  return [...inWorld].flatMap(([market, orders]) =>
    orders.flatMap((order, index) => {
      const other = forReal.get(market)?.[index];
      return other === undefined ? [] : [{ world: order, real: other }];
    }),
  );
}

function placedIn(trace: Trace): ReadonlyMap<string, readonly Placed[]> {
  const ours = trace.orders.filter(({ isOurs }) => isOurs);
  return Map.groupBy(
    ours.map((order) => Object.assign({ trace }, order)),
    ({ market }) => market,
  );
}

/** The earliest time at which the exchange may have answered the read before an order. */
export function readBefore({ trace, atMs }: Placed): number {
  return trace.reads.findLast(({ toMs }) => toMs <= atMs)?.fromMs ?? atMs;
}

/**
 * Each order is priced from a read: by its mark, and by how far the market may run until the order arrives. Both are
 * known within bounds for either play, from its own reads and round trips; a difference within these bounds is
 * explained by timing. The limit price follows the activation by the slippage, which timing does not change.
 */
function pairDiffers(group: Group, { world, real }: Pair): readonly string[] {
  const found: string[] = [];
  const apart = world.activation - real.activation;
  const bounds = basesOf(group, world).flatMap((inWorld) =>
    basesOf(group, real).map((forReal) => explained(inWorld, forReal, world.what)),
  );
  const where = `${world.market} ${world.what}`;
  if (!bounds.some(({ least, most }) => apart >= least - ROUNDED && apart <= most + ROUNDED)) {
    const words = bounds.map(({ least, most }) => `${least.toFixed(2)} to ${most.toFixed(2)}`).join(' or ');
    found.push(
      `activation of ${where}: ${world.activation} at ${world.atMs} ms in the world, ` +
        `${real.activation} at ${real.atMs} ms for real; ${words} is explained`,
    );
  }
  const priceForReal = (world.price / world.activation) * real.activation;
  if (Math.abs(priceForReal - real.price) > ROUNDED) {
    found.push(
      `price of ${where}: ${world.price} with ${world.activation} in the world, ` +
        `${real.price} with ${real.activation} for real`,
    );
  }
  // The real daemon may be late by any amount, depending on the machine. The world has almost no latency and the same
  // ticks, so it is at most two ticks later: a move of the price and the end of a `for` can each fall beside one.
  if (world.atMs > real.atMs + 2 * CADENCE_MS + LEEWAY_MS) {
    found.push(`${where}: at ${world.atMs} ms in the world, already at ${real.atMs} ms for real`);
  }
  return found;
}

function basesOf(group: Group, { trace, ...order }: Placed): readonly PricedFrom[] {
  const path = pathsOf(group).get(order.market) ?? [];
  const { latencyMs = 0, liquidatedAt } = scenarioOf(group, order.market) ?? {};
  return pricedFrom(order, trace, { path, latencyMs, liquidatedAt });
}

/** How far an activation in the world may lie above the real one. */
function explained(world: PricedFrom, real: PricedFrom, what: string): Range {
  const marks = minus(world.mark, real.mark);
  // A sell activates below its mark, a buy above.
  const runs = what.startsWith('sell') ? minus(real.run, world.run) : minus(world.run, real.run);
  return { least: marks.least * FOLLOWS_BY + runs.least, most: marks.most * FOLLOWS_BY + runs.most };
}

function minus(one: Range, other: Range): Range {
  return { least: one.least - other.most, most: one.most - other.least };
}

/** Factor by which an activation may follow the mark price: the allowance for basis is a share of it. */
const FOLLOWS_BY = 1.02;
/** Three price steps: the path's price, the activation and the limit price are each rounded to one. */
const ROUNDED = 3 * Number(PRICE_STEP);
/** From the tick to the order in the world. */
const LEEWAY_MS = 50;
