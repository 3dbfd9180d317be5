import { type CurvesOptions, curves, type Panel } from './panels.ts';

/** Panels for counters and histograms of the selected processes. */

export const SCOPE = 'instance=~"$instance"';

/** Events per second, by labels. */
export function rate(metric: string, by: readonly string[], matchers = ''): string {
  const labels = matchers === '' ? SCOPE : `${SCOPE}, ${matchers}`;
  return `sum by (${by.join(', ')}) (rate(breakwater_${metric}{${labels}}[$__rate_interval]))`;
}

/** Events in each step. */
function increase(metric: string, by: readonly string[]): string {
  return `sum by (${by.join(', ')}) (increase(breakwater_${metric}{${SCOPE}}[$__rate_interval]))`;
}

function quantiles(histogram: string): { expr: string; legend: string }[] {
  return [0.5, 0.9, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (le) (rate(breakwater_${histogram}_bucket{${SCOPE}}[$__rate_interval])))`,
    legend: `p${quantile * 100}`,
  }));
}

function legendOf(labels: readonly string[]): string {
  return labels.map((label) => `{{${label}}}`).join(' ');
}

type Some = Partial<CurvesOptions> & Pick<CurvesOptions, 'title' | 'description'>;

/** Rare events, counted as bars. */
export function counts(metric: string, by: readonly string[], options: Some): Panel {
  return curves({
    queries: [{ expr: increase(metric, by), legend: legendOf(by) }],
    bars: true,
    stacked: true,
    min: 0,
    decimals: 0,
    noValue: 'none',
    size: [8, 8],
    ...options,
  });
}

export function rates(metric: string, by: readonly string[], options: Some): Panel {
  return curves({
    queries: [{ expr: rate(metric, by), legend: legendOf(by) }],
    unit: 'ops',
    min: 0,
    size: [8, 8],
    ...options,
  });
}

export function durations(histogram: string, options: Some): Panel {
  return curves({ queries: quantiles(histogram), unit: 's', min: 0, size: [8, 8], ...options });
}
