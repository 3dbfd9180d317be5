import { describe, expect, it } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';

/** Conditions of markets, and the depth of books, in a world without a daemon. */

function unprotected(changes: Partial<WorldSpec['exchange']>, events: readonly TimedEvent[] = []): World {
  const position = { market: 'BTC_PERP', side: 'long', amount: '1' } as const;
  return openWorld({
    seed: 1,
    durationMs: 60_000,
    exchange: {
      accounts: [{ id: 'main', collateral: { USDT: '20000' }, positions: [position] }],
      ...changes,
    },
    daemons: [],
    events,
  });
}

describe('events', () => {
  it('thin the book, move the mark and deleverage at their times, reproducibly', async () => {
    const events: readonly TimedEvent[] = [
      { atMs: 1_000, kind: 'condition', condition: { kind: 'depth', market: 'BTC_PERP', factor: '0' } },
      { atMs: 2_000, kind: 'trade', account: 'main', market: 'BTC_PERP', side: 'sell', amount: '0.5' },
      {
        atMs: 3_000,
        kind: 'condition',
        condition: { kind: 'basis', market: 'BTC_PERP', ratio: '-0.05', forMs: 10_000 },
      },
      {
        atMs: 4_000,
        kind: 'condition',
        condition: { kind: 'deleverage', account: 'main', market: 'BTC_PERP', amount: '0.25', afterMs: 500 },
      },
    ];
    const world = unprotected({}, events);
    await world.run(10_000);
    expect(world.errors).toEqual([]);
    const happened = world.exchange.model
      .ledger({ kinds: ['market_condition', 'order_placed', 'fill', 'auto_deleverage'] })
      .map(({ kind, atMs, price }) => [kind, atMs - world.startMs, price]);
    expect(happened).toEqual([
      ['market_condition', 1_000, undefined],
      ['order_placed', 2_000, '0'],
      ['market_condition', 3_000, undefined],
      ['auto_deleverage', 4_500, '57000'],
    ]);
    const again = unprotected({}, events);
    await again.run(10_000);
    expect(await again.hash()).toBe(await world.hash());
  });

  it('that the exchange refuses are in its ledger; those with unknown names are errors of the world', async () => {
    const condition = { kind: 'deleverage', account: 'main', market: 'ETH_PERP' } as const;
    const world = unprotected({}, [
      { atMs: 1_000, kind: 'condition', condition },
      { atMs: 2_000, kind: 'condition', condition: { ...condition, market: 'NO_PERP' } },
    ]);
    await world.run(3_000);
    expect(world.exchange.model.ledger({ kinds: ['market_condition'] })).toMatchObject([
      { reason: expect.stringContaining('refused') as string },
    ]);
    expect(world.errors.map(String)).toEqual([expect.stringContaining('NO_PERP')]);
  });
});

describe('the book of a market with a given price', () => {
  it.each(['7000', '60000', '120000'])(
    'at %s costs an order of value 120,000 about as much',
    async (price) => {
      const amount = (120_000 / Number(price)).toFixed(3);
      const position = { market: 'BTC_PERP', side: 'long', amount } as const;
      const world = unprotected(
        {
          accounts: [{ id: 'main', collateral: { USDT: '50000' }, positions: [position] }],
          prices: { BTC_USDT: price, BTC_PERP: price },
        },
        [{ atMs: 0, kind: 'trade', account: 'main', market: 'BTC_PERP', side: 'sell', amount }],
      );
      await world.run(500);
      const fills = world.exchange.model.ledger({ kinds: ['fill'] });
      const closed = fills.reduce((sum, fill) => sum + Number(fill.amount), 0);
      const paid = fills.reduce((sum, fill) => sum + Number(fill.amount) * Number(fill.price), 0);
      expect(closed).toBeCloseTo(Number(amount), 9);
      // Four levels of 30,000, the first 1 / 24,000 and the others 1 / 12,000 of the price apart.
      const slippage = 1 - paid / closed / Number(price);
      expect(slippage).toBeGreaterThan(0.0001);
      expect(slippage).toBeLessThan(0.0003);
    },
  );
});
