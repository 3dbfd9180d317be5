import type { FaultSpec } from '../../simulator/http/faults.ts';

/** Lognormal: half of all replies take longer than the median, none longer than the maximum. */
export interface LatencyDistribution {
  readonly medianMs: number;
  readonly sigma: number;
  readonly maxMs: number;
}

/** How well an exchange works while the price moves. */
export interface FieldConditions {
  readonly id: 'calm' | 'crash';
  readonly about: string;
  /** Per direction. */
  readonly latency: LatencyDistribution;
  /** Multiplies the amounts in the order books. */
  readonly depth: string;
  /** How far the mark price lies beyond the last price, to the harm of the account's net direction; a fraction. */
  readonly basis: number;
  readonly faults: readonly FaultSpec[];
}

export const CALM: FieldConditions = {
  id: 'calm',
  about: 'as on a quiet day: replies within 0.1 to 0.4 s, full books, no errors',
  latency: { medianMs: 60, sigma: 0.5, maxMs: 200 },
  depth: '1',
  basis: 0,
  faults: [],
};

/**
 * As bad as reports of real crashes say: one order in ten refused for overload, some of them executed all the same,
 * reads that fail or lag, a tenth of the usual depth, and a mark 1 % away from the last price. Nobody publishes the
 * latencies of such hours; half a second with a tail of some seconds lies in the middle of what was told.
 */
export const CRASH: FieldConditions = {
  id: 'crash',
  about:
    'as in real crashes: replies within 0.5 to 6 s, 10 % of orders and 5 % of reads refused, some refused orders executed all the same, a tenth of the depth, mark 1 % off',
  latency: { medianMs: 300, sigma: 0.9, maxMs: 3_000 },
  depth: '0.1',
  basis: 0.01,
  faults: [
    { effect: { kind: 'status', status: 503 }, target: { endpoint: 'stopLimit' }, probability: 0.08 },
    {
      effect: { kind: 'status', status: 503, applied: true },
      target: { endpoint: 'stopLimit' },
      probability: 0.02,
    },
    { effect: { kind: 'status', status: 503 }, target: { endpoint: 'openPositions' }, probability: 0.05 },
    { effect: { kind: 'stale', ageMs: 1_000 }, target: { endpoint: 'openPositions' }, probability: 0.05 },
  ],
};

export const CONDITIONS: readonly FieldConditions[] = [CALM, CRASH];
