import { expect, test } from 'vitest';
import type {
  GuardedExchange,
  LastPrices,
  PositionList,
  ReadOutcome,
} from '../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import { LastPriceReader, withLastPrices } from '../../src/exchange/last-prices.ts';
import { readLastPrices } from '../../src/exchange/schemas/replies.ts';

const text = (value: string) => value as DecimalString;
const LIST = {
  records: [{ positionId: '1', market: 'BTC_PERP', amount: text('1') }],
  setAside: [],
  complete: true,
} satisfies PositionList;

/** An exchange whose replies the test gives, and a clock that it moves. */
function scene() {
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  const replies: ((outcome: ReadOutcome<LastPrices>) => Promise<void>)[] = [];
  const client = {
    close: async () => undefined,
    lastPrices: () => {
      const { promise, resolve } = Promise.withResolvers<ReadOutcome<LastPrices>>();
      replies.push(async (outcome) => {
        resolve(outcome);
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      });
      return promise;
    },
  };
  const openPositions = async (): Promise<ReadOutcome<PositionList>> => ({
    kind: 'ok',
    value: LIST,
    timing: { sentAtMs: clock.nowMs, receivedAtMs: clock.nowMs, attempts: 1 },
  });
  const reader = new LastPriceReader(client, clock);
  const open = (): GuardedExchange => withLastPrices({ openPositions } as unknown as GuardedExchange, reader);
  const exchange = open();
  const pricesOf = async (one = exchange) => {
    const outcome = await one.openPositions();
    return outcome.kind === 'ok' ? outcome.value.lastPrices : undefined;
  };
  return { clock, replies, reader, open, pricesOf };
}

const shown = (price: string, sentAtMs: number): ReadOutcome<LastPrices> => ({
  kind: 'ok',
  value: { BTC_PERP: text(price), ETH_PERP: text('1') },
  timing: { sentAtMs, receivedAtMs: sentAtMs, attempts: 1 },
});
const FAILED: ReadOutcome<LastPrices> = {
  kind: 'failed',
  error: { name: 'notFound', endpoint: 'lastPrices', message: '', effect: 'none' },
  attempts: 1,
};

test('no read waits for last prices: they come with a later one, with their age, for its markets alone', async () => {
  const { clock, replies, pricesOf } = scene();
  expect(await pricesOf()).toBeUndefined();
  await replies[0]?.(shown('100', 0));
  clock.nowMs = 1_000;
  expect(await pricesOf()).toEqual({ sentBeforeMs: 1_000, prices: { BTC_PERP: '100' } });
  await replies[1]?.(shown('99', 1_000));
  clock.nowMs = 1_010;
  expect(await pricesOf()).toEqual({ sentBeforeMs: 10, prices: { BTC_PERP: '99' } });
});

test('a late reply does not replace a newer one', async () => {
  const { clock, replies, pricesOf } = scene();
  await pricesOf();
  clock.nowMs = 500;
  await pricesOf();
  await replies[1]?.(shown('99', 500));
  await replies[0]?.(shown('100', 0));
  expect(await pricesOf()).toEqual({ sentBeforeMs: 0, prices: { BTC_PERP: '99' } });
});

test('many accounts ask together, at most twice a second, and few at once where replies are slow', async () => {
  const { clock, replies, open, pricesOf } = scene();
  const accounts = Array.from({ length: 50 }, open);
  for (let atMs = 0; atMs < 10_000; atMs += 50) {
    clock.nowMs = atMs;
    await Promise.all(accounts.map((one) => pricesOf(one)));
    if (atMs >= 5_000) await Promise.all(replies.map((reply) => reply(shown('100', atMs))));
  }
  expect(replies.length).toBeGreaterThanOrEqual(16);
  expect(replies.length).toBeLessThanOrEqual(20);
});

test('an exchange without these prices is asked ever more rarely', async () => {
  const { clock, replies, pricesOf } = scene();
  for (let atMs = 0; atMs < 3_600_000; atMs += 1_000) {
    clock.nowMs = atMs;
    await pricesOf();
    await replies.at(-1)?.(FAILED);
  }
  expect(replies.length).toBeGreaterThan(10);
  expect(replies.length).toBeLessThan(25);
});

test.each([
  ['an array', [], false],
  ['no list of markets', { success: true, result: null }, false],
  [
    'a market without a price',
    { result: [{ ticker_id: 'A_PERP' }, { ticker_id: 'B_PERP', last_price: '2' }] },
    true,
  ],
  [
    'a price of zero',
    {
      result: [
        { ticker_id: 'A_PERP', last_price: '0' },
        { ticker_id: 'B_PERP', last_price: '2' },
      ],
    },
    true,
  ],
  [
    'a market that is no object',
    { result: [null, 7, { ticker_id: 'B_PERP', last_price: '2', max_leverage: 100 }] },
    true,
  ],
])('%s in a reply', (_, reply, isRead) => {
  const parsed = readLastPrices(reply);
  expect(parsed.ok ? parsed.value : undefined).toEqual(isRead ? { B_PERP: '2' } : undefined);
});

test('requests that fail together lengthen the pause once', async () => {
  const { clock, replies, pricesOf } = scene();
  for (let atMs = 0; atMs < 2_000; atMs += 500) {
    clock.nowMs = atMs;
    await pricesOf();
  }
  await Promise.all(replies.map((reply) => reply(FAILED)));
  const before = replies.length;
  clock.nowMs += 500;
  await pricesOf();
  expect(replies).toHaveLength(before + 1);
});

test('a closed reader asks no more', async () => {
  const { replies, reader, pricesOf } = scene();
  await reader.close();
  await pricesOf();
  expect(replies).toEqual([]);
});
