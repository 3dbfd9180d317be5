import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { EVENT_METRICS } from './event-metrics.ts';
import { type MetricSpec, PREFIX } from './metric-spec.ts';

interface Kinds<L extends string> {
  readonly counter: Counter<L>;
  readonly gauge: Gauge<L>;
  readonly histogram: Histogram<L>;
}

type MetricOf<S extends MetricSpec> = Kinds<S['labels'][number]>[S['type']];

type EventMetrics = { readonly [K in keyof typeof EVENT_METRICS]: MetricOf<(typeof EVENT_METRICS)[K]> };

export interface Metrics extends EventMetrics {
  readonly registry: Registry;
}

/** Creates the metrics of the table in a new registry. Nothing is global, so one process can have several. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const made = Object.values(EVENT_METRICS).map((spec) => [spec.name, create(spec, registry)]);
  const metrics = Object.fromEntries(made) as EventMetrics;
  metrics.build_info.set({ version, node_version: process.version }, 1);
  // CPU, memory, event loop and garbage collection.
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return { ...metrics, registry };
}

function create(spec: MetricSpec, registry: Registry): Counter | Gauge | Histogram {
  const { type, labels, help, buckets = [] } = spec;
  const common = { name: `${PREFIX}${spec.name}`, help, labelNames: [...labels], registers: [registry] };
  if (type === 'counter') return new Counter(common);
  return type === 'gauge' ? new Gauge(common) : new Histogram({ ...common, buckets: [...buckets] });
}

/** Gauges that the library names like counters. The same figures are also exported by type. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `${PREFIX}nodejs_active_${what}_total`);
