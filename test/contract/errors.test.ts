import { describe, expect, it } from 'vitest';
import type { CommandOutcome, ReadOutcome, StopLimitRequest } from '../../src/core/ports/exchange.ts';
import { DEFAULT_MARKETS } from '../../src/simulator/defaults.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { blamed, summary } from './support/outcomes.ts';
import { startTampering, type Tampering } from './support/tamper.ts';
import {
  accountNamed,
  type Connected,
  connect,
  d,
  OPENING,
  openExchange,
  placed,
  STOP,
} from './support/world.ts';

type Outcome = ReadOutcome<unknown> | CommandOutcome<unknown>;
type Params = Record<string, unknown>;
const amount = (value: string) => value as StopLimitRequest['amount'];

/** A client whose requests and replies are changed on the way. */
async function tampered(
  exchange: RunningSimulator,
  account: string,
  tampering: Tampering,
): Promise<Connected['client']> {
  const { apiSecret } = accountNamed(exchange, account);
  const proxy = await startTampering(exchange.baseUrl, apiSecret);
  proxy.tampering = tampering;
  const { accounts } = exchange;
  return connect({ baseUrls: [proxy.url], accounts }, account).client;
}

const setting = (changes: Params) => ({ params: (params: Params) => ({ ...params, ...changes }) });
const dropping = (name: string) => ({
  params: (params: Params) => Object.fromEntries(Object.entries(params).filter(([key]) => key !== name)),
});

