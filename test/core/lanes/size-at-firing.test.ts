import { describe, expect, test } from 'vitest';
import { observeRead, observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { at, Driver } from './driver.ts';
import { action, half, readAt } from './fixtures.ts';

const deeper = action(half, { ruleId: 'deeper' });

/** A poll in which rules ask, and whose read shows a size to which the position has just fallen. */
function pollFallen(
  driver: Driver,
  requests: readonly ActionRequest[],
  size: string,
  before: string,
): Driver {
  driver.nowMs += 10;
  const { settings } = driver.context;
  const asked = requests.map((request) => ({ request, positionId: '42' }));
  driver.apply(observeRequests(driver.state, asked, true, settings, driver.nowMs));
  const sizesBefore = new Map([['42', before as DecimalString]]);
  const observation = { ...readAt(driver.nowMs, at({ size })), sizesBefore };
  driver.apply(observeRead(driver.state, observation, settings, driver.nowMs));
  return driver;
}

const targetsOf = (driver: Driver): readonly unknown[] =>
  driver.intents().map(({ targetBase }) => targetBase);

describe('a position that has just been reduced', () => {
  test('by others: a rule that fires now counts from the size before', () => {
    expect(targetsOf(pollFallen(new Driver(), [action(half)], '0.5', '1'))).toEqual(['0.5']);
  });

  test('by a first rule: a second rule counts from the size it left', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place({ status: { known: true, value: 'FILLED' } });
    driver.answerRead(at({ size: '0.5', mark: '997' }));
    expect(targetsOf(pollFallen(driver, [action(half), deeper], '0.5', '1'))).toEqual(['0.5', '0.25']);
  });

  test('two rules that fire together count from the same size', () => {
    expect(targetsOf(pollFallen(new Driver(), [action(half), deeper], '0.5', '1'))).toEqual(['0.5', '0.5']);
  });

  test('a target reached an hour ago does not explain the fall', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place({ status: { known: true, value: 'FILLED' } });
    driver
      .answerRead(at({ size: '0.5', mark: '997' }))
      .later(3_600_000)
      .read(at({ size: '2' }));
    expect(targetsOf(pollFallen(driver, [action(half), deeper], '1', '2'))).toEqual(['0.5', '1']);
  });

  test('a rule in observe mode does not explain the fall', () => {
    const observed = action(half, { mode: 'observe' });
    const driver = new Driver().read(at({})).ask(observed);
    const reached = new Driver()
      .read(at({}))
      .ask(observed)
      .read(at({ size: '0.4' }));
    expect(targetsOf(pollFallen(reached, [observed, deeper], '0.4', '1'))).toEqual(['0.5', '0.5']);
    expect(targetsOf(pollFallen(driver, [observed, deeper], '0.4', '1'))).toEqual(['0.5', '0.5']);
  });

  test('by more than the first rule reduces: the rest was others, and counts for the second', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place({ status: { known: true, value: 'FILLED' } });
    driver.answerRead(at({ size: '0.5', mark: '997' }));
    expect(targetsOf(pollFallen(driver, [action(half), deeper], '0.25', '1'))).toEqual(['0.5', '0.25']);
  });
});
