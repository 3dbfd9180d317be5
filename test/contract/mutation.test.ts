import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CommandOutcome, PositionList, ReadOutcome, RecordList } from '../../src/core/ports/exchange.ts';
import { REPLY_BOUNDS } from '../../src/exchange/call/reply-bounds.ts';
import type { ExchangeClient } from '../../src/exchange/client.ts';
import { DEFAULT_RATE_LIMITS } from '../../src/exchange/limits/rate-limit-table.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { runsOf } from '../support/slice.ts';
import { arbitraryDamages, Digits, damaged, parseExact, type Tree, textOf } from './support/json-mutation.ts';
import { startCanned, startTampering } from './support/tamper.ts';
import { ACCOUNTS, closeAfterTest, connect, d, openExchange, STOP } from './support/world.ts';

/**
 * Any damaged reply gives a typed error, a record set aside, or exactly the value on the wire. The replies damaged here
 * are those of the simulator.
 */

type Outcome = ReadOutcome<unknown> | CommandOutcome<unknown>;
type Wire = ReadonlyMap<string, Tree>;

const CALLS = {
  ping: (client: ExchangeClient): Promise<Outcome> => client.ping(),
  openPositions: (client: ExchangeClient): Promise<Outcome> => client.openPositions(),
  creditLines: (client: ExchangeClient): Promise<Outcome> => client.creditLines(),
  mainBalance: (client: ExchangeClient): Promise<Outcome> => client.mainBalance(),
  transfers: (client: ExchangeClient): Promise<Outcome> => client.transfers(),
  spotOrders: (client: ExchangeClient): Promise<Outcome> => client.spotOrders(),
  stopLimit: (client: ExchangeClient): Promise<Outcome> => client.reduceOnlyStop(STOP),
  cancelAll: (client: ExchangeClient): Promise<Outcome> => client.cancelAll({}),
  hedgeMode: (client: ExchangeClient): Promise<Outcome> => client.setHedgeMode(false),
  fiatDeposit: (client: ExchangeClient): Promise<Outcome> =>
    client.fiatDepositLink({
      ticker: 'UAH',
      provider: 'BANKLINK',
      amount: '50' as typeof STOP.amount,
      uniqueId: 'u-1',
    }),
};
type Call = keyof typeof CALLS;

const replies = new Map<Call, string>();
let orderWithOto = '';

beforeAll(async () => {
  const exchange = await startSimulatedExchange({
    speed: 0,
    accounts: ACCOUNTS.filter(({ id }) => id === 'long'),
    readings: { loanReply: 'array' },
  });
  exchange.exchange.change((model) => {
    const loan = { asset: 'USDT', amount: d('5000'), collateralAsset: 'BTC', collateralAmount: d('0.2') };
    model.openLoan('long', loan);
    model.openLoan('long', loan);
    model.deposit('long', { ticker: 'USDT', amount: d('250.5'), uniqueId: 'in-1', memo: 'memo' });
    model.withdraw('long', { ticker: 'USDT', amount: d('100'), processedAmount: d('60') });
    for (const side of ['buy', 'sell'] as const)
      model.placeSpotOrder('long', { market: 'BTC_USDT', side, amount: d('0.01') });
    model.placeSpotOrder('long', { market: 'ETH_USDT', side: 'buy', amount: d('0.5') });
    const eth = { market: 'ETH_PERP', side: 'buy', amount: d('1'), price: d('3010') } as const;
    model.placeCollateralOrder('long', { ...eth, stopLoss: d('2500'), takeProfit: d('3500') });
  });
  const { apiSecret } = exchange.accounts[0] ?? { apiSecret: '' };
  const proxy = await startTampering(exchange.baseUrl, apiSecret);
  let last = '';
  proxy.tampering = {
    reply: (answer) => {
      last = answer.text;
      return answer;
    },
  };
  const { client } = connect({ ...exchange, baseUrls: [proxy.url] }, 'long');
  for (const [name, call] of Object.entries(CALLS)) {
    const { kind } = await call(client);
    if (kind !== 'ok' && kind !== 'accepted' && name !== 'hedgeMode') throw new Error(`${name}: ${kind}`);
    replies.set(name as Call, name === 'hedgeMode' ? '{"hedgeMode":false}' : last);
  }
  orderWithOto = textOf(
    new Map([
      ...(parseExact(replies.get('stopLimit') ?? '') as Map<string, Tree>),
      ['oto', parseExact('{"otoId":7,"stopLoss":"50000.10","takeProfit":"70000"}')],
    ]),
  );
  closeAfterTest(() => exchange.close());
});

