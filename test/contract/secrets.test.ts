import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { FiatDepositRequest } from '../../src/core/ports/exchange.ts';
import { createExchangeClient, type ExchangeClientOptions } from '../../src/exchange/client.ts';
import { fiatDeposit, guard } from '../../src/exchange/guarded-exchange.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';
import { startCanned } from './support/tamper.ts';
import { connect, openExchange, STOP } from './support/world.ts';

/** Plants recognisable secrets, and searches everything that is returned, thrown, observed or inspected. */

const KEY = 'KEYplanted0123456789';
const SECRET = 'SECRETplanted9876543210';
const DEPOSIT: FiatDepositRequest = {
  ticker: 'EUR',
  provider: 'VISAMASTER',
  amount: '50' as FiatDepositRequest['amount'],
  uniqueId: 'u-1',
  customer: {
    firstName: 'Zebediah',
    lastName: 'Quillfeather',
    email: 'zeb.quill@planted.example',
    birthDate: '1961-02-03',
    address: {
      line1: '47 Wobblethorpe Crescent',
      line2: 'Turret B',
      city: 'Nether Wallop',
      zipCode: 'QX9-7ZZ',
      countryCode: 'GB',
    },
  },
};
const PERSONAL = [
  'Zebediah',
  'Quillfeather',
  'zeb.quill',
  '1961-02-03',
  'Wobblethorpe',
  'Turret',
  'Wallop',
  'QX9-7ZZ',
];
const SECRETS = [KEY, SECRET];

/** As plain text and in the encodings in which they travel. */
function leaksIn(what: unknown, planted: readonly string[]): string[] {
  const seen = [
    typeof what === 'string' ? what : JSON.stringify(what),
    inspect(what, {
      depth: 12,
      showHidden: true,
      getters: true,
      maxArrayLength: null,
      maxStringLength: null,
    }),
  ]
    .join('\n')
    .toLowerCase();
  return planted.filter((text) =>
    [text, Buffer.from(text).toString('hex'), Buffer.from(text).toString('base64').replace(/=+$/, '')].some(
      (form) => seen.includes(form.toLowerCase()),
    ),
  );
}

const options = (baseUrls: readonly string[]): ExchangeClientOptions => ({
  baseUrls,
  credentials: { apiKey: KEY, apiSecret: SECRET },
  nonce: { mode: 'unique', store: createMemoryNonceStore(systemClock) },
  limiter: {
    store: createMemoryRateLimitStore(systemClock),
    fallback: createMemoryRateLimitStore(systemClock),
  },
});

/** An exchange that echoes everything it knows, in every place of an error. */
function talkative(status: number, code: number) {
  const all = [...SECRETS, ...PERSONAL, JSON.stringify(DEPOSIT.customer)];
  return {
    status,
    text: JSON.stringify({
      code,
      message: `refused for ${all.slice(0, 6).join(' and ')}`,
      errors: Object.fromEntries(
        all.map((text, index) => [index % 2 === 0 ? `field${index}` : text, [text]]),
      ),
    }),
    headers: { 'retry-after': '0', 'x-echo': SECRET },
  };
}

