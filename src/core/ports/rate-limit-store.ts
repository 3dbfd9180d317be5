/** Sliding windows shared by all processes behind one IP address. A rejection means that the store is lost. */

export interface PermitRequest {
  /** The budget: egress group and limit, e.g. `office/main-account`. */
  readonly scope: string;
  /** Maximum number of permits within any `periodMs`. */
  readonly limit: number;
  readonly periodMs: number;
  /** Part of `limit`, 0 to 1, that this caller may use; the rest is reserved for others. */
  readonly share: number;
  readonly count: number;
  /** Ignores penalties, both the smaller budget and the pause; `limit` still applies. */
  readonly ignorePenalty: boolean;
}

export interface PermitGrant {
  /** 0 to `count`. */
  readonly granted: number;
  /** When to try again; 0 if all were granted. */
  readonly retryInMs: number;
  /** Refused because of a penalty's pause, not because the budget is used up. */
  readonly isPause: boolean;
}

export interface Penalty {
  readonly scope: string;
  /** The budget is multiplied by this (0 to 1), but not below `floor`, and recovers over `recoveryMs`. */
  readonly factor: number;
  readonly floor: number;
  readonly recoveryMs: number;
  /** No permits for this long (the exchange's Retry-After), milliseconds, except with `ignorePenalty`. */
  readonly blockMs: number;
}

export interface RateLimitStore {
  /** Takes permits: at most `limit` within any window of `periodMs`, over all callers. */
  take(request: PermitRequest): Promise<PermitGrant>;
  /** Shrinks a budget for all its users after the exchange reported it as spent. */
  penalize(penalty: Penalty): Promise<void>;
}

/** Number of buckets of the sliding window; the oldest, partly outside, still counts in full. */
export const WINDOW_BUCKETS = 40;
