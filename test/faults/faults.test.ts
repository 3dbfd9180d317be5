import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { decimal, formatDecimal } from '../../src/core/quantities/decimal.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { sliceOf } from '../support/slice.ts';
import { type AuditTrail, openIntentsOf } from './audit-trail.ts';
import { faultWorld, PEOPLE_FROM, PRESSING_FROM } from './fault-world.ts';
import { REMOVED_GUARDS } from './guards.ts';
import { judge } from './judge.ts';
import { APART, ledgerViolations } from './ledger-check.ts';
import type { FaultWorld } from './parts.ts';
import { shrink } from './shrink.ts';
import { Tally } from './tally.ts';
import { playWithout } from './without-guard.ts';

/** `WORLDS=1000 FIRST_SEED=5000 npm test -- test/faults`, or `npm run faults`, plays more. */
const WORLDS = Number(process.env['WORLDS'] ?? 4);
const FIRST_SEED = Number(process.env['FIRST_SEED'] ?? PRESSING_FROM);
/** Seeds of worlds in which an invariant was once violated. */
const ALL_FOUND = [
  7, 27, 31, 54, 109, 399, 490, 1_001, 2_459, 2_560, 50_372, 50_437, 51_743, 53_745, 200_129, 200_431,
  200_874, 1_000_014, 1_000_048, 1_000_438, 1_000_585, 1_000_899, 1_002_420, 1_002_467, 1_002_611, 1_004_478,
  1_020_117, 1_021_940, 1_022_117, 1_006_407, 1_031_211, 1_033_176, 1_032_046, 1_037_203, 1_037_365,
  1_047_106, 1_104_597, 1_106_759, 1_110_830, 1_160_311, 1_201_727, 1_227_323, 1_266_801, 1_402_614,
  1_453_965, 1_472_427, 1_500_055, 1_500_182, 1_624_416, 1_700_489, 1_700_615, 1_702_007, 1_702_856,
  1_703_464, 1_718_406, 1_900_852, 1_902_304, 3_000_014, 3_000_146, 4_000_022, 4_000_044, 4_000_065,
  4_000_066, 4_000_083, 4_000_141, 4_000_249, 4_000_251, 4_000_265, 4_000_295, 4_000_327, 4_000_458,
  4_000_870, 4_001_264, 4_001_416, 4_001_546, 4_002_441, 4_003_752, 4_004_275, 4_005_150, 4_005_653,
  4_008_229, 4_010_379, 4_010_557, 4_012_225, 4_015_931, 4_017_034, 4_022_110, 4_023_369, 4_024_481,
  4_031_386, 4_032_020, 4_032_384, 4_032_533, 4_032_539, 4_036_011, 4_036_098, 4_036_697, 4_037_380,
  4_037_742, 4_100_027, 4_040_138, 4_041_085, 4_041_631, 4_041_784, 4_042_274,
];
const FOUND = sliceOf(ALL_FOUND, 14, 'worlds where something did not hold');

test(
  `in ${WORLDS} worlds of the fault matrix, and in those that once failed, every invariant holds`,
  async () => {
    const tally = new Tally();
    const seeds = Array.from({ length: WORLDS }, (_, index) => FIRST_SEED + index);
    const people = [PEOPLE_FROM + 1, PEOPLE_FROM + 11];
    for (const seed of new Set([...seeds, ...people, ...FOUND])) {
      const judged = await judge(faultWorld(seed));
      expect(judged.violations, `seed ${seed}: npm run faults -- --seed ${seed} --shrink`).toEqual([]);
      tally.add(judged);
    }
    // Worlds without any risk prove nothing.
    const { worlds, atStake } = tally.summary();
    expect(atStake).toBeGreaterThan(worlds / 3);
  },
  600_000 + 30_000 * (WORLDS + FOUND.length),
);

test('a tally names the worlds that may contain a pair that was met too rarely', () => {
  const tally = new Tally();
  const world = { pairs: [['reply lost', 'stopLimit']], readings: ['validationCode=0'] } as const;
  const met = { seed: 1, violations: [], polls: 10, orders: 1, hits: 3, events: [], ...world };
  tally.add(met);
  tally.add({ ...met, seed: 2, hits: 2 });
  expect(tally.mayFill(world, 1)).toBe(false);
  expect(tally.mayFill(world, 2)).toBe(true);
  expect(tally.mayFill({ ...world, readings: ['validationStatus=422'] }, 1)).toBe(true);
  expect(tally.isFilled(0)).toBe(true);
  expect(tally.isFilled(1)).toBe(false);
});

