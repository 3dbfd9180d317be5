import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/ports/delivery.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryReceiptStore } from '../../../src/state/receipts/receipts-memory.ts';
import { createStandbyReceipts } from '../../../src/state/receipts/receipts-standby.ts';

test('what was delivered alone is known to all afterwards', async () => {
  const shared = createMemoryReceiptStore(systemClock);
  let isAlone = true;
  const receipts = createStandbyReceipts(shared, createMemoryReceiptStore(systemClock), () => isAlone);
  const receipt: Receipt = { kind: 'delivered', atMs: 1, saidAtMs: 1, final: false };
  await receipts.hold('episode', 'me', 1_000);
  await receipts.settle('episode', 'me', { notice: receipt });
  expect(await shared.peek(['episode'])).toEqual([{}]);
  isAlone = false;
  await receipts.handBack();
  expect(await receipts.peek(['episode'])).toEqual([{ notice: receipt }]);
  // Others can go on in the thread.
  expect(await receipts.hold('episode', 'other', 1_000)).toMatchObject({ kind: 'held' });
});
