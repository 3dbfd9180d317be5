import { describe, expect, test } from 'vitest';
import { observeRead } from '../../../src/core/lanes/lane-observe.ts';
import { judgeCancel, PROOF_MS } from '../../../src/core/orders/cancel-policy.ts';
import { standingStops } from '../../../src/core/orders/protective-stop.ts';
import { at, Driver, failure, targets } from '../lanes/driver.ts';
import { action, half, protect, readAt } from '../lanes/fixtures.ts';

/** An unwanted stop stands; the account's newest orders were accepted and refused so many milliseconds ago. */
function unwanted(acceptedAgoMs: number, refusedAgoMs: number): Driver {
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.place();
  driver.later(10 * PROOF_MS).read(at({}));
  const { nowMs } = driver;
  const orders = { acceptedMs: nowMs - acceptedAgoMs, refusedMs: nowMs - refusedAgoMs };
  driver.context = { ...driver.context, orders };
  return driver.ask();
}

const NEVER = Number.POSITIVE_INFINITY;

describe('a cancel that reaches a standing stop is sent only when orders are taken', () => {
  test.each([
    ['one was accepted a moment ago, none refused', 1_000, NEVER],
    ['one was accepted just within the time that it proves', PROOF_MS - 100, NEVER],
    ['one was refused before another was accepted', 1_000, 2_000],
  ])('%s: sent', (_, acceptedAgoMs, refusedAgoMs) => {
    expect(unwanted(acceptedAgoMs, refusedAgoMs).next().kind).toBe('cancelAll');
  });

  test.each([
    ['none was accepted lately', PROOF_MS + 100, NEVER],
    ['one was refused since', 2_000, 1_000],
    ['one was refused together with it', 1_000, 1_000],
    ['nothing is known of orders', NEVER, NEVER],
  ])('%s: not sent, the stop stays, which is recorded', (_, acceptedAgoMs, refusedAgoMs) => {
    const driver = unwanted(acceptedAgoMs, refusedAgoMs);
    expect(driver.next().kind).not.toBe('cancelAll');
    expect(driver.state.orders).toHaveLength(1);
    expect(driver.reasons('standingOrder')).toContain('resolved');
  });

  test("a refusal in this lane counts, too, even if other lanes' orders are accepted", () => {
    const driver = unwanted(NEVER, NEVER).ask(action(half));
    driver.refuse({ name: 'validationFailed' });
    const { nowMs } = driver;
    driver.context = {
      ...driver.context,
      orders: { acceptedMs: nowMs - 500, refusedMs: Number.NEGATIVE_INFINITY },
    };
    driver.ask();
    expect(driver.next().kind).not.toBe('cancelAll');
  });
});

/** A reduction that the market has moved away from, so that a cancel has to go out before the next one. */
function moved(roundTripMs: number): Driver {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  driver.state = { ...driver.state, roundTripMs };
  return driver
    .later(4_000)
    .read(at({ mark: '1040' }))
    .ordersAreTaken()
    .ask(action(half));
}

describe('a reduction does not wait for a cancel', () => {
  test.each([
    [10, 250],
    [400, 800],
    [600, 1_000],
    [1_500, 2_250],
    [3_000, 4_500],
    [9_000, 4_500],
  ])('with requests taking %i ms, an unanswered cancel holds it for %i ms', (roundTripMs, withinMs) => {
    const driver = moved(roundTripMs);
    expect(driver.start('cancelAll').answerWithinMs).toBe(withinMs);
    const error = failure({ name: 'timeout', effect: 'possible' });
    driver.end({ kind: 'cancelAll', outcome: { kind: 'unknown', error } }).read(at({ mark: '1040' }));
    // The order may stand until the cancel can no longer arrive: it counts, and nothing is placed twice.
    expect(driver.state.orders).toMatchObject([{ status: 'unsure', behindCancel: true }]);
    expect(driver.state.cancelPendingUntilMs).toBe(driver.nowMs - 10 + 5_000);
  });

  test('a refused cancel counts its refusals separately from those of orders', () => {
    const driver = moved(10);
    for (let refusals = 1; refusals <= 3; refusals += 1) {
      driver.refuseCancel();
      expect(driver.state.cancelRefusals).toBe(refusals);
      expect(driver.state.refusals).toBe(0);
      expect(driver.state.retryAtMs.reduce).toBeLessThanOrEqual(driver.nowMs);
      driver
        .later(8_000)
        .read(at({ mark: '1040' }))
        .ordersAreTaken()
        .ask(action(half));
    }
  });
});

test("after an unanswered cancel, a duplicate of the stop's id does not show that the stop still stands", () => {
  const driver = new Driver().read(at({})).ask(action(protect), action(half, { ruleId: 'other' }));
  driver.place();
  driver.place();
  driver.ordersAreTaken().ask(action(protect));
  driver.lose('cancelAll');
  expect(driver.state.orders.every(({ behindCancel }) => behindCancel === true)).toBe(true);
  driver.later(11_000).read(at({})).ask(action(protect));
  const resent = driver.refuse({ name: 'duplicateClientOrderId' });
  expect(resent.isResend).toBe(true);
  const order = driver.state.orders.find(({ role }) => role === 'cover');
  expect(order).toMatchObject({ status: 'open', ambiguous: true });
  expect(standingStops(driver.state, 'epoch').map(({ confirmed }) => confirmed)).toEqual([false]);
});

test('a target that moved by 0.4 % takes down neither the stop for everything nor the reduction that stand', () => {
  const untilDistance = { ...half, target: { kind: 'untilDistance', distance: 0.1 } } as const;
  const asked = [action(protect), action(untilDistance, { ruleId: 'cut', actionIndex: 1 })];
  const driver = new Driver().read(at({ size: '10' })).ask(...asked);
  driver.place();
  driver.place();
  expect(driver.state.orders.map(({ role }) => role).toSorted()).toEqual(['cover', 'reduce']);
  const [before = ''] = targets(driver);
  // An order beside them was refused for lack of room.
  driver.state = { ...driver.state, roomTaken: { atMs: driver.nowMs, positionId: '7' } };
  driver
    .later(500)
    .read(at({ size: '10', mark: '999.8' }))
    .ask(...asked);
  const [now = ''] = targets(driver);
  expect(Number(now)).toBeLessThan(Number(before));
  expect(Number(before) - Number(now)).toBeLessThan(0.004 * 10);
  expect(driver.next().kind).not.toBe('cancelAll');
});

test('a cancel took down the stop that was about to trigger, as a list with a broken record lacked the position', () => {
  const driver = new Driver().read(at({})).ask(action(protect));
  driver.place();
  driver
    .later(990)
    .read(at({ mark: '990' }))
    .ask(action(protect), action(half, { ruleId: 'other' }));
  const verdict = () => {
    const { context, nowMs, state } = driver.ordersAreTaken();
    return judgeCancel(state, context, nowMs);
  };
  expect(verdict()).toBe('barred');
  driver.start('place');
  driver.later(1_000);
  const { settings } = driver.context;
  for (const complete of [false, true]) {
    const lacking = { ...readAt(driver.nowMs), complete };
    driver.apply(observeRead(driver.state, lacking, settings, driver.nowMs));
    expect(driver.state.latestRead?.positions).toEqual([]);
    expect(verdict()).toBe('barred');
    driver.later(10);
  }
});
