import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AccountTarget, planAccount, type Sizes } from '../../../src/core/intents/account-plan.ts';
import { distanceTarget } from '../../../src/core/intents/targets.ts';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { AccountQuantities } from '../../../src/core/quantities/account.ts';
import { decimal, toNumber } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../../../src/core/quantities/settings.ts';
import { Dice } from '../../support/dice.ts';
import { KeptHash } from '../../support/kept-hash.ts';
import { at, d, PERP, position, positionsSnapshot, settings } from '../rules/fixtures.ts';

/** Positive: long. */
interface Held {
  readonly base: number;
  readonly mark?: number;
  readonly rate?: number;
  readonly cost?: number;
  /** Decimal places of the liquidation price. */
  readonly places?: number;
}

/** A cross-margin account with this equity, as the exchange shows it; market k is `Ck_PERP`. */
function accountOf(
  held: readonly Held[],
  equity: number,
  changes: Partial<AccountSettings> = {},
): AccountQuantities {
  const termsOf = (market: string): MarketSettings => {
    const { rate = 0.03, cost } = held[Number(market.slice(1, -5))] ?? { base: 0 };
    const cheap = cost === undefined ? {} : { reductionCost: cost };
    return {
      ...PERP,
      maintenanceMargin: rate,
      amountStep: d('0.000001'),
      priceStep: d('0.000000001'),
      ...cheap,
    };
  };
  const maintenance = held.reduce(
    (sum, { base, mark = 100, rate = 0.03 }) => sum + Math.abs(base) * mark * rate,
    0,
  );
  const records = held.map(({ base, mark = 100, rate = 0.03, places = 12 }, index): PositionRecord => {
    const slope = base - rate * Math.abs(base);
    const liquidation = mark - (equity - maintenance) / slope;
    return position({
      positionId: String(index),
      market: `C${index}_PERP`,
      amount: d(String(base)),
      basePrice: d(mark.toFixed(4)),
      unrealizedPnl: d('0.00000000'),
      liquidationPrice: base !== 0 && liquidation > 0 ? d(liquidation.toFixed(places)) : null,
      margin: d(((Math.abs(base) * mark) / 10).toFixed(8)),
      freeMargin: d(
        Math.max(
          0,
          equity - held.reduce((sum, one) => sum + Math.abs(one.base) * (one.mark ?? 100), 0) / 10,
        ).toFixed(8),
      ),
    });
  });
  return new AccountQuantities(
    positionsSnapshot(records, at(0)),
    settings({ marketSettings: termsOf, marginModel: 'cross', ...changes }),
    at(0),
  );
}

const until = (distance: number): AccountTarget => ({ kind: 'untilJointDistance', distance });

const plan = (
  target: AccountTarget,
  account: AccountQuantities,
  changes: Partial<Parameters<typeof planAccount>[2]> = {},
): Sizes =>
  planAccount(target, account, {
    matching: new Set(account.positions.map(({ positionId }) => positionId)),
    targets: new Map(),
    tolerance: 0.1,
    ...changes,
  }) ?? expect.fail('nothing was planned');

const sizesOf = (sizes: Sizes): Record<string, number> =>
  Object.fromEntries([...sizes].map(([id, size]) => [id, toNumber(size)]));

/** The account after its orders have filled at mark. */
function after(held: readonly Held[], sizes: Sizes): readonly Held[] {
  return held.map((one, index) => {
    const left = sizes.get(String(index));
    return left === undefined ? one : { ...one, base: Math.sign(one.base) * toNumber(left) };
  });
}

function joint(held: readonly Held[], equity: number): number {
  const open = held.filter(({ base }) => base !== 0);
  const quantity = accountOf(open, equity).jointDistance;
  return quantity.kind === 'none'
    ? Number.POSITIVE_INFINITY
    : quantity.kind === 'value'
      ? quantity.value
      : expect.fail();
}

