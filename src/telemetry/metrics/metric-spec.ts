/** In front of every name. */
export const PREFIX = 'breakwater_';

/** One metric: a row of the table that code, scrapes and docs/metrics.md are made from. */
export interface MetricSpec {
  /** Without the prefix; ends in its unit, as Prometheus names do. */
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

/** `money`: the money currency of the market; `asset`: the asset of the label. */
export type Unit = '1' | 'seconds' | 'ratio' | 'money' | 'asset';

export type MetricTable = Readonly<Record<string, MetricSpec>>;

interface Row<T extends MetricSpec['type'], L> extends MetricSpec {
  readonly type: T;
  readonly labels: L & MetricSpec['labels'];
}

export function counter<const L extends readonly string[]>(
  name: string,
  labels: L,
  help: string,
): Row<'counter', L> {
  return { type: 'counter', unit: unitOf(name), name, labels, help };
}

/** `unit`: where the name does not end in it. */
export function gauge<const L extends readonly string[]>(
  name: string,
  labels: L,
  help: string,
  unit: Unit = unitOf(name),
): Row<'gauge', L> {
  return { type: 'gauge', unit, name, labels, help };
}

export function histogram<const L extends readonly string[]>(
  name: string,
  labels: L,
  help: string,
  buckets: readonly number[],
): Row<'histogram', L> {
  return { type: 'histogram', unit: unitOf(name), name, labels, help, buckets };
}

function unitOf(name: string): Unit {
  return (/_(seconds|ratio)(?:_total)?$/.exec(name)?.[1] as Unit | undefined) ?? '1';
}
