import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { AccountQuantities, FREE_MARGIN } from '../../../src/core/quantities/account.ts';
import { jointLiquidationPrice, marginBehind } from '../../../src/core/quantities/joint-pool.ts';
import { leastJointDistance } from '../../../src/core/quantities/least-joint-distance.ts';
import { known, NONE, unknown } from '../../../src/core/quantities/quantity.ts';
import type { AccountSettings, MarketSettings } from '../../../src/core/quantities/settings.ts';
import { at, d, PERP, position, positionsSnapshot, read, settings } from '../rules/fixtures.ts';

/** A long of 1 at 100 with its liquidation price at this distance; the mark is the entry. */
const long = (index: number, distance: number, changes: Partial<PositionRecord> = {}): PositionRecord =>
  position({
    positionId: String(index),
    market: `C${index}_PERP`,
    amount: d('1'),
    basePrice: d('100.0'),
    unrealizedPnl: d('0.0000'),
    liquidationPrice: d((100 * (1 - distance)).toFixed(6)),
    ...changes,
  });

const short = (index: number, distance: number, changes: Partial<PositionRecord> = {}): PositionRecord =>
  long(index, distance, {
    amount: d('-1'),
    liquidationPrice: d((100 * (1 + distance)).toFixed(6)),
    ...changes,
  });

const FREE: MarketSettings = { ...PERP, maintenanceMargin: 1e-12, priceStep: d('0.000001') };

const accountOf = (
  records: readonly PositionRecord[],
  changes: Partial<AccountSettings> = {},
  complete = true,
): AccountQuantities =>
  new AccountQuantities(
    positionsSnapshot(records, at(0), complete),
    settings({ marketSettings: () => FREE, ...changes }),
    at(0),
  );

const jointPricesOf = ({ positions, pool, settings: own }: AccountQuantities) =>
  positions.map((position) => jointLiquidationPrice(position, pool, own));

const jointOf = (...args: Parameters<typeof accountOf>) => accountOf(...args).jointDistance;

const value = (quantity: ReturnType<typeof jointOf>): number =>
  quantity.kind === 'value' ? quantity.value : expect.fail(JSON.stringify(quantity));

