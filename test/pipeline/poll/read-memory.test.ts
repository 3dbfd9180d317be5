import { expect, test } from 'vitest';
import { ReadMemory } from '../../../src/pipeline/poll/read-memory.ts';

const ACCOUNT = 'desk-1';
const READING = {
  at: { wallMs: 1, monotonicMs: 1, clockId: 'c' },
  reading: { kind: 'notRead', ageMs: 0 },
} as const;

/** A read in progress until it is aborted or ends. */
function beginRead(memory: ReadMemory): { readonly signal: AbortSignal; end(): Promise<void> } {
  const signal = memory.signalFor(ACCOUNT);
  const { promise, resolve } = Promise.withResolvers<void>();
  const tracked = memory.track(ACCOUNT, 'positions', 0, promise);
  const end = async (): Promise<void> => {
    resolve();
    await tracked;
  };
  signal.addEventListener('abort', () => void end());
  return { signal, end };
}

test('markets that act one after another do not keep their account from being read', async () => {
  const memory = new ReadMemory();
  const first = beginRead(memory);
  memory.abortReads(ACCOUNT);
  expect(first.signal.aborted).toBe(true);
  await first.end();
  const second = beginRead(memory);
  for (let market = 0; market < 60; market += 1) memory.abortReads(ACCOUNT);
  expect(second.signal.aborted).toBe(false);
  memory.keep(ACCOUNT, 'positions', READING);
  await second.end();
  const third = beginRead(memory);
  memory.abortReads(ACCOUNT);
  expect(third.signal.aborted).toBe(true);
});

test('an abort without a read in progress does not count', async () => {
  const memory = new ReadMemory();
  memory.signalFor(ACCOUNT);
  memory.abortReads(ACCOUNT);
  const read = beginRead(memory);
  memory.abortReads(ACCOUNT);
  expect(read.signal.aborted).toBe(true);
  await read.end();
});

test('of reads that overtook one another, the last one sent counts', async () => {
  const memory = new ReadMemory();
  const [first, second] = [beginRead(memory), beginRead(memory)];
  expect(memory.underWay(ACCOUNT, 'positions')).toHaveLength(2);
  const sentAt = (monotonicMs: number) => ({ ...READING, at: { ...READING.at, monotonicMs } });
  memory.keep(ACCOUNT, 'positions', sentAt(2_000));
  await second.end();
  memory.keep(ACCOUNT, 'positions', sentAt(1_000));
  await first.end();
  expect(memory.recall(ACCOUNT).positions).toEqual(sentAt(2_000));
  expect(memory.underWay(ACCOUNT, 'positions')).toEqual([]);
});

test('an account that was near a threshold counted as calm once it could not be read', () => {
  const memory = new ReadMemory();
  memory.take('near', {}, { inMs: 0, reason: 'nearThreshold', isPressing: true });
  memory.take('calm', {}, { inMs: 10_000, reason: 'calm' });
  for (const accountId of ['near', 'calm']) memory.take(accountId, {}, { inMs: 0, reason: 'blind' });
  expect([memory.isPressing('near'), memory.isPressing('calm')]).toEqual([true, false]);
  memory.take('near', {}, { inMs: 10_000, reason: 'calm' });
  expect(memory.isPressing('near')).toBe(false);
});