describe('a refused order', () => {
  const cases: readonly {
    readonly what: string;
    readonly account?: string;
    readonly order?: Partial<StopLimitRequest>;
    readonly expected: string;
    readonly fields: readonly string[];
  }[] = [
    {
      what: 'in a market that does not exist',
      order: { market: 'NO_MARKET' },
      expected: 'rejected marketInvalid 31 400 none',
      fields: ['market'],
    },
    {
      what: 'below the minimum amount',
      order: { amount: amount('0.0001') },
      expected: 'rejected amountInvalid 32 400 none',
      fields: ['amount'],
    },
    {
      what: 'off the amount step',
      order: { amount: amount('0.0015') },
      expected: 'rejected amountInvalid 32 400 none',
      fields: ['amount'],
    },
    {
      what: 'off the price step',
      order: { price: amount('61500.05') },
      expected: 'rejected priceInvalid 33 400 none',
      fields: ['price'],
    },
    {
      what: 'with an activation price off the step',
      order: { activationPrice: amount('61000.05') },
      expected: 'rejected priceInvalid 33 400 none',
      fields: ['activation_price'],
    },
    {
      what: 'that takes more than the balance',
      order: { amount: amount('100') },
      expected: 'rejected insufficientBalance 10 400 none',
      fields: ['amount'],
    },
    {
      what: 'beyond the position limit',
      order: { amount: amount('0.5') },
      expected: 'rejected positionLimit 111 400 none',
      fields: ['amount'],
    },
    {
      what: 'beyond the limit of pending value',
      order: { amount: amount('0.35') },
      expected: 'rejected pendingValueLimit 112 400 none',
      fields: ['amount'],
    },
    {
      what: 'in hedge mode without a side',
      account: 'hedged',
      expected: 'rejected hedgeSideMismatch 114 400 none',
      fields: ['positionSide'],
    },
    {
      what: 'against its position side and larger than the position',
      account: 'hedged',
      order: { side: 'sell', positionSide: 'LONG', amount: amount('0.6') },
      expected: 'rejected oppositeDirection 115 400 none',
      fields: ['side'],
    },
    {
      what: 'reduce-only without a position',
      order: { reduceOnly: true },
      expected: 'rejected reduceOnlyRefused 116 400 none',
      fields: ['reduceOnly'],
    },
    {
      what: 'reduce-only in the direction of the position',
      account: 'long',
      order: { reduceOnly: true },
      expected: 'rejected reduceOnlyRefused 116 400 none',
      fields: ['reduceOnly'],
    },
  ];

  const bounded = DEFAULT_MARKETS.map((spec) =>
    Object.assign({}, spec, { maxPositionValue: d('25000'), maxPendingValue: d('20000') }),
  );

  it.each(cases)('$what is recognised by name', async ({ account = 'flat', order, expected, fields }) => {
    const exchange = await openExchange({ config: { markets: bounded } });
    const { client } = connect(exchange, account);
    const outcome = await client.stopLimit({ ...OPENING, clientOrderId: 'refused', ...order });
    expect([summary(outcome), blamed(outcome)]).toEqual([expected, fields]);
    expect(placed(exchange)).toEqual([]);
    expect(exchange.requestLog({ endpoint: 'stopLimit' })).toMatchObject([
      { outcome: 'refused', clientOrderId: 'refused' },
    ]);
  });

  it('with an id that was accepted before is a duplicate', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    expect(summary(await client.reduceOnlyStop(STOP))).toBe('accepted');
    const again = await client.reduceOnlyStop(STOP);
    expect([summary(again), blamed(again)]).toEqual([
      'rejected duplicateClientOrderId 36 400 none',
      ['client_order_id'],
    ]);
    expect(placed(exchange)).toHaveLength(1);
  });

  it.each([
    ['generic', 'rejected duplicateClientOrderId 30 400 none'],
    ['specific', 'rejected duplicateClientOrderId 36 400 none'],
  ] as const)('is a duplicate even if the exchange has %s codes only', async (codes, expected) => {
    const exchange = await openExchange({ readings: { orderErrorCodes: codes } });
    const { client } = connect(exchange, 'long');
    await client.reduceOnlyStop(STOP);
    expect(summary(await client.reduceOnlyStop(STOP))).toBe(expected);
  });

  it('with generic codes still names the field', async () => {
    const exchange = await openExchange({ readings: { orderErrorCodes: 'generic' } });
    const { client } = connect(exchange, 'flat');
    const outcome = await client.stopLimit({ ...OPENING, amount: amount('0.0001') });
    expect([summary(outcome), blamed(outcome)]).toEqual([
      'rejected validationFailed 30 400 none',
      ['amount'],
    ]);
  });

  const unsendable: readonly (readonly [string, Tampering, string, readonly string[]])[] = [
    ['without a market', dropping('market'), 'rejected validationFailed 30 400 none', ['market']],
    ['without a side', dropping('side'), 'rejected validationFailed 30 400 none', ['side']],
    ['without an amount', dropping('amount'), 'rejected validationFailed 30 400 none', ['amount']],
    ['without a price', dropping('price'), 'rejected validationFailed 30 400 none', ['price']],
    [
      'without an activation price',
      dropping('activation_price'),
      'rejected validationFailed 30 400 none',
      ['activation_price'],
    ],
    ['with an unknown side', setting({ side: 'up' }), 'rejected validationFailed 30 400 none', ['side']],
    [
      'with an amount that is a JSON number',
      setting({ amount: 0.1 }),
      'rejected validationFailed 30 400 none',
      ['amount'],
    ],
    [
      'with an amount of words',
      setting({ amount: 'much' }),
      'rejected validationFailed 30 400 none',
      ['amount'],
    ],
    ['with a negative price', setting({ price: '-1' }), 'rejected priceInvalid 33 400 none', ['price']],
    [
      'with a position side that does not exist',
      setting({ positionSide: 'UP' }),
      'rejected validationFailed 30 400 none',
      ['positionSide'],
    ],
    [
      'with reduceOnly as text',
      setting({ reduceOnly: 'true' }),
      'rejected validationFailed 30 400 none',
      ['reduceOnly'],
    ],
    [
      'reduce-only with a stop loss',
      setting({ reduceOnly: true, stopLoss: '50000' }),
      'rejected validationFailed 30 400 none',
      ['stopLoss'],
    ],
    [
      'reduce-only with a take profit',
      setting({ reduceOnly: true, takeProfit: '70000' }),
      'rejected validationFailed 30 400 none',
      ['takeProfit'],
    ],
    [
      'with letters that a client order id may not have',
      setting({ client_order_id: 'no spaces!' }),
      'rejected clientOrderIdInvalid 36 400 none',
      ['client_order_id'],
    ],
  ];

  it.each(unsendable)(
    '%s, which this client never sends, is refused and read',
    async (_what, tampering, expected, fields) => {
      const exchange = await openExchange();
      const client = await tampered(exchange, 'flat', tampering);
      const outcome = await client.stopLimit(OPENING);
      expect([summary(outcome), blamed(outcome)]).toEqual([expected, fields]);
      expect(placed(exchange)).toEqual([]);
    },
  );

  it.each<readonly [string, Partial<StopLimitRequest>, readonly string[]]>([
    ['a client order id with a space', { clientOrderId: 'a b' }, ['clientOrderId']],
    ['a market without a quote', { market: 'BTC' }, ['market']],
    ['an amount of zero', { amount: amount('0') }, ['amount']],
    ['an amount of words', { amount: amount('lots') }, ['amount']],
    ['reduceOnly with a stop loss', { reduceOnly: true, stopLoss: amount('1') }, ['stopLoss']],
    [
      'several at once',
      { amount: amount('-1'), price: amount('x'), clientOrderId: '' },
      ['amount', 'price', 'clientOrderId'],
    ],
  ])(
    'for %s is refused by the client itself and never reaches the exchange',
    async (_what, order, fields) => {
      const exchange = await openExchange();
      const outcome = await connect(exchange, 'flat').client.stopLimit({ ...OPENING, ...order });
      expect([summary(outcome), blamed(outcome)]).toEqual(['rejected requestRejected - - none', fields]);
      expect(exchange.requestLog()).toEqual([]);
    },
  );
});

