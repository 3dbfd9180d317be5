import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/exchange/call/parse-json.ts';
import { readPositions, readReply } from '../../../src/exchange/schemas/replies.ts';
import { POSITION } from '../fixtures.ts';

/** A position that a limit or trigger order is about to open, as the live service lists it. */
const OPENING = {
  ...POSITION,
  positionId: 7,
  market: 'ETH_PERP',
  amount: null,
  basePrice: null,
  pnl: null,
  pnlPercent: null,
  liquidationPrice: null,
  liquidationState: null,
};

function read(...items: readonly unknown[]) {
  const text = JSON.stringify(items);
  const parsed = readReply(text, parseJson(text)?.value, readPositions);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

const NOT_OPEN = [{ positionId: '7', market: 'ETH_PERP' }];

describe('a position that is being opened', () => {
  test('a record with nulls leaves the list complete and is counted apart', () => {
    expect(read(POSITION, OPENING)).toMatchObject({
      records: [{ positionId: '191823' }],
      setAside: [],
      complete: true,
      notOpenYet: NOT_OPEN,
    });
  });

  test.each([
    ['empty texts', { ...OPENING, amount: '', basePrice: '', pnl: '', liquidationPrice: '' }],
    ['an amount of zero', { ...OPENING, amount: '0.000' }],
    ['nothing but its name', { positionId: 7, market: 'ETH_PERP', amount: null }],
  ])('is counted apart with %s', (_what, item) => {
    expect(read(item)).toEqual({ records: [], setAside: [], complete: true, notOpenYet: NOT_OPEN });
  });

  test.each(['basePrice', 'pnl', 'pnlPercent'])(
    'is open if only %s is missing, as its amount shows',
    (name) => {
      for (const none of [null, '']) {
        const list = read({ ...POSITION, [name]: none });
        expect(list).toMatchObject({ complete: true, setAside: [] });
        expect(list.records[0]).toMatchObject({ positionId: '191823', amount: '0.075' });
        expect(list.records[0]).not.toHaveProperty(name);
        expect(list).not.toHaveProperty('notOpenYet');
      }
    },
  );

  test('without an id is set aside, and only that record', () => {
    const list = read({ ...OPENING, positionId: null }, POSITION, OPENING);
    expect(list).toMatchObject({ complete: false, notOpenYet: NOT_OPEN });
    expect(list.records).toHaveLength(1);
    expect(list.setAside).toMatchObject([{ path: '[0].positionId' }]);
  });
});

describe('an empty text where null is documented', () => {
  test('liquidationState: "" reads as null', () => {
    expect(read({ ...POSITION, liquidationState: '' })).toMatchObject({
      complete: true,
      records: [{ positionId: '191823', liquidationState: null }],
    });
  });

  test('reads as null for the liquidation price and the attached orders, too', () => {
    const list = read(
      { ...POSITION, liquidationPrice: '', tpsl: '' },
      { ...POSITION, tpsl: { takeProfitId: '', takeProfit: '', stopLossId: 5, stopLoss: '2' } },
    );
    expect(list).toMatchObject({ complete: true, records: [{ liquidationPrice: null, tpsl: null }, {}] });
    expect(list.records[1]?.tpsl).toEqual({ stopLossId: '5', stopLoss: '2' });
  });

  test('counts as left out in a number where no null is documented', () => {
    const { records, complete } = read({ ...POSITION, margin: '' });
    expect(records[0]).not.toHaveProperty('margin');
    expect(complete).toBe(true);
  });
});

describe('a one-sided record of a hedge without its side', () => {
  const { positionSide: _, ...unsided } = { ...POSITION, positionSide: 'SHORT' };
  const beside = { ...POSITION, positionId: 5, positionSide: 'LONG' };
  const doubtful = (...items: readonly unknown[]) =>
    read(...items).records.map(({ sideDoubtful = false }) => sideDoubtful);

  test.each([
    ['beside another position of its market', [unsided, beside], [true, false]],
    ['beside another one that lost it', [unsided, { ...unsided, positionId: 5 }], [true, true]],
    ['beside a record that cannot be read', [unsided, { ...beside, market: null }], [true]],
    ['beside one that is being opened', [unsided, { ...OPENING, market: POSITION.market }], [true]],
    ['with a side that nobody knows', [{ ...unsided, positionSide: 'UP' }, beside], [true, false]],
  ])('its side is in doubt %s', (_where, items, expected) => {
    expect(doubtful(...items)).toEqual(expected);
  });

  test.each([
    ['another market', { ...beside, market: 'ETH_PERP' }],
    ['a bad record of another market', { ...beside, market: 'ETH_PERP', amount: 'x' }],
    ['a closed position', { ...beside, amount: '0' }],
  ])('beside %s its side is not in doubt: sign and prices show it', (_what, item) => {
    expect(doubtful(unsided, item)[0]).toBe(false);
  });

  test('the work for records without a side is proportional to their number', () => {
    const markets = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        ...unsided,
        positionId: index + 1,
        market: `C${index}_PERP`,
      }));
    const readsPerRecord = (count: number): number => {
      let reads = 0;
      const get = (item: object, name: string | symbol): unknown => {
        reads += 1;
        return Reflect.get(item, name);
      };
      readPositions(markets(count).map((item) => new Proxy(item, { get })));
      return reads / count;
    };
    expect(doubtful(...markets(50))).not.toContain(true);
    expect(readsPerRecord(200)).toBe(readsPerRecord(50));
  });
});
