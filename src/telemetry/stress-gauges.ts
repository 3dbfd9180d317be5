import type { StoredStress, StressedAccountCase, StressedCase } from '../core/view/stress-result.ts';
import { EVENT_GROUPS } from './metrics/event-metrics.ts';
import type { Metrics } from './metrics/registry.ts';

const MS = 1000;
const { stress_runs_total: _, ...GAUGES } = EVENT_GROUPS.stress;

/** Sets the gauges to the newest stress test; without one there are no series. */
export function setStress(metrics: Metrics, stored: StoredStress | undefined, nowMs: number): void {
  for (const name of Object.keys(GAUGES) as (keyof typeof GAUGES)[]) {
    const gauge: { reset(): void; remove(labels: object): void } = metrics[name];
    gauge.reset();
    // A gauge without labels reports 0 after a reset, which would be a false value.
    gauge.remove({});
  }
  if (stored === undefined) return;
  const { result, lastRun, nextAtMs } = stored;
  metrics.stress_last_run.set({ outcome: lastRun.outcome }, 1);
  metrics.stress_overdue_seconds.set(Math.max(0, nowMs - nextAtMs) / MS);
  if (result === null) return;
  metrics.stress_age_seconds.set(Math.max(0, nowMs - result.atMs) / MS);
  metrics.stress_duration_seconds.set(result.durationMs / MS);
  metrics.stress_accounts.set(result.accounts);
  metrics.stress_left_out.set(result.leftOutCount);
  for (const { scenario, conditions, ...effect } of result.cases) {
    for (const [protection, liquidated, kept] of bothOf(effect)) {
      const labels = { scenario, conditions, protection };
      metrics.stress_liquidated_accounts.set(labels, liquidated);
      metrics.stress_equity_kept_ratio.set(labels, kept);
    }
  }
  for (const { accountId: account, scenario, conditions, ...effect } of result.accountCases) {
    for (const [protection, liquidated, kept] of bothOf(effect)) {
      const labels = { account, scenario, conditions, protection };
      metrics.stress_account_liquidated.set(labels, liquidated);
      metrics.stress_account_equity_kept_ratio.set(labels, kept);
    }
  }
}

type Effect = Pick<
  StressedCase | StressedAccountCase,
  'liquidatedWithout' | 'liquidatedWith' | 'keptWithout' | 'keptWith'
>;

function bothOf({ liquidatedWithout, liquidatedWith, keptWithout, keptWith }: Effect) {
  return [
    ['none', Number(liquidatedWithout), keptWithout],
    ['rules', Number(liquidatedWith), keptWith],
  ] as const;
}