describe('other refusals', () => {
  const call = {
    positions: (client: Connected['client']): Promise<Outcome> => client.openPositions(),
    loans: (client: Connected['client']): Promise<Outcome> => client.creditLines(),
    balance: (client: Connected['client']): Promise<Outcome> => client.mainBalance(),
    transfers: (client: Connected['client']): Promise<Outcome> => client.transfers(),
    orders: (client: Connected['client']): Promise<Outcome> => client.spotOrders(),
    cancel: (client: Connected['client']): Promise<Outcome> => client.cancelAll({ types: ['margin'] }),
    hedge: (client: Connected['client']): Promise<Outcome> => client.setHedgeMode(true),
  };

  it.each<readonly [keyof typeof call, Tampering, string, readonly string[]]>([
    ['positions', setting({ market: 'NO_MARKET' }), 'failed marketInvalid 30 400 none', ['market']],
    ['positions', setting({ market: 7 }), 'failed validationFailed 30 400 none', ['market']],
    ['orders', setting({ market: 'NO_MARKET' }), 'failed marketInvalid 30 400 none', ['market']],
    ['orders', setting({ limit: 0 }), 'failed validationFailed 30 400 none', ['limit']],
    ['orders', setting({ limit: 501 }), 'failed validationFailed 30 400 none', ['limit']],
    ['orders', setting({ limit: '50' }), 'failed validationFailed 30 400 none', ['limit']],
    ['orders', setting({ offset: -1 }), 'failed validationFailed 30 400 none', ['offset']],
    ['transfers', setting({ limit: 0 }), 'failed validationFailed 30 400 none', ['limit']],
    ['transfers', setting({ limit: 501 }), 'failed validationFailed 30 400 none', ['limit']],
    ['transfers', setting({ offset: 100_001 }), 'failed validationFailed 30 400 none', ['offset']],
    ['transfers', setting({ offset: -1 }), 'failed validationFailed 30 400 none', ['offset']],
    ['transfers', setting({ offset: 0.5 }), 'failed validationFailed 30 400 none', ['offset']],
    [
      'transfers',
      setting({ transactionMethod: 3 }),
      'failed validationFailed 30 400 none',
      ['transactionMethod'],
    ],
    [
      'transfers',
      setting({ transactionMethod: 1, status: [999] }),
      'failed validationFailed 30 400 none',
      ['status'],
    ],
    [
      'transfers',
      setting({ addresses: Array.from({ length: 21 }, (_, index) => `a${index}`) }),
      'failed validationFailed 30 400 none',
      ['addresses'],
    ],
    ['cancel', setting({ type: ['options'] }), 'rejected validationFailed 30 400 none', ['type']],
    ['cancel', setting({ type: 'margin' }), 'rejected validationFailed 30 400 none', ['type']],
    ['cancel', setting({ market: 'NO_MARKET' }), 'rejected marketInvalid 30 400 none', ['market']],
    ['hedge', dropping('hedgeMode'), 'rejected validationFailed 30 400 none', ['hedgeMode']],
    ['hedge', setting({ hedgeMode: 'yes' }), 'rejected validationFailed 30 400 none', ['hedgeMode']],
    ['positions', { path: () => '/api/v4/no/such' }, 'failed endpointNotFound 0 404 none', []],
    ['loans', { path: () => '/api/v4/no/such' }, 'failed loansNotAvailable 0 404 none', []],
    ['cancel', { path: () => '/api/v4/no/such' }, 'rejected endpointNotFound 0 404 none', []],
    ['hedge', dropping('nonce'), 'rejected unauthenticated 0 401 none', []],
    ['positions', dropping('request'), 'failed unauthenticated 0 401 none', []],
    ['balance', setting({ request: '/api/v4/elsewhere' }), 'failed unauthenticated 0 401 none', []],
    ['positions', setting({ nonce: 5 }), 'failed unauthenticated 0 401 none', []],
    [
      'positions',
      { headers: (headers) => ({ ...headers, 'x-txc-signature': '0'.repeat(128) }) },
      'failed unauthenticated 0 401 none',
      [],
    ],
    [
      'cancel',
      { headers: (headers) => ({ ...headers, 'x-txc-apikey': 'nobody' }) },
      'rejected unauthenticated 0 401 none',
      [],
    ],
    [
      'balance',
      { headers: (headers) => ({ ...headers, 'x-txc-payload': '' }) },
      'failed unauthenticated 0 401 none',
      [],
    ],
  ])('%s: %j', async (name, tampering, expected, fields) => {
    const exchange = await openExchange();
    const outcome = await call[name](await tampered(exchange, 'flat', tampering));
    expect([summary(outcome), blamed(outcome)]).toEqual([expected, fields]);
    expect(exchange.ledger({ kinds: ['hedge_mode', 'order_cancelled', 'order_placed'] })).toEqual([]);
    expect(exchange.requestLog().map((record) => record.outcome)).toEqual(['refused']);
  });

  it('a used nonce is distinguished from a bad key', async () => {
    const exchange = await openExchange();
    const client = await tampered(exchange, 'flat', setting({ nonce: '42' }));
    expect(summary(await client.openPositions())).toBe('ok');
    const { httpStatus, name, effect } = errorOf(await client.openPositions());
    expect([httpStatus, name, effect]).toEqual([401, 'nonceRefused', 'none']);
  });

  it('hedge mode cannot change while a position is open', async () => {
    const exchange = await openExchange();
    const outcome = await connect(exchange, 'long').client.setHedgeMode(true);
    expect([summary(outcome), blamed(outcome)]).toEqual([
      'rejected hedgeModeLocked 113 400 none',
      ['hedgeMode'],
    ]);
    expect(exchange.model.account('long').hedgeMode).toBe(false);
  });

  it.each([429, 500, 503])('of the public ping with HTTP %i are read without a code', async (status) => {
    const exchange = await openExchange();
    exchange.injectFault({ effect: { kind: 'status', status } });
    const error = errorOf(await connect(exchange, 'flat').client.ping());
    const name = { 429: 'rateLimited', 500: 'internalError', 503: 'temporarilyUnavailable' }[status];
    expect(error).toMatchObject({ name, httpStatus: status });
    expect(error.code).toBeUndefined();
  });

  it('with an undocumented code stay visible', async () => {
    const exchange = await openExchange();
    const errors = { price: ['not today'] };
    const status = { kind: 'status', status: 400, code: 4711, message: 'Moon phase', errors } as const;
    exchange.injectFault({ effect: status });
    const outcome = await connect(exchange, 'long').client.reduceOnlyStop(STOP);
    expect(outcome).toMatchObject({
      kind: 'rejected',
      error: { name: 'unknown code 4711', code: 4711, message: 'Moon phase', fields: errors, effect: 'none' },
    });
  });

  it('code 10 means different things on different endpoints', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat');
    exchange.exchange.fiat.mode = 'failing';
    const link = { ticker: 'UAH', provider: 'BANKLINK', amount: amount('50'), uniqueId: 'u' };
    expect(summary(await client.fiatDepositLink(link))).toBe('rejected depositLinkFailed 10 400 none');
    expect(summary(await client.stopLimit({ ...OPENING, amount: amount('900') }))).toBe(
      'rejected insufficientBalance 10 400 none',
    );
  });
});

