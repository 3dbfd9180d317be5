import { afterEach, describe, expect, test } from 'vitest';
import { decimalText, openClient } from '../fixtures.ts';
import { type Answer, always, type RawServer, send, startServer } from './raw-server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(answer: Answer): Promise<RawServer> {
  const server = await startServer(answer);
  cleanups.push(() => server.close());
  return server;
}

/** The address that the next command uses after the first of two addresses has answered so. */
async function nextAfter(answer: Answer, ask: 'cancelAll' | 'deposit' = 'cancelAll'): Promise<string> {
  const [first, second] = [await serve(answer), await serve(always(200, []))];
  const client = openClient([first.baseUrl, second.baseUrl]);
  cleanups.push(() => client.close());
  if (ask === 'cancelAll') await client.cancelAll({});
  else {
    const amount = decimalText('5');
    await client.fiatDepositLink({ ticker: 'UAH', provider: 'BANK', amount, uniqueId: 'deposit-1' });
  }
  await client.cancelAll({});
  return second.received.length === 1 ? 'the other one' : 'the same';
}

describe('after a reply the next command uses the same or the other address', () => {
  const body = { code: 0, message: 'no', errors: {} };

  test.each([
    [200, 'the same'],
    [299, 'the same'],
    [300, 'the other one'],
    [399, 'the other one'],
    [400, 'the same'],
    [422, 'the same'],
    [499, 'the same'],
    [500, 'the other one'],
    [503, 'the other one'],
    [599, 'the other one'],
  ] as const)('%i: %s', async (status, asked) => {
    expect(await nextAfter(always(status, body))).toBe(asked);
  });

  test.each<[string, Answer, string]>([
    ['is no JSON', always(200, 'so sorry'), 'the other one'],
    ['is a page that refuses', always(403, '<html>no</html>'), 'the other one'],
    ['refuses our address', always(403, { ...body, message: 'IP is not allowed' }), 'the other one'],
    ['refuses the key', always(403, body), 'the same'],
    ['never ends', (_request, response) => void response.socket?.destroy(), 'the other one'],
  ])('that %s: %s', async (_what, answer, asked) => {
    expect(await nextAfter(answer)).toBe(asked);
  });

  test.each<[string, Answer, string]>([
    ['says that it is away', always(503, body), 'the same'],
    ['is not asked, as the exchange is away', always(503, '<html>away</html>'), 'the other one'],
    ['fails', always(500, body), 'the other one'],
    ['answers in another way', always(502, body), 'the other one'],
  ])('of a provider of deposits that %s: %s', async (_what, answer, asked) => {
    expect(await nextAfter(answer, 'deposit')).toBe(asked);
  });
});

test('an address that works again is preferred again', async () => {
  let fails = true;
  const first = await serve((_request, response) =>
    fails ? send(response, 500, { code: 0, message: 'no', errors: {} }) : send(response, 200, []),
  );
  const second = await serve(always(200, []));
  const client = openClient([first.baseUrl, second.baseUrl], { retry: { maxAttempts: 1 }, random: () => 0 });
  cleanups.push(() => client.close());
  await client.openPositions();
  fails = false;
  await client.openPositions();
  // Its first pause is at most a quarter of a second.
  await expect
    .poll(async () => [(await client.openPositions()).kind, first.received.length])
    .toEqual(['ok', 2]);
  const before = second.received.length;
  await client.cancelAll({});
  expect([first.received.length, second.received.length]).toEqual([3, before]);
});
