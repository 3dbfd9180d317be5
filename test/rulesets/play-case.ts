import { decimal, toNumber } from '../../src/core/quantities/decimal.ts';
import { stockOf } from '../../src/core/quantities/units.ts';
import { movedMarkets, netCoins, REFERENCE } from '../../src/replay/exposure.ts';
import { AccountTracks } from '../../src/replay/run/account-tracks.ts';
import { type ConfigText, priceStepOf } from '../../src/replay/run/plan.ts';
import { pathSource } from '../../src/simulator/prices/price-path.ts';
import { type PriceSource, walkSource } from '../../src/simulator/prices/price-source.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { BareOutcome, CaseOutcome, TuneCase, TunePrices } from './tune-case.ts';

const DAEMON = 'breakwater';
/** How often to check whether anything is open. */
const LOOK_MS = 5_000;
const WALK_TICK_MS = 1_000;

/** Plays a case under a config in virtual time: the real daemon and the simulated exchange. @throws WorldConfigError */
export async function playCase(
  one: TuneCase,
  config: ConfigText,
  durationMs = one.durationMs,
): Promise<CaseOutcome> {
  return (await play({ ...one, durationMs }, config)).outcome;
}

/** Plays a case without a daemon, and measures how near the price came to liquidation. */
export async function playBare(one: TuneCase): Promise<BareOutcome> {
  const bare = walkBare(one);
  if (bare !== undefined) return bare;
  const { outcome, way, distance } = await play(one);
  return { ...outcome, way, distance };
}

/** Works out a walk that stays clear of liquidation from its extremes and its end; undefined: it must be played. */
function walkBare(one: TuneCase): BareOutcome | undefined {
  const { account, prices, fromMs, durationMs } = one;
  const [position] = account.positions;
  const from = prices.find(({ market }) => market === position?.market);
  if (account.positions.length !== 1 || position === undefined || from === undefined) return undefined;
  if (!('dailyVolatility' in from) || account.loans.length > 0) return undefined;
  // Equity also follows coins in the collateral.
  if (Object.keys(account.collateral).some((coin) => coin !== REFERENCE)) return undefined;
  const world = openCase(one, undefined, new Map());
  const tracks = new AccountTracks(world.exchange, account);
  const liquidation = tracks.look(fromMs)[0]?.liquidationPrice;
  if (liquidation === undefined || liquidation === null) return undefined;
  const [start, end] = [Number(from.start), toNumber(liquidation)];
  const { low, high, last } = walkOf(one, from);
  const way = Math.max(0, ((position.side === 'long' ? low : high) - start) / (end - start));
  if (way >= SAFE_WAY) return undefined;
  const equityStart = tracks.equity[0]?.[1] ?? 0;
  const gained = (position.side === 'long' ? 1 : -1) * (last - start) * Number(position.amount);
  return {
    liquidated: false,
    equityStart,
    equityEnd: equityStart + gained,
    orders: 0,
    closings: 0,
    playedMs: durationMs,
    way,
    distance: Math.abs(start - end) / start,
  };
}

/** Beyond this part of the way a case is played: only the exchange can tell whether it is liquidated. */
const SAFE_WAY = 0.9;

/** Walks by their inputs: many accounts are played over one walk. */
const WALKS = new Map<string, ReturnType<typeof walked>>();

function walkOf(one: TuneCase, from: TunePrices) {
  const { seed, fromMs, durationMs } = one;
  const key = JSON.stringify([seed, walkNameOf(one, from), from, fromMs, durationMs]);
  const walk = WALKS.get(key) ?? walked(one, from);
  WALKS.set(key, walk);
  return walk;
}

function walked(one: TuneCase, from: TunePrices) {
  const seen = { low: Number(from.start), high: Number(from.start) };
  const source = heard(sourceOf(one, from.market, from), seen);
  let price = decimal(from.start);
  while ((source.nextMs() ?? Number.POSITIVE_INFINITY) <= one.fromMs + one.durationMs)
    price = source.take(price);
  return { ...seen, last: toNumber(price) };
}

