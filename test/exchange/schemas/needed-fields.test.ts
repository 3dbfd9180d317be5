import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/exchange/call/parse-json.ts';
import {
  type Parsed,
  readCreditLines,
  readMainBalance,
  readPositions,
  readReply,
} from '../../../src/exchange/schemas/replies.ts';
import { CREDIT_LINE, POSITION } from '../fixtures.ts';

/** A record is judged by what is needed of it: replies for which it was once set aside, and the account was blind. */

function read<T>(text: string, reader: (value: unknown) => Parsed<T>) {
  const parsed = readReply(text, parseJson(text)?.value, reader);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return { ...parsed.value, flaws: parsed.flaws ?? [] };
}
const positions = (...items: readonly unknown[]) => read(JSON.stringify(items), readPositions);
const creditLines = (...items: readonly unknown[]) => read(JSON.stringify(items), readCreditLines);

const ODD = [null, '', 'x', true, {}, [5], 'NaN', -1e300];
const unlike = (items: readonly unknown[], value: unknown) => items.filter((item) => item !== value);

describe('a position is set aside because one field cannot be read', () => {
  const spare = Object.keys(POSITION).filter((name) => !['positionId', 'market', 'amount'].includes(name));
  test.each(spare)('%s: its margin call stays, and only that field is unknown', (name) => {
    for (const odd of ODD) {
      const { records, complete, setAside } = positions({ ...POSITION, [name]: odd });
      expect({ odd, count: records.length, complete, setAside }).toEqual({
        odd,
        count: 1,
        complete: true,
        setAside: [],
      });
      expect(records[0]).toMatchObject({ positionId: '191823', market: 'BTC_PERP', amount: '0.075' });
      const others = unlike(spare, name);
      expect(Object.keys(records[0] ?? {})).toEqual(expect.arrayContaining(others));
    }
  });

  test('all of them: three fields are enough, and each of the others is reported', () => {
    const unreadable = Object.fromEntries(spare.map((name) => [name, false]));
    const { records, flaws } = positions({ ...unreadable, ...NEEDED });
    expect(records).toEqual([{ ...NEEDED, positionId: '191823' }]);
    expect(flaws.length).toBeGreaterThanOrEqual(5);
  });

  test.each(['positionId', 'market'])('%s: without it nobody knows which position it is', (name) => {
    for (const odd of unlike(ODD, 'x').filter((one) => one !== 'NaN')) {
      const { records, complete } = positions({ ...POSITION, [name]: odd });
      expect([records, complete]).toEqual([[], false]);
    }
  });
});

const NEEDED = { positionId: POSITION.positionId, market: POSITION.market, amount: POSITION.amount };

test('attached orders written as [] are none, not unknown', () => {
  expect(positions({ ...POSITION, tpsl: [] })).toMatchObject({ records: [{ tpsl: null }], flaws: [] });
});

test.each([
  ['a text of seconds', '1660340344.027163'],
  ['milliseconds', 1_660_340_344_027.163],
  ['microseconds as a text', '1660340344027163'],
])('a date written as %s is the same date', (_what, openDate) => {
  expect(positions({ ...POSITION, openDate }).records[0]?.openDate).toBeCloseTo(1_660_340_344.027, 3);
  expect(creditLines({ ...CREDIT_LINE, createdAt: openDate }).records[0]?.createdAt).toBeCloseTo(
    1_660_340_344.027,
    3,
  );
});

test('numbers keep their digits although another field of the record cannot be read', () => {
  const text = JSON.stringify([{ ...POSITION, margin: null }]).replace(
    '"-0.10815"',
    '-0.1081500000000000000001',
  );
  expect(read(text, readPositions).records[0]?.unrealizedPnl).toBe('-0.1081500000000000000001');
});

describe('a list in a foreign wrapping', () => {
  test.each([
    ['behind a byte order mark', `\uFEFF${JSON.stringify([POSITION])}`],
    ['in an object of records', JSON.stringify({ records: [POSITION] })],
    ['as the result of an object', JSON.stringify({ success: true, message: null, result: [POSITION] })],
  ])('%s is read', (_what, text) => {
    expect(read(text, readPositions)).toMatchObject({ records: [{ positionId: '191823' }], complete: true });
  });

  test.each([
    ['an object with two lists', { records: [POSITION], data: [] }],
    ['a list of another name', { errors: [] }],
    ['no list', { result: null }],
  ])('%s shows nothing, above all not that there is no position', (_what, body) => {
    expect(readPositions(body).ok).toBe(false);
  });

  test('is read for credit lines, too', () => {
    expect(read(JSON.stringify({ data: [CREDIT_LINE] }), readCreditLines).records).toEqual([CREDIT_LINE]);
  });
});

test('a closed position that is still listed, with amount 0 and liquidation price 0, is no position', () => {
  const closed = { ...POSITION, amount: '0', liquidationPrice: '0', basePrice: '0', unrealizedPnl: '0' };
  expect(positions(closed, { ...POSITION, positionId: 7, market: 'ETH_PERP' })).toMatchObject({
    records: [{ positionId: '7' }],
    setAside: [],
    complete: true,
  });
});

test.each(['527', 'a1b2-77', '0b9f3a2e-4c1d-4f7e-9a55-1d2c3b4a5f60'])(
  'a position whose id is the text %s is read',
  (id) => {
    expect(positions({ ...POSITION, positionId: id }).records).toMatchObject([{ positionId: id }]);
  },
);

describe('a credit line', () => {
  test('is not judged, as its LTVs have a percent sign', () => {
    const ltvs = { currentLtv: '74%', initialLtv: '60 %', marginCallLtv: '75%', liquidationLtv: '85.5%' };
    const read = { currentLtv: '74', initialLtv: '60', marginCallLtv: '75', liquidationLtv: '85.5' };
    expect(creditLines({ ...CREDIT_LINE, ...ltvs })).toMatchObject({ records: [read], flaws: [] });
  });

  test('has one LTV with a percent sign: the others may be fractions, so they are unknown', () => {
    const { records } = creditLines({ ...CREDIT_LINE, currentLtv: '0.74', liquidationLtv: '85%' });
    expect(records[0]).toMatchObject({ liquidationLtv: '85' });
    expect(records[0]).not.toHaveProperty('currentLtv');
  });

  test.each(['totalFunding', 'currentLtv', 'initialLtv', 'marginCallLtv', 'liquidationLtv'])(
    'is set aside because %s cannot be read: the others stay',
    (name) => {
      for (const odd of ODD) {
        const { records, complete } = creditLines({ ...CREDIT_LINE, [name]: odd });
        expect([records.length, complete]).toEqual([1, true]);
        expect(records[0]).toMatchObject({ asset: 'BTC', amount: '1000.00' });
      }
    },
  );
});

describe('the main balance', () => {
  test('is not read at all, as one asset cannot be read', () => {
    for (const odd of [null, '5', { main_balance: null }, { main_balance: 'n/a' }, {}]) {
      const { flaws, ...balance } = read(
        JSON.stringify({ USDT: { main_balance: '7' }, X: odd }),
        readMainBalance,
      );
      expect(balance).toEqual({ USDT: '7', X: null });
      expect(flaws).toMatchObject([{ path: '.X.main_balance' }]);
    }
  });

  test('in another shape is no balance, as a missing asset would count as zero', () => {
    expect(readMainBalance({ result: { USDT: { main_balance: '7' } } }).ok).toBe(false);
  });
});
