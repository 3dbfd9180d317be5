import { movePrice } from './market.ts';
import { matchMarket } from './matching.ts';
import { collectCrossed, judge } from './risk-watch.ts';
import type { ExchangeState, Market } from './state.ts';

/** Plays all consequences of a change: matches markets, then judges units, until nothing is left to do. */
export function settle(world: ExchangeState): void {
  while (world.dirtyMarkets.size > 0 || world.dirtyUnits.size > 0) {
    for (const market of world.dirtyMarkets) {
      world.dirtyMarkets.delete(market);
      matchMarket(world, market);
      collectCrossed(world, market);
    }
    for (const unit of world.dirtyUnits) {
      world.dirtyUnits.delete(unit);
      judge(world, unit);
    }
  }
}

/** Runs all tasks due by `toMs`, each at its own time. */
export function advance(world: ExchangeState, toMs: number): void {
  for (let task = world.agenda.takeDue(toMs); task !== undefined; task = world.agenda.takeDue(toMs)) {
    world.nowMs = Math.max(world.nowMs, task.atMs);
    task.run();
    settle(world);
  }
  world.nowMs = Math.max(world.nowMs, toMs);
}

/** Lets the market's source set its price, point by point, until the source is replaced. */
export function followSource(world: ExchangeState, market: Market): void {
  const { source } = market;
  const atMs = source?.nextMs();
  if (source === null || atMs === undefined) return;
  world.agenda.schedule(Math.max(atMs, world.nowMs), () => {
    if (market.source !== source) return;
    movePrice(world, market, source.take(market.last));
    followSource(world, market);
  });
}
