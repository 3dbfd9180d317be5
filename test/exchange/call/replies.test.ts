import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordList } from '../../../src/core/ports/exchange.ts';
import { parseJson } from '../../../src/exchange/call/parse-json.ts';
import {
  type Parsed,
  readCreditLines,
  readDepositLink,
  readMainBalance,
  readPing,
  readPlacedOrder,
  readPositions,
  readReply,
  readSpotOrderPage,
  readTransferPage,
} from '../../../src/exchange/schemas/replies.ts';
import { runsOf } from '../../support/slice.ts';
import { CREDIT_LINE, PLACED_ORDER, POSITION, SPOT_ORDER, TRANSFER } from '../fixtures.ts';

type Reader = (value: unknown) => Parsed<unknown>;

const read = <T>(text: string, reader: (value: unknown) => Parsed<T>): T => {
  const parsed = readReply(text, parseJson(text)?.value, reader);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
};
const json = (value: unknown) => JSON.stringify(value);

describe('documented replies are read whole', () => {
  test('positions', () => {
    const { records, complete } = read(json([POSITION]), readPositions);
    expect(complete).toBe(true);
    expect(records).toEqual([
      {
        ...POSITION,
        positionId: '191823',
        liquidationState: { known: true, value: 'margin_call' },
        positionSide: { known: true, value: 'LONG' },
        tpsl: { ...POSITION.tpsl, takeProfitId: '123456', stopLossId: '123457' },
      },
    ]);
  });

  test('nulls that mean "none" stay null, and null parts of tpsl are not set', () => {
    const text = json([
      { ...POSITION, liquidationPrice: null, liquidationState: null, tpsl: null },
      { ...POSITION, tpsl: { takeProfitId: null, takeProfit: null, stopLossId: 7, stopLoss: '1' } },
    ]);
    const { records } = read(text, readPositions);
    expect(records[0]).toMatchObject({ liquidationPrice: null, liquidationState: null, tpsl: null });
    expect(records[1]?.tpsl).toEqual({ stopLossId: '7', stopLoss: '1' });
  });

  test('credit lines as object, array, or nothing', () => {
    for (const value of [CREDIT_LINE, [CREDIT_LINE]]) {
      expect(read(json(value), readCreditLines)).toEqual({
        records: [CREDIT_LINE],
        setAside: [],
        complete: true,
      });
    }
    for (const value of [[], {}, null]) expect(read(json(value), readCreditLines).records).toEqual([]);
  });

  test('transfers in either spelling', () => {
    const { unique_id, transaction_id, ...rest } = TRANSFER;
    const expected = {
      transactionId: transaction_id,
      uniqueId: null,
      method: { known: true, value: 'deposit' },
      partial: TRANSFER.details.partial,
      createdAt: TRANSFER.createdAt,
    };
    for (const record of [TRANSFER, { ...rest, uniqueId: unique_id, transactionId: transaction_id }]) {
      const page = read(json({ limit: 1, offset: 0, records: [record], total: 7 }), readTransferPage);
      expect(page).toMatchObject({ received: 1, total: 7, complete: true });
      expect(page.records[0]).toMatchObject(expected);
    }
  });

  test('spot orders in either spelling, with CANCELED read as CANCELLED', () => {
    const { id, client_order_id, deal_fee, deal_stock, deal_money, ...rest } = SPOT_ORDER;
    const camel = {
      ...rest,
      orderId: id,
      clientOrderId: client_order_id,
      dealFee: deal_fee,
      dealStock: deal_stock,
      dealMoney: deal_money,
    };
    const expected = {
      ...camel,
      market: 'BTC_USDT',
      orderId: String(id),
      side: { known: true, value: 'sell' },
      status: { known: true, value: 'CANCELLED' },
    };
    for (const order of [SPOT_ORDER, camel]) {
      expect(readSpotOrderPage({ BTC_USDT: [order] })).toMatchObject({ ok: true });
      const parsed = readSpotOrderPage({ BTC_USDT: [order] });
      expect(parsed.ok && parsed.value.records).toEqual([expected]);
    }
  });

  test('main balance; empty replies as [] or {}', () => {
    expect(read('{"BTC":{"main_balance":"0.10"}}', readMainBalance)).toEqual({ BTC: '0.10' });
    for (const empty of ['[]', '{}']) {
      expect(read(empty, readMainBalance)).toEqual({});
      expect(read(empty, readPositions)).toMatchObject({ records: [], complete: true });
      expect(read(empty, readTransferPage)).toMatchObject({ records: [], complete: true });
      expect(read(empty, readSpotOrderPage)).toMatchObject({
        records: [],
        complete: true,
      });
    }
  });

  test('ping and deposit link', () => {
    expect(read('["pong"]', readPing)).toBe(true);
    expect(readPing(['ping']).ok).toBe(false);
    expect(read('{"url":"https://pay.example/x"}', readDepositLink)).toBe('https://pay.example/x');
    for (const url of ['javascript:alert(1)', '', 5, null]) expect(readDepositLink({ url }).ok).toBe(false);
  });
});

