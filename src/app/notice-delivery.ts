import { LOG_CHANNEL, type NoticeDelivery, type ReceiptStore } from '../core/ports/delivery.ts';
import { threadOf } from '../notify/thread.ts';

/** By the receipts that all processes share. The log reaches nobody: without another channel, notices have failed. */
export function noticeDelivery(
  receipts: Pick<ReceiptStore, 'peek'>,
  channels: () => readonly string[],
): NoticeDelivery {
  return {
    async stateOf(notices) {
      const names = channels().filter((name) => name !== LOG_CHANNEL);
      const threads = notices.flatMap(({ key }) => names.map((name) => threadOf({ key }, name)));
      const found = await receipts.peek(threads);
      return notices.map(({ id }, index) => {
        const own = found.slice(index * names.length, (index + 1) * names.length);
        const kinds = own.map((thread) => thread[id]?.kind);
        if (kinds.includes('delivered')) return 'delivered';
        return kinds.every((kind) => kind === 'failed') ? 'failed' : 'pending';
      });
    },
  };
}
