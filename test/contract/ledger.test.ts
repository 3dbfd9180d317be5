import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StopLimitRequest } from '../../src/core/ports/exchange.ts';
import { type Decimal, decimal, toDecimal, ZERO } from '../../src/core/quantities/decimal.ts';
import type { ExchangeClient } from '../../src/exchange/client.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { runsOf } from '../support/slice.ts';
import { connect, openExchange, ACCOUNTS as STANDARD } from './support/world.ts';

/**
 * Seen from outside, over both HTTP ports: for any orders and market moves the books balance to the last digit, and a
 * reduce-only order never grows a position.
 */

const ACCOUNTS = ['long', 'short', 'hedged'] as const;

/** A perpetual and a margin market; only the margin market settles funding when a position changes. */
const MARKETS = ['BTC_PERP', 'BTC_USDT'] as const;
type Market = (typeof MARKETS)[number];

type Step =
  | { readonly do: 'price'; readonly permille: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'cancel'; readonly account: number }
  | { readonly do: 'deposit' | 'move'; readonly account: number; readonly units: number }
  | {
      readonly do: 'stop';
      readonly account: number;
      readonly market: Market;
      readonly side: 'buy' | 'sell';
      readonly positionSide: 'LONG' | 'SHORT';
      readonly units: number;
      readonly away: number;
      readonly slip: number;
      readonly reduceOnly: boolean;
    };

const account = fc.nat({ max: ACCOUNTS.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('price' as const), permille: fc.integer({ min: -90, max: 90 }) }),
  },
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1000, 3_600_000, 30_000_000) }),
  fc.record({ do: fc.constant('cancel' as const), account }),
  fc.record({
    do: fc.constantFrom('deposit' as const, 'move' as const),
    account,
    units: fc.integer({ min: 1, max: 999_999 }),
  }),
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('stop' as const),
      account,
      market: fc.constantFrom(...MARKETS),
      side: fc.constantFrom('buy' as const, 'sell' as const),
      positionSide: fc.constantFrom('LONG' as const, 'SHORT' as const),
      units: fc.integer({ min: 1, max: 2000 }),
      away: fc.integer({ min: -30, max: 30 }),
      slip: fc.integer({ min: -20, max: 20 }),
      reduceOnly: fc.boolean(),
    }),
  },
);

/** Every flow begins this way: funding accrues on a margin position, and a part of it is closed. */
const OPENING: readonly Step[] = [
  { do: 'wait', ms: 3_600_000 },
  {
    do: 'stop',
    account: 0,
    market: 'BTC_USDT',
    side: 'sell',
    positionSide: 'LONG',
    units: 20,
    away: -5,
    slip: -20,
    reduceOnly: true,
  },
  { do: 'price', permille: -10 },
];

const SEEDS = STANDARD.map((seed) => {
  const margin = { market: 'BTC_USDT', direction: 'long', amount: decimal('0.05') } as const;
  return seed.id === 'long'
    ? Object.assign({}, seed, { positions: [...(seed.positions ?? []), margin] })
    : seed;
});

interface World {
  readonly controlUrl: string;
  readonly clients: readonly ExchangeClient[];
  price: number;
}

