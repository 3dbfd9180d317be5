import { describe, expect, test } from 'vitest';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver } from './driver.ts';
import { action, all, half, protect } from './fixtures.ts';

const NO_ROOM = { name: 'reduceOnlyRefused', code: 116 } as const;

describe('in a race to liquidation no cancel goes', () => {
  /** A stop that nobody knows to stand takes the room of a reduction; the mark falls by this much a second. */
  const nextWithStopInDoubt = (fall: number): string => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.lose('place');
    driver.later(8_000).read(at({ mark: '990' }));
    driver
      .later(990)
      .read(at({ mark: String(990 - fall) }))
      .ordersAreTaken()
      .ask(action(all));
    const { kind } = driver.next();
    if (kind !== 'place') return kind;
    driver.refuse(NO_ROOM);
    return driver.next().kind;
  };

  test('while a stop whose reply was lost may stand: it was taken down just before it triggered', () => {
    expect(nextWithStopInDoubt(0)).toBe('cancelAll');
    expect(nextWithStopInDoubt(8)).not.toBe('cancelAll');
  });

  /** A first full close is in doubt, and a second one has just been accepted. */
  const nextAfterSecond = (fall: number): string => {
    const driver = new Driver().read(at({})).ask(action(all));
    driver.lose('place');
    driver.later(990).read(at({ mark: '990' }));
    expect(Number(driver.place().request.activationPrice)).toBeLessThan(990);
    driver.later(7_000).read(at({ mark: '995' }));
    driver.later(990).read(at({ mark: String(995 - fall) }));
    return driver.next().kind;
  };

  test('after an order for everything was accepted: it was taken down for one in doubt before it', () => {
    expect(nextAfterSecond(0)).toBe('cancelAll');
    expect(nextAfterSecond(5)).not.toBe('cancelAll');
  });
});

test('beside the order of a rule whose condition has cleared, another was placed and cancelled in the next step', () => {
  const driver = new Driver().read(at({})).ask(action(all, { ruleId: 'first' }));
  driver.place();
  driver.later(5_000).read(at({ mark: '990' }));
  driver.later(5_000).read(at({ mark: '985' }));
  driver.ask(action(all, { ruleId: 'first', hasCleared: true }), action(half));
  for (let steps = 0; steps < 3; steps++) {
    const { kind } = driver.next();
    expect(kind).not.toBe('cancelAll');
    if (kind !== 'place') break;
    driver.place();
  }
});

const untilFar: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'untilDistance', distance: 0.2 },
  slippageSteps: [0.02],
};

describe('a rule whose condition has cleared', () => {
  test('kept another from acting although nothing of it stood: idle until liquidation', () => {
    const driver = new Driver();
    for (let mark = 1_000; mark >= 980; mark -= 5) {
      driver.later(1_000).read(at({ mark: String(mark) }));
      driver.ask(action(untilFar, { ruleId: 'first', hasCleared: true }), action(half));
      const step = driver.next();
      if (step.kind === 'place') {
        expect(driver.place().request).toMatchObject({ amount: '0.5' });
        return;
      }
    }
    expect.fail('nothing was sent');
  });

  test('does not take down what another rule has placed beside its spent order, nor what it has placed itself', () => {
    const driver = new Driver().read(at({})).ask(action(all, { ruleId: 'first' }));
    driver.place();
    // Passed long ago, and not filled.
    for (const mark of ['990', '980', '980']) driver.later(70_000).read(at({ mark }));
    driver.ask(action(all, { ruleId: 'first', hasCleared: true }), action(half));
    for (let steps = 0; steps < 4; steps++) {
      const { kind } = driver.next();
      expect(kind).not.toBe('cancelAll');
      if (kind !== 'place') break;
      driver.place();
    }
  });
});