/** A world of that seed, judged by a changed expectation. */
function planted(seed: number, change: (world: FaultWorld) => Partial<FaultWorld>): FaultWorld {
  const world = faultWorld(seed);
  return { ...world, ...change(world) };
}

describe('a planted violation is found:', () => {
  test('orders for an account that should only be observed', async () => {
    const { violations } = await judge(planted(3, () => ({ observed: ['first'] })));
    expect(violations).toContainEqual(expect.stringMatching(/^7: stopLimit for first/));
  });

  test('orders for the account that should need nothing', async () => {
    const world = planted(3, ({ spec, calm }) => {
      const [first] = spec.exchange.accounts;
      const accounts = spec.exchange.accounts.map((account) =>
        account.id === calm && first !== undefined ? { ...first, id: calm } : account,
      );
      return { spec: { ...spec, exchange: { ...spec.exchange, accounts } } };
    });
    const { violations } = await judge(world);
    expect(violations).toContainEqual(expect.stringMatching(/^2 or 15: stopLimit for calm/));
  });

  test('an account where its rules fire, but without an intent', async () => {
    const watchesOnly = (text: string): string =>
      text.replaceAll(/^ {4}do: .*$/gm, '    do: [{ notify: {} }]').replaceAll(/^ {4}escalate: .*\n/gm, '');
    const world = planted(1_000_002, ({ spec }) => {
      const daemons = spec.daemons.map((daemon) => ({ ...daemon, config: watchesOnly(daemon.config) }));
      return { spec: { ...spec, daemons, events: [] } };
    });
    const { violations } = await judge(world);
    expect(violations).toContainEqual(
      expect.stringMatching(/^5: position \d+ of first is where its rules fire/),
    );
  });

  test('daemons that do not come back, with the shortest list of events', async () => {
    const dead = planted(3, ({ spec }) => {
      const kills = spec.daemons.map(({ name }) => ({ atMs: 20_000, kind: 'kill', daemon: name }) as const);
      return { spec: { ...spec, events: [...(spec.events ?? []), ...kills] } };
    });
    const isUnread = async (world: FaultWorld): Promise<boolean> =>
      (await judge(world)).violations.some((words) => words.startsWith('9 to 13'));
    const shortest = await shrink(dead, isUnread);
    expect(shortest.spec.faults).toEqual([]);
    expect(shortest.spec.events?.map(({ kind }) => kind)).toEqual(dead.spec.daemons.map(() => 'kill'));
  });
});

test('each guard stands once where it is taken out', () => {
  const found = REMOVED_GUARDS.flatMap(({ name, edits }) =>
    edits.map(({ file, text }) => {
      const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
      return [name, file, source.split(text).length - 1];
    }),
  );
  expect(found.filter(([, , times]) => times !== 1)).toEqual([]);
});

/** Others in each run; `npm run faults -- --guards` removes all of them in turn. */
const GUARDS = sliceOf(REMOVED_GUARDS, 15, 'guards taken out');

test.each(GUARDS.map((guard) => [guard.name, guard] as const))(
  'without the guard "%s" a world shows the violation',
  async (_name, guard) => {
    const shown = await playWithout(guard, [guard.seed]);
    expect(shown?.violation, `npm run faults -- --seed ${guard.seed} --spec has the world`).toMatch(
      new RegExp(`^${guard.shows}`),
    );
  },
);

test('an intent that has ended is not reopened by the record of its opening that was attached later', () => {
  const event = (kind: AuditEvent['kind'], atMs: number, more: Partial<AuditEvent> = {}): AuditEvent => ({
    kind,
    atMs,
    accountId: 'desk',
    key: 'reduce',
    positionId: '3',
    reason: 'by',
    words: '',
    alarm: false,
    ...more,
  });
  const targetBase = formatDecimal(decimal('0.07'));
  const opened = event('intentOpened', 100);
  const target = event('targetSet', 100, { targetBase });
  const ended = event('intentEnded', 900, { openedMs: 100 });
  const open = { accountId: 'desk', openedMs: 100, positionId: 3, target: decimal('0.07') };
  expect(openIntentsOf([opened, target])).toEqual([open]);
  expect(openIntentsOf([opened, target, ended, opened, target])).toEqual([]);
  const next = [event('intentOpened', 950), event('targetSet', 950, { targetBase })];
  expect(openIntentsOf([opened, target, ended, opened, target, ...next])).toEqual([
    { ...open, openedMs: 950 },
  ]);
});

