import { CADENCE_MS, type Group, movement, type Path, PRICE_STEP, pathsOf } from './scenario.ts';
import type { Trace, TracedOrder } from './trace.ts';

/** What is the same in both plays, and the words for it where it is not. */
export function differences(group: Group, world: Trace, real: Trace): readonly string[] {
  return [
    ...listsDiffer('episodes', world.episodes, real.episodes),
    ...listsDiffer('actions', world.actions, real.actions),
    ...listsDiffer('ledger', world.ledger, real.ledger),
    ...listsDiffer('orders', ordersByMarket(world), ordersByMarket(real)),
    ...(JSON.stringify(world.sizes) === JSON.stringify(real.sizes)
      ? []
      : [`sizes: ${JSON.stringify(world.sizes)} in the world, ${JSON.stringify(real.sizes)} for real`]),
    ...pairsOf(world, real).flatMap((pair) => pairDiffers(pathsOf(group).get(pair.world.market) ?? [], pair)),
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

/** An order of ours, and the oldest moment at which the exchange may have answered the read before it. */
interface Placed extends TracedOrder {
  readonly readMs: number;
}

/** Orders of ours that have the same place in the sequence of their market. */
export function pairsOf(world: Trace, real: Trace): readonly Pair[] {
  const [inWorld, forReal] = [placedIn(world), placedIn(real)];
  return [...inWorld].flatMap(([market, orders]) =>
    orders.flatMap((order, index) => {
      const other = forReal.get(market)?.[index];
      return other === undefined ? [] : [{ world: order, real: other }];
    }),
  );
}

function placedIn({ orders, reads }: Trace): ReadonlyMap<string, readonly Placed[]> {
  const ours = orders.filter(({ isOurs }) => isOurs);
  const placed = ours.map((order) => {
    const before = reads.findLast(({ toMs }) => toMs <= order.atMs);
    return Object.assign({ readMs: before?.fromMs ?? order.atMs }, order);
  });
  return Map.groupBy(placed, ({ market }) => market);
}

/** A limit price follows the mark price, by at most so much more: the slippage and the distance of the activation. */
const FOLLOWS_BY = 1.05;

/**
 * Both orders are priced from a read. Between the two reads, and on the way to the real order, the price of the path
 * moves so far and no further: that, and the price steps of rounding, is what latency explains. The real daemon may be
 * as late as the machine makes it. The world has next to no latency and the same ticks, so it is at most two ticks
 * later: a move of the price and the end of a `for` can each fall beside one.
 */
function pairDiffers(path: Path, { world, real }: Pair): readonly string[] {
  const fromMs = Math.min(world.readMs, real.readMs);
  const toMs = Math.max(world.atMs, real.atMs);
  const explained = movement(path, fromMs, toMs) * FOLLOWS_BY + ROUNDED * Number(PRICE_STEP);
  const found: string[] = [];
  for (const which of ['activation', 'price'] as const) {
    if (Math.abs(world[which] - real[which]) <= explained) continue;
    found.push(
      `${which} of ${world.market} ${world.what}: ${world[which]} at ${world.atMs} ms in the world, ` +
        `${real[which]} at ${real.atMs} ms for real; the path explains ${explained.toFixed(2)}`,
    );
  }
  if (world.atMs > real.atMs + 2 * CADENCE_MS + LEEWAY_MS) {
    found.push(
      `${world.market} ${world.what}: at ${world.atMs} ms in the world, already at ${real.atMs} ms for real`,
    );
  }
  return found;
}

/** Price steps: the path's price, the activation and the limit price are each rounded to one. */
const ROUNDED = 3;
/** From the tick to the order in the world. */
const LEEWAY_MS = 50;
