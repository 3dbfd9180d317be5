import type { ReceiptStore, Receipts } from '../../core/ports/delivery.ts';

export interface StandbyReceipts extends ReceiptStore {
  /** Writes receipts of messages delivered alone to the shared store. Rejects when that is lost. */
  handBack(): Promise<void>;
}

const OWNER = 'standby';
const HOLD_MS = 5_000;
/** Threads whose own receipts this process remembers: more than two changes of the store take. */
const MOST_KNOWN = 5_000;

/**
 * The shared receipts and, while this process goes on alone, its own instead. It always knows its own deliveries: the
 * shared store does not have those made alone when work is taken from it again, and alone nothing else knows of those
 * made before.
 */
export function createStandbyReceipts(
  shared: ReceiptStore,
  alone: ReceiptStore,
  isAlone: () => boolean,
): StandbyReceipts {
  const kept = new Map<string, Receipts>();
  // In the order of last use.
  const known = new Map<string, Receipts>();
  const current = (): ReceiptStore => (isAlone() ? alone : shared);
  const learn = (thread: string, receipts: Receipts): void => {
    if (Object.keys(receipts).length === 0) return;
    const all = { ...known.get(thread), ...receipts };
    known.delete(thread);
    known.set(thread, all);
    const [oldest] = known.keys();
    if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  };
  const withKnown = (thread: string, receipts: Receipts): Receipts => ({ ...receipts, ...known.get(thread) });
  return {
    async peek(threads) {
      const found = await current().peek(threads);
      return threads.map((thread, index) => withKnown(thread, found[index] ?? {}));
    },
    async hold(thread, owner, leaseMs) {
      const hold = await current().hold(thread, owner, leaseMs);
      return hold.kind === 'held' ? { ...hold, receipts: withKnown(thread, hold.receipts) } : hold;
    },
    settle(thread, owner, receipts) {
      learn(thread, receipts);
      if (isAlone()) kept.set(thread, { ...kept.get(thread), ...receipts });
      return current().settle(thread, owner, receipts);
    },
    async handBack() {
      for (const [thread, receipts] of kept) {
        await shared.hold(thread, OWNER, HOLD_MS);
        // Added even if the hold is refused: nothing is sent here that another process must not send.
        await shared.settle(thread, OWNER, receipts);
        kept.delete(thread);
      }
    },
  };
}