describe('digits', () => {
  const decimals = fc
    .tuple(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.integer({ min: 0, max: 25 }), fc.boolean())
    .map(([digits, places, negative]) => {
      const text = digits.toString().padStart(places + 1, '0');
      const plain = places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
      return negative && digits > 0n ? `-${plain}` : plain;
    });

  test('decimals keep every digit, sent as a string or as a JSON number', () => {
    fc.assert(
      fc.property(decimals, fc.boolean(), (text, asNumber) => {
        const reply = json([POSITION]).replace('"0.075"', asNumber ? text : `"${text}"`);
        expect(read(reply, readPositions).records[0]?.amount).toBe(text);
        const balance = `{"BTC":{"main_balance":${asNumber ? text : `"${text}"`}}}`;
        expect(read(balance, readMainBalance)['BTC']).toBe(text);
      }),
    );
  });

  test('ids keep every digit, sent as a string or as a JSON number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.boolean(), (id, asNumber) => {
        const reply = json([POSITION]).replace('191823', asNumber ? String(id) : `"${id}"`);
        expect(read(reply, readPositions).records[0]?.positionId).toBe(String(id));
      }),
    );
  });
});

test('an open position without a base price is kept with its margin call, and reported', () => {
  const text = json([
    { ...POSITION, basePrice: null, pnl: '' },
    POSITION,
    { ...POSITION, amount: '0', basePrice: null },
    { ...POSITION, amount: null, basePrice: null, pnl: null },
  ]);
  const parsed = readReply(text, JSON.parse(text), readPositions);
  const list = read(text, readPositions);
  expect(list.records).toHaveLength(2);
  expect(list.records[0]).toMatchObject({ amount: '0.075', liquidationState: { value: 'margin_call' } });
  expect(list.records[0]).not.toHaveProperty('basePrice');
  expect([list.complete, list.setAside, list.notOpenYet?.length]).toEqual([true, [], 2]);
  expect(parsed.ok && parsed.flaws).toEqual([
    { path: '[0].basePrice', expected: 'a decimal string', got: 'null' },
    { path: '[0].pnl', expected: 'a decimal string', got: 'empty string' },
  ]);
});

test('unknown values of enumerations are kept and marked', () => {
  const text = json([{ ...POSITION, positionSide: 'DIAGONAL', liquidationState: 'adl' }]);
  expect(read(text, readPositions).records[0]).toMatchObject({
    positionSide: { known: false, raw: 'DIAGONAL' },
    liquidationState: { known: false, raw: 'adl' },
  });
});

test('a bad record is set aside with its path and shape, without its values, and the others are kept', () => {
  const bad = { ...POSITION, amount: 'secret-amount', positionId: 'secret-id' };
  const list = read(json([POSITION, bad, { ...POSITION, positionId: 2 }]), readPositions);
  expect(list.records.map(({ positionId }) => positionId)).toEqual(['191823', '2']);
  expect(list.complete).toBe(false);
  expect(list.setAside).toEqual([
    { path: '[1].positionId', expected: 'an id', got: 'string of 9', furtherFaults: 1 },
  ]);
});

