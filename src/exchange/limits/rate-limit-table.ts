import { API_ROOT, ENDPOINTS } from '../endpoints.ts';

/** One request budget of the exchange, per IP address. A request counts in every budget that covers its path. */
export interface RateLimit {
  readonly limit: number;
  readonly periodMs: number;
  /** A path, or a prefix of paths when it ends with `*`. */
  readonly paths: readonly string[];
}

export type RateLimitTable = Readonly<Record<string, RateLimit>>;

const per10s = (limit: number, ...paths: string[]): RateLimit => ({ limit, periodMs: 10_000, paths });

/** Limits of specification 8 and 4.1; for paths not listed there, the public limits of the live service. */
export const DEFAULT_RATE_LIMITS: RateLimitTable = {
  public: per10s(20_000, `${API_ROOT}/public/*`),
  'trade-account': per10s(12_000, `${API_ROOT}/trade-account/*`),
  'main-account': per10s(1000, `${API_ROOT}/main-account/*`),
  transfers: per10s(200, ENDPOINTS.transfers.path),
  positions: per10s(12_000, ENDPOINTS.openPositions.path),
  'credit-line': per10s(1000, `${API_ROOT}/credit-line/*`),
  'hedge-mode': per10s(1000, ENDPOINTS.hedgeMode.path),
  order: per10s(10_000, `${API_ROOT}/order/*`),
};

export function limitsOf(path: string, table: RateLimitTable): [name: string, limit: RateLimit][] {
  const covers = (pattern: string) =>
    pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
  return Object.entries(table).filter(([, limit]) => limit.paths.some(covers));
}

/**
 * Replaces or adds entries; an override names only the fields it changes.
 * @throws RangeError for a new limit without all fields, and for values that are not positive
 */
export function overrideLimits(overrides: Readonly<Record<string, Partial<RateLimit>>> = {}): RateLimitTable {
  const table: Record<string, RateLimit> = { ...DEFAULT_RATE_LIMITS };
  for (const [name, change] of Object.entries(overrides)) {
    const { limit, periodMs, paths } = { ...table[name], ...change };
    if (limit === undefined || periodMs === undefined || paths === undefined) {
      throw new RangeError(`rate limit "${name}" is new: it needs limit, periodMs and paths`);
    }
    if (!Number.isInteger(limit) || limit < 1 || !(periodMs > 0)) {
      throw new RangeError(`rate limit "${name}": limit and periodMs must be positive, limit a whole number`);
    }
    table[name] = { limit, periodMs, paths };
  }
  return table;
}
