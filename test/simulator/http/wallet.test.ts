import { describe, expect, test } from 'vitest';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import type { RunningSimulator } from '../../../src/simulator/start-simulated-exchange.ts';
import { type Answer, accountNamed, call, EMPTY, LONG, PATHS, STOP, send, simulator } from './support.ts';

async function exchange(readings: Record<string, unknown> = {}) {
  const running = await simulator({ accounts: [LONG, EMPTY], readings });
  return { running, as: (id: string) => caller(running, id) };
}

function caller(running: RunningSimulator, id: string) {
  const keys = accountNamed(running, id);
  return (path: string, params: Record<string, unknown> = {}): Promise<Answer> =>
    call(running.baseUrl, keys, path, params);
}

function openLoan(running: RunningSimulator, amount = '5000') {
  running.exchange.change((model) => {
    const outcome = model.openLoan('long', {
      asset: 'USDT',
      amount: decimal(amount),
      collateralAsset: 'BTC',
      collateralAmount: decimal('0.2'),
    });
    if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  });
}

describe('times and pages', () => {
  test('times are seconds, with a fraction where the specification says so and whole where it says integer', async () => {
    const running = await simulator({ accounts: [LONG], startMs: 1_750_000_000_123 });
    const as = caller(running, 'long');
    openLoan(running);
    running.exchange.change((model) => {
      model.deposit('long', { ticker: 'USDT', amount: decimal('1') });
      model.placeSpotOrder('long', { market: 'BTC_USDT', side: 'buy', amount: decimal('0.01') });
    });
    running.advance(333);
    const order = (await as(PATHS.stopLimit, STOP)).json;
    const [position] = (await as(PATHS.positions)).json;
    const [spot] = (await as(PATHS.orders)).json['BTC_USDT'];
    expect(position.openDate).toBe(1_750_000_000.123);
    // Orders have microseconds: six digits, of which the last three are the exchange's own.
    const times = [order.timestamp, spot.ctime, spot.ftime].map((time) => time.toFixed(6).slice(0, -3));
    expect(times).toEqual(['1750000000.456', '1750000000.123', '1750000000.123']);
    const { createdAt } = (await as(PATHS.creditLine)).json;
    const { records } = (await as(PATHS.transfers)).json;
    expect([createdAt, records[0].createdAt]).toEqual([1_750_000_000, 1_750_000_000]);
  });

  test('a page has 50 records by default', async () => {
    const { running, as } = await exchange();
    running.exchange.change((model) => {
      for (let index = 0; index < 60; index += 1) {
        model.deposit('long', { ticker: 'USDT', amount: decimal('1') });
        model.placeSpotOrder('long', { market: 'BTC_USDT', side: 'buy', amount: decimal('0.001') });
      }
    });
    const { limit, offset, records, total } = (await as('long')(PATHS.transfers)).json;
    expect([limit, offset, records.length, total]).toEqual([50, 0, 50, 60]);
    expect((await as('long')(PATHS.orders)).json['BTC_USDT']).toHaveLength(50);
  });
});

describe('main balance (4.8)', () => {
  test('an object keyed by ticker; zero balances are left out; nothing at all follows the reading', async () => {
    const { running, as } = await exchange();
    expect((await as('long')(PATHS.balance)).json).toEqual({
      USDT: { main_balance: '5000' },
      BTC: { main_balance: '1' },
    });
    expect((await as('empty')(PATHS.balance)).json).toEqual({});
    running.setReadings({ emptyResult: 'array' });
    expect((await as('empty')(PATHS.balance)).json).toEqual([]);
  });
});