describe('jointDistance', () => {
  test.each([0.07, 0.1, 0.123, 0.33, 0.61])('one position gives exactly its own distance: %f', (distance) => {
    const account = accountOf([long(1, distance)]);
    const [own] = account.positions;
    expect(account.jointDistance).toEqual(own?.liquidationDistance);
  });

  test('ten positions at 61 % give 6.1 %', () => {
    expect(value(jointOf(Array.from({ length: 10 }, (_, index) => long(index, 0.61))))).toBeCloseTo(
      0.061,
      12,
    );
    expect(value(jointOf(Array.from({ length: 10 }, (_, index) => short(index, 0.61))))).toBeCloseTo(
      0.061,
      12,
    );
  });

  test('is none without positions, whatever coins are held', () => {
    expect(jointOf([])).toEqual(NONE);
    expect(jointOf([], { holdings: { ETH: 100 } })).toEqual(NONE);
  });

  test('a single position with its own margin beside free funds shares nothing with coins held', () => {
    const own = long(1, 0.2, { margin: d('20'), freeMargin: d('500') });
    expect(value(jointOf([own], { marginModel: 'auto', holdings: { ETH: 100 } }))).toBeCloseTo(0.2, 9);
  });

  test('depends on liquidation prices only, not on sizes, prices or currencies', () => {
    const cheap = long(2, 0.4, {
      market: 'C2_EUR',
      amount: d('150000'),
      basePrice: d('0.001'),
      liquidationPrice: d('0.0006'),
    });
    expect(value(jointOf([long(1, 0.6), cheap]))).toBeCloseTo(1 / (1 / 0.6 + 1 / 0.4), 9);
  });

  test('a short in another market hedges: together they are farther away, but the nearest one still counts', () => {
    expect(value(jointOf([long(1, 0.2), short(2, 0.2)]))).toBeCloseTo(0.2, 9);
    // A third of the hedge is missing.
    const three = [long(1, 0.3), long(2, 0.3), long(3, 0.3), short(4, 0.3)];
    expect(value(jointOf(three))).toBeCloseTo(0.15, 9);
  });

  test('a market counts once if both legs show the same liquidation price', () => {
    const both = [
      long(1, 0.2, { amount: d('3'), positionSide: { known: true, value: 'LONG' } }),
      long(2, 0.2, { market: 'C1_PERP', amount: d('1'), positionSide: { known: true, value: 'SHORT' } }),
    ];
    expect(value(jointOf(both))).toBeCloseTo(0.2, 12);
    // A buffer of 2 * 0.2 in both markets.
    expect(value(jointOf([...both, long(3, 0.4)]))).toBeCloseTo(1 / (1 / 0.2 + 1 / 0.4), 9);
  });

  test('a position without a liquidation price adds its net notional over the buffer', () => {
    // The buffer of the first is 0.5 * 100. The second is worth 100, too, and no price of it uses that up.
    expect(value(jointOf([long(1, 0.5), long(2, 0, { liquidationPrice: null })]))).toBeCloseTo(0.25, 9);
    const twoSided = [
      long(2, 0, { market: 'X_PERP', amount: d('3'), liquidationPrice: null }),
      short(3, 0, { market: 'X_PERP', amount: d('-2'), liquidationPrice: null }),
    ];
    expect(value(jointOf([long(1, 0.5), ...twoSided]))).toBeCloseTo(0.25, 9);
  });

  test('if no position has a liquidation price, the buffer is margin + freeMargin less maintenance', () => {
    const records = [1, 2].map((index) =>
      long(index, 0, { liquidationPrice: null, margin: d('20'), freeMargin: d('66') }),
    );
    const marketSettings = (): MarketSettings => ({ ...PERP, maintenanceMargin: 0.03 });
    // 20 + 20 + 66 - 6 over 2 * 100 * (1 - 3 %).
    expect(value(jointOf(records, { marketSettings }))).toBeCloseTo(100 / 194, 9);
  });

  test('without any liquidation price and margin it is unknown, never none', () => {
    const bare = long(1, 0, { liquidationPrice: null });
    const { margin: _margin, ...silent } = bare;
    expect(jointOf([silent])).toEqual(unknown('fieldMissing'));
    expect(jointOf([bare], { marketSettings: () => undefined })).toEqual(unknown('marketNotConfigured'));
    const otherMoney = long(2, 0, { market: 'C2_EUR', liquidationPrice: null });
    expect(
      jointOf([{ ...bare, market: 'C1_USD' }, otherMoney], {
        marketSettings: () => ({ ...FREE, money: undefined as never }),
      }),
    ).toEqual(unknown('currenciesDiffer'));
    expect(jointOf([long(1, 0, { liquidationPrice: null, margin: d('0'), freeMargin: d('0') })])).toEqual(
      unknown('notPositive'),
    );
  });

  test('configured holdings fall with the market, except coins with a position, whose price includes them', () => {
    // A buffer of 50, coins worth 100.
    expect(value(jointOf([long(1, 0.5)], { holdings: { ETH: 100 } }))).toBeCloseTo(0.25, 9);
    expect(value(jointOf([long(1, 0.5)], { holdings: { C1: 100 } }))).toBeCloseTo(0.5, 9);
    // Funds of 50 are used up at the price that the position alone would reach; the coin falls as well.
    const bare = long(1, 0.5, { margin: d('20'), freeMargin: d('30') });
    expect(value(jointOf([bare], { holdings: { C1: 100 } }))).toBeCloseTo(1 / (1 / 0.5 + 100 / 50), 9);
    // Nothing free, so that nothing tells: the nearer liquidation counts, also for a short that the coin covers.
    const untold = { margin: d('80'), freeMargin: d('0') };
    expect(value(jointOf([long(1, 0.5, untold)], { holdings: { C1: 100 } }))).toBeCloseTo(0.25, 9);
    expect(value(jointOf([short(1, 0.5, untold)], { holdings: { C1: 60 } }))).toBeCloseTo(0.5, 9);
    // Another market tells.
    const told = [long(2, 0.5, untold), long(1, 0.5, untold)];
    expect(value(jointOf(told, { holdings: { C1: 100 } }))).toBeCloseTo(1 / (2 + 2 + 2), 9);
    expect(value(jointOf([short(1, 0.5)], { holdings: { ETH: 50 } }))).toBeCloseTo(0.5, 9);
  });

  test('buffers that differ by more than 20 % are not one pool: each position has its own distance', () => {
    expect(value(jointOf([long(1, 0.3), long(2, 0.45)]))).toBeCloseTo(0.3, 12);
    expect(value(jointOf([long(1, 0.3), long(2, 0.37)]))).toBeCloseTo(1 / (1 / 0.3 + 1 / 0.37), 9);
    expect(accountOf([long(1, 0.3), long(2, 0.45)]).pool).toEqual(known({ kind: 'apart' }));
  });

  test('equal positions with their own margin are not one pool, although their buffers are equal', () => {
    // A margin of 30 for a position of 100 that may fall by 30 %.
    const isolated = [1, 2].map((index) => long(index, 0.3, { margin: d('30') }));
    expect(value(jointOf(isolated))).toBeCloseTo(0.3, 12);
    // With 15 each, the margin of both backs either of them.
    const pooled = [1, 2].map((index) => long(index, 0.3, { margin: d('15') }));
    expect(value(jointOf(pooled))).toBeCloseTo(0.15, 9);
  });

  test('near liquidation price steps do not split a pool', () => {
    const marketSettings = (): MarketSettings => ({ ...FREE, priceStep: d('0.5') });
    const records = [long(1, 0.005), long(2, 0.01)];
    expect(value(jointOf(records, { marketSettings }))).toBeCloseTo(1 / 300, 9);
  });

  test('the joint liquidation price is nearer than that of each position, except for a hedge, which has none', () => {
    const nine = Array.from({ length: 9 }, (_, index) => long(index, 0.6));
    const account = accountOf([...nine, short(9, 0.6)]);
    const prices = jointPricesOf(account);
    // Nine longs less one short, each counting 1 / 60 %.
    for (const price of prices.slice(0, 9)) expect(price).toBeCloseTo(100 * (1 - 0.6 / 8), 6);
    expect(prices[9]).toBeUndefined();
  });

  test('where no position shows a liquidation price, margin and free funds tell the joint one only without orders of the owner', () => {
    const records = Array.from({ length: 60 }, (_, index) =>
      long(index, 0, { liquidationPrice: null, margin: d('20'), freeMargin: d('300') }),
    );
    // 60 * 20 + 300 of 6000.
    for (const price of jointPricesOf(accountOf(records, { ownOrders: 'none' })))
      expect(price).toBeCloseTo(75, 6);
    const untold = accountOf(records, { ownOrders: 'possible' });
    for (const price of jointPricesOf(untold)) expect(price).toBeUndefined();
  });

  const spent = (count: number, changes: Partial<PositionRecord> = {}): readonly PositionRecord[] =>
    Array.from({ length: count }, (_, index) =>
      long(index, 0, { liquidationPrice: null, margin: d('20'), freeMargin: d('0'), ...changes }),
    );

  test('with nothing free and no orders of the owner the margin in use is the most that the equity can be', () => {
    const account = accountOf(spent(60));
    expect(account.jointDistance).toMatchObject({ kind: 'atMost', value: expect.closeTo(0.2, 9) });
    for (const price of jointPricesOf(account)) expect(price).toBeCloseTo(80, 6);
    // Liquidation may be as near as one market alone allows: that decides when to look again.
    expect(leastJointDistance(account)).toBeCloseTo(1 / 60, 9);
  });

  test('margin in use bounds nothing where more may be in use, or less, or the figures contradict each other', () => {
    const opening = positionsSnapshot(spent(60), at(0));
    const { positions } = opening.sources;
    const value = { ...(positions?.kind === 'read' && positions.value), notOpenYet: [{}] } as never;
    const mayOpen = { ...opening, sources: { positions: read(value) } };
    const uncertain = accountOf(spent(60));
    uncertain.noteUncertain([], new Set([FREE_MARGIN]));
    const missing = accountOf(spent(60));
    missing.noteUncertain([{ market: 'XRP_PERP', direction: 'long' }], new Set());
    const accounts = {
      'orders of the owner': accountOf(spent(60), { ownOrders: 'possible' }),
      'a record set aside': accountOf(spent(60), {}, false),
      'a position being opened': new AccountQuantities(mayOpen, accountOf([]).settings, at(0)),
      'a position that is missing': missing,
      'free margin that was there a moment ago': uncertain,
      'four markets that would show a liquidation price': accountOf(spent(4)),
      'margin for all that is held': accountOf(spent(60, { margin: d('100') })),
      'profits that free margin may leave out': accountOf(
        spent(60, { basePrice: d('19'), unrealizedPnl: d('81') }),
      ),
    };
    const told = Object.entries(accounts).filter(
      ([, account]) =>
        account.jointDistance.kind !== 'unknown' ||
        jointPricesOf(account).some((price) => price !== undefined),
    );
    expect(told.map(([what]) => what)).toEqual([]);
  });

  test('margin in use gives no buffer when nothing is free: the equity may be far below it', () => {
    const used = [1, 2].map((index) =>
      long(index, 0, { liquidationPrice: null, margin: d('120'), freeMargin: d('0') }),
    );
    expect(jointOf(used).kind).toBe('unknown');
  });

  const behind = (record: PositionRecord, changes: Partial<AccountSettings> = {}) => {
    const account = accountOf([record], { marketSettings: () => PERP, ...changes });
    return marginBehind(account.positions[0]!, account.pool, account.settings);
  };
  const RATE = PERP.maintenanceMargin;
  /** A long of 1 at 100 with this margin, profit, equity and free margin. */
  const single = (margin: number, profit: number, equity: number, free: number): PositionRecord => {
    const mark = 100 + profit;
    const liquidation = mark - (equity - RATE * mark) / (1 - RATE);
    return long(1, 0, {
      margin: d(margin.toFixed(2)),
      freeMargin: d(free.toFixed(2)),
      unrealizedPnl: d(profit.toFixed(4)),
      liquidationPrice: d((Math.ceil(liquidation * 10) / 10).toFixed(1)),
    });
  };

  test('a single position whose liquidation price leaves out free funds has its own margin', () => {
    expect(behind(single(10, -2, 8, 500))).toBe('own');
    expect(behind(single(10, 0, 10, 5))).toBe('own');
    // Without free funds both margin models give the same price.
    expect(behind(single(10, -2, 8, 0))).toBeUndefined();
    expect(behind(single(10, -2, 8, 500), { marginModel: 'cross' })).toBe('shared');
  });

  test('a single position of a pool is never taken for one with its own margin, however free funds are counted', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 4, max: 50, noNaN: true }),
        fc.double({ min: -3, max: 20, noNaN: true }),
        fc.double({ min: 0, max: 400, noNaN: true }),
        fc.boolean(),
        (margin, profit, other, withProfit) => {
          const funds = margin + other;
          const free = Math.max(0, withProfit ? funds + profit - margin : other);
          expect(behind(single(margin, profit, funds + profit, free))).not.toBe('own');
        },
      ),
    );
  });

  test('a single position, or one with its own margin, has no joint liquidation price', () => {
    for (const account of [
      accountOf([long(1, 0.3)]),
      accountOf([long(1, 0.3), long(2, 0.3)], { marginModel: 'isolated' }),
    ]) {
      for (const price of jointPricesOf(account)) expect(price).toBeUndefined();
    }
  });

  test('marginModel decides if the prices do not', () => {
    const records = [long(1, 0.3), long(2, 0.45)];
    expect(value(jointOf(records, { marginModel: 'cross' }))).toBeCloseTo(1 / (1 / 0.3 + 1 / 0.45), 9);
    const equal = [long(1, 0.3), long(2, 0.3)];
    expect(value(jointOf(equal, { marginModel: 'isolated' }))).toBeCloseTo(0.3, 12);
  });

  test('with unknown positions the distance is at most that of the known ones', () => {
    const { unrealizedPnl: _pnl, ...blind } = long(2, 0.3);
    expect(jointOf([long(1, 0.2), blind])).toMatchObject({ kind: 'atMost' });
    expect(jointOf([blind])).toEqual(unknown('fieldMissing'));
    expect(jointOf([blind, long(1, 0.2)])).toEqual({ kind: 'atMost', value: expect.closeTo(0.2, 9) });
    const stale = new AccountQuantities(positionsSnapshot([long(1, 0.2)], at(0)), settings(), at(60_000));
    expect(stale.jointDistance).toEqual(unknown('stale'));
  });

  test('with records set aside the distance is at most that of the others: it can fire, but clears nothing', () => {
    const nine = Array.from({ length: 9 }, (_, index) => long(index, 0.61));
    expect(jointOf(nine, {}, false)).toEqual({ kind: 'atMost', value: expect.closeTo(0.61 / 9, 9) });
    expect(jointOf([], {}, false)).toEqual(unknown('listIncomplete'));
  });

  test('a position missing in the list changes nothing, unless it may hedge the listed ones', () => {
    const nine = Array.from({ length: 9 }, (_, index) => long(index, 0.61));
    const withUnseen = (...unseen: Parameters<AccountQuantities['noteUncertain']>[0]) => {
      const account = accountOf(nine);
      account.noteUncertain(unseen, new Set());
      return account.jointDistance;
    };
    const near = { kind: 'atMost', value: expect.closeTo(0.61 / 9, 9) };
    expect(withUnseen({ market: 'X_PERP', direction: 'long' })).toEqual(near);
    const far = { kind: 'atMost', value: expect.closeTo(0.61, 9) };
    expect(withUnseen({ market: 'X_PERP', direction: 'short' })).toEqual(far);
    expect(withUnseen({ market: 'X_PERP' })).toEqual(far);
    // The other side of a listed market is part of its liquidation price.
    expect(withUnseen({ market: 'C1_PERP', direction: 'short' })).toEqual(near);
  });

  test('a position of unknown side counts as the hedge of the others: liquidation is no further away than so', () => {
    const nine = Array.from({ length: 9 }, (_, index) => long(index, 0.61));
    // Its coin is held as collateral: a short of it has no liquidation price either.
    const covered = long(9, 0.61, { liquidationPrice: null });
    const held = { bothSign: 'unsigned' as const, holdings: { C9: 100 } };
    expect(jointOf([...nine, covered], held)).toEqual({
      kind: 'atMost',
      value: expect.closeTo(0.061 / 0.9, 4),
    });
    const covering = long(9, 0.61, { liquidationPrice: null, amount: d('-1') });
    expect(value(jointOf([...nine, covering], held))).toBeCloseTo(0.061 / 0.9, 4);
  });

  test('a position whose side decides which way prices have to move leaves the pool unknown', () => {
    // As a long it is what the short hedges, as a short they are one danger.
    const hidden = long(0, 0.1, {
      amount: d('4'),
      unrealizedPnl: d('40.0000'),
      liquidationPrice: d('100.0'),
    });
    const hedge = short(1, 0.58);
    const account = accountOf([hidden, hedge], { bothSign: 'unsigned', holdings: { C0: 220 } });
    expect(account.pool.kind).toBe('unknown');
    for (const price of jointPricesOf(account)) expect(price).toBeUndefined();
  });

  /** Bought at 100, now at 80: 2 % past its liquidation price. */
  const past = (liquidationState: PositionRecord['liquidationState']): PositionRecord =>
    long(1, 0.184, { unrealizedPnl: d('-20.0000'), liquidationState: liquidationState ?? null });

  test('a liquidation price passed without liquidation still counts in the pool', () => {
    expect(jointOf([past(null), long(2, 0.3)])).toMatchObject({ kind: 'atMost' });
    // If the other side is open, too, its price counts for both.
    const other = short(3, -0.184, {
      market: 'C1_PERP',
      unrealizedPnl: d('20.0000'),
      positionSide: { known: true, value: 'SHORT' },
    });
    expect(value(jointOf([past(null), other]))).toBeCloseTo(0.02, 9);
  });

  test('a position being liquidated has a negative distance', () => {
    expect(value(jointOf([past({ known: true, value: 'liquidation' }), long(2, 0.3)]))).toBeCloseTo(-0.02, 9);
  });
});
