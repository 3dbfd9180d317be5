import type { ReceiptStore, Receipts } from '../../core/ports/delivery.ts';

export interface StandbyReceipts extends ReceiptStore {
  /** Writes what was delivered alone to the shared store. Rejects when that is lost. */
  handBack(): Promise<void>;
}

const OWNER = 'standby';
const HOLD_MS = 5_000;

/** The shared receipts, and those of this process in their place while it goes on alone. */
export function createStandbyReceipts(
  shared: ReceiptStore,
  alone: ReceiptStore,
  isAlone: () => boolean,
): StandbyReceipts {
  const kept = new Map<string, Receipts>();
  const current = (): ReceiptStore => (isAlone() ? alone : shared);
  return {
    peek: (threads) => current().peek(threads),
    hold: (thread, owner, leaseMs) => current().hold(thread, owner, leaseMs),
    settle(thread, owner, receipts) {
      if (isAlone()) kept.set(thread, { ...kept.get(thread), ...receipts });
      return current().settle(thread, owner, receipts);
    },
    async handBack() {
      for (const [thread, receipts] of kept) {
        await shared.hold(thread, OWNER, HOLD_MS);
        // Added whether or not the hold was had: nothing is sent here that another must not send.
        await shared.settle(thread, OWNER, receipts);
        kept.delete(thread);
      }
    },
  };
}
