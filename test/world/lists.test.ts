import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { PositionSpec, PriceSpec, TimedEvent, TimedFault, WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';

/** Lists that are incomplete, or that omit open positions; checked by the exchange's ledger. */

const RULES = `
  - id: near
    on: position
    when: { liquidationDistance: { below: 4%, clearAbove: 6% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
`;
const ACCOUNT_RULE = `
  - id: used
    on: account
    when: { marginUsage: { asset: USDT, above: 40% } }
    do: [{ reduce: { by: 50%, slippage: 1%, positions: "BTC_*" } }]
`;
const CLOSING = `
  - id: near
    on: position
    when: { liquidationDistance: { below: 4%, clearAbove: 6% } }
    do: [{ notify: {} }, { reduce: { to: 0%, slippage: 1% } }]
    severity: critical
`;
const COVER = `
  - id: cover
    on: position
    when: { notional: { above: 1 } }
    do: [{ protect: { at: 60%, slippage: 1% } }]
`;

const configOf = (rules: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
cadence: { calm: 2s, alert: 500ms }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, money: USDT }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${[...rules.matchAll(/- id: (\w+)/g)].map(([, id]) => id).join(', ')}] }
rules:${rules}`;

const BREACH_MS = 60_000;
const LONG: PositionSpec = { market: 'BTC_PERP', side: 'long', amount: '0.500' };
/** A jump to 2.4 % before liquidation, then down by 0.03 % a second, so that orders are reached. */
const breachAt = (breachMs: number): PriceSpec => ({
  market: 'BTC_USDT',
  points: [
    [0, '60000'],
    [breachMs - 100, '60000'],
    [breachMs, '54900'],
    [breachMs + 20_000, '54600'],
  ],
  tickMs: 100,
});

interface Scenario {
  readonly rules?: string;
  readonly positions?: readonly PositionSpec[];
  /** Default: a breach. */
  readonly prices?: readonly PriceSpec[];
  readonly events?: readonly TimedEvent[];
  readonly faults?: readonly TimedFault[];
  readonly durationMs?: number;
}

async function run(scenario: Scenario): Promise<World> {
  const { rules = RULES, positions = [LONG], events = [], faults = [] } = scenario;
  const spec: WorldSpec = {
    seed: 5,
    durationMs: scenario.durationMs ?? BREACH_MS + 30_000,
    exchange: { accounts: [{ id: 'desk-1', collateral: { USDT: '4000' }, positions }] },
    daemons: [{ name: 'north', config: configOf(rules) }],
    prices: scenario.prices ?? (scenario.events === undefined ? [breachAt(BREACH_MS)] : []),
    events,
    faults,
  };
  const world = openWorld(spec);
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

const inPositions = (effect: FaultEffect, atMs = 0, untilMs?: number): TimedFault => ({
  atMs,
  ...(untilMs === undefined ? {} : { untilMs }),
  fault: { effect, target: { endpoint: 'openPositions' } },
});

const ledger = ({ exchange }: World, ...kinds: LedgerEntry['kind'][]): readonly LedgerEntry[] =>
  exchange.model.ledger({ accountId: 'desk-1', kinds });

const soldAfter = (world: World, atMs: number): number =>
  ledger(world, 'fill')
    .filter((entry) => entry.atMs >= world.startMs + atMs && isOurs(entry))
    .reduce((sum, { amount }) => sum + Number(amount), 0);

const cancels = ({ exchange, startMs }: World): readonly number[] =>
  exchange.log
    .list()
    .filter(({ endpoint }) => endpoint === 'cancelAll')
    .map(({ atMs }) => atMs - startMs);

async function events({ audit }: World, kind: AuditEvent['kind']): Promise<readonly AuditEvent[]> {
  const records = await audit.tail('desk-1', 10_000);
  return records.flatMap(({ record: { content } }) =>
    content.kind === 'action' && content.event.kind === kind ? [content.event] : [],
  );
}

describe('a list with an invalid record', () => {
  test.each<[string, readonly PositionSpec[], TimedFault]>([
    [
      'one record with nulls (a position being opened) in the list',
      [LONG],
      inPositions({ kind: 'nullRecord' }),
    ],
    [
      '`liquidationState: ""`: judged, not blind until the margin call',
      [LONG],
      inPositions({ kind: 'emptyString', field: 'liquidationState' }),
    ],
    [
      'one bad record in another market',
      [LONG, { market: 'ETH_PERP', side: 'long', amount: '0.1' }],
      inPositions({ kind: 'badRecord', market: 'ETH_PERP' }),
    ],
  ])('%s: the position is reduced as with a complete list', async (_, positions, fault) => {
    const world = await run({ positions, faults: [fault] });
    expect(soldAfter(world, BREACH_MS)).toBeCloseTo(0.25, 9);
    const first = ledger(world, 'order_placed').find(({ atMs }) => atMs >= world.startMs + BREACH_MS);
    expect((first?.atMs ?? Number.POSITIVE_INFINITY) - world.startMs - BREACH_MS).toBeLessThan(3_000);
    expect(ledger(world, 'liquidation_started')).toEqual([]);
  });

  test('one record with nulls in the list: the owner’s orders stay', async () => {
    const owners: TimedEvent = {
      atMs: 5_000,
      kind: 'trade',
      account: 'desk-1',
      market: 'BTC_PERP',
      side: 'sell',
      amount: '0.1',
      price: '70000',
      reduceOnly: true,
    };
    const world = await run({
      prices: [breachAt(BREACH_MS)],
      events: [owners],
      faults: [inPositions({ kind: 'nullRecord' })],
    });
    expect(soldAfter(world, BREACH_MS)).toBeCloseTo(0.25, 9);
    expect(ledger(world, 'order_cancelled').filter((entry) => !isOurs(entry))).toEqual([]);
    expect(world.exchange.model.openOrders('desk-1').map(({ price }) => String(price))).toContain('70000');
  });

  test('one bad record: account and credit-line rules act on the good positions', async () => {
    const positions: readonly PositionSpec[] = [LONG, { market: 'ETH_PERP', side: 'long', amount: '0.1' }];
    const fault = inPositions({ kind: 'badRecord', market: 'ETH_PERP' });
    const world = await run({ rules: ACCOUNT_RULE, positions, faults: [fault] });
    // The order may be split over two gaps, of which the market reaches one.
    expect(soldAfter(world, 0)).toBeGreaterThan(0.1);
    expect(soldAfter(world, 0)).toBeLessThanOrEqual(0.25);
  });

  test('nulls in a known position do not count as its closure: its stop stays', async () => {
    const fault = inPositions({ kind: 'nullRecord', inPlace: true }, 20_000, 260_000);
    const world = await run({ rules: COVER, events: [], faults: [fault], durationMs: 280_000 });
    expect(ledger(world, 'order_placed')).toHaveLength(1);
    expect(cancels(world).filter((atMs) => atMs > 10_000)).toEqual([]);
  });
});

describe('an empty but valid list for some seconds', () => {
  const EMPTY = inPositions({ kind: 'emptyList' }, 30_000, 75_000);

  test('positions do not count as closed: no stop is dropped, none is placed twice', async () => {
    const world = await run({ rules: COVER, events: [], faults: [EMPTY], durationMs: 240_000 });
    expect(ledger(world, 'order_placed')).toHaveLength(1);
    expect(cancels(world).filter((atMs) => atMs > 10_000)).toEqual([]);
    const told = await events(world, 'positionAbsent');
    expect(told.map(({ reason }) => reason)).toEqual(['presumedClosed', 'backAgain']);
    expect(told.filter(({ alarm }) => alarm)).toEqual([]);
  });

  test('a position that falls meanwhile is protected by its stop', async () => {
    const fall: PriceSpec = {
      market: 'BTC_USDT',
      points: [
        [0, '60000'],
        [45_000, '60000'],
        [65_000, '52000'],
      ],
      tickMs: 100,
    };
    const world = await run({ rules: COVER, prices: [fall], faults: [EMPTY] });
    expect(ledger(world, 'liquidation_started')).toEqual([]);
    expect(soldAfter(world, 45_000)).toBeCloseTo(0.5, 9);
  });

  test('an episode continues afterwards with its target', async () => {
    // Nothing fills while the market stands above the activation.
    const events_: readonly TimedEvent[] = [
      { atMs: 25_000, kind: 'setPrice', market: 'BTC_USDT', price: '54900' },
      { atMs: 29_000, kind: 'setPrice', market: 'BTC_USDT', price: '55000' },
      { atMs: 80_000, kind: 'setPrice', market: 'BTC_USDT', price: '54600' },
    ];
    const world = await run({ events: events_, faults: [EMPTY], durationMs: 110_000 });
    const targets = await events(world, 'targetSet');
    expect(targets.map(({ targetBase }) => targetBase)).toEqual(['0.25']);
    expect(soldAfter(world, 0)).toBeCloseTo(0.25, 9);
  });

  test('while a rule acts, the owner is notified that the position is missing from the list', async () => {
    const fault = inPositions({ kind: 'emptyList' }, 29_500, 75_000);
    const still: readonly TimedEvent[] = [
      { atMs: 27_000, kind: 'setPrice', market: 'BTC_USDT', price: '54900' },
    ];
    const world = await run({ events: still, faults: [fault] });
    const told = await events(world, 'positionAbsent');
    expect(told.filter(({ alarm }) => alarm).map(({ reason }) => reason)).toEqual(['notShown']);
  });
});

describe('a position that is closed', () => {
  test('by the owner causes no alarm; its stop is cancelled after three reads and 3 minutes', async () => {
    const close: TimedEvent = {
      atMs: 30_000,
      kind: 'trade',
      account: 'desk-1',
      market: 'BTC_PERP',
      side: 'sell',
      amount: '0.5',
    };
    const world = await run({ rules: COVER, events: [close], durationMs: 260_000 });
    const [atMs, ...more] = cancels(world).filter((one) => one > 10_000);
    expect(more).toEqual([]);
    expect(atMs).toBeGreaterThan(30_000 + 180_000);
    expect(atMs).toBeLessThan(30_000 + 180_000 + 10_000);
    expect(world.exchange.model.openOrders('desk-1')).toEqual([]);
    const told = await events(world, 'positionAbsent');
    expect(told.map(({ reason, alarm }) => [reason, alarm])).toEqual([
      ['presumedClosed', false],
      ['confirmed', false],
    ]);
  });

  test('by the owner, who opens another one, loses its stop at once', async () => {
    const trade = (atMs: number, side: 'buy' | 'sell', amount: string): TimedEvent => ({
      atMs,
      kind: 'trade',
      account: 'desk-1',
      market: 'BTC_PERP',
      side,
      amount,
    });
    const events_ = [trade(30_000, 'sell', '0.5'), trade(50_000, 'buy', '0.2')];
    const world = await run({ rules: COVER, events: events_, durationMs: 70_000 });
    const atMs = cancels(world).find((one) => one > 10_000);
    expect(atMs).toBeGreaterThan(50_000);
    expect(atMs).toBeLessThan(55_000);
    const open = world.exchange.model.openOrders('desk-1');
    expect(open.map(({ amount }) => String(amount))).toEqual(['0.2']);
  });

  describe('by an order of the daemon', () => {
    const endsOf = async (world: World): Promise<readonly number[]> => {
      const filledMs = ledger(world, 'fill').at(-1)?.atMs ?? Number.NaN;
      const records = await world.audit.tail('desk-1', 10_000);
      const changes = records.flatMap(({ record: { content } }) =>
        content.kind === 'decision' ? content.transitions : [],
      );
      const closed = changes.filter(({ reason }) => reason === 'subjectGone');
      const intents = await events(world, 'intentEnded');
      return [...intents, ...closed].map(({ atMs }) => atMs - filledMs);
    };

    test('beside another position, is done at once, without a wait or an alarm', async () => {
      const beside: PositionSpec = { market: 'ETH_PERP', side: 'long', amount: '0.010' };
      const world = await run({ rules: CLOSING, positions: [LONG, beside], durationMs: BREACH_MS + 20_000 });
      expect(soldAfter(world, BREACH_MS)).toBeCloseTo(0.5, 9);
      const ends = await endsOf(world);
      expect(ends.map((ms) => ms < 2_000)).toEqual([true, true]);
      expect(await events(world, 'positionAbsent')).toEqual([]);
    });

    test('alone, with a restart within the three minutes, is resolved, not missing', async () => {
      const events_: TimedEvent[] = [
        { atMs: BREACH_MS + 60_000, kind: 'kill', daemon: 'north' },
        { atMs: BREACH_MS + 66_000, kind: 'start', daemon: 'north' },
      ];
      const prices = [breachAt(BREACH_MS)];
      const world = await run({ rules: CLOSING, prices, events: events_, durationMs: BREACH_MS + 230_000 });
      const notices = world.daemons.flatMap((daemon) => daemon.notices);
      expect(notices.filter(({ kind, ending }) => kind === 'resolved' && ending === 'gone')).toEqual([]);
      expect(notices.filter(({ kind }) => kind === 'resolved').map(({ words }) => words)).toEqual([
        expect.stringMatching(/^sold 0\.5 BTC_PERP .*; nothing is left$/),
      ]);
    });

    test('alone: an empty list proves nothing, and nobody is alarmed until three minutes confirm it', async () => {
      const world = await run({ rules: CLOSING, durationMs: BREACH_MS + 220_000 });
      expect(soldAfter(world, BREACH_MS)).toBeCloseTo(0.5, 9);
      const ends = await endsOf(world);
      expect(ends).toHaveLength(2);
      expect(Math.min(...ends)).toBeGreaterThan(180_000 - 1_000);
      expect(Math.max(...ends)).toBeLessThan(190_000);
      const told = await events(world, 'positionAbsent');
      expect(told.map(({ reason, alarm }) => [reason, alarm])).toEqual([
        ['probablyClosedByOurs', false],
        ['confirmed', false],
      ]);
    });
  });
});
