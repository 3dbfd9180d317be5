import { describe, expect, test } from 'vitest';
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