/** Names that a field of a record may have on the wire. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  orderId: ['id', 'order_id', 'orderId'],
  clientOrderId: ['client_order_id', 'clientOrderId'],
  dealStock: ['deal_stock', 'dealStock'],
  dealMoney: ['deal_money', 'dealMoney'],
  dealFee: ['deal_fee', 'dealFee'],
  activationPrice: ['activation_price', 'activationPrice'],
  transactionId: ['transaction_id', 'transactionId'],
  uniqueId: ['unique_id', 'uniqueId'],
};
const WORDS: Readonly<Record<string, string>> = { CANCELED: 'CANCELLED', '1': 'deposit', '2': 'withdrawal' };

/** Whether a value in a record is exactly the one on the wire. */
function saysTheSame(value: unknown, wire: Tree | undefined): boolean {
  // An empty text is read as null where null is documented.
  if (value === null) return wire === null || wire === '' || (Array.isArray(wire) && wire.length === 0);
  if (typeof value === 'boolean') return wire === value;
  if (typeof value === 'number') return unitsOf(wire).includes(value);
  if (typeof value === 'string') return value === (wire instanceof Digits ? wire.source : wire);
  if (typeof value !== 'object' || value === undefined) return false;
  if ('known' in value) return enumerated(value as { known: boolean; value?: unknown; raw?: unknown }, wire);
  return (
    wire instanceof Map && Object.entries(value).every(([key, member]) => saysTheSame(member, wire.get(key)))
  );
}

/** A time may be in seconds, milliseconds or microseconds, as a number or a text of digits. */
function unitsOf(wire: Tree | undefined): number[] {
  const text = wire instanceof Digits ? wire.source : wire;
  return typeof text === 'string' ? [1, 1e3, 1e6].map((unit) => Number(text) / unit) : [];
}

function enumerated(
  value: { known: boolean; value?: unknown; raw?: unknown },
  wire: Tree | undefined,
): boolean {
  const said = wire instanceof Digits ? wire.source : wire;
  if (typeof said !== 'string') return false;
  return value.known
    ? value.value === (WORDS[said] ?? said) || value.value === said
    : String(value.raw) === said || Number(said) === value.raw;
}

/** Fields of a record, each with its value on the wire. */
function expectFaithful(
  record: object,
  wire: Tree,
  own: readonly string[] = [],
  unread: readonly string[] = [],
): void {
  if (!(wire instanceof Map)) throw new Error(`a record out of ${textOf(wire)}`);
  for (const [field, value] of Object.entries(record)) {
    if (own.includes(field)) continue;
    const told = wireOf(wire, field);
    // An LTV may be written with a percent sign.
    const said = field.endsWith('Ltv') && typeof told === 'string' ? told.replace(/%$/, '') : told;
    expect({ field, value, faithful: saysTheSame(value, said) }).toEqual({
      field,
      value,
      faithful: true,
    });
  }
  // Beside an LTV with a percent sign, one without may be in another unit.
  const hasSign = [...wire].some(
    ([key, said]) => key.endsWith('Ltv') && typeof said === 'string' && said.endsWith('%'),
  );
  // Only fields that are null, made of several parts, or reported as not readable may be left out.
  for (const [key, member] of wire) {
    if (unread.includes(key) || (key.endsWith('Ltv') && hasSign)) continue;
    const field = Object.keys(SPELLINGS).find((name) => SPELLINGS[name]?.includes(key)) ?? key;
    const simple =
      (typeof member === 'string' && member !== '') ||
      member instanceof Digits ||
      typeof member === 'boolean';
    if (simple && DOCUMENTED.has(field))
      expect({ field, kept: field in record }).toEqual({ field, kept: true });
  }
}

