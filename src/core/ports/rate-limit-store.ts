/** Sliding windows that all processes behind one IP address share. A rejected promise means that the store is lost. */

export interface PermitRequest {
  /** The budget: egress group and limit, e.g. `office/main-account`. */
  readonly scope: string;
  /** At most so many permits within any `periodMs`. */
  readonly limit: number;
  readonly periodMs: number;
  /** The part of `limit`, 0 to 1, that this caller may use; the rest is reserved for others. */
  readonly share: number;
  readonly count: number;
  /** Protective callers are held back by the limit alone, not by a budget that shrank after a refusal. */
  readonly ignorePenalty: boolean;
}

export interface PermitGrant {
  /** 0 to `count`. */
  readonly granted: number;
  /** When a refused caller may hope for a permit; 0 when all were granted. */
  readonly retryInMs: number;
  /** Refused because of a penalty's pause, and not because the budget is used up. */
  readonly isPause: boolean;
}

export interface Penalty {
  readonly scope: string;
  /** The budget is multiplied by this (0 to 1), but not below `floor`, and grows back over `recoveryMs`. */
  readonly factor: number;
  readonly floor: number;
  readonly recoveryMs: number;
  /** No permits at all for this long (Retry-After of the exchange). */
  readonly blockMs: number;
}

export interface RateLimitStore {
  /** Takes permits: within any window of `periodMs` no more than `limit` are ever granted, to whomever. */
  take(request: PermitRequest): Promise<PermitGrant>;
  /** The exchange said that a budget is spent: shrink it for everybody who shares it. */
  penalize(penalty: Penalty): Promise<void>;
}

/** The sliding window is counted in this many buckets; the oldest, partly outside, still counts whole. */
export const WINDOW_BUCKETS = 40;