describe('a reduction for the account as a whole', () => {
  test('of one position is the same as until its own distance', () => {
    const held = [{ base: 2 }];
    const account = accountOf(held, 16);
    const [own] = account.positions;
    const distance =
      own?.liquidationDistance.kind === 'value' ? own.liquidationDistance.value : expect.fail();
    const alone = distanceTarget(
      { sizeBase: decimal('2'), otherSideBase: decimal('0'), direction: 'long', distance, wanted: 0.1 },
      account.settings.marketSettings('C0_PERP') ?? expect.fail(),
    );
    expect(sizesOf(plan(until(0.1), account))['0']).toBeCloseTo(toNumber(alone ?? expect.fail()), 5);
  });

  test('of ten correlated longs takes the same share of each, and reaches its distance', () => {
    const held = Array.from({ length: 10 }, (_, index) => ({ base: 1 + index, mark: 10 * (index + 1) }));
    const equity = 350;
    expect(joint(held, equity)).toBeLessThan(0.08);
    const sizes = plan(until(0.1), accountOf(held, equity));
    const shares = held.map(({ base }, index) => (sizesOf(sizes)[index] ?? 0) / base);
    for (const share of shares) expect(share).toBeCloseTo(shares[0] ?? 0, 6);
    expect(joint(after(held, sizes), equity)).toBeCloseTo(0.1, 6);
  });

  test('shares equally where only the rounding of liquidation prices makes one market seem better', () => {
    const held = Array.from({ length: 10 }, (_, index) => ({
      base: 1 + index,
      mark: 7 * (index + 1),
      places: 1,
    }));
    const equity = 240;
    const sizes = plan(until(0.1), accountOf(held, equity));
    const shares = held.map(({ base }, index) => (sizesOf(sizes)[index] ?? 0) / base);
    for (const share of shares) expect(share).toBeCloseTo(shares[0] ?? 0, 6);
    expect(shares[0]).toBeGreaterThan(0.5);
    expect(joint(after(held, sizes), equity)).toBeCloseTo(0.1, 2);
  });

  test('begins where it costs least', () => {
    const held = [
      { base: 5, cost: 0.01 },
      { base: 5, cost: 0.001 },
    ];
    const sizes = plan(until(0.1), accountOf(held, 100));
    expect(Object.keys(sizesOf(sizes))).toEqual(['1']);
    expect(joint(after(held, sizes), 100)).toBeCloseTo(0.1, 6);
  });

  test('does not close the short that hedges a long', () => {
    const held = [{ base: 10 }, { base: -4, cost: 0.000_001 }];
    const sizes = plan(until(0.1), accountOf(held, 90));
    expect(Object.keys(sizesOf(sizes))).toEqual(['0']);
    expect(joint(after(held, sizes), 90)).toBeGreaterThan(0.1 - 1e-6);
  });

  test('a hedge that is too near by itself is closed no faster than what it hedges', () => {
    // Three longs of 9 and a short of 15: the short is nearest, and closing it alone brings the longs nearer.
    const held = [{ base: 9 }, { base: 9 }, { base: 9 }, { base: -15 }];
    const equity = 100 + 42 * 100 * 0.03;
    const before = joint(held, equity);
    const sizes = plan(until(0.1), accountOf(held, equity));
    const hedgeFirst = after(held, new Map([...sizes].filter(([id]) => id === '3')));
    expect(joint(hedgeFirst, equity)).toBeGreaterThanOrEqual(before - 1e-9);
    expect(joint(after(held, sizes), equity)).toBeGreaterThan(before);
  });

  test('takes only from what matches', () => {
    const held = [{ base: 5 }, { base: 5 }];
    const sizes = plan(until(0.1), accountOf(held, 100), { matching: new Set(['1']) });
    expect(Object.keys(sizesOf(sizes))).toEqual(['1']);
  });

  test('stays as planned while its orders are under way, and is not made anew for little', () => {
    const held = [{ base: 5 }, { base: 5 }];
    const first = plan(until(0.1), accountOf(held, 100));
    expect(plan(until(0.1), accountOf(held, 100), { targets: first })).toEqual(first);
    expect(plan(until(0.1), accountOf(held, 97), { targets: first })).toEqual(first);
    const again = plan(until(0.1), accountOf(held, 70), { targets: first });
    expect(sizesOf(again)['0']).toBeLessThan(sizesOf(first)['0'] ?? 0);
  });

  test('asks for nothing where the distance is there', () => {
    expect(plan(until(0.1), accountOf([{ base: 1 }], 60)).size).toBe(0);
  });

  test('was silent where nothing that may be reduced helps', () => {
    const scene = { matching: new Set<string>(), targets: new Map(), tolerance: 0.1 };
    expect(planAccount(until(0.5), accountOf([{ base: 2 }], 16), scene)).toBeUndefined();
  });

  test('waits while the pool is unknown', () => {
    const { unrealizedPnl: _pnl, ...blind } = position({ positionId: '9', market: 'C9_PERP' });
    const account = new AccountQuantities(positionsSnapshot([position(), blind], at(0)), settings(), at(0));
    const scene = { matching: new Set(['42']), targets: new Map(), tolerance: 0.1 };
    expect(planAccount(until(0.2), account, scene)).toBeUndefined();
  });

  test('of positions that share nothing reduces each to its own distance', () => {
    const isolated = accountOf([{ base: 5 }, { base: 1 }], 100, { marginModel: 'isolated' });
    const sizes = sizesOf(plan(until(0.3), isolated));
    expect(Object.keys(sizes)).toEqual(['0']);
  });

  test('one whose own margin is all that stands behind it dwindles for nothing: it is closed', () => {
    const isolated = accountOf([{ base: 5 }, { base: 1 }], 100, { marginModel: 'isolated' });
    expect(sizesOf(plan(until(0.3), isolated))).toEqual({ 0: 0 });
  });

  test('until a share of the funds is margin: where it costs least, hedges last', () => {
    const held = [{ base: 5, cost: 0.002 }, { base: 5 }, { base: -2 }];
    const account = accountOf(held, 150);
    const sizes = sizesOf(plan({ kind: 'untilMarginUsage', asset: 'USDT', usage: 0.6 }, account));
    expect(Object.keys(sizes)).toEqual(['1']);
    // 120 of 150 is margin and 90 is asked for: 30 at 10 a unit.
    expect(sizes['1']).toBeCloseTo(2, 6);
  });

  test.each([2, -2])(
    'until a share of the funds is margin, where positions of %d share nothing: of either side',
    (base) => {
      const isolated = accountOf([{ base }], 25, { marginModel: 'isolated' });
      // 20 of 25 is margin and 15 is asked for.
      const sizes = sizesOf(plan({ kind: 'untilMarginUsage', asset: 'USDT', usage: 0.6 }, isolated));
      expect(sizes[0]).toBeCloseTo(1.5, 6);
    },
  );

  test('property: never lowers the distance, whichever orders fill, and reaches what it can', () => {
    const side = fc.record({
      base: fc.double({ min: 0.5, max: 20, noNaN: true }),
      isShort: fc.boolean(),
      mark: fc.constantFrom(20, 100, 300),
      rate: fc.constantFrom(0.005, 0.03, 0.05),
      cost: fc.constantFrom(0.0005, 0.001, 0.01),
    });
    fc.assert(
      fc.property(
        fc.array(side, { minLength: 1, maxLength: 6 }),
        fc.double({ min: 0.02, max: 0.5, noNaN: true }),
        fc.double({ min: 0.03, max: 0.3, noNaN: true }),
        fc.integer({ min: 0, max: 63 }),
        (sides, share, wanted, filled) => {
          const held = sides.map(({ isShort, base, ...rest }) => ({
            ...rest,
            base: Number((isShort ? -base : base).toFixed(4)),
          }));
          const gross = held.reduce((sum, { base, mark }) => sum + Math.abs(base) * mark, 0);
          const maintenance = held.reduce(
            (sum, { base, mark, rate }) => sum + Math.abs(base) * mark * rate,
            0,
          );
          const equity = maintenance + gross * share;
          const before = joint(held, equity);
          const sizes = plan(until(wanted), accountOf(held, equity));
          const some = new Map([...sizes].filter(([id]) => (filled & (1 << Number(id))) !== 0));
          expect(joint(after(held, some), equity)).toBeGreaterThanOrEqual(before * (1 - 1e-6));
          // Repeats the plan until the distance is reached.
          let now: readonly Held[] = held;
          for (let round = 0; round < 20 && joint(now, equity) < wanted * (1 - 1e-6); round++) {
            now = after(now, plan(until(wanted), accountOf(now, equity)));
          }
          expect(joint(now, equity)).toBeGreaterThanOrEqual(Math.min(wanted, before) * (1 - 1e-6));
          expect(joint(now, equity)).toBeGreaterThanOrEqual(wanted * (1 - 1e-3));
        },
      ),
    );
  });
});

