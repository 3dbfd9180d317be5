import type { Judged } from './judge.ts';
import { FAULTS, READING_VALUES, requestsOf } from './matrix.ts';

/** Minimum for a world to count as one with a risk. */
const LEAST_POLLS = 10;
const LEAST_ORDERS = 1;
const LEAST_HITS = 3;

/** Coverage of a run of the matrix. */
export interface Summary {
  readonly worlds: number;
  /** Worlds with at least ten polls, an accepted order, and three requests that faults hit. */
  readonly atStake: number;
  readonly violating: number;
  readonly polls: number;
  readonly orders: number;
  readonly hits: number;
  /**
   * Pairs of fault and request, of fault and reading, and of request and reading: their number, and how often the
   * rarest was met.
   */
  readonly pairs: Readonly<Record<'faultRequest' | 'faultReading' | 'requestReading', PairCount>>;
  /** Worlds in which an event of the kind had an effect. */
  readonly events: Readonly<Record<string, number>>;
}

export interface PairCount {
  readonly possible: number;
  readonly rarest: number;
  readonly rarestPair: string;
}

const FAULT_NAMES = Object.keys(FAULTS);
const FAULT_REQUESTS = FAULT_NAMES.flatMap((fault) =>
  requestsOf(fault).map((request) => `${fault} / ${request}`),
);
const FAULT_READINGS = FAULT_NAMES.flatMap((fault) =>
  READING_VALUES.map((reading) => `${fault} / ${reading}`),
);
const REQUEST_READINGS = [...new Set(FAULT_NAMES.flatMap(requestsOf))].flatMap((request) =>
  READING_VALUES.map((reading) => `${request} / ${reading}`),
);

/** Adds up the coverage of worlds; pairs count only in worlds with a risk. */
export class Tally {
  readonly #counts = new Map<string, number>();
  readonly #events = new Map<string, number>();
  readonly #sums = { worlds: 0, atStake: 0, violating: 0, polls: 0, orders: 0, hits: 0 };

  add({ violations, polls, orders, hits, pairs, readings, events }: Judged): void {
    const sums = this.#sums;
    sums.worlds += 1;
    sums.polls += polls;
    sums.orders += orders;
    sums.hits += hits;
    if (violations.length > 0) sums.violating += 1;
    for (const kind of events) count(this.#events, kind);
    if (polls < LEAST_POLLS || orders < LEAST_ORDERS || hits < LEAST_HITS) return;
    sums.atStake += 1;
    for (const pair of pairsOf({ pairs, readings })) count(this.#counts, pair);
  }

  /** Whether a world may contain a pair that was met fewer times than this. */
  mayFill(world: Paired, times: number): boolean {
    return [...pairsOf(world)].some((pair) => (this.#counts.get(pair) ?? 0) < times);
  }

  isFilled(times: number): boolean {
    return [FAULT_REQUESTS, FAULT_READINGS, REQUEST_READINGS].every(
      (pairs) => this.#rarest(pairs).rarest >= times,
    );
  }

  summary(): Summary {
    return {
      ...this.#sums,
      pairs: {
        faultRequest: this.#rarest(FAULT_REQUESTS),
        faultReading: this.#rarest(FAULT_READINGS),
        requestReading: this.#rarest(REQUEST_READINGS),
      },
      events: Object.fromEntries([...this.#events].toSorted(([a], [b]) => a.localeCompare(b))),
    };
  }

  #rarest(pairs: readonly string[]): PairCount {
    let rarestPair = '';
    let rarest = Number.POSITIVE_INFINITY;
    for (const pair of pairs) {
      const times = this.#counts.get(pair) ?? 0;
      if (times < rarest) [rarest, rarestPair] = [times, pair];
    }
    return { possible: pairs.length, rarest, rarestPair };
  }
}

type Paired = Pick<Judged, 'pairs' | 'readings'>;

function pairsOf({ pairs, readings }: Paired): ReadonlySet<string> {
  const all = pairs.flatMap(([fault, request]) => [
    `${fault} / ${request}`,
    ...readings.flatMap((reading) => [`${fault} / ${reading}`, `${request} / ${reading}`]),
  ]);
  return new Set(all);
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
