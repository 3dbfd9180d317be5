import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { WorldSpec } from '../../src/world/spec.ts';

/** A world of the fault matrix, and what is needed to judge it. */
export interface FaultWorld {
  readonly spec: WorldSpec;
  /** Readings of the specification that are not the default, as `name=value`. */
  readonly readings: readonly string[];
  /** Faults by name and the kind of request that they hit. */
  readonly pairs: readonly (readonly [fault: string, request: string])[];
  readonly observed: readonly string[];
  /** No fault or event touches the second account, its daemons or its markets, except that its cancels may fail. */
  readonly sparesSecond: boolean;
  /** With `sparesSecond`, the account whose requests no fault hits, except cancels. */
  readonly second: string;
  /** The account that needs no action, whatever happens to its reads: it must not change. */
  readonly calm: string;
}

/** Faults, events and people disturb the world up to here. */
export const TROUBLED_MS = 36_000;
export const LATEST_EVENT_MS = TROUBLED_MS - 11_000;

/** The account that faults and events trouble most. */
export const FIRST = 'first';

/** Start prices by coin. */
export const PRICES: Readonly<Record<string, number>> = { BTC: 60_000, ETH: 3_000 };

export function chance(random: SeededRandom, probability: number): boolean {
  return random.uniform() < probability;
}

export function between(random: SeededRandom, least: number, most: number): number {
  return least + Math.floor(random.uniform() * (most - least + 1));
}

export function pick<T>(random: SeededRandom, choices: readonly T[]): T {
  return choices[random.below(choices.length)] as T;
}