describe('credit line (4.6b)', () => {
  test('every field of 2.5; readings loanReply and ltvUnit', async () => {
    const { running, as } = await exchange();
    openLoan(running);
    const record = {
      asset: 'USDT',
      amount: '5000',
      totalFunding: '0',
      currentLtv: '41.6667',
      initialLtv: '60',
      marginCallLtv: '75',
      liquidationLtv: '85',
      createdAt: Date.UTC(2026, 0, 1) / 1_000,
    };
    expect((await as('long')(PATHS.creditLine)).json).toEqual(record);
    running.setReadings({ loanReply: 'array' });
    expect((await as('long')(PATHS.creditLine)).json).toEqual([record]);
    running.setReadings({ ltvUnit: 'fraction', loanReply: 'object' });
    const { json } = await as('long')(PATHS.creditLine);
    expect([json.currentLtv, json.liquidationLtv]).toEqual(['0.416667', '0.85']);
  });

  test('the collateral falls: the LTV rises', async () => {
    const { running, as } = await exchange();
    openLoan(running);
    running.setPrice('BTC_USDT', '30000');
    expect((await as('long')(PATHS.creditLine)).json.currentLtv).toBe('83.3333');
  });

  test.each([
    ['object', 200, {}],
    ['array', 200, []],
    ['error', 400, { code: 0, message: 'No active loan at the moment', errors: {} }],
    ['absent', 404, { code: 0, message: 'Loans are not available.', errors: {} }],
  ])('without a loan, reading loanReply=%s', async (loanReply, status, body) => {
    const { as } = await exchange({ loanReply });
    const answer = await as('empty')(PATHS.creditLine);
    expect([answer.status, answer.json]).toEqual([status, body]);
  });
});

describe('deposit and withdrawal history (4.2)', () => {
  async function withTransfers() {
    const { running, as } = await exchange();
    running.exchange.change((model) => {
      for (const amount of ['10', '20', '30']) {
        model.deposit('long', { ticker: 'USDT', amount: decimal(amount), uniqueId: `d-${amount}` });
      }
      model.deposit('long', {
        ticker: 'BTC',
        amount: decimal('1'),
        settleAfterMs: 60_000,
        address: 'addr-1',
      });
      model.withdraw('long', { ticker: 'USDT', amount: decimal('40'), address: 'addr-2' });
      model.withdraw('long', {
        ticker: 'USDT',
        amount: decimal('50'),
        processedAmount: decimal('30'),
        address: 'addr-3',
      });
    });
    const list = async (params: Record<string, unknown>) =>
      (await as('long')(PATHS.transfers, params)).json.records.map((each: { amount: string }) => each.amount);
    return { running, as, list };
  }

  test('every field of 2.3, newest first, with limit, offset and total', async () => {
    const { as } = await withTransfers();
    const { json } = await as('long')(PATHS.transfers);
    expect([json.limit, json.offset, json.total]).toEqual([50, 0, 6]);
    expect(json.records[0]).toEqual({
      address: 'addr-3',
      unique_id: null,
      createdAt: Date.UTC(2026, 0, 1) / 1_000,
      currency: 'Tether US',
      ticker: 'USDT',
      method: 2,
      amount: '50',
      description: '',
      memo: '',
      fee: '0',
      status: 18,
      network: 'TRC20',
      transactionHash: expect.any(String),
      transaction_id: expect.any(String),
      details: {
        partial: {
          requestAmount: '50',
          processedAmount: '30',
          processedFee: '0',
          normalizeTransaction: expect.any(String),
        },
      },
      confirmations: { actual: 6, required: 6 },
    });
  });

  test('the filters', async () => {
    const { list } = await withTransfers();
    expect(await list({ transactionMethod: 1 })).toEqual(['1', '30', '20', '10']);
    expect(await list({ transactionMethod: 2 })).toEqual(['50', '40']);
    expect(await list({ ticker: 'BTC' })).toEqual(['1']);
    expect(await list({ address: 'addr-2' })).toEqual(['40']);
    expect(await list({ addresses: ['addr-1', 'addr-3'] })).toEqual(['50', '1']);
    expect(await list({ unique_id: 'd-20' })).toEqual(['20']);
    expect(await list({ transactionMethod: 1, status: [15] })).toEqual(['1']);
    expect(await list({ transactionMethod: 2, status: [3, 18] })).toEqual(['50', '40']);
    expect(await list({ limit: 2, offset: 1 })).toEqual(['40', '1']);
    expect(await list({ offset: 100_000 })).toEqual([]);
  });

  test.each([
    ['limit below 1', { limit: 0 }, 'limit'],
    ['limit above 500', { limit: 501 }, 'limit'],
    ['limit that is no integer', { limit: 1.5 }, 'limit'],
    ['limit as text', { limit: '5' }, 'limit'],
    ['offset below 0', { offset: -1 }, 'offset'],
    ['offset above 100000', { offset: 100_001 }, 'offset'],
    ['a method that does not exist', { transactionMethod: 3 }, 'transactionMethod'],
    ['a method as text', { transactionMethod: '1' }, 'transactionMethod'],
    ['status without a method', { status: [3] }, 'status'],
    ['a status code of the other method', { transactionMethod: 1, status: [18] }, 'status'],
    ['another status code of the other method', { transactionMethod: 2, status: [9] }, 'status'],
    ['status that is no array', { transactionMethod: 1, status: 3 }, 'status'],
    ['status of text', { transactionMethod: 1, status: ['3'] }, 'status'],
    ['ticker that is no string', { ticker: 5 }, 'ticker'],
    ['more than 20 addresses', { addresses: Array.from({ length: 21 }, String) }, 'addresses'],
    ['addresses that are no strings', { addresses: [1] }, 'addresses'],
  ])('%s is refused', async (_name, params, field) => {
    const { as } = await exchange();
    const answer = await as('long')(PATHS.transfers, params);
    expect([answer.status, answer.json.code, Object.keys(answer.json.errors)]).toEqual([400, 30, [field]]);
  });

  test('the bounds themselves are accepted', async () => {
    const { as } = await exchange();
    for (const params of [{ limit: 1 }, { limit: 500 }, { offset: 0 }, { offset: 100_000 }]) {
      expect((await as('long')(PATHS.transfers, params)).status).toBe(200);
    }
    const twenty = { addresses: Array.from({ length: 20 }, String) };
    expect((await as('long')(PATHS.transfers, twenty)).status).toBe(200);
  });
});