/** Fields of a record that keep their place on the wire. */
const DOCUMENTED = new Set(
  (
    'positionId market openDate modifyDate basePrice liquidationPrice liquidationState pnl pnlPercent margin ' +
    'freeMargin funding unrealizedFunding unrealizedPnl positionSide asset totalFunding currentLtv initialLtv ' +
    'marginCallLtv liquidationLtv createdAt ticker method fee status network amount side price ctime ftime ' +
    'dealStock dealMoney dealFee takerFee makerFee activationPrice left type stp'
  ).split(' '),
);

function wireOf(wire: Wire, field: string): Tree | undefined {
  const names = SPELLINGS[field] ?? [field];
  // If both spellings are there, either one counts.
  return (
    names.map((name) => wire.get(name)).find((value) => value !== undefined && value !== null) ??
    (names.some((name) => wire.get(name) === null) ? null : undefined)
  );
}

/** Where the items of a list are on the wire, with the path that a record set aside has. */
function itemsOf(
  call: Call,
  wire: Tree,
): { readonly path: string; readonly item: Tree; readonly market?: string }[] {
  if (call === 'transfers') {
    const records = wire instanceof Map ? wire.get('records') : undefined;
    return Array.isArray(records) ? records.map((item, index) => ({ path: `.records[${index}]`, item })) : [];
  }
  if (call === 'spotOrders') {
    if (!(wire instanceof Map)) return [];
    return [...wire].flatMap(([market, list]) =>
      Array.isArray(list) ? list.map((item, index) => ({ path: `.${market}[${index}]`, item, market })) : [],
    );
  }
  if (Array.isArray(wire)) return wire.map((item, index) => ({ path: `[${index}]`, item }));
  return call === 'creditLines' && wire instanceof Map && wire.size > 0 ? [{ path: '[0]', item: wire }] : [];
}

const idOf = (call: Call, item: Tree, market?: string) =>
  item instanceof Map && call === 'spotOrders'
    ? `${market}/${textOf(wireOf(item, 'orderId') ?? null)}`
    : undefined;

/** Whether an item is listed as a position that is not open yet, or not any more. */
function isNotOpen(list: object, item: Tree): boolean {
  const amount = textOf(within(item, 'amount'));
  if (item instanceof Map && item.has('positionId') && /^"?-?0+(\.0*)?"?$/.test(amount)) return true;
  const { notOpenYet = [] } = list as Pick<PositionList, 'notOpenYet'>;
  const id = item instanceof Map ? item.get('positionId') : undefined;
  return notOpenYet.some(({ positionId }) => id !== undefined && positionId === textOf(id));
}

function expectListFaithful(
  call: Call,
  list: RecordList<object>,
  wire: Tree,
  unread: readonly string[],
): void {
  const aside = list.setAside.map(({ path }) => path);
  const items = itemsOf(call, wire).filter(
    ({ path, item }) =>
      !isNotOpen(list, item) &&
      !aside.some((place) => place === path || place.startsWith(`${path}.`) || place.startsWith(`${path}[`)),
  );
  expect(list.complete && aside.length > 0).toBe(false);
  // Histories keep one of two records with the same id: the one read last.
  const distinct = call === 'transfers' || call === 'spotOrders' ? lastOfEach(call, items) : items;
  expect(list.records.length).toBe(distinct.length);
  list.records.forEach((record, index) => {
    const { item = null, market } = distinct[index] ?? {};
    if (market !== undefined) expect((record as { market: string }).market).toBe(market);
    const own = ['partial', 'confirmations', 'sideDoubtful'];
    expectFaithful(record, item, [...(market === undefined ? [] : ['market']), ...own], unread);
    // A side is doubtful only if the record does not show it.
    if ('sideDoubtful' in record)
      expect((record as { positionSide?: { known: boolean } }).positionSide?.known).not.toBe(true);
    if ('partial' in record)
      expectFaithful(record.partial as object, within(item, 'details', 'partial'), [], unread);
    if ('confirmations' in record)
      expectFaithful(record.confirmations as object, within(item, 'confirmations'), [], unread);
  });
}