/** `npm test -- test/core/intents/account-plan.test.ts --update` rewrites the transcript. */
test('plans of accounts with hedges, costs and what earlier plans left are kept for review', async () => {
  const dice = new Dice(7);
  const lines = Array.from({ length: 60 }, (_, index) => {
    const held = Array.from({ length: dice.of(1, 2, 3, 5) }, (): Held => {
      const base = dice.of(1, 10, -2, -8, 0.3) * dice.of(1, 1.7);
      return {
        base,
        mark: dice.of(100, 100, 0.01, 40_000),
        rate: dice.of(0.03, 0.05),
        cost: dice.of(0.001, 0.004),
      };
    });
    const worth = held.reduce((sum, { base, mark = 100 }) => sum + Math.abs(base) * mark, 0);
    const account = accountOf(held, worth * dice.of(0.05, 0.08, 0.15, 0.4), {
      marginModel: dice.of('auto', 'cross', 'isolated'),
      distanceTolerance: 0.1,
    });
    const wanted = dice.of(0.06, 0.12, 0.3);
    const target: AccountTarget = dice.hits(0.6)
      ? until(wanted)
      : { kind: 'untilMarginUsage', asset: 'USDT', usage: dice.of(0.2, 0.5, 0.8) };
    const ids = held.map((__, position) => String(position));
    const matching = new Set(dice.hits(0.7) ? ids : ids.slice(1));
    const first = planAccount(target, account, { matching, targets: new Map(), tolerance: 0.1 });
    const again = planAccount(target, account, { matching, targets: first ?? new Map(), tolerance: 0.1 });
    const nearer = planAccount(until(wanted * 1.3), account, {
      matching,
      targets: first ?? new Map(),
      tolerance: 0.1,
    });
    const words = [first, again, nearer].map((plan) =>
      plan === undefined ? 'unknown' : [...plan].map(([id, left]) => `${id} to ${left}`).join(', '),
    );
    const has = held.map(({ base, mark, rate, cost }) => `${base} at ${mark} (${rate}, ${cost})`).join(', ');
    return `${index} ${account.pool.kind} ${JSON.stringify(target)} of ${has}\n   ${words.join(' | ')}`;
  });
  const file = path.join(import.meta.dirname, 'transcripts', 'account-plan.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

/**
 * Random accounts: markets with both sides open or not in the config, positions without a margin, direction or
 * liquidation price, and earlier plans. All values are whole numbers, so that compared values are often equal.
 */
test.for([1, 2, 3, 4, 5, 6])('a hundred plans by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const kept = new KeptHash();
  for (let index = 0; index < 100; index++) {
    const account = anyAccount(dice);
    const ids = account.positions.map(({ positionId }) => positionId);
    const matching = new Set(ids.filter(() => dice.hits(0.85)));
    const earlier = new Map(
      ids.flatMap((id) => (dice.hits(0.5) ? [[id, d(dice.of('0', '1', '2', '3.5', '8'))] as const] : [])),
    );
    const tolerance = dice.of(0, 0.1, 0.5);
    const usage = dice.of(0.1, 0.25, 0.5, 0.75);
    for (const target of [
      until(dice.of(0.05, 0.1, 0.2, 0.5)),
      { kind: 'untilMarginUsage', asset: dice.of('USDT', 'USDT', 'USDT', 'USDC'), usage },
    ] as const) {
      const first = planAccount(target, account, { matching, targets: new Map(), tolerance });
      const again = planAccount(target, account, { matching, targets: first ?? new Map(), tolerance });
      const after = planAccount(target, account, { matching, targets: earlier, tolerance });
      kept.add(target.kind, [first, again, after]);
    }
  }
  expect(kept.text).toMatchSnapshot();
});

function anyAccount(dice: Dice): AccountQuantities {
  const kind = dice.of('apart', 'pooled', 'pooled');
  const equity = dice.of(5, 20, 50, 100, 200);
  const markets = Array.from({ length: dice.of(1, 2, 3) }, (_, index) => ({
    name: index === 2 && dice.hits(0.2) ? 'C2_ELSE' : `C${index}_PERP`,
    mark: dice.of(100, 100, 10, 0.01, 40_000),
    rate: dice.of(0, 0.03, 0.05),
    bases: dice.of([1], [-2], [2, -1], [2, -2], [4, 2], [1, -4]),
  }));
  const scale = markets.reduce((sum, { mark, bases }) => sum + Math.abs(bases[0] ?? 0) * mark, 0) / 100;
  const records = markets.flatMap(({ name, mark, rate, bases }, index) => {
    const net = bases.reduce((sum, base) => sum + base, 0);
    const gross = bases.reduce((sum, base) => sum + Math.abs(base), 0);
    return bases.map((base, leg): PositionRecord => {
      const slope = kind === 'pooled' ? net - rate * gross : base;
      const liquidation = slope === 0 ? 0 : mark - (equity * scale) / slope;
      const { liquidationPrice, margin, ...whole } = position({
        positionId: `${index}${leg}`,
        market: name,
        amount: d(String(base)),
        basePrice: d(mark.toFixed(4)),
        unrealizedPnl: d('0.00000000'),
        liquidationPrice: liquidation > 0 ? d(liquidation.toFixed(12)) : null,
        margin: d(((Math.abs(base) * mark) / 10).toFixed(8)),
        freeMargin: d((equity * scale).toFixed(8)),
        positionSide: { known: true, value: bases.length === 1 ? 'BOTH' : base > 0 ? 'LONG' : 'SHORT' },
      });
      return {
        ...whole,
        ...(liquidationPrice === undefined || dice.hits(0.03) ? {} : { liquidationPrice }),
        ...(margin === undefined || dice.hits(0.05) ? {} : { margin: dice.hits(0.97) ? margin : d('-1') }),
      };
    });
  });
  const money = dice.of('USDT', 'USDC');
  const termsOf = (name: string): MarketSettings | undefined => {
    const at = markets.findIndex((market) => market.name === name);
    const known = markets[at];
    if (known === undefined || name === 'C2_ELSE') return undefined;
    const cost = [{}, { reductionCost: 0.001, money }, { reductionCost: 0.004 }][at] ?? {};
    return {
      ...PERP,
      maintenanceMargin: known.rate,
      amountStep: d('0.5'),
      priceStep: d('0.000000001'),
      ...cost,
    };
  };
  return new AccountQuantities(
    positionsSnapshot(records, at(0), dice.hits(0.95)),
    settings({
      marketSettings: termsOf,
      marginModel: kind === 'apart' ? dice.of('isolated', 'auto') : dice.of('cross', 'auto'),
      ...(dice.hits(0.2) ? { holdings: { ETH: 50 } } : {}),
    }),
    at(0),
  );
}
