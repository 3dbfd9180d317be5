import type { Clock } from '../../core/ports/clock.ts';
import {
  type PermitGrant,
  type PermitRequest,
  type RateLimitStore,
  WINDOW_BUCKETS,
} from '../../core/ports/rate-limit-store.ts';

interface Budget {
  readonly buckets: Map<number, number>;
  factor: number;
  factorAtMs: number;
  recoveryMs: number;
  blockedUntilMs: number;
}

/** Request budgets within one process. */
export function createMemoryRateLimitStore(clock: Clock): RateLimitStore {
  const budgets = new Map<string, Budget>();
  const budgetOf = (scope: string): Budget => {
    const unused = { buckets: new Map(), factor: 1, factorAtMs: 0, recoveryMs: 1, blockedUntilMs: 0 };
    const budget = budgets.get(scope) ?? unused;
    budgets.set(scope, budget);
    return budget;
  };
  return {
    take: async (request) => take(budgetOf(request.scope), request, clock.monotonicMs()),
    async penalize(penalty) {
      const budget = budgetOf(penalty.scope);
      const now = clock.monotonicMs();
      budget.factor = Math.max(penalty.floor, currentFactor(budget, now) * penalty.factor);
      budget.factorAtMs = now;
      budget.recoveryMs = penalty.recoveryMs;
      budget.blockedUntilMs = Math.max(budget.blockedUntilMs, now + penalty.blockMs);
    },
  };
}

function currentFactor(budget: Budget, now: number): number {
  const recovered = (now - budget.factorAtMs) / budget.recoveryMs;
  return Math.min(1, budget.factor + (1 - budget.factor) * Math.max(0, recovered));
}

function take(budget: Budget, request: PermitRequest, now: number): PermitGrant {
  const widthMs = Math.ceil(request.periodMs / WINDOW_BUCKETS);
  const current = Math.floor(now / widthMs);
  let used = 0;
  let oldest = current;
  for (const [bucket, count] of budget.buckets) {
    if (bucket < current - WINDOW_BUCKETS) budget.buckets.delete(bucket);
    else {
      used += count;
      oldest = Math.min(oldest, bucket);
    }
  }
  if (!request.ignorePenalty && budget.blockedUntilMs > now) {
    return { granted: 0, retryInMs: budget.blockedUntilMs - now, isPause: true };
  }
  const factor = request.ignorePenalty ? 1 : currentFactor(budget, now);
  // At least one call per window is allowed, however small limit and share are.
  const free = Math.max(1, Math.floor(request.limit * request.share * factor)) - used;
  const granted = Math.max(0, Math.min(request.count, free));
  if (granted > 0) budget.buckets.set(current, (budget.buckets.get(current) ?? 0) + granted);
  const retryInMs = granted > 0 ? 0 : Math.max(1, (oldest + WINDOW_BUCKETS + 1) * widthMs - now);
  return { granted, retryInMs, isPause: false };
}