function within(item: Tree, ...keys: readonly string[]): Tree {
  return keys.reduce<Tree>((tree, key) => (tree instanceof Map ? (tree.get(key) ?? null) : null), item);
}

function lastOfEach<T extends { readonly item: Tree; readonly market?: string }>(
  call: Call,
  items: readonly T[],
): T[] {
  const byId = new Map<string, T>();
  let nameless = 0;
  for (const one of items) {
    const wire = one.item instanceof Map ? wireOf(one.item, 'transactionId') : undefined;
    const named = typeof wire === 'string' ? wire : undefined;
    nameless += 1;
    byId.set(idOf(call, one.item, one.market) ?? named ?? `nameless ${nameless}`, one);
  }
  return [...byId.values()];
}

const FINDINGS = ['replyInvalid', 'replyNotJson', 'replyTooLarge'];

function expectRead(call: Call, outcome: Outcome, wire: Tree, unread: readonly string[]): void {
  if (outcome.kind === 'ok') {
    if (call === 'ping') expect(textOf(wire)).toBe('["pong"]');
    else if (call === 'mainBalance')
      expectBalance(outcome.value as Readonly<Record<string, string | null>>, wire, unread);
    else expectListFaithful(call, outcome.value as RecordList<object>, wire, unread);
    return;
  }
  expect(outcome.kind).toBe('failed');
  if ('error' in outcome) expect(FINDINGS).toContain(outcome.error.name);
}

function expectBalance(
  balance: Readonly<Record<string, string | null>>,
  wire: Tree,
  unread: readonly string[],
): void {
  const entries = wire instanceof Map ? [...wire] : [];
  expect(Object.keys(balance).sort()).toEqual(entries.map(([asset]) => asset).sort());
  for (const [asset, entry] of entries) {
    const said = entry instanceof Map ? (entry.get('main_balance') ?? entry.get('mainBalance')) : undefined;
    // Null: it could not be read.
    expect(
      balance[asset] === null ? unread.includes('main_balance') : saysTheSame(balance[asset], said),
    ).toBe(true);
  }
}

function expectCommand(call: Call, outcome: Outcome, wire: Tree, unread: readonly string[]): void {
  if (outcome.kind === 'accepted') {
    if (call === 'fiatDeposit') expectFaithful(outcome.value as object, wire);
    if (call === 'stopLimit') {
      // The status is judged by the numbers; an amount that no trimming leaves says nothing.
      const own = ['clientOrderIdEchoed', 'adjustedFrom', 'oto', 'clientOrderId', 'status'];
      const { amount, clientOrderId, clientOrderIdEchoed, oto } = outcome.value as {
        amount: string;
        clientOrderId: string;
        clientOrderIdEchoed: boolean;
        oto?: object;
      };
      const written = within(wire, 'amount');
      const said = Number(written instanceof Digits ? written.source : written);
      const isTrimmed = said > 0 && said < Number(STOP.amount);
      if (!isTrimmed) own.push('amount');
      if (!isTrimmed) expect(amount).toBe(STOP.amount);
      expectFaithful(outcome.value as object, wire, own, unread);
      expect(clientOrderIdEchoed).toBe(clientOrderId === STOP.clientOrderId);
      if (oto !== undefined) expectFaithful(oto, within(wire, 'oto'), [], unread);
    }
    return;
  }
  if (!('error' in outcome)) throw new Error(outcome.kind);
  const { name } = outcome.error;
  if (outcome.kind === 'rejected') {
    // Only the exchange's own word makes a rejection of a reply with status 200.
    const status = within(wire, 'status');
    expect([name, status]).toEqual(['cancelledOnCreation', status === 'CANCELED' ? 'CANCELED' : 'CANCELLED']);
  } else {
    expect(outcome.kind).toBe('unknown');
    expect([...FINDINGS, 'cancelledPartlyFilled']).toContain(name);
  }
}