function errorOf(outcome: Outcome) {
  if (!('error' in outcome)) throw new Error(`expected an error, got ${outcome.kind}`);
  return outcome.error;
}

describe('a key without permission', () => {
  const refused: readonly (readonly [string, (client: Connected['client']) => Promise<Outcome>, string])[] = [
    ['trading', (client) => client.cancelAll({}), 'rejected'],
    ['trading', (client) => client.reduceOnlyStop(STOP), 'rejected'],
    ['trading', (client) => client.setHedgeMode(true), 'rejected'],
    ['creditLine', (client) => client.creditLines(), 'failed'],
    [
      'fiatDeposit',
      (client) =>
        client.fiatDepositLink({ ticker: 'UAH', provider: 'BANKLINK', amount: amount('50'), uniqueId: 'u' }),
      'rejected',
    ],
  ];
  const statuses = ['403', '400', '200'] as const;
  const cases = refused.flatMap(([permission, run, kind]) =>
    statuses.map((status) => ({ permission, run, kind, status })),
  );

  it.each(cases)('$permission is reported with HTTP $status', async ({ permission, run, kind, status }) => {
    const exchange = await openExchange({ readings: { permissionRefusal: status } });
    exchange.exchange.accounts.change('long', { permissions: { [permission]: false } });
    const { client } = connect(exchange, 'long');
    expect(summary(await run(client))).toBe(`${kind} permissionDenied 0 ${status} none`);
    expect(summary(await client.openPositions())).toBe('ok');
    expect(exchange.ledger({ kinds: ['hedge_mode', 'order_placed', 'fiat_link'] })).toEqual([]);
  });
});