describe('spot order history (4.5)', () => {
  async function withOrders(readings: Record<string, unknown> = {}) {
    const { running, as } = await exchange(readings);
    running.exchange.change((model) => {
      model.placeSpotOrder('long', {
        market: 'BTC_USDT',
        side: 'buy',
        amount: decimal('0.01'),
        clientOrderId: 'c',
      });
      model.placeSpotOrder('long', { market: 'ETH_USDT', side: 'buy', amount: decimal('0.1') });
      model.placeSpotOrder('long', {
        market: 'BTC_USDT',
        side: 'buy',
        amount: decimal('0.02'),
        price: decimal('50000'),
      });
      model.cancelAll('long', {});
    });
    return { running, as };
  }

  test('every field of 2.1, keyed by market, newest first; a cancelled one is spelled CANCELED', async () => {
    const { as } = await withOrders();
    const { json } = await as('long')(PATHS.orders);
    expect(Object.keys(json).sort()).toEqual(['BTC_USDT', 'ETH_USDT']);
    expect(json.BTC_USDT.map((order: { status: string }) => order.status)).toEqual(['CANCELED', 'FILLED']);
    expect(json.BTC_USDT[1]).toEqual({
      id: expect.any(Number),
      client_order_id: 'c',
      amount: '0.01',
      price: '0',
      type: 'market',
      side: 'buy',
      ctime: expect.any(Number),
      ftime: expect.any(Number),
      takerFee: '0.001',
      makerFee: '0.001',
      deal_fee: expect.any(String),
      deal_stock: '0.01',
      deal_money: expect.any(String),
      postOnly: false,
      ioc: false,
      status: 'FILLED',
      feeAsset: 'USDT',
      stp: 'no',
      rpi: false,
      reduceOnly: false,
    });
  });

  test('market, limit and offset; nothing follows the reading emptyResult', async () => {
    const { running, as } = await withOrders();
    expect(Object.keys((await as('long')(PATHS.orders, { market: 'ETH_USDT' })).json)).toEqual(['ETH_USDT']);
    const page = (await as('long')(PATHS.orders, { limit: 1, offset: 2 })).json;
    expect(page.BTC_USDT.map((order: { amount: string }) => order.amount)).toEqual(['0.01']);
    expect((await as('empty')(PATHS.orders)).json).toEqual({});
    running.setReadings({ emptyResult: 'array' });
    expect((await as('empty')(PATHS.orders)).json).toEqual([]);
    expect((await as('long')(PATHS.orders, { offset: 1_000_000 })).json).toEqual([]);
  });

  test('reading orderFieldSpelling', async () => {
    const { as } = await withOrders({ orderFieldSpelling: 'camel' });
    const [, order] = (await as('long')(PATHS.orders)).json.BTC_USDT;
    expect(order).toMatchObject({ clientOrderId: 'c', dealStock: '0.01' });
    expect(order).not.toHaveProperty('deal_stock');
  });

  test.each([
    ['limit below 1', { limit: 0 }, 'limit'],
    ['limit above 500', { limit: 501 }, 'limit'],
    ['offset below 0', { offset: -1 }, 'offset'],
    ['a market that does not exist', { market: 'DOGE_USDT' }, 'market'],
  ])('%s is refused', async (_name, params, field) => {
    const { as } = await exchange();
    const answer = await as('long')(PATHS.orders, params);
    expect([answer.status, answer.json.code, Object.keys(answer.json.errors)]).toEqual([400, 30, [field]]);
  });
});