/** Every place in a reply, as a list of keys. */
function places(value: unknown, at: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[...at]];
  const keys = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value);
  const below = keys.flatMap((key) => places((value as Record<string | number, unknown>)[key], [...at, key]));
  return at.length === 0 ? below : [[...at], ...below];
}

type Mutation =
  | { readonly drop: true }
  | { readonly put: unknown }
  | { readonly extra: readonly [string, unknown] };

function mutate(value: unknown, place: readonly (string | number)[], mutation: Mutation): unknown {
  const copy = structuredClone(value) as Record<string | number, unknown>;
  let parent = copy;
  for (const key of place.slice(0, -1)) parent = parent[key] as Record<string | number, unknown>;
  const last = place.at(-1) ?? '';
  if ('drop' in mutation) {
    if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else delete parent[last];
  } else if ('put' in mutation) parent[last] = mutation.put;
  else {
    const [name, extra] = mutation.extra;
    const target = parent[last];
    const host = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : parent;
    if (!Array.isArray(host)) Object.defineProperty(host, name, { value: extra, enumerable: true });
  }
  return copy;
}

/** Stands for a value nested so deeply that tools that walk it fail; inserted into the text at the end. */
const DEEP = 'nested beyond reason';
const deepText = '[{"a":'.repeat(20_000) + '1' + '}]'.repeat(20_000);

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    '',
    ' ',
    'NaN',
    '1e400',
    '0x10',
    'Infinity',
    '1,5',
    '-',
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    1e300,
    -1,
    0.5,
    Number.MAX_SAFE_INTEGER + 2,
    -0,
    '9'.repeat(500),
    'x'.repeat(5000),
  ),
  fc.constant(DEEP),
  fc.constantFrom<unknown>({ __proto__: null, constructor: 1 }, JSON.parse('{"__proto__":{"amount":"1"}}')),
  fc.jsonValue({ maxDepth: 3 }),
);
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.constant({ drop: true } as const),
  hostile.map((put) => ({ put })),
  fc
    .tuple(fc.constantFrom('__proto__', 'constructor', 'toString', 'extra', '0'), hostile)
    .map((extra) => ({ extra })),
);

const REPLIES: [string, unknown, Reader][] = [
  ['positions', [POSITION, { ...POSITION, positionId: 5 }], readPositions],
  ['credit line', CREDIT_LINE, readCreditLines],
  ['credit lines', [CREDIT_LINE], readCreditLines],
  ['main balance', { BTC: { main_balance: '1.50' }, USDT: { main_balance: '0' } }, readMainBalance],
  ['transfers', { limit: 50, offset: 0, records: [TRANSFER], total: 1 }, readTransferPage],
  ['spot orders', { BTC_USDT: [SPOT_ORDER] }, readSpotOrderPage],
  ['placed order', { ...PLACED_ORDER, oto: { otoId: 1, stopLoss: '1', takeProfit: '2' } }, readPlacedOrder],
  ['ping', ['pong'], readPing],
  ['deposit link', { url: 'https://pay.example/1' }, readDepositLink],
];

/** Every leaf of a result, except marks of the client itself. */
function leaves(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.values(value).flatMap(leaves);
}

