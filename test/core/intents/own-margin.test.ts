import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from '../lanes/driver.ts';
import { action } from '../lanes/fixtures.ts';

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
