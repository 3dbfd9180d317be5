import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { EVENT_METRICS } from './event-metrics.ts';
import { type MetricSpec, PREFIX } from './metric-spec.ts';

type MetricOf<S extends MetricSpec> = S['type'] extends 'counter'
  ? Counter<S['labels'][number]>
  : S['type'] extends 'gauge'
    ? Gauge<S['labels'][number]>
    : Histogram<S['labels'][number]>;

type EventMetrics = { readonly [K in keyof typeof EVENT_METRICS]: MetricOf<(typeof EVENT_METRICS)[K]> };

export interface Metrics extends EventMetrics {
  readonly registry: Registry;
}

export interface MetricsOptions {
  readonly version: string;
  /** Also of the process: CPU, memory, event loop, garbage collection. On by default. */
  readonly process?: boolean;
}

/** What the table says, in a registry of its own: nothing global, so several can be in one process. */
export function createMetrics({ version, process: withProcess = true }: MetricsOptions): Metrics {
  const registry = new Registry();
  const made = Object.entries(EVENT_METRICS).map(([key, spec]) => [key, create(spec, registry)]);
  const metrics = Object.fromEntries(made) as EventMetrics;
  metrics.build.set({ version, node_version: process.version }, 1);
  if (withProcess) collectProcess(registry);
  return { ...metrics, registry };
}

function create(spec: MetricSpec, registry: Registry): Counter | Gauge | Histogram {
  const { type, labels, help, buckets = [] } = spec;
  const common = { name: `${PREFIX}${spec.name}`, help, labelNames: [...labels], registers: [registry] };
  if (type === 'counter') return new Counter(common);
  return type === 'gauge' ? new Gauge(common) : new Histogram({ ...common, buckets: [...buckets] });
}

/** Sums that the library names like counters although they are none; they are there by type as well. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `${PREFIX}nodejs_active_${what}_total`);

function collectProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
