import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from '../lanes/driver.ts';
import { action, market } from '../lanes/fixtures.ts';

const until: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'untilDistance', distance: 0.1 },
  slippageSteps: [0.01],
};
const RATE = 0.03;
const MARK = 1_000;
/** 3 % away from it. */
const LIQUIDATION = '970.0';

const isolated = (size: string, mark = MARK, changes: { openDate?: number } = {}) =>
  at({ size, mark: String(mark), liquidation: LIQUIDATION, ...changes });

/** A long of a pool with this equity at this mark. */
function pooled(size: number, equity: number, mark = MARK) {
  const liquidation = (mark - equity / size) / (1 - RATE);
  return at({ size: size.toFixed(3), mark: String(mark), liquidation: liquidation.toFixed(1) });
}

/** Its rule fires, and an order goes out. */
function reduced(settings: Partial<AccountSettings> = {}): Driver {
  const driver = new Driver(settings).read(isolated('1')).ask(action(until));
  driver.place();
  return driver;
}

const target = (driver: Driver): string | null | undefined => driver.intents()[0]?.targetBase;

describe('isolated margin: a reduction that leaves the liquidation price where it is', () => {
  test('said by the config: the position is closed, not made to dwindle', () => {
    const driver = reduced({ marginModel: 'isolated' });
    expect(target(driver)).toBe('0');
    expect(driver.events.find(({ kind }) => kind === 'placing')?.order?.amount).toBe('1');
  });

  test('shown by the list of the account: the same, from the first order on', () => {
    const own = { ...isolated('1'), margin: 'own' as const };
    const driver = new Driver().read(own).ask(action(until));
    expect(target(driver)).toBe('0');
    expect(driver.reasons('marginLearned')).toEqual(['own:list']);
    // The lane reads its own market, which does not tell.
    driver.place();
    expect(target(driver.later(1_000).read(isolated('1', 999)))).toBe('0');
  });

  test('shown by a fill: the rest is closed, and the audit says why', () => {
    const driver = reduced();
    const [first] = driver.intents();
    expect(Number(first?.targetBase)).toBeGreaterThan(0.4);
    driver.later(1_000).read(isolated(first?.targetBase ?? '', 996));
    expect(target(driver)).toBe('0');
    expect(driver.reasons('marginLearned')).toEqual(['own:reduction']);
    expect(JSON.parse(JSON.stringify(driver.state))).toEqual(driver.state);
  });

  test('far enough away, nothing is closed', () => {
    const driver = new Driver({ marginModel: 'isolated' })
      .read(at({ mark: '1000', liquidation: '890' }))
      .ask(action(until));
    expect(driver.intents()[0]?.end).toEqual({ how: 'reached', why: 'nothingToReduce' });
  });

  test('a position that is opened later is a new one', () => {
    const driver = reduced();
    driver.later(1_000).read(isolated(target(driver) ?? '', 996));
    driver.later(1_000).read(isolated('1', MARK, { openDate: 2 }));
    expect(driver.state.margins).toBeUndefined();
    expect(Number(target(driver))).toBeGreaterThan(0.4);
  });

  test('a pool is taken for one again when a list shows it', () => {
    const driver = reduced();
    driver.later(1_000).read(isolated(target(driver) ?? '', 996));
    driver.later(1_000).read({ ...isolated('0.4', 996), margin: 'shared' });
    expect(driver.reasons('marginLearned')).toEqual(['own:reduction', 'shared:list']);
  });

  test('in a pool a reduction is never taken for one with a margin of its own', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 0.95, noNaN: true }),
        fc.integer({ min: -25, max: 25 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0.005, max: 0.1, noNaN: true }),
        (left, move, before, distance) => {
          const equity = distance * MARK + RATE * MARK * (1 - distance);
          const mark = MARK + move;
          const size = Number(left.toFixed(3));
          // Part of the move before the trade, the rest after it, and a fee.
          const gain = before * move + (1 - before) * move * size - (1 - size) * mark * 0.001;
          const driver = new Driver().read(pooled(1, equity)).later(1_000);
          driver.read(pooled(size, equity + gain, mark));
          expect(driver.state.margins?.map(({ margin }) => margin) ?? []).not.toContain('own');
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** What a lane learns of a position of 1 at 1000 from a read behind a reduction. */
describe('a reduction tells by how much the liquidation price moved', () => {
  const ofShort = (view: ReadPosition): ReadPosition => ({ ...view, direction: 'short' as const });

  function learned(before: ReadPosition, after: ReadPosition, gapMs = 1_000, rate = RATE) {
    const driver = new Driver({ marketSettings: () => ({ ...market, maintenanceMargin: rate }) });
    driver.read(before);
    driver.later(gapMs - 10).read(after);
    return driver.state.margins?.map(({ margin }) => margin)[0] ?? 'nothing';
  }

  // A pool would have moved it by 58.9: a quarter of that is 14.7, three quarters are 44.1.
  test.each([
    ['970', 'own'],
    ['955.5', 'own'],
    ['955.1', 'nothing'],
    ['984.5', 'own'],
    ['984.9', 'nothing'],
    ['926', 'nothing'],
    ['925.7', 'shared'],
  ])('half of a long of 970 is closed, and it is at %s', (liquidation, margin) => {
    expect(learned(isolated('1'), at({ size: '0.5', liquidation }))).toBe(margin);
  });

  // By 57.2 on the way up: 14.3, and 42.9.
  test.each([
    ['1044.2', 'own'],
    ['1044.4', 'nothing'],
    ['1072.8', 'nothing'],
    ['1073', 'shared'],
  ])('half of a short of 1030 is closed, and it is at %s', (liquidation, margin) => {
    const before = ofShort(at({ liquidation: '1030' }));
    expect(learned(before, ofShort(at({ size: '0.5', liquidation })))).toBe(margin);
  });

  test.each([
    ['0.9', 'own'],
    ['0.901', 'nothing'],
  ])('a tenth has to be closed: %s is left', (size, margin) => {
    expect(learned(isolated('1'), isolated(size))).toBe(margin);
  });

  test.each([
    [30_000, 'own'],
    [30_001, 'nothing'],
  ])('within half a minute: the reads are %i ms apart', (gapMs, margin) => {
    expect(learned(isolated('1'), isolated('0.5'), gapMs)).toBe(margin);
  });

  // It would have moved by 2.1 and by 1.9 in a pool: a five-hundredth of the mark is 2.
  test.each([
    ['984', 'own'],
    ['986', 'nothing'],
  ])('by enough to tell: from %s', (liquidation, margin) => {
    const [before, after] = [at({ liquidation }), at({ size: '0.9', liquidation })];
    expect(learned(before, after, 1_000, 0.005)).toBe(margin);
  });

  test('of the only position of its market', () => {
    const other: ReadPosition = { ...isolated('1'), positionId: '43', positionSide: 'SHORT' };
    const driver = new Driver().read(isolated('1'), other).later(1_000);
    expect(driver.read(isolated('0.5'), other).state.margins).toBeUndefined();
    expect(learned(isolated('1'), isolated('0.5', MARK, { openDate: 2 }))).toBe('nothing');
  });
});
