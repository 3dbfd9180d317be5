/** In front of every name. */
export const PREFIX = 'breakwater_';

/** One metric: a row of the table that code, text of scrapes and docs/metrics.md are made from. */
export interface MetricSpec {
  /** Without the prefix; ends in its unit, as Prometheus names do. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Of its values: base units, `1` for counts and flags, `ratio` for fractions. */
  readonly unit: Unit;
  /** Each from a closed or bounded set. */
  readonly labels: readonly string[];
  readonly help: string;
  /** Upper bounds, of histograms. */
  readonly buckets?: readonly number[];
}

/** `money`: the money currency of the market; `asset`: the asset of the label. */
export type Unit = '1' | 'seconds' | 'ratio' | 'money' | 'asset';

export type MetricTable = Readonly<Record<string, MetricSpec>>;
