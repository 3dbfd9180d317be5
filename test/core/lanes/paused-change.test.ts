import { expect, test } from 'vitest';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { at, Driver } from './driver.ts';
import { action, half, protect, readAt } from './fixtures.ts';

const pause = (driver: Driver, paused = true): void => {
  driver.context = { ...driver.context, gate: { ...driver.context.gate, paused } };
};

const activations = ({ state }: Driver): readonly (string | undefined)[] =>
  state.orders.filter(({ role }) => role === 'cover').map(({ request }) => request.activationPrice);

const read = (driver: Driver, position: ReadPosition): void => {
  driver.start('readPositions');
  driver.end({ kind: 'readPositions', observation: readAt(driver.nowMs, position) });
};

/** Carries out steps until there are none; accepts each order unless `refused`. */
function settle(driver: Driver, position: ReadPosition, refused = false): void {
  for (let step = 0; step < 60; step += 1) {
    const next = driver.next();
    if (next.kind === 'readPositions') read(driver, position);
    else if (next.kind === 'wait') driver.later(next.untilMs - driver.nowMs).read(position);
    else if (next.kind !== 'place') return;
    else if (refused) driver.refuse({ name: 'rateLimited', retryAfterMs: 3_000 });
    else driver.place();
  }
}

/** A reduction and these stops stand, the market moves away, all are cancelled, and a pause begins. */
function pausedInChange(before: readonly ActionRequest[], after: readonly ActionRequest[]) {
  const driver = new Driver().read(at({})).ask(...before);
  settle(driver, at({}));
  driver.ask(action(half), ...before);
  settle(driver, at({}));
  const stood = activations(driver);
  driver.later(3_100).read(at({ mark: '1020' }));
  driver.ask(action(half), ...after);
  expect(driver.cancel().why).toBe('marketMovedAway');
  pause(driver);
  return { driver, stood };
}

test("under a pause a cancelled stop is placed again although its rule's checksum has changed", () => {
  const before = action(protect, { ruleId: 'cover' });
  const { driver, stood } = pausedInChange([before], [{ ...before, ruleChecksum: 'changed' }]);
  settle(driver, at({ mark: '1020' }));
  expect(stood).toHaveLength(1);
  expect(activations(driver)).toHaveLength(1);
});

test('under a pause the stops of two rules are placed again, as far as the reduction leaves a size for them', () => {
  const ladder: ActionSpec = {
    kind: 'protect',
    at: 0.75,
    slippage: 0.01,
    ladder: [
      { at: 0.5, leave: 0.6 },
      { at: 0.7, leave: 0.3 },
    ],
  };
  const rest: ActionSpec = { kind: 'protect', at: 0.9, slippage: 0.01 };
  const stops = [action(ladder, { ruleId: 'ladder' }), action(rest, { ruleId: 'rest' })];
  const { driver, stood } = pausedInChange(stops, stops);
  settle(driver, at({ mark: '1020' }));
  expect(stood).toHaveLength(3);
  expect(activations(driver)).toEqual(stood.slice(1));
});

test('under a pause the stops below a triggered one are placed again, however long orders are refused', () => {
  const ladder: ActionSpec = {
    kind: 'protect',
    at: 0.5,
    slippage: 0.01,
    ladder: [
      { at: 0.3, leave: 0.6 },
      { at: 0.6, leave: 0.3 },
      { at: 0.8, leave: 0 },
    ],
  };
  const ask = action(ladder, { ruleId: 'ladder' });
  const driver = new Driver({ intentTtlMs: 600_000 }).read(at({})).ask(ask);
  settle(driver, at({}));
  const stood = activations(driver);
  expect(stood).toHaveLength(3);
  for (let polls = 0; polls < 3; polls += 1) driver.later(1_000).read(at({})).ask(ask);
  const fallen = at({ mark: '974' });
  for (let polls = 0; polls < 8 && driver.next().kind !== 'cancelAll'; polls += 1) {
    driver
      .later(3_000)
      .read(polls < 3 ? fallen : at({ mark: '990' }))
      .ask(ask);
    if (driver.next().kind === 'place') driver.place();
  }
  driver.cancel();
  pause(driver);
  read(driver, fallen);
  const beganMs = driver.nowMs;
  while (driver.nowMs - beganMs < driver.context.settings.lateArrivalMs + 15_000) {
    driver.later(1_000).read(fallen);
    if (driver.next().kind === 'place') driver.refuse({ name: 'rateLimited', retryAfterMs: 3_000 });
  }
  // So many refusals in a market that stands still put the brake on: one set a minute.
  driver.later(60_000).read(fallen);
  settle(driver, fallen);
  expect(activations(driver)).toEqual(expect.arrayContaining(stood.slice(1)));
});

test('a pause that is lifted before the lane runs again ends nothing', () => {
  const cover = action(protect, { ruleId: 'cover' });
  const { driver } = pausedInChange([cover], [cover]);
  read(driver, at({ mark: '1020' }));
  driver.refuse({ name: 'rateLimited', retryAfterMs: 3_000 });
  driver.next();
  pause(driver, false);
  driver.later(driver.context.settings.lateArrivalMs + 12_000).read(at({ mark: '1020' }));
  expect(driver.place().order.role).toBe('reduce');
  expect(driver.reasons('setChanged')).toEqual([]);
});

test('a change that took too long was said to have failed after one cancel, which was accepted', () => {
  const cover = action(protect, { ruleId: 'cover' });
  const { driver } = pausedInChange([cover], [cover]);
  read(driver, at({ mark: '1020' }));
  driver.refuse({ name: 'rateLimited', retryAfterMs: 3_000 });
  driver.later(driver.context.settings.lateArrivalMs + 12_000).read(at({ mark: '1020' }));
  driver.next();
  const words = driver.events.filter(({ reason }) => reason === 'givenUp').map((event) => event.words);
  expect(words).toEqual(['not completed after 17 s: the gate counts again']);
});
