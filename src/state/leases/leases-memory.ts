import type { Clock } from '../../core/ports/clock.ts';
import type { LaneLeases, LeaseReply } from '../../core/ports/state-store.ts';
import { CLOCK_STEP_MS } from '../account/account-backend.ts';
import { leaseField } from './leases-redis.ts';

interface Held {
  readonly token: number;
  readonly owner: string;
  untilMs: number;
}

export interface MemoryLeases extends LaneLeases {
  /** Whether no other owner has taken this lane since. */
  isHeld(accountId: string, market: string | null, token: number): boolean;
}

/** Leases within one process: the same steps as the scripts in Redis. */
export function createMemoryLeases(clock: Clock): MemoryLeases {
  const accounts = new Map<string, Map<string, Held>>();
  let lastToken = 0;
  // Whole milliseconds as in Redis: rounding must not make a lease longer than requested.
  const nowMs = (): number => Math.floor(clock.monotonicMs());
  return {
    async acquire(accountId, market, owner, leaseMs): Promise<LeaseReply> {
      const now = nowMs();
      const held = accounts.get(accountId) ?? new Map<string, Held>();
      accounts.set(accountId, held);
      for (const [name, lease] of held) {
        if (lease.untilMs > now + leaseMs + CLOCK_STEP_MS) lease.untilMs = now + leaseMs;
        if (lease.untilMs <= now) held.delete(name);
      }
      const field = leaseField(market);
      const mine = held.get(field)?.owner === owner ? held.get(field) : undefined;
      const blockers = [...held].filter(([name, lease]) => lease.owner !== owner && blocks(name, field));
      if (blockers.length > 0 && mine === undefined) {
        const longest = blockers.map(([, lease]) => lease).sort((a, b) => b.untilMs - a.untilMs)[0]!;
        const wish = held.get('wish');
        if (market === null && (wish === undefined || wish.owner === owner)) {
          held.set('wish', { token: 0, owner, untilMs: now + leaseMs });
        }
        return { kind: 'busy', by: longest.owner, retryInMs: Math.max(1, longest.untilMs - now) };
      }
      if (market === null) held.delete('wish');
      const token = mine?.token ?? (lastToken += 1);
      held.set(field, { token, owner, untilMs: now + leaseMs });
      return { kind: 'held', lease: { accountId, market, owner, token } };
    },
    async renew({ accountId, market, owner, token }, leaseMs) {
      const held = accounts.get(accountId);
      const lease = held?.get(leaseField(market));
      const now = nowMs();
      if (lease?.token !== token) return 'lost';
      lease.untilMs = now + leaseMs;
      const wish = held?.get('wish');
      return wish !== undefined && wish.untilMs > now && wish.owner !== owner ? 'wanted' : 'held';
    },
    async release({ accountId, market, owner }) {
      const held = accounts.get(accountId);
      const fields = market === null ? [leaseField(null), 'wish'] : [leaseField(market)];
      for (const field of fields) if (held?.get(field)?.owner === owner) held.delete(field);
    },
    isHeld: (accountId, market, token) => accounts.get(accountId)?.get(leaseField(market))?.token === token,
  };
}

function blocks(name: string, field: string): boolean {
  return field === 'all' || name === field || name === 'all' || name === 'wish';
}
