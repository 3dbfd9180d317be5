import type { Clock } from '../core/ports/clock.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';

const REPORTS_APART_MS = 1_000;

/**
 * What a process does with errors of its Redis connection: it reports one per second of an outage, not one per attempt
 * to connect. Queue-driven polls stop meanwhile; the client goes on with nonces and request budgets of its own
 * (exchange/bounded-store.ts), and the watchdog sets up schedules that are gone when Redis is back.
 */
export function onRedisLost(telemetry: Telemetry, clock: Clock): (error: unknown) => void {
  let reportedMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - reportedMs < REPORTS_APART_MS) return;
    reportedMs = nowMs;
    telemetry.emit({ kind: 'redis', available: false, error });
  };
}
