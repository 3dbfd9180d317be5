export const PREFIX = 'breakwater_';

/** One metric: a row of the table that code, scrapes and docs/metrics.md are generated from. */
export interface MetricSpec {
  /** Without the prefix; ends in its unit, as is usual in Prometheus. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Base units; `1` for counts and flags, `ratio` for fractions. */
  readonly unit: Unit;
  /** Each label has a closed or bounded set of values. */
  readonly labels: readonly string[];
  readonly help: string;
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
}

/** `money`: the money currency of the market; `asset`: the asset in the label. */
export type Unit = '1' | 'seconds' | 'ratio' | 'money' | 'asset';

export type MetricTable = Readonly<Record<string, MetricSpec>>;

interface Row<T extends MetricSpec['type'], L> extends MetricSpec {
  readonly type: T;
  readonly labels: L & MetricSpec['labels'];
}

type Rows<T extends MetricSpec['type'], L, N extends string> = { readonly [K in N]: Row<T, L> };

/** Metrics with the same labels: their help texts by name. */
type Helps<N extends string> = Readonly<Record<N, string>>;

export const counters = <const L extends readonly string[], N extends string>(labels: L, helps: Helps<N>) =>
  rows('counter', labels, helps);

/** @param unit needed if the names do not end in it */
export const gauges = <const L extends readonly string[], N extends string>(
  labels: L,
  helps: Helps<N>,
  unit?: Unit,
) => rows('gauge', labels, helps, unit === undefined ? {} : { unit });

export const histograms = <const L extends readonly string[], N extends string>(
  labels: L,
  buckets: readonly number[],
  helps: Helps<N>,
) => rows('histogram', labels, helps, { buckets });

function rows<T extends MetricSpec['type'], L extends readonly string[], N extends string>(
  type: T,
  labels: L,
  helps: Helps<N>,
  more: Partial<MetricSpec> = {},
): Rows<T, L, N> {
  const made = Object.entries(helps).map(([name, help]) => [
    name,
    { type, unit: unitOf(name), name, labels, help, ...more },
  ]);
  return Object.fromEntries(made) as Rows<T, L, N>;
}

function unitOf(name: string): Unit {
  return (/_(seconds|ratio)(?:_total)?$/.exec(name)?.[1] as Unit | undefined) ?? '1';
}
