import { toNumber } from '../../src/core/quantities/decimal.ts';
import type { SimulatedExchange } from '../../src/simulator/simulated-exchange.ts';

/** Closer to liquidation than this, every rule of these worlds fires. */
const FIRING_DISTANCE = 0.045;

type Position = ReturnType<SimulatedExchange['model']['openPositions']>[number];

/** Whether a position is where its rules fire. */
export function isBreachedPosition({ markPrice, liquidationPrice, direction }: Position): boolean {
  if (liquidationPrice === null) return false;
  const mark = toNumber(markPrice);
  const distance = ((mark - toNumber(liquidationPrice)) / mark) * (direction === 'long' ? 1 : -1);
  return distance > 0 && distance < FIRING_DISTANCE;
}

export function isBreached(exchange: SimulatedExchange, accountId: string): boolean {
  if (!exchange.accounts.has(accountId)) return false;
  return exchange.model.openPositions(accountId).some(isBreachedPosition);
}

/** A breach shorter than the interval between polls may pass unseen. */
const UNSEEN_MS = 2_000;

/** `askedMs`: time that people have to answer first; a breach that ends within it needs no action. */
export function breachSince(
  sinceMs: number | undefined,
  isNow: boolean,
  atMs: number,
  askedMs = 0,
): number | undefined {
  if (isNow) return sinceMs ?? atMs;
  return sinceMs !== undefined && atMs - sinceMs > UNSEEN_MS + askedMs ? sinceMs : undefined;
}