describe('secrets and personal data', () => {
  it.each([
    [400, 0],
    [400, 10],
    [401, 0],
    [403, 0],
    [422, 30],
    [429, 0],
    [500, 0],
    [503, 0],
    [418, 4711],
  ])('that an exchange echoes with HTTP %i, code %i go no further', async (status, code) => {
    const canned = await startCanned(talkative(status, code));
    const observed: unknown[] = [];
    const accounts = [{ id: 'planted', apiKey: KEY, apiSecret: SECRET }];
    const { client, calls, drift } = connect({ baseUrls: [canned.url], accounts }, 'planted', {
      cardProviders: ['VISAMASTER'],
    });
    observed.push(await client.fiatDepositLink(DEPOSIT));
    expect(leaksIn(observed, [...SECRETS, ...PERSONAL])).toEqual([]);
    observed.push(await client.openPositions(), await client.reduceOnlyStop(STOP), calls, drift);
    expect(leaksIn(observed, SECRETS)).toEqual([]);
    expect(canned.requests).toBe(3);
  });

  it.each(['{"url":7,"firstName":"Zebediah"}', '{"url":"javascript:Zebediah"}', 'Zebediah Quillfeather'])(
    'in an undocumented reply (%s) go no further',
    async (text) => {
      const canned = await startCanned({ status: 200, text });
      const accounts = [{ id: 'planted', apiKey: KEY, apiSecret: SECRET }];
      const { client, drift } = connect({ baseUrls: [canned.url], accounts }, 'planted');
      const outcome = await client.fiatDepositLink(DEPOSIT);
      expect(outcome.kind).toBe('unknown');
      expect(leaksIn([outcome, drift], [...SECRETS, ...PERSONAL])).toEqual([]);
    },
  );

  it('are in no request that the client itself refuses, nor in its error', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat', { cardProviders: ['VISAMASTER'] });
    const { customer } = DEPOSIT;
    if (customer === undefined) throw new Error('no customer');
    const wrong = { ...DEPOSIT, customer: { ...customer, birthDate: '3 Feb 1961 Zebediah' } };
    const outcome = await client.fiatDepositLink(wrong);
    expect(outcome).toMatchObject({ kind: 'rejected', error: { name: 'requestRejected' } });
    expect(leaksIn(outcome, PERSONAL)).toEqual([]);
    expect(exchange.requestLog()).toEqual([]);
  });

  it('cannot be seen in a client, its views, its functions, or while a call is in flight', async () => {
    const canned = await startCanned(talkative(500, 0));
    const client = createExchangeClient(options([canned.url]));
    const call = client.fiatDepositLink(DEPOSIT);
    const things = [
      client,
      guard(client),
      fiatDeposit(client),
      call,
      ...Object.values(client),
      { ...client },
    ];
    expect(leaksIn(things, [...SECRETS, ...PERSONAL])).toEqual([]);
    await call;
    await client.close();
    expect(leaksIn(client, SECRETS)).toEqual([]);
  });

  it.each<readonly [string, Partial<ExchangeClientOptions>]>([
    ['an address', { baseUrls: [`http://${SECRET}:${KEY}@127.0.0.1/`] }],
    ['no address', { baseUrls: [] }],
    ['a key that no header can carry', { credentials: { apiKey: `${KEY}\n`, apiSecret: SECRET } }],
    ['an empty secret', { credentials: { apiKey: KEY, apiSecret: '' } }],
    ['a proxy', { proxy: `not a proxy ${SECRET}` }],
  ])('stay out of the error about %s', (_what, wrong) => {
    let thrown: unknown;
    try {
      createExchangeClient({ ...options(['http://127.0.0.1:1']), ...wrong });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'EXCHANGE_OPTIONS' });
    expect(leaksIn([thrown, (thrown as Error).message, (thrown as Error).stack], SECRETS)).toEqual([]);
  });

  it("are in none of the exchange's own records either", async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat', { cardProviders: ['VISAMASTER'] });
    expect((await client.fiatDepositLink(DEPOSIT)).kind).toBe('accepted');
    const secrets = exchange.accounts.map(({ apiSecret }) => apiSecret);
    const state: unknown = await (await fetch(`${exchange.controlUrl}/state`)).json();
    expect(leaksIn([exchange.requestLog(), exchange.ledger(), state], [...secrets, ...PERSONAL])).toEqual([]);
  });
});

describe('the view that the daemon holds', () => {
  it('has reads, cancel-all and reduce-only stops, and nothing else', async () => {
    const exchange = await openExchange();
    const view = guard(connect(exchange, 'long').client);
    expect(Object.keys(view).sort()).toEqual(
      [
        'cancelAll',
        'creditLines',
        'mainBalance',
        'openPositions',
        'ping',
        'reduceOnlyStop',
        'spotOrders',
        'transfers',
      ].sort(),
    );
    expect(Object.getPrototypeOf(view)).toBeNull();
    const sly = { ...STOP, reduceOnly: false, stopLoss: '1', takeProfit: '2' };
    expect(await view.reduceOnlyStop(sly)).toMatchObject({ kind: 'accepted', value: { reduceOnly: true } });
    expect(exchange.ledger({ kinds: ['order_placed'] })).toMatchObject([{ details: { reduceOnly: true } }]);
  });
});
