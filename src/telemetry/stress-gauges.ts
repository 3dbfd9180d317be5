import type { StoredStress, StressEffect } from '../core/view/stress-result.ts';
import type { Metrics } from './metrics/registry.ts';

const MS = 1000;

/** Sets what the newest stress test came to; without one there are no series. */
export function setStress(metrics: Metrics, stored: StoredStress | undefined, nowMs: number): void {
  for (const gauge of gaugesOf(metrics)) gauge.reset();
  // A gauge without labels that was reset says 0, which would be a statement.
  for (const gauge of [metrics.stressAge, metrics.stressOverdue, metrics.stressDuration]) gauge.remove();
  for (const gauge of [metrics.stressAccounts, metrics.stressLeftOut]) gauge.remove();
  if (stored === undefined) return;
  const { result, lastRun, nextAtMs } = stored;
  metrics.stressLastRun.set({ outcome: lastRun.outcome }, 1);
  metrics.stressOverdue.set(Math.max(0, nowMs - nextAtMs) / MS);
  if (result === null) return;
  metrics.stressAge.set(Math.max(0, nowMs - result.atMs) / MS);
  metrics.stressDuration.set(result.durationMs / MS);
  metrics.stressAccounts.set(result.accounts);
  metrics.stressLeftOut.set(result.leftOutCount);
  for (const one of result.cases) {
    const { scenario, conditions } = one;
    for (const { protection, liquidated, kept } of bothOf(one)) {
      const labels = { scenario, conditions, protection };
      metrics.stressLiquidated.set(labels, liquidated);
      metrics.stressKept.set(labels, kept);
    }
  }
  for (const one of result.accountCases) {
    const { accountId: account, scenario, conditions } = one;
    for (const { protection, liquidated, kept } of bothOf(one)) {
      const labels = { account, scenario, conditions, protection };
      metrics.stressAccountLiquidated.set(labels, liquidated);
      metrics.stressAccountKept.set(labels, kept);
    }
  }
}

function gaugesOf(metrics: Metrics) {
  const { stressLastRun, stressLiquidated, stressKept, stressAccountLiquidated, stressAccountKept } = metrics;
  return [stressLastRun, stressLiquidated, stressKept, stressAccountLiquidated, stressAccountKept];
}

interface Effect extends StressEffect {
  readonly liquidatedWithout: number | boolean;
  readonly liquidatedWith: number | boolean;
}

function bothOf({ liquidatedWithout, liquidatedWith, keptWithout, keptWith }: Effect) {
  return [
    { protection: 'none', liquidated: Number(liquidatedWithout), kept: keptWithout },
    { protection: 'rules', liquidated: Number(liquidatedWith), kept: keptWith },
  ];
}
