import { describe, expect, it } from 'vitest';
import type { ExchangeClient } from '../../src/exchange/client.ts';
import { DEFAULT_RATE_LIMITS as CLIENT_LIMITS } from '../../src/exchange/limits/rate-limit-table.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import {
  type EnforcedLimit,
  ENFORCED_RATE_LIMITS as EXCHANGE_LIMITS,
} from '../../src/simulator/http/rate-limit.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { unlessHeldUp } from '../support/working-time.ts';
import { type Outcome, summary } from './support/outcomes.ts';
import { connect, openExchange, STOP } from './support/world.ts';

/**
 * The default tables, both divided by the same factors, so that a limit is soon reached. Few requests leave at once:
 * the client allows for requests that travel 450 ms longer than others. A burst of hundreds in one busy process exceeds
 * that, as do requests that queue for a connection after they got a permit.
 */
const FACTOR = 1000;
const PERIOD_MS = 150;
const scaled = (limit: number) => Math.max(1, Math.floor(limit / FACTOR));

const exchangeLimits: readonly EnforcedLimit[] = EXCHANGE_LIMITS.map(({ path, requests }) => ({
  path,
  requests: scaled(requests),
  periodMs: PERIOD_MS,
}));
const clientLimits = Object.fromEntries(
  Object.entries(CLIENT_LIMITS).map(([name, { limit }]) => [
    name,
    { limit: scaled(limit), periodMs: PERIOD_MS },
  ]),
);
const patient = { timeouts: { callMs: 25_000 }, pool: { connections: 16 } };

function tally(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[summary(outcome)] = (counts[summary(outcome)] ?? 0) + 1;
  return counts;
}

describe('the request budget', () => {
  it('prevents every 429, on every endpoint at once, with two clients at one address', async () => {
    // Requests that are held up on their way arrive closer together than they were sent.
    await unlessHeldUp(30, async () => {
      const exchange = await openExchange({ limits: exchangeLimits });
      const store = createMemoryRateLimitStore(systemClock);
      // A reserved share of a limit of one would leave nothing.
      const limiter = { store, limits: clientLimits, reservedShare: 0 };
      const first = connect(exchange, 'long', { ...patient, limiter }).client;
      const second = connect(exchange, 'flat', { ...patient, limiter }).client;
      // Opens the connections first: that takes longest, and would delay requests unevenly.
      const warm = Array.from({ length: 32 }, (_, index): Promise<Outcome> => {
        const client = index % 2 === 0 ? first : second;
        return index < 20 ? client.ping() : client.openPositions();
      });
      expect(tally(await Promise.all(warm))).toEqual({ ok: 32 });
      const plan: readonly (readonly [number, (client: ExchangeClient) => Promise<Outcome>])[] = [
        [15, (client) => client.openPositions()],
        [1, (client) => client.creditLines()],
        [1, (client) => client.mainBalance()],
        [1, (client) => client.transfers()],
        [15, (client) => client.spotOrders()],
        [12, (client) => client.cancelAll({})],
        [20, (client) => client.ping()],
      ];
      const work = plan.flatMap(([count, call]) =>
        Array.from({ length: 2 * count }, (_, index) => call(index % 2 === 0 ? first : second)),
      );
      const outcomes = await Promise.all(work);
      const unhappy = outcomes.filter(({ kind }) => kind !== 'ok' && kind !== 'accepted');
      expect(tally(unhappy)).toEqual({});
      expect(exchange.requestLog({ status: 429 })).toEqual([]);
      expect(exchange.requestLog()).toHaveLength(warm.length + work.length);
    });
  });

  it('is the same table on both sides', () => {
    const table = Object.values(CLIENT_LIMITS).flatMap(({ limit, periodMs, paths }) =>
      paths.map((path) => ({ path: path === '/api/v4/order/*' ? '*' : path, requests: limit, periodMs })),
    );
    const byPath = (one: EnforcedLimit, other: EnforcedLimit) => one.path.localeCompare(other.path);
    expect(table.toSorted(byPath)).toEqual(EXCHANGE_LIMITS.toSorted(byPath));
  });

  it('keeps a share for protective calls while all others wait', async () => {
    const exchange = await openExchange();
    const limits = { order: { limit: 20, periodMs: 60_000 } };
    const { client } = connect(exchange, 'long', { timeouts: { callMs: 10_000 }, limiter: { limits } });
    const normal = await Promise.all(Array.from({ length: 25 }, () => client.cancelAll({})));
    const protective = [
      await client.cancelAll({}, { priority: 'protective' }),
      await client.reduceOnlyStop(STOP, { priority: 'protective' }),
      await client.cancelAll({}, { priority: 'protective' }),
    ];
    expect(normal.filter(({ kind }) => kind === 'accepted')).toHaveLength(18);
    const refused = normal.find(({ kind }) => kind !== 'accepted');
    expect(refused && summary(refused)).toBe('rejected rateBudgetSpent - - none');
    expect(protective.map(summary)).toEqual(['accepted', 'accepted', 'rejected rateBudgetSpent - - none']);
    expect(exchange.requestLog()).toHaveLength(20);
  });
});