const UNLIMITED = Object.fromEntries(
  Object.keys(DEFAULT_RATE_LIMITS).map((name) => [name, { limit: 1_000_000 }]),
);
const READS = ['ping', 'openPositions', 'creditLines', 'mainBalance', 'transfers', 'spotOrders'] as const;
const COMMANDS = ['stopLimit', 'cancelAll', 'hedgeMode', 'fiatDeposit'] as const;

describe('a damaged reply', () => {
  it.each([...READS, ...COMMANDS])('of %s is an error, set aside, or as on the wire', async (call) => {
    const apiKey = `k-${randomUUID()}`;
    const canned = await startCanned({ status: 200, text: '' }, apiKey);
    const exchange = { baseUrls: [canned.url], accounts: [{ id: 'long', apiKey, apiSecret: 's-1' }] };
    const { client, drift } = connect(exchange, 'long', { limiter: { limits: UNLIMITED } });
    const text = call === 'stopLimit' ? orderWithOto : (replies.get(call) ?? '');
    const whole = parseExact(text);
    canned.answer = { status: 200, text };
    expect(['ok', 'accepted']).toContain((await CALLS[call](client)).kind);
    await fc.assert(
      fc.asyncProperty(arbitraryDamages, async (damages) => {
        const wire = damaged(whole, damages);
        canned.answer = { status: 200, text: textOf(wire) };
        const before = canned.requests;
        drift.length = 0;
        const outcome = await CALLS[call](client);
        const unread = drift.flatMap(({ path }) => path.split('.'));
        if ((READS as readonly string[]).includes(call)) expectRead(call, outcome, wire, unread);
        else expectCommand(call, outcome, wire, unread);
        expect(() => JSON.stringify(outcome)).not.toThrow();
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
        // A history may ask for a page that a damaged total promises; a command never asks again.
        if (!(READS as readonly string[]).includes(call)) expect(canned.requests).toBe(before + 1);
      }),
      { numRuns: runsOf(200) },
    );
  });

  it('with an error status is never taken for a success', async () => {
    const canned = await startCanned({ status: 200, text: '' });
    const exchange = { baseUrls: [canned.url], accounts: [{ id: 'long', apiKey: 'k-1', apiSecret: 's-1' }] };
    const { client } = connect(exchange, 'long', { limiter: { limits: UNLIMITED } });
    const whole = parseExact(
      '{"code":30,"message":"Validation failed","errors":{"amount":["too small","odd"]},"success":false}',
    );
    const statuses = [400, 401, 403, 404, 418, 422, 500, 502, 503, 302];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...statuses), arbitraryDamages, async (status, damages) => {
        const text = textOf(damaged(whole, damages));
        canned.answer = { status, text };
        const read = await client.openPositions();
        const order = await client.reduceOnlyStop(STOP);
        expect(read.kind).toBe('failed');
        // A reply that is too long is not read, so it does not show who refused.
        const isRead = Buffer.byteLength(text) <= REPLY_BOUNDS.stopLimit.bytes;
        expect(order.kind).toBe(isRead && status >= 400 && status < 500 ? 'rejected' : 'unknown');
        for (const outcome of isRead ? [read, order] : [read]) {
          const error = 'error' in outcome ? outcome.error : undefined;
          expect(error?.httpStatus).toBe(status);
          expect(typeof error?.name).toBe('string');
          expect(error?.message.length).toBeLessThanOrEqual(300);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  it.each(['', ' ', 'null', '0', '"text"', 'true', '[]', '{}', '{', 'NaN', '\u0000'])(
    'that is %j is no order',
    async (text) => {
      const canned = await startCanned({ status: 200, text });
      const exchange = {
        baseUrls: [canned.url],
        accounts: [{ id: 'long', apiKey: 'k-1', apiSecret: 's-1' }],
      };
      const outcome = await connect(exchange, 'long').client.reduceOnlyStop(STOP);
      expect(outcome).toMatchObject({ kind: 'unknown', error: { effect: 'possible' } });
      expect(canned.requests).toBe(1);
    },
  );
});

describe('a number where an object belongs', () => {
  it.each(['7', '0.10', '1e999'])('%s is not read as an object without fields', async (number) => {
    const canned = await startCanned({ status: 200, text: '' });
    const exchange = { baseUrls: [canned.url], accounts: [{ id: 'long', apiKey: 'k-1', apiSecret: 's-1' }] };
    const { client, drift } = connect(exchange, 'long');
    const withNumber = (text: string, field: string) =>
      textOf(new Map([...(parseExact(text) as Map<string, Tree>), [field, new Digits(number)]]));
    const [position = ''] = (parseExact(replies.get('openPositions') ?? '') as Tree[]).map(textOf);
    canned.answer = { status: 200, text: `[${withNumber(position, 'tpsl')}]` };
    expect(await client.openPositions()).toMatchObject({
      kind: 'ok',
      value: { records: [{ market: 'BTC_PERP' }], setAside: [], complete: true },
    });
    expect(drift).toMatchObject([{ path: '[0].tpsl', got: 'number' }]);
    const list = await client.openPositions();
    expect(list.kind === 'ok' && list.value.records[0]).not.toHaveProperty('tpsl');
    canned.answer = { status: 200, text: withNumber(orderWithOto, 'oto') };
    const order = await client.reduceOnlyStop(STOP);
    expect(order.kind === 'accepted' && order.value).not.toHaveProperty('oto');
  });

  it.each(['-0', '1e-400', '1.5'])('%s is no id', async (number) => {
    const canned = await startCanned({ status: 200, text: '' });
    const exchange = { baseUrls: [canned.url], accounts: [{ id: 'long', apiKey: 'k-1', apiSecret: 's-1' }] };
    canned.answer = { status: 200, text: orderWithOto.replace(/"order_id":\d+/, `"order_id":${number}`) };
    const outcome = await connect(exchange, 'long').client.reduceOnlyStop(STOP);
    expect(outcome).toMatchObject({ kind: 'unknown', error: { name: 'replyInvalid' } });
  });
});

describe('a reply about another order', () => {
  it.each<readonly [string, string]>([
    ['market', 'ETH_PERP'],
    ['side', 'buy'],
  ])('with another %s is not the answer to this order', async (field, value) => {
    const exchange = await openExchange();
    const proxy = await startTampering(exchange.baseUrl, '');
    proxy.tampering = {
      reply: (answer) => ({
        ...answer,
        text: textOf(new Map([...(parseExact(answer.text) as Map<string, Tree>), [field, value]])),
      }),
    };
    const { client, drift } = connect({ ...exchange, baseUrls: [proxy.url] }, 'long');
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'unknown',
      error: { name: 'replyInvalid' },
    });
    expect(drift).toMatchObject([{ kind: 'reply', path: `.${field}` }]);
  });

  it.each([['another-id'], [null]])('with the client order id %j raises an alarm', async (id) => {
    const exchange = await openExchange();
    const proxy = await startTampering(exchange.baseUrl, '');
    proxy.tampering = {
      reply: (answer) => ({
        ...answer,
        text: textOf(new Map([...(parseExact(answer.text) as Map<string, Tree>), ['client_order_id', id]])),
      }),
    };
    const { client, drift } = connect({ ...exchange, baseUrls: [proxy.url] }, 'long');
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'accepted',
      value: { clientOrderIdEchoed: false },
    });
    expect(drift).toMatchObject([{ kind: 'echo', path: '.client_order_id' }]);
  });
});
