import type { AccountQuantities } from './account.ts';
import { byMarket, jointPool, marketSide, type PoolSettings, uniformDistance } from './joint-pool.ts';
import type { PositionQuantities } from './position.ts';
import { NONE } from './quantity.ts';
import { moneyOf, stockOf } from './units.ts';

/**
 * The nearest that liquidation may be, for scheduling the next poll: the minimum of the known, last read and least
 * possible joint distance.
 */
export function leastJointDistance({
  jointDistance,
  positions,
  settings,
}: AccountQuantities): number | undefined {
  if (jointDistance.kind === 'value') return jointDistance.value;
  if (jointDistance.kind === 'none') return undefined;
  const pool = jointPool(positions, settings);
  const possible = pool.kind === 'value' ? undefined : leastUniformDistance(positions, settings);
  const last = pool.kind === 'value' && pool.value.kind === 'pooled' ? uniformDistance(pool.value) : NONE;
  const candidates = [
    ...(jointDistance.kind === 'atMost' ? [jointDistance.value] : []),
    ...(last.kind === 'value' ? [last.value] : []),
    ...(possible === undefined ? [] : [possible]),
  ];
  return candidates.length === 0 ? undefined : Math.min(...candidates);
}

/**
 * The smallest uniform move that may exhaust a pool that is only partly known. The buffer is the smallest that a market
 * implies, else the worth of the largest market, since no single market exhausts it; markets of unknown direction count
 * against it. Ten equal positions are 10 % away or more. Undefined if the markets cannot be compared.
 */
export function leastUniformDistance(
  positions: readonly PositionQuantities[],
  settings: PoolSettings,
): number | undefined {
  if (settings.marginModel === 'isolated') return undefined;
  const rest = { ...settings.holdings };
  const monies = new Set<string>();
  const told: number[] = [];
  let largest = 0;
  let net = 0;
  let eitherSide = 0;
  for (const [market, legs] of byMarket(positions)) {
    const held = rest[stockOf(market)] ?? 0;
    delete rest[stockOf(market)];
    monies.add(moneyOf(market, settings));
    const side = marketSide(legs, settings);
    if (side.kind === 'value') {
      const { slopeBase, markPrice, liquidation } = side.value;
      const weight = slopeBase * markPrice + held;
      net += weight;
      if (liquidation === undefined) largest = Math.max(largest, Math.abs(weight));
      else told.push(liquidation.buffer);
    } else {
      const [least, most] = worthOf(legs);
      largest = Math.max(largest, least);
      eitherSide += most + held;
    }
  }
  net += Object.values(rest).reduce((sum, worth) => sum + worth, 0);
  const buffer = told.length > 0 ? Math.min(...told) : largest;
  const pull = Math.abs(net) + eitherSide;
  return monies.size === 1 && buffer > 0 && pull > 0 ? buffer / pull : undefined;
}

/** Bounds of the worth of a market's positions, for any directions. */
function worthOf(legs: readonly PositionQuantities[]): readonly [least: number, most: number] {
  let least = 0;
  let most = 0;
  for (const { basePrice, unrealizedPnl, size } of legs) {
    if (basePrice.kind !== 'value' || unrealizedPnl.kind !== 'value') continue;
    const profit = Math.abs(unrealizedPnl.value);
    least = Math.max(least, size * basePrice.value - profit);
    most += size * basePrice.value + profit;
  }
  return [least, most];
}