describe('the ledger check finds', () => {
  const TRAIL: AuditTrail = {
    events: [],
    covers: new Set(),
    overshoots: new Set(),
    alone: new Set(),
    lowestTarget: () => undefined,
    sentFromMs: (_id: string, arrivedMs: number) => arrivedMs,
    open: [],
  };
  const entry = (change: Partial<LedgerEntry>): LedgerEntry => ({
    seq: 1,
    atMs: 0,
    kind: 'fill',
    accountId: 'desk',
    market: 'BTC_PERP',
    positionId: 1,
    postings: [],
    ...change,
  });
  const opened = (positionId: number, direction: string, size: string): LedgerEntry =>
    entry({ kind: 'position_seeded', positionId, details: { direction, sizeAfter: size } });

  const placed = (orderId: number, clientOrderId: string, amount: string): LedgerEntry =>
    entry({
      kind: 'order_placed',
      orderId,
      clientOrderId,
      side: 'sell',
      amount: formatDecimal(decimal(amount)),
      details: { reduceOnly: true },
    });

  test('an order that is not reduce-only', () => {
    const order = entry({
      kind: 'order_placed',
      orderId: 9,
      clientOrderId: 'bw1.r',
      side: 'sell',
      amount: formatDecimal(decimal('1')),
      details: { reduceOnly: false },
    });
    expect(ledgerViolations([opened(1, 'long', '1'), order], TRAIL, 0)).toEqual([
      expect.stringContaining('order 9 is not reduce-only'),
    ]);
  });

  test('orders that add up, once the one audited as overshoot is cancelled', () => {
    const overshoots = new Set(['bw1.first']);
    const trail = { ...TRAIL, overshoots, lowestTarget: () => decimal('0.5') };
    const first = placed(1, 'bw1.first', '0.5');
    const two = [placed(2, 'bw1.second', '0.5'), placed(3, 'bw1.third', '0.5')];
    const cancelled = entry({ kind: 'order_cancelled', orderId: 1, clientOrderId: 'bw1.first' });
    const found = (entries: readonly LedgerEntry[]) =>
      ledgerViolations([opened(1, 'long', '1'), ...entries], trail, 0, { ...APART, mayBeApart: false });
    expect(found([first, ...two])).toEqual([]);
    expect(found([first, cancelled, ...two])).toEqual([
      expect.stringContaining('1 is to be closed of 1, the target is 0.5'),
    ]);
  });

  test('a reduction below the target, except for what a cover closed after it was sent', () => {
    const trail = { ...TRAIL, covers: new Set(['bw1.cover']), lowestTarget: () => decimal('0.4') };
    const fill = (orderId: number, clientOrderId: string, amount: string, sizeAfter: string): LedgerEntry =>
      entry({
        orderId,
        clientOrderId,
        side: 'sell',
        amount: formatDecimal(decimal(amount)),
        details: { reduced: true, direction: 'long', sizeAfter },
      });
    const found = (...entries: readonly LedgerEntry[]) =>
      ledgerViolations([opened(1, 'long', '1'), ...entries], trail, 0);
    const cover = [placed(1, 'bw1.cover', '0.4'), fill(1, 'bw1.cover', '0.4', '0.6')];
    const reduction = placed(2, 'bw1.first', '0.6');
    expect(found(reduction, ...cover, fill(2, 'bw1.first', '0.6', '0'))).toEqual([]);
    expect(found(reduction, ...cover, fill(2, 'bw1.first', '0.7', '-0.1'))).toEqual([
      expect.stringContaining('was reduced to -0.1, the target is 0.4'),
    ]);
    expect(found(...cover, reduction, fill(2, 'bw1.first', '0.6', '0'))).toEqual([
      expect.stringContaining('0.6 is to be closed of 0.6, the target is 0.4'),
      expect.stringContaining('was reduced to 0, the target is 0.4'),
    ]);
    // Still on its way when the cover filled.
    const sent = { ...trail, sentFromMs: () => -1 };
    const entries = [opened(1, 'long', '1'), ...cover, reduction, fill(2, 'bw1.first', '0.6', '0')];
    expect(ledgerViolations(entries, sent, 0)).toEqual([]);
  });

  test("in a one-sided partition, either side's orders that are too much by themselves", () => {
    const found = (alone: readonly string[], isOneSided: boolean) => {
      const trail = { ...TRAIL, alone: new Set(alone), lowestTarget: () => decimal('0.5') };
      const entries = [opened(1, 'long', '1'), placed(1, 'bw1.first', '0.4'), placed(2, 'bw1.second', '0.4')];
      return ledgerViolations(entries, trail, 0, { ...APART, isOneSided: () => isOneSided });
    };
    const tooMuch = [expect.stringContaining('0.8 is to be closed of 1, the target is 0.5')];
    expect(found(['bw1.first'], true)).toEqual([]);
    expect(found(['bw1.first'], false)).toEqual(tooMuch);
    expect(found([], true)).toEqual(tooMuch);
    expect(found(['bw1.first', 'bw1.second'], true)).toEqual(tooMuch);
  });

  test('a fill that raises the net exposure of a hedged market, not one after others closed the other side', () => {
    const fill = entry({
      orderId: 9,
      clientOrderId: 'bw1.r',
      side: 'buy',
      amount: formatDecimal(decimal('0.5')),
      positionId: 2,
      details: { reduced: true, direction: 'short', sizeAfter: '0' },
    });
    const entries = [opened(1, 'long', '1'), opened(2, 'short', '0.5'), fill];
    expect(ledgerViolations(entries, TRAIL, 0)).toEqual([
      expect.stringContaining('raised the net exposure of BTC_PERP from 0.5 to 1'),
    ]);
    const hedge = [opened(1, 'long', '1'), opened(2, 'short', '1')];
    const order = placed(9, 'bw1.cover', '0.4');
    const liquidated = entry({
      kind: 'liquidation',
      positionId: 2,
      details: { direction: 'short', sizeAfter: '0' },
    });
    const half = entry({
      ...order,
      kind: 'fill',
      positionId: 1,
      details: { reduced: true, direction: 'long', sizeAfter: '0.6' },
    });
    expect(ledgerViolations([...hedge, order, liquidated, half], TRAIL, 0)).toEqual([]);
    expect(ledgerViolations([...hedge, order, half], TRAIL, 0)).toEqual([
      expect.stringContaining('raised the net exposure of BTC_PERP from 0 to 0.4'),
    ]);
  });

  test('a fill may leave the net exposure of the list that its order went by, after other orders have filled', () => {
    const hedge = [opened(1, 'long', '1'), opened(2, 'short', '0.4')];
    const fillOf = (order: LedgerEntry, sizeAfter: string): LedgerEntry =>
      entry({ ...order, kind: 'fill', details: { reduced: true, direction: 'long', sizeAfter } });
    const first = { ...placed(8, 'bw1.r', '0.6'), atMs: 500 };
    const second = { ...placed(9, 'bw1.s', '0.3'), atMs: 1_000 };
    const entries = [...hedge, first, fillOf(first, '0.4'), second, fillOf(second, '0.1')];
    const found = (listed: number) =>
      ledgerViolations(entries, TRAIL, 0, { ...APART, listedMs: () => listed });
    expect(found(400)).toEqual([]);
    expect(found(600)).toEqual([
      expect.stringContaining('raised the net exposure of BTC_PERP from 0 to 0.3'),
    ]);
  });

  test('a fill does not raise what was liquidated after the list that its order went by', () => {
    const hedge = [opened(1, 'long', '1'), opened(2, 'short', '0.6')];
    const reduced = { reduced: true, direction: 'long' };
    const liquidated = entry({
      atMs: 500,
      kind: 'liquidation',
      positionId: 1,
      amount: formatDecimal(decimal('0.4')),
      details: { ...reduced, sizeAfter: '0.6' },
    });
    const order = { ...placed(9, 'bw1.r', '0.4'), atMs: 1_000 };
    const details = { ...reduced, sizeAfter: '0.2' };
    const fill = entry({ ...order, kind: 'fill', positionId: 1, details });
    const found = (listed: number) =>
      ledgerViolations([...hedge, liquidated, order, fill], TRAIL, 0, { ...APART, listedMs: () => listed });
    expect(found(400)).toEqual([]);
    expect(found(600)).toEqual([
      expect.stringContaining('raised the net exposure of BTC_PERP from 0 to 0.4'),
    ]);
  });

  test('no raised net exposure where the owner adds to a position behind a placed reduction', () => {
    const added = entry({ orderId: 8, side: 'buy', details: { direction: 'long', sizeAfter: '3' } });
    const fill = entry({
      orderId: 9,
      clientOrderId: 'bw1.r',
      side: 'sell',
      amount: formatDecimal(decimal('0.4')),
      details: { reduced: true, direction: 'long', sizeAfter: '2.6' },
    });
    expect(
      ledgerViolations([opened(1, 'long', '1'), placed(9, 'bw1.r', '0.4'), added, fill], TRAIL, 0),
    ).toEqual([]);
  });
});
