import { afterEach, describe, expect, test } from 'vitest';
import type { DepositCustomer, FiatDepositRequest } from '../../src/core/ports/exchange.ts';
import { foreignWords } from '../../src/core/redaction/foreign-words.ts';
import { errorOfReply, SHOWN_OF_ERRORS } from '../../src/exchange/call/errors.ts';
import type { ExchangeClientOptions } from '../../src/exchange/client.ts';
import type { EndpointId } from '../../src/exchange/endpoints.ts';
import { PREPARE } from '../../src/exchange/requests.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { type Answer, always, send, startServer } from './call/raw-server.ts';
import { decimalText, openClient, PLACED_ORDER, SPOT_ORDER, STOP } from './fixtures.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function connect(answer: Answer, changes: Partial<ExchangeClientOptions> = {}) {
  const server = await startServer(answer);
  const client = openClient([server.baseUrl], changes);
  cleanups.push(
    () => server.close(),
    () => client.close(),
  );
  return { server, client };
}

describe('a deposit link (specification 4.1)', () => {
  const LINK: FiatDepositRequest = {
    ticker: 'EUR',
    provider: 'CARD',
    amount: decimalText('50'),
    uniqueId: 'deposit-1',
  };
  const customer: DepositCustomer = {
    firstName: 'Ada',
    lastName: 'Byron',
    email: 'ada@example.org',
    birthDate: '1815-12-10',
    address: { line1: '12 Square', city: 'London', zipCode: 'SW1Y', countryCode: 'GB' },
  };
  const faults = (request: FiatDepositRequest): string[] => {
    const prepared = PREPARE.fiatDeposit(request, { dialect: 'spec', cardProviders: ['CARD'] });
    return prepared.ok ? [] : Object.keys(prepared.error.fields ?? {});
  };

  test('needs https for the links of success and failure, but not for the way back', () => {
    const plain = 'http://shop.example/back';
    expect(faults({ ...LINK, customer, returnLink: plain })).toEqual([]);
    expect(faults({ ...LINK, customer, successLink: plain, failureLink: plain })).toEqual([
      'successLink',
      'failureLink',
    ]);
    expect(faults({ ...LINK, customer, returnLink: 'javascript:alert(1)' })).toEqual(['returnLink']);
  });

  test.each([
    ['USD', 'CARD', ['customer']],
    ['EUR', 'CARD', ['customer']],
    ['UAH', 'CARD', []],
    ['EUR', 'SEPA', []],
    ['USD', 'CARDS', []],
  ])('needs the customer of %s by %s: %j', (ticker, provider, expected) => {
    expect(faults({ ...LINK, ticker, provider })).toEqual(expected);
    expect(faults({ ...LINK, ticker, provider, customer })).toEqual([]);
  });

  test.each([
    ['EUR', 'CARD', ['customer.birthDate', 'customer.address.city']],
    ['UAH', 'CARD', []],
    ['EUR', 'SEPA', []],
  ])('needs every field of a customer for %s by %s: %j', (ticker, provider, expected) => {
    const { birthDate: _birthDate, address, ...names } = customer;
    const { city: _city, ...rest } = address;
    const partly = { ...names, address: rest } as DepositCustomer;
    expect(faults({ ...LINK, ticker, provider, customer: partly })).toEqual(expected);
    const wrong = { ...customer, birthDate: '10 Dec 1815' };
    expect(faults({ ...LINK, ticker, provider, customer: wrong })).toEqual(['customer.birthDate']);
  });
});

test('a filter by status needs the method whose codes it uses (specification 4.2)', () => {
  expect(PREPARE.transfers({ status: [3] })).toMatchObject({
    ok: false,
    error: { name: 'requestRejected', fields: { status: [expect.stringMatching(/method/)] } },
  });
  expect(PREPARE.transfers({ status: [3], method: 'deposit' })).toMatchObject({
    ok: true,
    params: { status: [3], transactionMethod: 1 },
  });
});

test('type and stp of an order are kept (specification 2.1, 2.2)', async () => {
  const { server, client } = await connect(always(200, { ...PLACED_ORDER, stp: 'cancel_new' }));
  expect(await client.reduceOnlyStop(STOP)).toMatchObject({
    kind: 'accepted',
    value: { type: 'stop limit', stp: 'cancel_new' },
  });
  server.answer = always(200, { BTC_USDT: [{ ...SPOT_ORDER, type: 'stop limit', stp: 'cancel_both' }] });
  expect(await client.spotOrders()).toMatchObject({
    value: { records: [{ type: 'stop limit', stp: 'cancel_both' }] },
  });
});

test('errors of public endpoints keep their params (specification 7)', async () => {
  const body = { success: false, message: 'Market is not available', params: ['BTC_XYZ', 5, 'a\nb'] };
  const { client } = await connect(always(422, body));
  expect(await client.ping()).toMatchObject({
    kind: 'failed',
    error: { message: 'Market is not available', params: ['BTC_XYZ', 'a b'] },
  });
});