describe('fiat deposit link (4.1)', () => {
  const LINK = { ticker: 'EUR', provider: 'SEPA', amount: '100', unique_id: 'u-1' };
  const CUSTOMER = {
    firstName: 'Ada',
    lastName: 'Byron',
    email: 'ada@example.com',
    birthDate: '1990-02-28',
    address: { line1: '1 Street', city: 'Town', zipCode: '10000', countryCode: 'GB' },
  };
  const CARD = { ...LINK, provider: 'VISAMASTER', customer: CUSTOMER };

  test('a link that the customer pays: the deposit arrives with its unique id', async () => {
    const { running, as } = await exchange();
    const answer = await as('long')(PATHS.fiat, LINK);
    expect([answer.status, Object.keys(answer.json)]).toEqual([200, ['url']]);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect((await send(answer.json.url)).status).toBe(200);
    expect((await send(answer.json.url, { method: 'POST' })).status).toBe(200);
    expect((await send(answer.json.url, { method: 'POST' })).status).toBe(409);
    const { records } = (await as('long')(PATHS.transfers, { unique_id: 'u-1' })).json;
    expect(records).toMatchObject([{ ticker: 'EUR', amount: '100', status: 3, unique_id: 'u-1' }]);
    expect(running.model.mainBalance('long')['EUR']?.toFixed()).toBe('100');
  });

  test("the card provider's link goes to the home page without a Referer", async () => {
    const { as } = await exchange();
    const { url } = (await as('long')(PATHS.fiat, CARD)).json;
    const bare = await send(url);
    expect([bare.status, bare.headers.location]).toEqual([302, '/']);
    expect((await send(url, { headers: { Referer: 'https://example.com/' } })).status).toBe(200);
  });

  test.each([
    ['ticker required', { ticker: undefined }, 'ticker'],
    ['ticker invalid', { ticker: 'NOCOIN' }, 'ticker'],
    ['ticker that cannot be deposited', { ticker: 'GBP' }, 'ticker'],
    ['ticker of a coin', { ticker: 'BTC' }, 'ticker'],
    ['provider required', { provider: '' }, 'provider'],
    ['provider invalid', { provider: 'NOBODY' }, 'provider'],
    ['no currency for the provider', { ticker: 'UAH', provider: 'SEPA' }, 'provider'],
    ['amount required', { amount: undefined }, 'amount'],
    ['amount not a number', { amount: '1O0' }, 'amount'],
    ['amount that is no string', { amount: 100 }, 'amount'],
    ['amount too little', { amount: '9.99' }, 'amount'],
    ['amount zero', { amount: '0' }, 'amount'],
    ['uniqueId required', { unique_id: undefined }, 'uniqueId'],
    ['successLink not https', { successLink: 'http://example.com/x' }, 'successLink'],
    ['successLink not an address', { successLink: 'example' }, 'successLink'],
    ['failureLink on a foreign domain', { failureLink: 'https://example.org/' }, 'failureLink'],
    ['failureLink on a look-alike domain', { failureLink: 'https://notexample.com/' }, 'failureLink'],
    ['returnLink that is no string', { returnLink: 5 }, 'returnLink'],
  ])('%s: code 0', async (_name, change, field) => {
    const { as } = await exchange();
    const answer = await as('long')(PATHS.fiat, { ...LINK, ...change });
    expect([answer.status, answer.json.code, answer.json.message]).toEqual([400, 0, 'Validation failed']);
    expect(Object.keys(answer.json.errors)).toEqual([field]);
  });

  test('links on the allowed domain and its subdomains are accepted', async () => {
    const { as } = await exchange();
    const links = { successLink: 'https://example.com/a', failureLink: 'https://pay.example.com/b' };
    expect((await as('long')(PATHS.fiat, { ...LINK, ...links })).status).toBe(200);
  });

  test('the result redirects to the success or failure link, and back to any returnLink', async () => {
    const { as } = await exchange();
    const link = async (unique_id: string, links: object) =>
      (await as('long')(PATHS.fiat, { ...LINK, ...links, unique_id })).json.url;
    const pay = (url: string) => send(url, { method: 'POST' });
    const redirected = await link('r-1', {
      successLink: 'https://example.com/done',
      failureLink: 'https://example.com/failed',
    });
    const [success, failure] = [await pay(redirected), await pay(redirected)];
    expect([success.status, success.headers.location]).toEqual([303, 'https://example.com/done']);
    expect([failure.status, failure.headers.location]).toEqual([303, 'https://example.com/failed']);
    const back = await pay(await link('r-2', { returnLink: 'http://anywhere.example/?a="b"&c' }));
    expect(back.text).toContain('<a href="http://anywhere.example/?a=&quot;b&quot;&amp;c">Back</a>');
    for (const links of [{}, { returnLink: 'javascript:alert(1)' }]) {
      expect((await pay(await link(`r-${JSON.stringify(links)}`, links))).text).not.toContain('Back');
    }
  });

  test('a unique id is never accepted twice, and a refused request does not use it up', async () => {
    const { as } = await exchange();
    expect((await as('long')(PATHS.fiat, { ...LINK, amount: '1' })).status).toBe(400);
    expect((await as('long')(PATHS.fiat, LINK)).status).toBe(200);
    const again = await as('long')(PATHS.fiat, LINK);
    expect([again.status, again.json.code, Object.keys(again.json.errors)]).toEqual([400, 0, ['uniqueId']]);
  });

  test.each([
    ['customer', { customer: undefined }],
    ['customer.firstName', { customer: { ...CUSTOMER, firstName: undefined } }],
    ['customer.lastName', { customer: { ...CUSTOMER, lastName: '' } }],
    ['customer.email', { customer: { ...CUSTOMER, email: 5 } }],
    ['customer.birthDate', { customer: { ...CUSTOMER, birthDate: undefined } }],
    ['customer.birthDate', { customer: { ...CUSTOMER, birthDate: '28.02.1990' } }],
    ['customer.birthDate', { customer: { ...CUSTOMER, birthDate: '1990-02-30' } }],
    ['customer.birthDate', { customer: { ...CUSTOMER, birthDate: '2090-01-01' } }],
    ['customer.address', { customer: { ...CUSTOMER, address: undefined } }],
    ['customer.address.line1', { customer: { ...CUSTOMER, address: { ...CUSTOMER.address, line1: '' } } }],
    ['customer.address.line2', { customer: { ...CUSTOMER, address: { ...CUSTOMER.address, line2: 5 } } }],
    ['customer.address.city', { customer: { ...CUSTOMER, address: { ...CUSTOMER.address, city: '' } } }],
    ['customer.address.zipCode', { customer: { ...CUSTOMER, address: { ...CUSTOMER.address, zipCode: 5 } } }],
    [
      'customer.address.countryCode',
      { customer: { ...CUSTOMER, address: { ...CUSTOMER.address, countryCode: null } } },
    ],
  ])('the card provider requires %s for EUR', async (field, change) => {
    const { as } = await exchange();
    const answer = await as('long')(PATHS.fiat, { ...CARD, ...change });
    expect([answer.status, answer.json.code, Object.keys(answer.json.errors)]).toEqual([400, 0, [field]]);
  });

  test('the customer is required only with the card provider', async () => {
    const { as } = await exchange();
    expect((await as('long')(PATHS.fiat, LINK)).status).toBe(200);
    expect((await as('long')(PATHS.fiat, { ...CARD, unique_id: 'u-2' })).status).toBe(200);
  });

  test('failing: code 10; unavailable: 503', async () => {
    const { running, as } = await exchange();
    running.exchange.fiat.mode = 'failing';
    const failing = await as('long')(PATHS.fiat, LINK);
    expect([failing.status, failing.json]).toEqual([
      400,
      { code: 10, message: 'Failed to generate deposit url', errors: {} },
    ]);
    running.exchange.fiat.mode = 'unavailable';
    expect((await as('long')(PATHS.fiat, LINK)).status).toBe(503);
    running.exchange.fiat.mode = 'up';
    expect((await as('long')(PATHS.fiat, LINK)).status).toBe(200);
  });
});
