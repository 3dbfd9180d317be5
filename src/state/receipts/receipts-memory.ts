import type { Clock } from '../../core/ports/clock.ts';
import type { ReceiptStore, Receipts } from '../../core/ports/delivery.ts';

interface Thread {
  receipts: Receipts;
  owner: string | undefined;
  untilMs: number;
  touchedMs: number;
}

/** How long a thread is remembered after it was last used. */
export const KEEP_RECEIPTS_MS = 14 * 24 * 3600 * 1000;

/** Receipts in the memory of one process: lost when it ends. */
export function createMemoryReceiptStore(
  clock: Clock,
  { keepMs = KEEP_RECEIPTS_MS }: { readonly keepMs?: number } = {},
): ReceiptStore {
  // In the order of last use.
  const threads = new Map<string, Thread>();
  const use = (name: string): Thread => {
    const nowMs = clock.monotonicMs();
    for (const [oldest, { touchedMs }] of threads) {
      if (nowMs - touchedMs < keepMs) break;
      threads.delete(oldest);
    }
    const thread = threads.get(name) ?? { receipts: {}, owner: undefined, untilMs: 0, touchedMs: nowMs };
    thread.touchedMs = nowMs;
    threads.delete(name);
    threads.set(name, thread);
    return thread;
  };
  return {
    async peek(names) {
      return names.map((name) => threads.get(name)?.receipts ?? {});
    },
    async hold(name, owner, leaseMs) {
      const nowMs = clock.monotonicMs();
      const thread = use(name);
      if (thread.owner !== undefined && thread.owner !== owner && thread.untilMs > nowMs) {
        return { kind: 'busy', retryInMs: thread.untilMs - nowMs };
      }
      thread.owner = owner;
      thread.untilMs = nowMs + leaseMs;
      return { kind: 'held', receipts: thread.receipts };
    },
    async settle(name, owner, receipts) {
      const thread = use(name);
      thread.receipts = { ...thread.receipts, ...receipts };
      const held = thread.owner === owner && thread.untilMs > clock.monotonicMs();
      if (thread.owner === owner) thread.owner = undefined;
      if (thread.owner === undefined && Object.keys(thread.receipts).length === 0) threads.delete(name);
      return held;
    },
  };
}