async function control(world: World, method: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${world.controlUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  // 422: refused by the exchange's own rules, which a customer may meet.
  if (!response.ok && response.status !== 422) throw new Error(`${path}: ${await response.text()}`);
}

const near = (world: World, permille: number) =>
  ((world.price * (1000 + permille)) / 1000).toFixed(1) as StopLimitRequest['price'];

async function perform(world: World, one: Step): Promise<void> {
  switch (one.do) {
    case 'price':
      world.price = Math.max(1000, Number(near(world, one.permille)));
      return control(world, 'PUT', '/prices', {
        BTC_PERP: world.price.toFixed(1),
        BTC_USDT: world.price.toFixed(1),
      });
    case 'wait':
      return control(world, 'POST', '/clock/step', { ms: one.ms });
    case 'cancel':
      await world.clients[one.account]?.cancelAll({});
      return;
    case 'deposit':
    case 'move': {
      const amount = `${one.units}.0${one.units}`;
      const { path, body } =
        one.do === 'deposit'
          ? { path: 'deposits', body: { ticker: 'USDT', amount } }
          : {
              path: 'moves',
              body: { from: 'main', to: 'collateral', ticker: 'USDT', amount: `0.${one.units}` },
            };
      return control(world, 'POST', `/accounts/${ACCOUNTS[one.account]}/${path}`, body);
    }
    case 'stop': {
      const { market, side, positionSide, reduceOnly } = one;
      await world.clients[one.account]?.stopLimit({
        market,
        side,
        positionSide,
        reduceOnly,
        amount: (one.units / 1000).toFixed(3) as StopLimitRequest['amount'],
        activationPrice: near(world, one.away),
        price: near(world, one.away + one.slip),
      });
    }
  }
}

function balances(entries: readonly LedgerEntry[]): Map<string, Decimal> {
  const books = new Map<string, Decimal>();
  for (const entry of entries) {
    const sums = new Map<string, Decimal>();
    for (const { book, asset, amount } of entry.postings) {
      sums.set(asset, (sums.get(asset) ?? ZERO).plus(toDecimal(amount)));
      const key = `${book} ${asset}`;
      books.set(key, (books.get(key) ?? ZERO).plus(toDecimal(amount)));
    }
    for (const [asset, sum] of sums)
      expect({ seq: entry.seq, asset, sum: sum.toFixed() }).toMatchObject({ sum: '0' });
  }
  return books;
}

/** The change of collateral by the entry's own fields: pnl - fees - funding, and transfers. */
function collateralEffect(entry: LedgerEntry): Decimal {
  const detail = (name: string) => decimal(String(entry.details?.[name] ?? '0'));
  const amount = decimal(entry.amount ?? '0');
  switch (entry.kind) {
    case 'fill':
    case 'liquidation':
    case 'position_seeded':
      return detail('realizedPnl')
        .minus(decimal(entry.fee ?? '0'))
        .minus(detail('fundingSettled'))
        .plus(detail('insured'));
    case 'funding':
    case 'insurance':
    case 'internal_transfer':
      return amount;
    default:
      return ZERO;
  }
}

function expectReduceOnlyReduces(entries: readonly LedgerEntry[], reduceOnly: ReadonlySet<number>): void {
  const sizes = new Map<string, Decimal>();
  for (const entry of entries) {
    if (entry.details?.['positionSide'] === undefined || entry.amount === undefined) continue;
    if (!['fill', 'liquidation', 'position_seeded'].includes(entry.kind)) continue;
    const key = `${entry.accountId}/${entry.market}/${String(entry.details['positionSide'])}`;
    const before = sizes.get(key) ?? ZERO;
    const change = toDecimal(entry.amount);
    const after = entry.side === 'buy' ? before.plus(change) : before.minus(change);
    sizes.set(key, after);
    if (!reduceOnly.has(entry.orderId ?? -1) && entry.kind !== 'liquidation') continue;
    expect({
      seq: entry.seq,
      shrinks: after.abs().lt(before.abs()),
      turns: after.times(before).lt(ZERO),
    }).toEqual({
      seq: entry.seq,
      shrinks: true,
      turns: false,
    });
  }
}

describe('for any seed and any flow of orders over HTTP', () => {
  it.each(['cross', 'isolated'] as const)(
    'collateral + pnl + fees + funding balance to the last digit, and reduce-only never grows a position (%s)',
    async (marginModel) => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat({ max: 1_000_000 }),
          fc.array(step, { minLength: 15, maxLength: 40, size: 'max' }),
          async (seed, steps) => {
            const exchange = await openExchange({ seed, accounts: SEEDS, readings: { marginModel } });
            const clients = ACCOUNTS.map((id) => connect(exchange, id).client);
            const world = { controlUrl: exchange.controlUrl, clients, price: 60_000 };
            for (const one of [...OPENING, ...steps]) await perform(world, one);
            const response = await fetch(`${exchange.controlUrl}/ledger`);
            const { entries } = (await response.json()) as { entries: LedgerEntry[] };
            const settled = entries.filter(({ details }) => Number(details?.['fundingSettled'] ?? 0) !== 0);
            expect(settled.length).toBeGreaterThan(0);
            const books = balances(entries);
            for (const [index, id] of ACCOUNTS.entries()) {
              const own = entries.filter(({ accountId }) => accountId === id);
              const expected = own.reduce(
                (sum, entry) => sum.plus(collateralEffect(entry)),
                decimal('10000'),
              );
              const positions = await clients[index]?.openPositions();
              if (positions?.kind !== 'ok' || !positions.value.complete) throw new Error('no positions');
              const pledged = positions.value.records.reduce(
                (sum, { positionId }) => sum.plus(books.get(`margin:${positionId} USDT`) ?? ZERO),
                ZERO,
              );
              const held = (books.get(`collateral:${id} USDT`) ?? ZERO).plus(pledged);
              expect([id, held.toFixed()]).toEqual([id, expected.toFixed()]);
              for (const { positionId, market, amount, positionSide } of positions.value.records) {
                const short = positionSide?.known === true && positionSide.value === 'SHORT';
                const size = books.get(`position:${positionId} ${market}`) ?? ZERO;
                expect(
                  toDecimal(amount)
                    .times(decimal(short ? '-1' : '1'))
                    .toFixed(),
                ).toBe(size.toFixed());
              }
            }
            const placed = entries.filter(({ kind }) => kind === 'order_placed');
            const reduceOnly = placed.filter(({ details }) => details?.['reduceOnly'] === true);
            expectReduceOnlyReduces(entries, new Set(reduceOnly.map(({ orderId }) => orderId ?? -1)));
            await Promise.all(clients.map((client) => client.close()));
            await exchange.close();
          },
        ),
        { numRuns: runsOf(12), endOnFailure: true },
      );
    },
  );
});
