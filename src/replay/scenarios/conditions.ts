import type { FaultSpec } from '../../simulator/http/faults.ts';
import type { LatencySpec } from '../../world/chance.ts';

/** Stress of a market apart from its price, from the moment it has moved by `fromPercent`. */
export interface MarketStress {
  readonly fromPercent: number;
  /** Factor for the amounts in the order book. */
  readonly depthFactor: string;
  /** Least distance from bid to ask, a fraction of the price. */
  readonly spread: string;
  /** Distance of the mark price beyond the last price, against the accounts' holdings; a fraction. */
  readonly basis: string;
  /** Time in which the basis opens, in a straight line. */
  readonly basisOverMs: number;
}

/** A time of failure, from the moment the market has moved by `fromPercent`. */
export interface Outage {
  readonly fromPercent: number;
  readonly forMs: number;
  readonly fault: FaultSpec;
}

/** Quality of an exchange while the price moves. */
export interface FieldConditions {
  readonly id: 'calm' | 'crash';
  readonly about: string;
  /** Per direction. */
  readonly latency: LatencySpec;
  /** Absent: full books, and the mark equals the last price. */
  readonly market?: MarketStress;
  /** In force from beginning to end. */
  readonly faults: readonly FaultSpec[];
  readonly outages: readonly Outage[];
}

export const CALM: FieldConditions = {
  id: 'calm',
  about: 'as on a quiet day: replies within 0.1 to 0.4 s, full books, no errors',
  latency: { medianMs: 60, sigma: 0.5, maxMs: 200 },
  faults: [],
  outages: [],
};

/**
 * The middle of what was reported from real crashes, of which nobody publishes figures. Single reports were worse:
 * orders refused for 106 minutes, a basis of 10 %, 98 % of the depth gone.
 */
export const CRASH: FieldConditions = {
  id: 'crash',
  about:
    'as in real crashes: replies within 0.5 to 6 s; 12 % of orders refused, lost or executed in spite of an error, ' +
    'and none taken for two minutes once the market has moved 5 %; 503 and 429 from gateway and exchange; a tenth of ' +
    'the depth, a spread of 0.5 %, and the mark 1 % off',
  latency: { medianMs: 300, sigma: 0.9, maxMs: 3_000 },
  market: { fromPercent: 2, depthFactor: '0.1', spread: '0.005', basis: '0.01', basisOverMs: 60_000 },
  faults: [
    // Shed because of overload, although they reduce.
    {
      effect: { kind: 'unavailable', meaning: 'overloaded' },
      target: { endpoint: 'stopLimit' },
      probability: 0.08,
    },
    // Two ways in which the reply to a standing order is lost.
    {
      effect: { kind: 'unavailable', meaning: 'executed' },
      target: { endpoint: 'stopLimit' },
      probability: 0.02,
    },
    { effect: { kind: 'lostReply' }, target: { endpoint: 'stopLimit' }, probability: 0.02 },
    { effect: { kind: 'gatewayStatus', status: 503 }, probability: 0.03 },
    // A gateway limit, and a nonce that came too late: the same status, with different remedies.
    { effect: { kind: 'gatewayStatus', status: 429, retryAfterMs: 1_000 }, probability: 0.005 },
    { effect: { kind: 'status', status: 429 }, probability: 0.005 },
    { effect: { kind: 'stale', ageMs: 1_000 }, target: { endpoint: 'openPositions' }, probability: 0.05 },
  ],
  outages: [{ fromPercent: 5, forMs: 120_000, fault: { effect: { kind: 'refusal', of: 'orders' } } }],
};

export const CONDITIONS: readonly FieldConditions[] = [CALM, CRASH];