describe('codes of the live service', () => {
  const nameOf = (endpoint: EndpointId, status: number, body: object) =>
    errorOfReply({ endpoint, redact: foreignWords([], SHOWN_OF_ERRORS) }, status, body)?.name;

  test.each<EndpointId>(['spotOrders', 'cancelAll', 'openPositions', 'stopLimit'])(
    '31 means that the market is not available (%s)',
    (endpoint) => {
      expect(nameOf(endpoint, 422, { code: 31, message: 'Market is not available' })).toBe('marketInvalid');
    },
  );

  test.each([2, 4, 9, 10])('%i means a refused key or nonce', (code) => {
    const key = { code, message: 'Unauthorized request.' };
    expect(nameOf('openPositions', 401, key)).toBe('unauthenticated');
    expect(nameOf('openPositions', 403, key)).toBe('unauthenticated');
    expect(nameOf('openPositions', 403, { code, message: 'No.' })).toBe('permissionDenied');
    expect(nameOf('openPositions', 422, key)).toBe('unauthenticated');
    const nonce = { code, message: 'Invalid nonce: it has to be larger than the one before' };
    for (const status of [401, 403, 422]) expect(nameOf('openPositions', status, nonce)).toBe('nonceRefused');
  });

  test('10 keeps its meanings of the specification and of the order endpoint', () => {
    expect(nameOf('fiatDeposit', 422, { code: 10, message: 'Failed' })).toBe('depositLinkFailed');
    expect(nameOf('stopLimit', 400, { code: 10, message: 'Not enough' })).toBe('insufficientBalance');
  });
});

describe('an order history', () => {
  const NOW_S = 1_800_000_000;
  const DAY_S = 86_400;
  const order = (id: number, ctime: number) => ({ ...SPOT_ORDER, id, ctime });

  /** Like the live service: one month unless dates are given, at most 31 days at a time, six months in all. */
  const live =
    (orders: readonly ReturnType<typeof order>[]): Answer =>
    ({ body }, response) => {
      const endS = Number(body['endDate'] ?? NOW_S);
      const startS = Number(body['startDate'] ?? endS - 30 * DAY_S);
      if (endS - startS > 31 * DAY_S) return send(response, 422, { code: 30, message: 'Validation failed' });
      const shown = orders.filter(
        ({ ctime }) => ctime >= Math.max(startS, NOW_S - 183 * DAY_S) && ctime <= endS,
      );
      const from = Number(body['offset']);
      return send(response, 200, { BTC_USDT: shown.slice(from, from + Number(body['limit'])) });
    };
  const daily = Array.from({ length: 200 }, (_, day) => order(day + 1, NOW_S - day * DAY_S));
  const settings = (dialect: 'spec' | 'camel') => ({
    dialect,
    clock: { ...systemClock, nowMs: () => NOW_S * 1000 },
  });

  test('of the live service is read in windows, back to the date asked for', async () => {
    const { server, client } = await connect(live(daily), settings('camel'));
    const outcome = await client.spotOrders({ since: NOW_S - 100.5 * DAY_S });
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: true, setAside: [] } });
    const ids = outcome.kind === 'ok' ? outcome.value.records.map(({ orderId }) => Number(orderId)) : [];
    expect(ids).toEqual(Array.from({ length: 101 }, (_, day) => day + 1));
    expect(server.received).toHaveLength(4);
  });

  test('that goes back further than the exchange shows is cut by period', async () => {
    const { client } = await connect(live(daily), settings('camel'));
    const outcome = await client.spotOrders({ since: NOW_S - 190 * DAY_S });
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: false, cut: 'period' } });
    expect(outcome.kind === 'ok' && outcome.value.records.length).toBeGreaterThan(179);
  });

  test('without a date is one month of the live service, cut by period', async () => {
    const { server, client } = await connect(live(daily), settings('camel'));
    expect(await client.spotOrders()).toMatchObject({ value: { complete: false, cut: 'period' } });
    expect(server.received).toHaveLength(1);
  });

  test('with more records than asked for is cut by limit', async () => {
    for (const dialect of ['spec', 'camel'] as const) {
      const { client } = await connect(live(daily), settings(dialect));
      const outcome = await client.spotOrders({ since: NOW_S - 90 * DAY_S, maxRecords: 20 });
      expect(outcome).toMatchObject({ value: { complete: false, cut: 'limit' } });
      expect(outcome.kind === 'ok' && outcome.value.records).toHaveLength(20);
    }
  });

  test('in the dialect of the specification sends no dates, which it does not know, and is complete at its end', async () => {
    const { server, client } = await connect(live(daily.slice(0, 10)), settings('spec'));
    const outcome = await client.spotOrders({ since: NOW_S - 100 * DAY_S });
    expect(outcome).toMatchObject({ value: { complete: true } });
    expect(outcome).not.toHaveProperty('value.cut');
    expect(Object.keys(server.received[0]?.body ?? {}).sort()).toEqual([
      'limit',
      'nonce',
      'offset',
      'request',
    ]);
  });
});

test.each<[readonly string[], boolean]>([
  [['spot'], true],
  [['spot', 'margin', 'futures'], true],
  [['spot', 'options'], false],
  [['options'], false],
  [[], false],
])('a cancel by kinds of orders names at least one, and only known ones: %j', (types, isOk) => {
  const prepared = PREPARE.cancelAll({ types } as Parameters<typeof PREPARE.cancelAll>[0]);
  expect(prepared.ok).toBe(isOk);
  if (!prepared.ok) expect(Object.keys(prepared.error.fields ?? {})).toEqual(['types']);
});

test('a market with a dash in its name cannot be traded', () => {
  expect(PREPARE.cancelAll({ market: 'BTC-PERP' })).toMatchObject({
    ok: true,
    params: { market: 'BTC-PERP' },
  });
  expect(PREPARE.openPositions({ market: 'BTCPERP' })).toMatchObject({ ok: false });
});
