import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import { leastIntervalMs } from '../core/risk/cadence.ts';
import { ENDPOINTS } from '../exchange/endpoints.ts';
import { limitsOf, overrideLimits } from '../exchange/limits/rate-limit-table.ts';

/** Settings of an egress group that the config does not describe. */
export const WHOLE = { share: 1, reservedShare: 0 };

const PATHS = { positions: ENDPOINTS.openPositions.path, creditLine: ENDPOINTS.creditLines.path } as const;

type EveryPoll = keyof typeof PATHS;

/** Number of accounts that read each source, by egress group. */
export function countSharing({ accounts }: CompiledConfig): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { egress, watch } of accounts) {
    for (const source of watch.sources) {
      const key = sharingKey(egress, source);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}

function sharingKey(egress: string, source: string): string {
  return `${source} ${egress}`;
}

/** Least polling interval, ms: from the tightest budget of the reads of every poll, shared by the egress group. */
export function leastInterval(
  account: CompiledAccount,
  { egress, exchange }: CompiledConfig,
  sharing: ReadonlyMap<string, number>,
): number {
  const { share, reservedShare } = egress[account.egress] ?? WHOLE;
  const table = overrideLimits(exchange.limits);
  const sources = account.watch.sources.filter((source): source is EveryPoll => source in PATHS);
  const intervals = sources.flatMap((source) => {
    const count = sharing.get(sharingKey(account.egress, source)) ?? 1;
    return limitsOf(PATHS[source], table).map(([, { limit, periodMs }]) =>
      leastIntervalMs({ requests: limit * share, perMs: periodMs, reserved: reservedShare }, count, 1),
    );
  });
  return Math.max(0, ...intervals);
}
