/** In how many histories of a run each thing happened. */
export interface Stats {
  readonly counts: Map<string, number>;
}

export function count(stats: Stats, what: string, by = 1): void {
  stats.counts.set(what, (stats.counts.get(what) ?? 0) + by);
}

/** Notes that something happened in a history. */
export type Seen = (what: string) => void;

/** A property that a history has broken. */
export class Violation extends Error {}