describe('a 429', () => {
  const tight: readonly EnforcedLimit[] = [
    { path: '/api/v4/collateral-account/positions/open', requests: 3, periodMs: 60_000 },
    { path: '/api/v4/order/*', requests: 3, periodMs: 60_000 },
  ];

  it.each(['unique', 'window', 'increasing'] as const)(
    'of a limit ends as rateLimited in nonce mode %s',
    async (mode) => {
      const exchange = await openExchange({ limits: tight, readings: { nonceRule: 'unique' } });
      const { client, calls } = connect(exchange, 'long', { nonce: { mode } });
      for (let index = 0; index < 3; index += 1) expect((await client.cancelAll({})).kind).toBe('accepted');
      expect(summary(await client.reduceOnlyStop(STOP))).toBe('rejected rateLimited 0 429 none');
      expect(calls.at(-1)?.limitsHit).toBe(1);
      expect(exchange.model.openOrders('long')).toEqual([]);
      expect(exchange.requestLog({ clientOrderId: 'stop-1', outcome: 'served' })).toEqual([]);
    },
  );

  it('of a limit that this client is near is not taken for a nonce, and nothing is repeated', async () => {
    const exchange = await openExchange({ limits: tight, readings: { nonceRule: 'increasing' } });
    const { client, calls } = connect(exchange, 'long', {
      nonce: { mode: 'increasing' },
      limiter: { limits: { order: { limit: 5, periodMs: 60_000 } }, reservedShare: 0 },
    });
    for (let index = 0; index < 3; index += 1) expect((await client.cancelAll({})).kind).toBe('accepted');
    expect(summary(await client.cancelAll({}))).toBe('rejected rateLimited 0 429 none');
    expect(calls.at(-1)).toMatchObject({ attempts: 1, noncesRefused: 0, limitsHit: 1 });
  });

  it('of a nonce is not counted against the budget', async () => {
    const exchange = await openExchange({ readings: { nonceRule: 'increasing' } });
    const { client, calls } = connect(exchange, 'long', { nonce: { mode: 'increasing' } });
    const ahead = { ...systemClock, nowMs: () => systemClock.nowMs() + 30_000 };
    await connect(exchange, 'long', { clock: ahead, nonce: { mode: 'increasing' } }).client.openPositions();
    expect((await client.openPositions()).kind).toBe('ok');
    expect(calls).toMatchObject([{ limitsHit: 0, budgetWaitMs: 0 }]);
    expect(calls[0]?.noncesRefused).toBeGreaterThan(0);
    expect((await client.openPositions()).kind).toBe('ok');
    expect(calls[1]).toMatchObject({ attempts: 1, noncesRefused: 0, budgetWaitMs: 0 });
  });

  it('of a limit makes every client at the address wait, not only the call that met it', async () => {
    const exchange = await openExchange();
    const store = createMemoryRateLimitStore(systemClock);
    const { client } = connect(exchange, 'long', { limiter: { store } });
    const other = connect(exchange, 'flat', { limiter: { store } });
    exchange.injectFault({ effect: { kind: 'status', status: 429, message: 'Limit reached.' }, count: 1 });
    expect(summary(await client.openPositions())).toBe('failed rateLimited 0 429 none');
    expect((await other.client.openPositions()).kind).toBe('ok');
    expect(other.calls[0]?.budgetWaitMs).toBeGreaterThan(0);
  });
});