describe('any mutation of a documented reply gives an error, a record set aside, or the value as received', () => {
  test.each(REPLIES)('%s', (_name, reply, reader) => {
    const all = places(reply);
    const original = new Set(leaves(reply).map(String));
    fc.assert(
      fc.property(fc.constantFrom(...all), mutation, (place, change) => {
        const text = json(mutate(reply, place, change)).replaceAll(`"${DEEP}"`, deepText);
        const parsed = readReply(text, parseJson(text)?.value, reader);
        if (!parsed.ok) {
          expect(parsed.problems.length).toBeGreaterThan(0);
          return;
        }
        const { setAside = [], records } = parsed.value as Partial<RecordList<unknown>>;
        if (setAside.length > 0) expect((parsed.value as RecordList<unknown>).complete).toBe(false);
        // No silent default: each leaf of the result was in the reply, or is a reading of one of its values.
        const put = new Set(leaves(mutate(reply, place, change)).map(String));
        for (const leaf of leaves(records ?? parsed.value).map(String)) {
          const read = leaf === 'deposit' || leaf === 'withdrawal' || leaf === 'CANCELLED';
          const mark = leaf === 'true' || leaf === 'false' || leaf === 'undefined';
          const market = leaf === 'BTC_USDT';
          // Where null is documented, an empty string is read as null, and so is an empty list of attached orders.
          const time = [1e3, 1e6].some((unit) => text.includes(String(Number(leaf) * unit)));
          const none =
            leaf === 'null' && (put.has('') || text.includes('"tpsl":[]') || parsed.flaws !== undefined);
          const ok =
            read ||
            mark ||
            market ||
            none ||
            time ||
            put.has(leaf) ||
            text.includes(leaf) ||
            original.has(leaf);
          expect(ok, `${leaf} came from nowhere`).toBe(true);
        }
      }),
      { numRuns: runsOf(400) },
    );
  });

  test('prototype keys change nothing', () => {
    const text = `[${json(POSITION).replace('{', '{"__proto__":{"amount":"666"},')}]`;
    const [record] = read(text, readPositions).records;
    expect(record?.amount).toBe('0.075');
    expect(({} as { amount?: unknown }).amount).toBeUndefined();
    const noAmount = text.replace('"amount":"0.075",', '');
    expect(read(noAmount, readPositions).records).toEqual([]);
    const balance = read('{"__proto__":{"main_balance":"5"}}', readMainBalance);
    expect(Object.getPrototypeOf(balance)).toBe(Object.prototype);
    expect(Object.keys(balance)).toEqual(['__proto__']);
  });

  test('a reply nested deeper than any stack gives an error', () => {
    const text = `${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}`;
    const parsed = parseJson(text);
    if (parsed !== undefined) expect(readReply(text, parsed.value, readMainBalance).ok).toBe(false);
  });
});

/** Fields for which an empty text reads as null, as the live service writes it. */
const MAY_BE_NONE: ReadonlySet<string> = new Set(['liquidationPrice', 'liquidationState', 'tpsl']);
/** Times in milliseconds or microseconds are read in seconds. */
const TIMES: ReadonlySet<string> = new Set(['openDate', 'modifyDate', 'createdAt']);
const UNITS = [1, 1e3, 1e6];

test("a field of a record has the reply's value, and is absent if it was left out or could not be read", () => {
  const cases: [Record<string, unknown>, (value: unknown) => Parsed<RecordList<unknown>>][] = [
    [POSITION, readPositions],
    [CREDIT_LINE, readCreditLines],
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...cases).chain(([record, reader]) =>
        fc.record({
          record: fc.constant(record),
          reader: fc.constant(reader),
          key: fc.constantFrom(...Object.keys(record)),
        }),
      ),
      mutation,
      ({ record, reader, key }, change) => {
        const mutated = mutate([record], [0, key], change) as [Record<string, unknown>];
        const parsed = readReply(json(mutated), JSON.parse(json(mutated)), reader);
        const [result] = (parsed.ok ? parsed.value.records : []) as [Record<string, unknown>?];
        if (!parsed.ok || result === undefined) return;
        const unread = new Set((parsed.flaws ?? []).map(({ path }) => path.split('.')[1]));
        expect(parsed.value.complete).toBe(true);
        for (const name of Object.keys(record)) {
          const inReply = mutated[0][name];
          if (unread.has(name) || !Object.hasOwn(mutated[0], name)) {
            expect(result).not.toHaveProperty(name);
            continue;
          }
          if (name === 'tpsl') continue;
          const value = result[name];
          const plain = typeof value === 'object' && value !== null ? Object.values(value).at(-1) : value;
          const said = inReply === '' && MAY_BE_NONE.has(name) ? null : inReply;
          if (TIMES.has(name)) expect(UNITS.map((unit) => Number(plain) * unit)).toContain(Number(said));
          else expect([name, String(plain)]).toEqual([name, String(said)]);
        }
      },
    ),
    { numRuns: runsOf(1000) },
  );
});
