import { toNumber } from '../../core/quantities/decimal.ts';
import type { Heap } from './heap.ts';
import type { BandEdge, ExchangeState, Market, RiskUnit, Threshold } from './state.ts';

/**
 * Watches risk units without recomputing them: an exact check leaves a band of prices per market within which the
 * judgement cannot change, and a tick compares with the nearest edges.
 */

/** Keeps an edge strictly inside the exact crossing, whatever the doubles were rounded to. */
const SAFETY = 1 - 1e-9;
const COMPACT_FROM = 4096;

interface Band {
  low: number;
  high: number;
}

/** Checks a unit and sets up when to check it again. */
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
  // Powers of two only, so that compaction costs no more than the pushes between two of them.
  if (edges.size >= COMPACT_FROM && (edges.size & (edges.size - 1)) === 0) edges.retain(isCurrent);
}

function isCurrent(edge: BandEdge): boolean {
  return edge.generation === edge.unit.generation;
}

/** Has the unit checked at a time, unless an earlier check is already pending. */
export function checkAgainAt(world: ExchangeState, unit: RiskUnit, atMs: number): void {
  if (unit.deadlineMs > world.nowMs && unit.deadlineMs <= atMs) return;
  unit.deadlineMs = atMs;
  world.agenda.schedule(atMs, () => {
    if (unit.isLive()) world.dirtyUnits.add(unit);
  });
}

/** Finds the units whose band the mark price of a market has left. */
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
