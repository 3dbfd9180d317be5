import type { ModelPosition, Snapshot } from './terms.ts';

export const LOTS_PER_UNIT = 1000;
export const TICKS_PER_UNIT = 10;
const MAINTENANCE = 0.03;

/** Whether the equity of all positions together is no more than their maintenance. */
export function isInsolvent({ positions, collateral, mark }: Omit<Snapshot, 'atMs'>): boolean {
  const equity = positions.reduce(
    (sum, p) => sum + (p.lots / LOTS_PER_UNIT) * p.sign * ((mark - p.entry) / TICKS_PER_UNIT),
    collateral,
  );
  const needed = positions.reduce(
    (sum, p) => sum + (p.lots / LOTS_PER_UNIT) * (mark / TICKS_PER_UNIT) * MAINTENANCE,
    0,
  );
  return equity <= needed;
}

/** Price in ticks at which equity equals maintenance; `undefined` if there is none. */
export function liquidationTicks(
  position: Readonly<ModelPosition>,
  snapshot: Pick<Snapshot, 'positions' | 'collateral'>,
): number | undefined {
  let signed = 0;
  let gross = 0;
  let cost = 0;
  for (const { sign, lots, entry } of snapshot.positions) {
    const base = lots / LOTS_PER_UNIT;
    signed += sign * base;
    gross += base;
    cost += sign * base * (entry / TICKS_PER_UNIT);
  }
  const price = (cost - snapshot.collateral) / (signed - MAINTENANCE * gross);
  if (!Number.isFinite(price) || price <= 0 || signed === 0) return undefined;
  return Math.sign(signed) === position.sign ? price * TICKS_PER_UNIT : undefined;
}
