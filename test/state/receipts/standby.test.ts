import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/ports/delivery.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryReceiptStore } from '../../../src/state/receipts/receipts-memory.ts';
import { createStandbyReceipts } from '../../../src/state/receipts/receipts-standby.ts';

test('receipts made alone are known to all afterwards', async () => {
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

test('a process knows its own receipts before they are handed back, and after the store is lost', async () => {
  const shared = createMemoryReceiptStore(systemClock);
  let isAlone = true;
  const receipts = createStandbyReceipts(shared, createMemoryReceiptStore(systemClock), () => isAlone);
  const receipt: Receipt = { kind: 'delivered', atMs: 1, saidAtMs: 1, final: false };
  await receipts.settle('alone', 'me', { first: receipt });
  // The queue gives out work as soon as the store answers, before the receipts are handed back.
  isAlone = false;
  expect(await receipts.hold('alone', 'worker', 1_000)).toEqual({
    kind: 'held',
    receipts: { first: receipt },
  });
  expect(await receipts.peek(['alone'])).toEqual([{ first: receipt }]);
  await receipts.settle('shared', 'me', { second: receipt });
  isAlone = true;
  expect(await receipts.hold('shared', 'worker', 1_000)).toEqual({
    kind: 'held',
    receipts: { second: receipt },
  });
});
