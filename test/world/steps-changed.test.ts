import { expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';

const BREACH_MS = 60_000;

const config = (reduce: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [{ reduce: { ${reduce}, slippage: 1% } }]
    severity: critical
`;

function withoutWords({ exchange: { model } }: World): void {
  const place = model.placeCollateralOrder.bind(model);
  model.placeCollateralOrder = (id, order) => {
    const outcome = place(id, order);
    if (outcome.ok) return outcome;
    return { ...outcome, errors: mapValues(outcome.errors, () => ['is not valid']) };
  };
}

const mapValues = <T, U>(object: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));

type Terms = Partial<Record<'amountStep' | 'priceStep', string>>;

/**
 * The exchange changes its steps while the market is calm; then the price falls to where the rule fires, and further.
 */
function changedWorld(terms: Terms, reduce: string, readings: Readonly<Record<string, unknown>>): WorldSpec {
  return {
    seed: 11,
    durationMs: BREACH_MS + 60_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '4500' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.513' }],
        },
      ],
      readings,
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [BREACH_MS, '60000'],
          [BREACH_MS + 60_000, '48000'],
        ],
        tickMs: 100,
      },
    ],
    daemons: [{ name: 'north', config: config(reduce) }],
    events: [
      { atMs: BREACH_MS / 2, kind: 'condition', condition: { kind: 'terms', market: 'BTC_PERP', ...terms } },
    ],
  };
}

/** `isSaid`: a refusal names the step that it misses. */
async function play(
  terms: Terms,
  reduce: string,
  readings: Readonly<Record<string, unknown>> = {},
  isSaid = false,
) {
  const world = openWorld(changedWorld(terms, reduce, readings));
  if (!isSaid) withoutWords(world);
  await world.run();
  expect(world.errors).toEqual([]);
  const of = (kind: LedgerEntry['kind']) =>
    world.exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' });
  const audited = world.daemons
    .flatMap(({ events }) => events)
    .flatMap((event) => (event.kind === 'audited' ? [event.event] : []));
  return {
    of,
    alarms: audited.filter(({ alarm }) => alarm).map(({ reason, words }) => `${reason}: ${words}`),
    ends: audited.filter(({ kind }) => kind === 'intentEnded').map(({ reason }) => reason),
  };
}

test.each([
  ['amount', { amountStep: '0.01' }, 'by: 45%', /^amountStep: .* 0\.01 /],
  ['amount, two places,', { amountStep: '0.1' }, 'by: 60%', /^amountStep: .* 0\.1 /],
  ['amount', { amountStep: '0.05' }, 'to: 0%', /^amountStep: .* 0\.1 /],
  ['price', { priceStep: '1' }, 'by: 60%', /^priceStep: .* 1 /],
  ['price, two places,', { priceStep: '10' }, 'by: 60%', /^priceStep: .* 10 /],
] as const)(
  '%s step changed: %j, to reduce %s, is retried coarser, with an alarm',
  async (_what, terms, reduce, alarm) => {
    for (const orderErrorCodes of ['specific', 'generic']) {
      const { of, alarms } = await play(terms, reduce, { orderErrorCodes });
      expect(of('liquidation_started')).toEqual([]);
      expect(of('fill').length).toBeGreaterThan(0);
      expect(of('order_rejected').length).toBeGreaterThan(0);
      expect(of('order_rejected').length).toBeLessThanOrEqual(3);
      expect(alarms).toContainEqual(expect.stringMatching(alarm));
      // A refusal costs one round trip.
      const [refused] = of('order_rejected');
      const [placed] = of('order_placed');
      expect((placed?.atMs ?? Number.POSITIVE_INFINITY) - (refused?.atMs ?? 0)).toBeLessThan(500);
    }
  },
);

test('amount and price step changed at once: both are found', async () => {
  const { of } = await play({ amountStep: '0.01', priceStep: '10' }, 'by: 45%');
  expect(of('liquidation_started')).toEqual([]);
  expect(of('fill').length).toBeGreaterThan(0);
});

test('a step too coarse for the requested amount: nothing is sent that way, and the intent does not end', async () => {
  const { of, alarms, ends } = await play({ amountStep: '1' }, 'by: 45%');
  expect(of('order_placed')).toEqual([]);
  expect(alarms.some((words) => words.includes('amount step of 0.1'))).toBe(true);
  expect(alarms.some((words) => words.includes('amount step of 1 '))).toBe(false);
  expect(ends.filter((reason) => reason.startsWith('reached'))).toEqual([]);
});

test.each([
  ['amount', { amountStep: '0.02' }, 'by: 45%', /^amountStep: .* 0\.02 /],
  ['amount', { amountStep: '0.05' }, 'to: 0%', /^amountStep: .* 0\.05 /],
  ['price', { priceStep: '25' }, 'by: 60%', /^priceStep: .* 25 /],
] as const)(
  '%s step changed: %j, and named by the refusal, is taken as it is',
  async (_what, terms, reduce, alarm) => {
    const { of, alarms } = await play(terms, reduce, {}, true);
    expect(of('liquidation_started')).toEqual([]);
    expect(of('fill').length).toBeGreaterThan(0);
    expect(of('order_rejected')).toHaveLength(1);
    expect(alarms).toContainEqual(expect.stringMatching(alarm));
  },
);
