import { z } from 'zod';

/** A rule that admits `requests` per `periodMs` and client address, in a sliding window. */
export const ENFORCED_LIMIT = z.strictObject({
  /** An exact path, or a prefix ending in `*`. `*` alone applies to paths that no other rule names. */
  path: z.string().min(1),
  requests: z.number().int().min(0).max(10_000_000),
  periodMs: z.number().int().min(1).max(3_600_000),
});
export type EnforcedLimit = Readonly<z.infer<typeof ENFORCED_LIMIT>>;

/** Limits of specification 8; those it omits are from the live service. */
export const ENFORCED_RATE_LIMITS: readonly EnforcedLimit[] = [
  { path: '/api/v4/public/*', requests: 20_000, periodMs: 10_000 },
  { path: '/api/v4/trade-account/*', requests: 12_000, periodMs: 10_000 },
  { path: '/api/v4/main-account/*', requests: 1_000, periodMs: 10_000 },
  { path: '/api/v4/main-account/history', requests: 200, periodMs: 10_000 },
  { path: '/api/v4/collateral-account/positions/open', requests: 12_000, periodMs: 10_000 },
  { path: '/api/v4/collateral-account/hedge-mode/update', requests: 1_000, periodMs: 10_000 },
  { path: '/api/v4/credit-line/*', requests: 1_000, periodMs: 10_000 },
  { path: '*', requests: 10_000, periodMs: 10_000 },
];

/** Bound on remembered paths and windows; the oldest window goes first. */
const MAX_WINDOWS = 4_096;

/** Admits a request if every rule that matches its path has room. A refused request does not count. */
export class RateLimiter {
  #rules: readonly EnforcedLimit[];
  readonly #rulesOfPath = new Map<string, readonly EnforcedLimit[]>();
  readonly #windows = new Map<string, SlidingWindow>();

  constructor(rules: readonly EnforcedLimit[]) {
    this.#rules = rules;
  }

  get rules(): readonly EnforcedLimit[] {
    return this.#rules;
  }

  /** New rules start with empty windows. */
  replace(rules: readonly EnforcedLimit[]): void {
    this.#rules = rules;
    this.#rulesOfPath.clear();
    this.#windows.clear();
  }

  admit(path: string, address: string, nowMs: number): boolean {
    const windows = this.#matching(path).map((rule) => this.#window(rule, address));
    if (!windows.every((window) => window.hasRoom(nowMs))) return false;
    for (const window of windows) window.add(nowMs);
    return true;
  }

  #matching(path: string): readonly EnforcedLimit[] {
    let rules = this.#rulesOfPath.get(path);
    if (rules === undefined) {
      const named = this.#rules.filter((rule) => rule.path !== '*' && matches(rule.path, path));
      rules = named.length > 0 ? named : this.#rules.filter((rule) => rule.path === '*');
      // Paths come from outside: remembering them without bound would be a leak.
      if (this.#rulesOfPath.size < MAX_WINDOWS) this.#rulesOfPath.set(path, rules);
    }
    return rules;
  }

  #window(rule: EnforcedLimit, address: string): SlidingWindow {
    const key = `${address} ${rule.path}`;
    let window = this.#windows.get(key);
    if (window === undefined) {
      const [oldest = ''] = this.#windows.keys();
      if (this.#windows.size >= MAX_WINDOWS) this.#windows.delete(oldest);
      window = new SlidingWindow(rule.requests, rule.periodMs);
      this.#windows.set(key, window);
    }
    return window;
  }
}

function matches(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}

/** Times of the last `size` admitted requests, in a ring buffer: the oldest one decides. */
class SlidingWindow {
  readonly #size: number;
  readonly #periodMs: number;
  readonly #times: number[] = [];
  #next = 0;

  constructor(size: number, periodMs: number) {
    this.#size = size;
    this.#periodMs = periodMs;
  }

  hasRoom(nowMs: number): boolean {
    if (this.#times.length < this.#size) return true;
    return this.#size > 0 && nowMs - (this.#times[this.#next] ?? 0) >= this.#periodMs;
  }

  add(nowMs: number): void {
    this.#times[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#size;
  }
}
