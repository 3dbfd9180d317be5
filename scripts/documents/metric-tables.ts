import { EVENT_GROUPS } from '../../src/telemetry/metrics/event-metrics.ts';
import { type MetricSpec, type MetricTable, PREFIX } from '../../src/telemetry/metrics/metric-spec.ts';
import { STATE_METRICS } from '../../src/telemetry/metrics/state-metrics.ts';

/** The generated parts of docs/metrics.md, by name. */
export function metricTables(): Readonly<Record<string, string>> {
  const groups: Readonly<Record<string, MetricTable>> = { state: STATE_METRICS, ...EVENT_GROUPS };
  return Object.fromEntries(
    Object.entries(groups).map(([name, metrics]) => [`metrics-${name}`, tableOf(Object.values(metrics))]),
  );
}

function tableOf(metrics: readonly MetricSpec[]): string {
  const rows = metrics.map(({ name, type, unit, labels, help, buckets }) => {
    const bounds = buckets === undefined ? '' : ` Buckets: ${buckets.join(', ')}.`;
    const names = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${PREFIX}${name}\` | ${type} | ${UNIT_WORDS[unit]} | ${names} | ${help}${bounds} |`;
  });
  return ['| Metric | Type | Unit | Labels | What it says |', '|---|---|---|---|---|', ...rows].join('\n');
}

const UNIT_WORDS: Readonly<Record<MetricSpec['unit'], string>> = {
  '1': '',
  seconds: 's',
  ratio: 'fraction',
  money: 'money of the market',
  asset: 'the asset',
};
