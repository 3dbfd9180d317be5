import { expect, test } from 'vitest';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';

const configOf = (mode: string): string => `mode: ${mode}
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
acting: { fillWithin: 2s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near], cadence: { calm: 1s, alert: 500ms } }
rules:
  - id: near
    on: position
    when: { notional: { above: 1000 } }
    do: [RULE]
`;
const ORDERED: TimedEvent = {
  atMs: 5_000,
  kind: 'reduce',
  account: 'desk-1',
  markets: ['BTC_PERP'],
  target: { kind: 'to', fraction: 0.5 },
  slippage: 0.01,
};

/** A market that rises in steps: a stop below it has to be placed anew again and again. */
function play(config: (mode: string) => string, events: readonly TimedEvent[]): World {
  return openWorld({
    seed: 5,
    durationMs: 60_000,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '20000' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
        },
      ],
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: Array.from({ length: 60 }, (_, second) => [second * 1_000, String(60_000 + second * 120)]),
      },
    ],
    daemons: [{ name: 'north', config: config('enforce') }],
    events,
    network: { toExchange: 50, toDaemon: 50 },
  });
}

const reload = (atMs: number, config: string): TimedEvent => ({
  atMs,
  kind: 'reload',
  daemon: 'north',
  config,
});

function sentAfter({ exchange, startMs }: World, fromMs: number): number {
  const kinds = ['order_placed', 'order_cancelled'] as const;
  return exchange.model.ledger({ kinds: [...kinds] }).filter(({ atMs }) => atMs - startMs > fromMs).length;
}

/** A change of orders that is under way when the config is read completes. */
const UNDER_WAY_MS = 200;
const NOTICE = '{ notify: {} }';
const REDUCE = '{ reduce: { by: 50%, slippage: 1% } }';
const PROTECT = '{ protect: { at: 60% } }';

test.each([
  ['an operator order', NOTICE, [ORDERED]],
  ['a reduction', REDUCE, []],
  ['a standing stop', PROTECT, []],
])('enforce to observe by a reload while %s is open: nothing more is sent', async (_, action, events) => {
  const config = (mode: string): string => configOf(mode).replace('RULE', action);
  const acting = play(config, events);
  await acting.run();
  const reloaded = play(config, [...events, reload(19_500, config('observe'))]);
  await reloaded.run();
  expect(reloaded.errors).toEqual([]);
  expect(sentAfter(acting, 0)).toBeGreaterThan(0);
  if (action !== PROTECT) expect(sentAfter(acting, 19_500 + UNDER_WAY_MS)).toBeGreaterThan(0);
  expect(sentAfter(reloaded, 19_500 + UNDER_WAY_MS)).toBe(0);
});

test('an operator order that a reload held back goes on when the mode is enforce again', async () => {
  const config = (mode: string): string => configOf(mode).replace('RULE', NOTICE);
  const world = play(config, [ORDERED, reload(19_500, config('observe')), reload(30_500, config('enforce'))]);
  await world.run();
  expect(sentAfter(world, 30_500)).toBeGreaterThan(0);
});
