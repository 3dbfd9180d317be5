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
/** Liquidation price 3 % away. */
const LIQUIDATION = '970.0';

const isolated = (size: string, mark = MARK, changes: { openDate?: number } = {}) =>
  at({ size, mark: String(mark), liquidation: LIQUIDATION, ...changes });

/** A long in a pool with this equity at this mark. */
function pooled(size: number, equity: number, mark = MARK) {
  const liquidation = (mark - equity / size) / (1 - RATE);
  return at({ size: size.toFixed(3), mark: String(mark), liquidation: liquidation.toFixed(1) });
}

/** A driver whose rule fires and whose first order is placed. */
function reduced(settings: Partial<AccountSettings> = {}): Driver {
  const driver = new Driver(settings).read(isolated('1')).ask(action(until));
  driver.place();
  return driver;
}

const target = (driver: Driver): string | null | undefined => driver.intents()[0]?.targetBase;

describe('isolated margin: a reduction does not move the liquidation price', () => {
  test('configured as isolated: the position is closed at once, not in ever smaller steps', () => {
    const driver = reduced({ marginModel: 'isolated' });
    expect(target(driver)).toBe('0');
    expect(driver.events.find(({ kind }) => kind === 'placing')?.order?.amount).toBe('1');
  });

  test("learned from the account's list: the position is closed, from the first order on", () => {
    const own = { ...isolated('1'), margin: 'own' as const };
    const driver = new Driver().read(own).ask(action(until));
    expect(target(driver)).toBe('0');
    expect(driver.reasons('marginLearned')).toEqual(['own:list']);
    // The lane reads its own market only, which does not show the margin model.
    driver.place();
    expect(target(driver.later(1_000).read(isolated('1', 999)))).toBe('0');
  });

  test('learned from a fill: the rest is closed, and the audit says why', () => {
    const driver = reduced();
    const [first] = driver.intents();
    expect(Number(first?.targetBase)).toBeGreaterThan(0.4);
    driver.later(1_000).read(isolated(first?.targetBase ?? '', 996));
    expect(target(driver)).toBe('0');
    expect(driver.reasons('marginLearned')).toEqual(['own:reduction']);
    expect(JSON.parse(JSON.stringify(driver.state))).toEqual(driver.state);
  });

  test('closes nothing when the distance is large enough', () => {
    const driver = new Driver({ marginModel: 'isolated' })
      .read(at({ mark: '1000', liquidation: '890' }))
      .ask(action(until));
    expect(driver.intents()[0]?.end).toEqual({ how: 'reached', why: 'nothingToReduce' });
  });

  test('starts anew for a position that is opened later', () => {
    const driver = reduced();
    driver.later(1_000).read(isolated(target(driver) ?? '', 996));
    driver.later(1_000).read(isolated('1', MARK, { openDate: 2 }));
    expect(driver.state.margins).toBeUndefined();
    expect(Number(target(driver))).toBeGreaterThan(0.4);
  });

  test('counts as a pool again when a list shows one', () => {
    const driver = reduced();
    driver.later(1_000).read(isolated(target(driver) ?? '', 996));
    driver.later(1_000).read({ ...isolated('0.4', 996), margin: 'shared' });
    expect(driver.reasons('marginLearned')).toEqual(['own:reduction', 'shared:list']);
  });

  test('no reduction in a pool is taken for one with its own margin', () => {
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

/** Returns the margin model a lane learns for a position of 1 at 1000 from the read after a reduction. */
describe('a reduction shows the margin model by how far the liquidation price moved', () => {
  const ofShort = (view: ReadPosition): ReadPosition => ({ ...view, direction: 'short' as const });

  function learned(before: ReadPosition, after: ReadPosition, gapMs = 1_000, rate = RATE) {
    const driver = new Driver({ marketSettings: () => ({ ...market, maintenanceMargin: rate }) });
    driver.read(before);
    driver.later(gapMs - 10).read(after);
    return driver.state.margins?.map(({ margin }) => margin)[0] ?? 'nothing';
  }

  // In a pool it would move by 58.9: a quarter of that is 14.7, three quarters are 44.1.
  test.each([
    ['970', 'own'],
    ['955.5', 'own'],
    ['955.1', 'nothing'],
    ['984.5', 'own'],
    ['984.9', 'nothing'],
    ['926', 'nothing'],
    ['925.7', 'shared'],
  ])('half of a long is closed: liquidation price from 970 to %s', (liquidation, margin) => {
    expect(learned(isolated('1'), at({ size: '0.5', liquidation }))).toBe(margin);
  });

  // In a pool it would move up by 57.2: a quarter of that is 14.3, three quarters are 42.9.
  test.each([
    ['1044.2', 'own'],
    ['1044.4', 'nothing'],
    ['1072.8', 'nothing'],
    ['1073', 'shared'],
  ])('half of a short is closed: liquidation price from 1030 to %s', (liquidation, margin) => {
    const before = ofShort(at({ liquidation: '1030' }));
    expect(learned(before, ofShort(at({ size: '0.5', liquidation })))).toBe(margin);
  });

  test.each([
    ['0.9', 'own'],
    ['0.901', 'nothing'],
  ])('at least a tenth has to be closed: %s is left', (size, margin) => {
    expect(learned(isolated('1'), isolated(size))).toBe(margin);
  });

  test.each([
    [30_000, 'own'],
    [30_001, 'nothing'],
  ])('the two reads lie at most half a minute apart: %i ms', (gapMs, margin) => {
    expect(learned(isolated('1'), isolated('0.5'), gapMs)).toBe(margin);
  });

  // In a pool it would move by 2.1 and by 1.9; the least that counts is a five-hundredth of the mark, 2.
  test.each([
    ['984', 'own'],
    ['986', 'nothing'],
  ])('the expected move has to be large enough: from %s', (liquidation, margin) => {
    const [before, after] = [at({ liquidation }), at({ size: '0.9', liquidation })];
    expect(learned(before, after, 1_000, 0.005)).toBe(margin);
  });

  test('the position has to be the only one of its market', () => {
    const other: ReadPosition = { ...isolated('1'), positionId: '43', positionSide: 'SHORT' };
    const driver = new Driver().read(isolated('1'), other).later(1_000);
    expect(driver.read(isolated('0.5'), other).state.margins).toBeUndefined();
    expect(learned(isolated('1'), isolated('0.5', MARK, { openDate: 2 }))).toBe('nothing');
  });
});
