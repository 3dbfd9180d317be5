import { toNumber } from '../../core/quantities/decimal.ts';
import type { Heap } from './heap.ts';
import type { BandEdge, ExchangeState, Market, RiskUnit, Threshold } from './state.ts';

/**
 * Watches risk units without recomputing them at each tick. An exact check yields a band of prices per market within
 * which the judgement cannot change, and a tick is compared only with the nearest edges.
 */

/** Keeps an edge strictly inside the exact crossing despite the rounding of doubles. */
const SAFETY = 1 - 1e-9;
const COMPACT_FROM = 4096;

interface Band {
  low: number;
  high: number;
}

/** Checks a unit and sets the prices and times of its next check. */
export function judge(world: ExchangeState, unit: RiskUnit): void {
  unit.generation += 1;
  if (!unit.isLive()) return;
  const thresholds = unit.check();
  if (!unit.isLive()) return;
  const bands = new Map<Market, Band>();
  let deadlineMs = Number.POSITIVE_INFINITY;
  for (const threshold of thresholds) {
    const share = shareOf(threshold);
    for (const [market, slope] of threshold.slopes) narrow(bands, market, slope, share);
    if (threshold.drainPerMs > 0) {
      deadlineMs = Math.min(deadlineMs, world.nowMs + Math.floor(share / threshold.drainPerMs));
    }
  }
  for (const [market, band] of bands) pushEdges(market, unit, band);
  if (deadlineMs < Number.POSITIVE_INFINITY) checkAgainAt(world, unit, Math.max(deadlineMs, world.nowMs + 1));
}

function shareOf({ slack, slopes, drainPerMs }: Threshold): number {
  const sharers = slopes.size + (drainPerMs > 0 ? 1 : 0);
  return sharers === 0 ? 0 : (slack / sharers) * SAFETY;
}

function narrow(bands: Map<Market, Band>, market: Market, slope: number, share: number): void {
  if (slope === 0) return;
  const band = bands.get(market) ?? { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const edge = toNumber(market.mark) - share / slope;
  if (slope > 0) band.low = Math.max(band.low, edge);
  else band.high = Math.min(band.high, edge);
  bands.set(market, band);
}

function pushEdges(market: Market, unit: RiskUnit, band: Band): void {
  const { generation } = unit;
  if (band.low > 0) push(market.lowEdges, { price: band.low, unit, generation });
  if (band.high < Number.POSITIVE_INFINITY) push(market.highEdges, { price: band.high, unit, generation });
}

function push(edges: Heap<BandEdge>, edge: BandEdge): void {
  edges.push(edge);
  // Compacts only at powers of two, so that it costs no more than the pushes since the last one.
  if (edges.size >= COMPACT_FROM && (edges.size & (edges.size - 1)) === 0) edges.retain(isCurrent);
}

function isCurrent(edge: BandEdge): boolean {
  return edge.generation === edge.unit.generation;
}

/** Schedules a check of the unit, unless an earlier one is pending. */
export function checkAgainAt(world: ExchangeState, unit: RiskUnit, atMs: number): void {
  if (unit.deadlineMs > world.nowMs && unit.deadlineMs <= atMs) return;
  unit.deadlineMs = atMs;
  world.agenda.schedule(atMs, () => {
    if (unit.isLive()) world.dirtyUnits.add(unit);
  });
}

/** Marks the units whose band the mark price has left for a check. */
export function collectCrossed(world: ExchangeState, market: Market): void {
  const mark = toNumber(market.mark);
  drain(world, market.lowEdges, (price) => mark <= price);
  drain(world, market.highEdges, (price) => mark >= price);
}

function drain(world: ExchangeState, edges: Heap<BandEdge>, isCrossed: (price: number) => boolean): void {
  for (let edge = edges.peek(); edge !== undefined; edge = edges.peek()) {
    const current = isCurrent(edge);
    if (current && !isCrossed(edge.price)) return;
    edges.pop();
    if (current) world.dirtyUnits.add(edge.unit);
  }
}
