import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Client, type ClientOptions, createClient } from '../../src/package/client.ts';
import { type Simulator, SimulatorError, startSimulator } from '../../src/package/simulator.ts';

let exchange: Simulator;

beforeAll(async () => {
  exchange = await startSimulator({ accounts: 1, readings: { nonceRule: 'increasing' } });
});
afterAll(() => exchange.close());

function clientOf(options: Partial<ClientOptions> = {}): Client {
  const [credentials] = exchange.accounts;
  if (credentials === undefined) throw new Error('the exchange has an account');
  const client = createClient({ baseUrls: exchange.baseUrls, credentials, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** Requests of a test, the oldest first. */
function requestsAfter(seq: number) {
  return exchange.requestLog({ after: seq });
}
const lastSeq = (): number => exchange.requestLog({ limit: 1 })[0]?.seq ?? 0;

describe('clients in one process', () => {
  test('never use a nonce twice, nor out of order where the exchange requires order', async () => {
    const before = lastSeq();
    const [one, other] = [clientOf({ nonce: 'increasing' }), clientOf({ nonce: 'increasing' })];
    const calls = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).openPositions());
    expect((await Promise.all(calls)).filter(({ kind }) => kind !== 'ok')).toEqual([]);
    const requests = requestsAfter(before);
    expect(requests.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  });

  test('share the rate limits of an exchange, whatever the order of its addresses', async () => {
    const unused = await startSimulator({ accounts: 2 });
    onTestFinished(() => unused.close());
    const options = { limits: { positions: { limit: 5, periodMs: 600_000 } }, timeouts: { callMs: 500 } };
    const clients = unused.accounts.map((credentials, index) => {
      const baseUrls = index === 0 ? unused.baseUrls : [...unused.baseUrls].reverse();
      return clientOf({ ...options, credentials, baseUrls });
    });
    const calls = clients.flatMap((client) => [1, 2, 3, 4].map(() => client.openPositions()));
    const outcomes = await Promise.all(calls);
    const failed = outcomes.flatMap((outcome) => (outcome.kind === 'failed' ? [outcome.error.name] : []));
    expect(failed).toEqual(['rateBudgetSpent', 'rateBudgetSpent', 'rateBudgetSpent']);
    expect(unused.requestLog()).toHaveLength(5);
  });
});

test('an invalid amount is refused before anything is sent', async () => {
  const before = lastSeq();
  const outcome = await clientOf().reduceOnlyStop({
    market: 'BTC_PERP',
    side: 'sell',
    amount: '0,5',
    activationPrice: '1',
    price: '1',
    clientOrderId: 'a',
    positionSide: 'BOTH',
  });
  expect(outcome).toMatchObject({
    kind: 'rejected',
    error: { name: 'requestRejected', fields: { amount: [expect.any(String)] } },
  });
  expect(requestsAfter(before)).toEqual([]);
});

test('invalid options are refused with a code, and no secret is shown', () => {
  const wrong = { baseUrls: ['ftp://exchange'], credentials: { apiKey: 'key', apiSecret: 'hidden' } };
  expect(() => createClient(wrong)).toThrow(expect.objectContaining({ code: 'EXCHANGE_OPTIONS' }));
  expect(() => createClient(wrong)).not.toThrow(/hidden/);
});

describe('a simulated exchange', () => {
  test('explains errors in an account, a fault, a condition and a market', async () => {
    const account = { id: 'desk', collateral: { USDT: '1,5' } };
    await expect(startSimulator({ accounts: [account] })).rejects.toThrow(
      /^accounts\[0\]\.collateral\.USDT: must be a decimal/,
    );
    expect(() => exchange.createAccount(account)).toThrow(SimulatorError);
    expect(() => exchange.injectFault('lostReply,endpoint=orders')).toThrow(/endpoint: "orders" is none of/);
    expect(() => exchange.injectFault({ effect: { kind: 'stale', ageMs: 0 } })).toThrow(/ageMs/);
    expect(() => exchange.setCondition('halt,market=X_PERP')).toThrow(/no market "X_PERP"/);
    expect(() => exchange.priceOf('X_PERP')).toThrow(/no market "X_PERP"/);
  });

  test('accepts a further account, whose key works at once, and a price', async () => {
    const credentials = exchange.createAccount({
      id: 'late',
      collateral: { USDT: '5000' },
      main: { USDT: '70' },
    });
    const balance = await clientOf({ credentials }).mainBalance();
    expect(balance).toMatchObject({ kind: 'ok', value: { USDT: '70' } });
    exchange.setPrice('BTC_PERP', '54321.5');
    expect(exchange.priceOf('BTC_PERP').last).toBe('54321.5');
    const startMs = exchange.nowMs();
    exchange.advance(60_000);
    expect(exchange.nowMs() - startMs).toBeGreaterThanOrEqual(60_000);
  });
});