async function play(one: TuneCase, config?: ConfigText) {
  const extremes = new Map<string, Extremes>();
  const world = openCase(one, config, extremes);
  const { exchange } = world;
  const { id, positions } = one.account;
  const tracks = new AccountTracks(exchange, one.account);
  const opened = tracks.look(one.fromMs);
  const single = opened.length === 1 && positions.length === 1 ? opened[0] : undefined;
  const liquidation = single?.liquidationPrice;
  await untilFlat(world, id, one.durationMs);
  tracks.look(one.fromMs + world.elapsedMs());
  const entries = exchange.model.ledger({ accountId: id, limit: 100_000 });
  const fills = entries.filter(({ kind, details }) => kind === 'fill' && details?.['reduced'] === true);
  const outcome = {
    liquidated: entries.some(({ kind }) => kind === 'liquidation' || kind === 'loan_liquidation'),
    equityStart: tracks.equity[0]?.[1] ?? 0,
    equityEnd: tracks.equity.at(-1)?.[1] ?? 0,
    orders: entries.filter(({ kind }) => kind === 'order_placed').length,
    closings: new Set(fills.map(({ orderId }) => orderId)).size,
    playedMs: world.elapsedMs(),
  };
  if (single === undefined || liquidation === undefined || liquidation === null)
    return { outcome, way: null, distance: null };
  const [start, end] = [toNumber(single.markPrice), toNumber(liquidation)];
  const { low, high } = extremes.get(single.market) ?? { low: start, high: start };
  const furthest = single.direction === 'long' ? low : high;
  return {
    outcome,
    way: Math.max(0, (furthest - start) / (end - start)),
    distance: Math.abs(start - end) / start,
  };
}

/** Runs until the last position is closed: nothing changes after that. */
async function untilFlat(world: World, accountId: string, durationMs: number): Promise<void> {
  let isFlat = false;
  const look = (): void => {
    world.exchange.catchUp();
    isFlat = world.exchange.model.openPositions(accountId).length === 0;
    if (!isFlat && world.elapsedMs() + LOOK_MS < durationMs)
      world.schedule(world.elapsedMs() + LOOK_MS, look);
  };
  world.schedule(LOOK_MS, look);
  await world.run(() => isFlat);
  world.exchange.catchUp();
}

interface Extremes {
  low: number;
  high: number;
}

function openCase(one: TuneCase, config: ConfigText | undefined, extremes: Map<string, Extremes>): World {
  const { account, fromMs, durationMs, seed, terms } = one;
  const { latency, faults, ...books } = one.conditions;
  const moved = movedMarkets(one.prices, [account]);
  const prices = new Map(
    moved.map(({ market, prices: from }) => {
      const seen = { low: Number(from.start), high: Number(from.start) };
      extremes.set(market, seen);
      return [market, heard(sourceOf(one, market, from), seen)] as const;
    }),
  );
  return openWorld(
    {
      seed,
      startMs: fromMs,
      durationMs,
      exchange: {
        accounts: [account],
        prices: Object.fromEntries(moved.map(({ market, prices: from }) => [market, from.start])),
        markets: terms,
        ...books,
      },
      daemons: config === undefined ? [] : [{ name: DAEMON, config: config.text }],
      network: { toExchange: latency, toDaemon: latency },
      ...(config === undefined ? {} : { faults: faults.map((fault) => ({ atMs: 0, fault })) }),
    },
    { prices, ...(config === undefined ? {} : { configFile: config.file }) },
  );
}

function heard(source: PriceSource, seen: Extremes): PriceSource {
  return {
    nextMs: () => source.nextMs(),
    take(last) {
      const price = source.take(last);
      const value = toNumber(price);
      if (value < seen.low) seen.low = value;
      if (value > seen.high) seen.high = value;
      return price;
    },
  };
}

function sourceOf(one: TuneCase, market: string, from: TunePrices) {
  const { account, terms, seed, model, fromMs } = one;
  const priceStep = priceStepOf(terms, from.market);
  if ('dailyVolatility' in from) {
    const { dailyVolatility } = from;
    const own = Array.from(walkNameOf(one, from)).reduce(
      (sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0,
      seed + fromMs / WALK_TICK_MS,
    );
    return walkSource({
      seed: own,
      startMs: fromMs,
      tickMs: WALK_TICK_MS,
      priceStep,
      dailyVolatility,
      jumpsPerDay: 0,
      jumpSize: 0,
    });
  }
  const adverse = netCoins(from.market, [account]) < 0 ? 'high' : 'low';
  return pathSource({ series: from.series, model, adverse, priceStep, seed, market });
}

/** Markets of one coin move together, others independently: the first priced market of a coin names its walk. */
function walkNameOf({ prices }: TuneCase, { market }: TunePrices): string {
  return prices.find((other) => stockOf(other.market) === stockOf(market))?.market ?? market;
}
