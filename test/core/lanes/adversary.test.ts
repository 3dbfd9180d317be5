import { describe, expect, test } from 'vitest';
import { observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { recover, startEpoch } from '../../../src/core/lanes/recover-lane.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver, ends, failure, gone, targets } from './driver.ts';
import { action, all, half, protect, readPositionOf } from './fixtures.ts';

/** Sequences that once led to a wrong order or to none; each title says what must hold. */

const untilTenPercent: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'untilDistance', distance: 0.1 },
  slippageSteps: [0.005],
};

/** The usual position reversed: short, with the liquidation price above the mark. */
function turned(changed: Partial<ReadPosition> = {}): ReadPosition {
  return {
    ...at({ liquidation: '1050' }),
    direction: 'short',
    distance: 0.05,
    ...changed,
  };
}

/** Both sides open. */
const long = readPositionOf({ positionId: '1', positionSide: 'LONG', sizeBase: at({ size: '1' }).sizeBase });
const short = readPositionOf({
  positionId: '2',
  positionSide: 'SHORT',
  direction: 'short',
  sizeBase: at({ size: '0.4' }).sizeBase,
});

describe('the size at firing', () => {
  test.for(['requests first', 'read first'] as const)(
    'is not taken from an old read that an idle lane kept: %s',
    (order) => {
      const driver = new Driver().read(at({ size: '1' })).later(3_600_000);
      const asked = [{ request: action(half), positionId: '42' }];
      const ask = (): void =>
        driver.apply(observeRequests(driver.state, asked, true, driver.context.settings, driver.nowMs));
      if (order === 'requests first') ask();
      driver.read(at({ size: '10' }));
      if (order === 'read first') ask();
      expect(targets(driver)).toEqual(['5']);
      expect(driver.place().request.amount).toBe('5');
    },
  );

  test('is read again if the newest read could not be used for sizing', () => {
    const driver = new Driver().read(at({ size: '1' })).ask(action(protect, { ruleId: 'cover' }));
    driver.start('place');
    // The owner adds while our request is under way, and the poll that shows it makes the rule fire.
    driver.read(at({ size: '10' })).ask(action(protect, { ruleId: 'cover' }), action(half));
    driver.end({
      kind: 'place',
      outcome: {
        kind: 'rejected',
        error: { name: 'connectFailed', endpoint: 'stopLimit', message: '', effect: 'none' },
      },
    });
    driver.answerRead(at({ size: '10' }));
    expect(targets(driver)).toEqual(['5']);
  });
});

describe('a position that was rebuilt or reversed', () => {
  test('reversed under the same id in one-way mode: the target is computed anew, on the other side', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read(turned({ sizeBase: at({ size: '0.8' }).sizeBase }));
    expect(driver.reasons('intentEnded')).toEqual(['expired:rebuilt']);
    expect(targets(driver)).toEqual(['0.4']);
    expect(driver.cancel().why).toBe('positionGone');
    driver.answerRead(turned({ sizeBase: at({ size: '0.8' }).sizeBase }));
    expect(driver.place().request).toMatchObject({ side: 'buy', amount: '0.4' });
  });

  test('rebuilt while the gate held its intent back: it is checked before anything is placed', () => {
    const driver = new Driver({ maxRenewals: 0 }, { paused: true }).read(at({ size: '1' })).ask(action(half));
    driver.later(60_000).next();
    expect(ends(driver)).toEqual(['failed:refused:paused']);
    driver.read(at({ size: '10', openDate: 2 }));
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: false } };
    // No renewals are left: it fails rather than sell what was built since.
    expect(driver.next().kind).not.toBe('place');
    const patient = new Driver({ maxRenewals: 1 }, { paused: true })
      .read(at({ size: '1' }))
      .ask(action(half));
    patient.later(60_000).next();
    patient.later(60_000).next();
    patient.read(at({ size: '10', openDate: 2 }));
    patient.context = { ...patient.context, gate: { ...patient.context.gate, paused: false } };
    expect(patient.place().request.amount).toBe('5');
  });

  test('rebuilt while its intent had failed: it is checked before the intent is taken up again', () => {
    const driver = new Driver({ maxAttempts: 1 }).read(at({})).ask(action(half));
    driver.refuse({ name: 'insufficientBalance' });
    driver.next();
    expect(ends(driver)).toEqual(['failed:attempts']);
    driver.read(at({ size: '10', mark: '980', openDate: 2 }));
    expect(targets(driver)).toEqual(['5']);
  });

  test('gets no full close ahead of the fence for the earlier position', () => {
    const driver = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(all)).lose('place');
    // Too early to size by, but good enough for a full close.
    driver.answerRead(at({ size: '10', openDate: 2 }));
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
    const grown = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(all)).lose('place');
    grown.answerRead(at({ size: '10' }));
    expect(grown.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
    const same = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(all)).lose('place');
    same.answerRead(at({}));
    expect(same.place().ahead).toBe(true);
  });

  test('sends no order of zero ahead of the fence when nothing is left to reduce', () => {
    const likely = { ...at({}), fenceRisk: 0.9 };
    const driver = new Driver({ readLagMs: 1_000 }).read(likely).ask(action(half)).lose('place');
    driver.answerRead({ ...likely, sizeBase: at({ size: '0.5' }).sizeBase });
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
  });

  test('a stop that triggered closes its own position, not the one rebuilt under its id', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ mark: '960' }));
    expect(targets(driver)).toEqual(['0']);
    driver.read(at({ size: '5', mark: '1000', openDate: 2 }));
    expect(ends(driver)).toEqual(['expired:rebuilt']);
    driver.cancel();
    driver.answerRead(at({ size: '5', mark: '1000', openDate: 2 }));
    const stop = driver.place();
    expect(stop.order.role).toBe('cover');
    expect(stop.request).toMatchObject({ amount: '5', activationPrice: '970' });
  });

  test('its stop is not computed from the mark of the earlier position', () => {
    const driver = new Driver().read(at({ mark: '2000', liquidation: '1500' })).ask(action(protect));
    expect(driver.place().request.activationPrice).toBe('1700');
    driver.read(at({ openDate: 2 }));
    driver.cancel();
    driver.answerRead(at({ openDate: 2 }));
    // 60 % of the way from 1000 to 950, not next to the market.
    expect(driver.place().request.activationPrice).toBe('970');
  });

  test('a stop that only the liquidation price has passed is computed from the market, not placed next to it', () => {
    const driver = new Driver().read(at({ mark: '2000', liquidation: '500' })).ask(action(protect));
    expect(driver.place().request.activationPrice).toBe('1100');
    driver.read(at({ mark: '1200', liquidation: '1100' }));
    expect(driver.place().request.activationPrice).toBe('1140');
  });

  test('a stop that the market has reached is not moved away from it', () => {
    const driver = new Driver().read(at({})).ask(action(protect), action(half, { ruleId: 'other' }));
    driver.place();
    driver.place();
    driver.ask(action(protect)).cancel();
    driver.answerRead(at({ mark: '969' }));
    // Meant for 970: now as near to the falling market as an activation can be.
    expect(driver.place().request.activationPrice).toBe('967.3');
  });

  test('presumed closed after a long absence, then shown again: its intent goes on', () => {
    const driver = gone(new Driver().read(at({})).ask(action(half)));
    expect(ends(driver)).toEqual(['reached:positionGone']);
    driver.read(at({}));
    expect(ends(driver)).toEqual(['open']);
    expect(driver.reasons('intentReopened')).toEqual(['backAgain']);
    // A position rebuilt under its id is a different one: the rule has to fire for it.
    const other = gone(new Driver().read(at({})).ask(action(half))).read(at({ openDate: 2 }));
    expect(ends(other)).toEqual(['reached:positionGone']);
  });

  test('a size of zero is a closed position', () => {
    const driver = new Driver()
      .read(at({}))
      .ask(action(protect))
      .read(at({ size: '0' }));
    expect(driver.state.read?.positions).toEqual([]);
    expect(driver.next().kind).toBe('idle');
  });
});

describe('both sides open', () => {
  test('untilDistance on a side whose reduction brings liquidation nearer fails as hedged, with an alarm', () => {
    const equal = { ...short, sizeBase: long.sizeBase };
    const driver = new Driver().read(long, equal).ask(action(untilTenPercent, { subject: 'position:1' }));
    expect(ends(driver)).toEqual(['failed:hedged']);
    expect(driver.events.find((event) => event.reason === 'failed:hedged')?.alarm).toBe(true);
    driver.read(long, short);
    expect(ends(driver)).toEqual(['open']);
  });

  test('a side that failed as hedged is taken up again as soon as it may be reduced', () => {
    const driver = new Driver().read(long, short).ask(action(half, { subject: 'position:2' }));
    driver.next();
    expect(ends(driver)).toEqual(['failed:hedged']);
    driver.read({ ...long, sizeBase: at({ size: '0.1' }).sizeBase }, short);
    expect(ends(driver)).toEqual(['open']);
    expect(driver.place().request).toMatchObject({ side: 'buy', amount: '0.2' });
  });
});

function reduceTo(fraction: number): ActionSpec {
  return { kind: 'reduce', target: { kind: 'to', fraction }, slippageSteps: [0.005] };
}

describe('fills', () => {
  test('of a reduction are not taken for those of an older stop of the same amount', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({ size: '0.5' })).ask(cover);
    expect(driver.place().request).toMatchObject({ amount: '0.5', activationPrice: '970' });
    driver.read(at({ size: '1' }));
    expect(driver.place().request.amount).toBe('1');
    driver.ask(cover, action(half));
    expect(driver.place().request.amount).toBe('0.5');
    // Next to the stop, not past it.
    driver.read(at({ size: '0.5', mark: '970.5' }));
    const filled = driver.state.orders.filter((order) => order.presumedFilled);
    expect(filled.map((order) => order.role)).toEqual(['reduce']);
    expect(driver.reasons('coverTriggered')).toEqual([]);
  });

  test('of a stop that the market jumped past are ambiguous, not taken for the reduction on its way', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({ size: '0.5' })).ask(cover);
    driver.place();
    driver.read(at({ size: '1' }));
    driver.place();
    driver.ask(cover, action(half));
    expect(driver.place().request.amount).toBe('0.5');
    driver.read(at({ size: '0.5', mark: '960' }));
    expect(driver.state.orders.filter((order) => order.presumedFilled)).toEqual([]);
    expect(driver.reasons('ambiguousMove')).not.toEqual([]);
    expect(driver.next()).toMatchObject({ kind: 'cancelAll' });
  });

  test('that the exchange has confirmed do not make the stop beside them ambiguous', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.ask(action(protect), action(half, { ruleId: 'other' }));
    driver.place({ status: { known: true, value: 'FILLED' } });
    driver.answerRead(at({ size: '0.5', mark: '998' }));
    expect(driver.reasons('ambiguousMove')).toEqual([]);
    expect(driver.state.orders).toMatchObject([{ role: 'cover', ambiguous: false, baseSizeBase: '0.5' }]);
  });

  const tenth = reduceTo(0.9);
  const fifth = reduceTo(0.8);

  test('of one order do not count again for another of the same amount, if orders are never cancelled', () => {
    const driver = new Driver({ cancel: 'never', overshoot: 'never' }).read(at({})).ask(action(tenth));
    expect(driver.place().request.amount).toBe('0.1');
    driver.read(at({ mark: '990' })).ask(action(tenth), action(fifth, { ruleId: 'other' }));
    expect(driver.place().request.amount).toBe('0.1');
    driver.read(at({ size: '0.9', mark: '990' }));
    expect(driver.reasons('filled')).toHaveLength(1);
    // Now the second order is reached, too, and does not fill.
    driver.read(at({ size: '0.9', mark: '985' }));
    expect(driver.state.orders).toHaveLength(1);
    expect(driver.next().kind).toBe('idle');
    driver.read(at({ size: '0.8', mark: '985' }));
    expect(driver.state.orders).toEqual([]);
  });

  test('of a part of one order are not taken for the whole of another that no cancel reaches', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(fifth));
    expect(driver.place().request.amount).toBe('0.2');
    const third = action(reduceTo(0.7), { ruleId: 'other' });
    driver.ask(action(fifth), third);
    expect(driver.place().request.amount).toBe('0.1');
    // Both are reached: the second one has filled, or half of the first. If forgotten, it would add up with the next.
    driver.read(at({ size: '0.9', mark: '997.5' }));
    expect(driver.reasons('filled')).toEqual([]);
    expect(driver.state.orders).toMatchObject([{ ambiguous: true }, { ambiguous: true }]);
  });

  test('of an order that the market reached and left between two reads are not taken for those of another', () => {
    const driver = new Driver({ cancelCoversStops: false, overshoot: 'never' })
      .read(at({}))
      .ask(action(tenth));
    driver.place();
    driver.read(at({ mark: '975' })).ask(action(tenth), action(fifth, { ruleId: 'other' }));
    expect(driver.place().request).toMatchObject({ amount: '0.1' });
    // The mark is at the placing price of the second order, so only the first one seems able to have filled.
    driver.read(at({ size: '0.9', mark: '975' }));
    expect(driver.reasons('filled')).toEqual([]);
    expect(driver.state.orders).toHaveLength(2);
  });

  test('that add up to all orders remove them all, if orders are never cancelled', () => {
    const driver = new Driver({ cancel: 'never', cancelCoversStops: false }).read(at({})).ask(action(tenth));
    driver.place();
    driver.ask(action(tenth), action(fifth, { ruleId: 'other' }));
    driver.place();
    driver.read(at({ size: '0.9', mark: '990' }));
    expect(driver.state.orders).toHaveLength(2);
    driver.read(at({ size: '0.8', mark: '990' }));
    expect(driver.state.orders).toEqual([]);
  });

  test('that the exchange has confirmed do not count for another order, if orders are never cancelled', () => {
    const driver = new Driver({ cancel: 'never', overshoot: 'never' }).read(at({})).ask(action(tenth));
    driver.place();
    driver.ask(action(tenth), action(fifth, { ruleId: 'other' }));
    driver.place({ status: { known: true, value: 'FILLED' } });
    driver.answerRead(at({ size: '0.9', mark: '990' }));
    expect(driver.state.orders).toHaveLength(1);
    expect(driver.next().kind).toBe('idle');
  });
});

describe('an exchange that puts requests off', () => {
  test.for([
    'rateLimited',
    'rateBudgetSpent',
    'nonceRefused',
    'connectFailed',
    'clientClosed',
    // The requests never left: the lane's lease did not cover them, or they got no turn in time.
    'aborted',
    'timeout',
  ])('%s is no failed attempt, does not change the slippage and alarms once it lasts', (name) => {
    const driver = new Driver({ maxAttempts: 2 }).read(at({})).ask(action(half));
    for (let times = 0; times < 8; times++) {
      driver.refuse({ name });
      driver.later(5_000).read(at({}));
    }
    expect(driver.place().order.slippage).toBe(0.005);
    const rejected = driver.events.filter(({ kind }) => kind === 'rejected');
    expect(rejected.map(({ alarm }) => alarm)).toEqual([...Array(5).fill(false), true, false, false]);
    expect(driver.events.filter(({ alarm }) => alarm)).toHaveLength(1);
  });

  test('a cancel that is put off is no failed attempt either, and nothing waits for it', () => {
    const driver = new Driver({ maxAttempts: 2 }).read(at({})).ask(action(half));
    driver.place();
    driver.later(4_000).read(at({ mark: '1020' }));
    driver.refuseCancel({ name: 'rateLimited' });
    driver.later(1_000).read(at({ mark: '1020' }));
    driver.refuseCancel({ name: 'rateLimited' });
    expect(driver.intents()).toMatchObject([{ failures: 0 }]);
    expect(ends(driver)).toEqual(['open']);
  });

  test('a Retry-After of days is not obeyed', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    const pauses: number[] = [];
    for (let refusal = 0; refusal < 10; refusal += 1) {
      driver.refuse({ name: 'rateLimited', retryAfterMs: 86_400_000 });
      const next = driver.next();
      const untilMs = next.kind === 'wait' ? next.untilMs : 0;
      pauses.push(untilMs - driver.nowMs);
      driver.later(untilMs - driver.nowMs).read(at({}));
    }
    // Once a second; after the third refusal less often, but at least every half minute.
    expect(pauses.slice(0, 6)).toEqual([1_000, 1_000, 1_000, 2_000, 4_000, 8_000]);
    expect(Math.max(...pauses)).toBe(30_000);
  });

  test('an order turned away ahead of the fence is tried again ahead of it', () => {
    const driver = new Driver().read(at({})).ask(action(all)).lose('place');
    driver.answerRead(at({}));
    expect(driver.refuse({ name: 'rateLimited' }).ahead).toBe(true);
    driver.later(1_000);
    expect(driver.place().ahead).toBe(true);
  });

  test('during a change under a pause the stop is placed again', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({})).ask(action(half), cover);
    driver.place();
    driver.place();
    driver.ask(cover).cancel();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: true } };
    driver.answerRead(at({}));
    driver.refuse({ name: 'rateLimited' });
    driver.later(5_000).read(at({}));
    expect(driver.place().order.role).toBe('cover');
  });

  test('a reduction during such a change is retried only for seconds; then the pause holds, and the stop still comes back', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({})).ask(action(half), cover);
    driver.place();
    driver.place();
    driver.later(3_100).read(at({ mark: '1020' }));
    expect(driver.ask(action(half), cover).cancel().why).toBe('marketMovedAway');
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: true } };
    driver.answerRead(at({ mark: '1020' }));
    expect(driver.refuse({ name: 'rateLimited' }).order.role).toBe('reduce');
    driver.later(driver.context.settings.lateArrivalMs + 10_000).read(at({ mark: '1020' }));
    expect(driver.place().order.role).toBe('cover');
    expect(driver.reasons('setChanged')).toEqual(['givenUp']);
    expect(driver.next()).toMatchObject({ kind: 'idle' });
  });

  test('such a change does not outlast its time to live', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({})).ask(action(half), cover);
    driver.place();
    driver.place();
    driver.ask(cover).cancel();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: true } };
    driver.later(60_000).read(at({}));
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'gateClosed' });
    expect(driver.reasons('setChanged')).toEqual(['givenUp']);
  });
});

describe('client order ids', () => {
  test('an invalid id is not taken for a used one: no doubt, a failed attempt', () => {
    const driver = new Driver({ maxAttempts: 1 }).read(at({})).ask(action(half));
    driver.refuse({ name: 'clientOrderIdInvalid', code: 36, fields: { client_order_id: ['too long'] } });
    expect(driver.state.doubt).toBeNull();
    driver.next();
    expect(ends(driver)).toEqual(['failed:attempts']);
  });

  test('a used id says that an order was placed, not that it stands: it is cancelled and placed anew', () => {
    const patient: ActionSpec = { ...half, slippageSteps: [0.005] } as ActionSpec;
    const driver = new Driver().read(at({})).ask(action(patient));
    driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
    driver.later(5_000).answerRead(at({}));
    expect(driver.refuse({ name: 'duplicateClientOrderId', code: 36 }).isResend).toBe(true);
    expect(driver.state.orders).toMatchObject([{ status: 'open', ambiguous: true }]);
    expect(driver.read(at({})).cancel().why).toBe('ambiguousMove');
    driver.answerRead(at({}));
    expect(driver.place().isResend).toBe(false);
  });
});

describe('a cancel', () => {
  const cancelNow = action(
    { kind: 'cancelAll', types: ['margin', 'futures'], scope: 'market' },
    { ruleId: 'c' },
  );

  test('does not cover an order that arrives after it: that stays counted, if orders are never cancelled', () => {
    const driver = new Driver({ cancel: 'never' }).read(at({})).ask(action(half)).lose('place');
    driver.later(10).ordersAreTaken().ask(action(half), cancelNow).cancel();
    expect(driver.state.orders).toMatchObject([{ status: 'unsure' }]);
    driver.later(5_000).next();
    driver.read(at({}));
    expect(driver.place()).toMatchObject({ isResend: true });
    expect(driver.next().kind).toBe('idle');
    // With increasing nonces the late order would be refused.
    const ordered = new Driver({ nonceMode: 'increasing' }).read(at({})).ask(action(half)).lose('place');
    ordered.later(10).ordersAreTaken().ask(action(half), cancelNow).cancel();
    expect(ordered.state.orders).toEqual([]);
  });

  test('without an answer, with increasing nonces, is followed by one order, not by one after another', () => {
    const driver = new Driver({ nonceMode: 'increasing', lateArrivalMs: 2_000 });
    driver.read(at({})).ask(action(all)).place();
    driver.ordersAreTaken().ask(action(all), cancelNow).lose('cancelAll');
    const known = new Set(driver.state.orders.map(({ request }) => request.clientOrderId));
    const until = driver.nowMs + 2_000;
    while (driver.nowMs < until) {
      const step = driver.next();
      if (step.kind !== 'place') driver.later(100).read(at({}));
      else if (known.has(step.request.clientOrderId)) driver.refuse({ name: 'duplicateClientOrderId' });
      else known.add(driver.place().request.clientOrderId);
    }
    expect(known.size).toBe(2);
    expect(driver.state.orders.at(-1)).toMatchObject({ status: 'open' });
  });

  test('after a restart waits until none of our orders can arrive after it, and is sent once', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(half)).lose('place');
    driver.later(5_000).ordersAreTaken().cancel();
    driver.answerRead(at({ mark: '1001' })).read(at({ mark: '997' }));
    expect(driver.state.orders).toMatchObject([{ status: 'unsure', activatedMs: driver.nowMs }]);
    driver.apply(recover(driver.state, driver.context.settings, driver.nowMs));
    driver.read(at({ mark: '997' })).ask();
    expect(driver.next()).toMatchObject({ kind: 'idle' });
    driver
      .later(5_000)
      .ordersAreTaken()
      .read(at({ mark: '997' }))
      .cancel();
    expect(driver.state.orders).toEqual([]);
  });

  test('that a rule asked for and that failed is reported once, and given up', () => {
    const driver = new Driver({ maxAttempts: 1 }).ordersAreTaken().read(at({})).ask(cancelNow);
    driver.start('cancelAll');
    const error = failure({ name: 'permissionDenied' });
    driver.end({ kind: 'cancelAll', outcome: { kind: 'rejected', error } });
    for (let polls = 0; polls < 3; polls++) driver.later(6_000).read(at({})).next();
    expect(driver.reasons('intentEnded')).toEqual(['failed:attempts']);
    expect(driver.state.cancels).toMatchObject([{ state: 'failed' }]);
  });
});

describe('rules that are held back', () => {
  test('do not block another rule by their order', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, silencedRules: ['near'] } };
    driver.ask(action(half), action(all, { ruleId: 'other' }));
    expect(driver.place().request.amount).toBe('0.5');
  });

  test('do not keep an order that is only presumed filled from being cancelled before the next one', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read(at({ size: '0.5', mark: '998' }));
    driver.context = { ...driver.context, gate: { ...driver.context.gate, silencedRules: ['near'] } };
    driver.ask(action(half), action(all, { ruleId: 'other' }));
    expect(driver.cancel().why).toBe('fillUnproven');
  });
});

describe('an inconclusive evaluation', () => {
  test('withdraws no reduction, no stop and no cancel', () => {
    const cancel: ActionSpec = { kind: 'cancelAll', types: ['futures'], scope: 'market' };
    const driver = new Driver({}, { paused: true }).read(at({}));
    driver.ask(action(half), action(protect, { ruleId: 'cover' }), action(cancel, { ruleId: 'c' }));
    const { intents, covers, cancels } = driver.state;
    driver.apply(observeRequests(driver.state, [], false, driver.context.settings, driver.nowMs));
    expect(driver.state).toMatchObject({ intents, covers, cancels });
    driver.ask();
    expect(driver.state).toMatchObject({ intents: [], covers: [], cancels: [] });
  });
});

describe('the gate', () => {
  test('is asked for every intent that is taken up again, not only for the one that caused it', () => {
    const gate = { silencedRules: ['near'] };
    const driver = new Driver({ maxRenewals: 0 }, gate).read(at({})).ask(action(half));
    driver.later(60_000).next();
    const configured = driver.context.settings;
    const other = action(all, { ruleId: 'other' });
    driver.context = { ...driver.context, settings: { ...configured, marketSettings: () => undefined } };
    driver.read(at({})).ask(action(half), other);
    expect(ends(driver)).toEqual(['failed:refused:silenced', 'failed:marketNotConfigured']);
    driver.context = { settings: configured, gate: { ...driver.context.gate, silencedRules: ['other'] } };
    expect(driver.place().request.amount).toBe('0.5');
  });

  test('applies again when the cancel of a change was refused, as nothing was taken down', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.ask().refuseCancel();
    expect(driver.state.change).toBeNull();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: true } };
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'gateClosed' });
  });
});

describe('observe mode', () => {
  test('an intent or cancel that only watched fails without an alarm', () => {
    const cancel: ActionSpec = { kind: 'cancelAll', types: ['futures'], scope: 'market' };
    const driver = new Driver({ maxRenewals: 0 }).read(at({}));
    driver.ask(action(half, { mode: 'observe' }), action(cancel, { mode: 'observe', ruleId: 'c' }));
    driver.later(60_000).next();
    expect(driver.reasons('intentEnded')).toContain('failed:refused:observeMode');
    expect(driver.state.cancels.map(({ state }) => state)).toEqual(['failed']);
    expect(driver.events.filter(({ alarm }) => alarm)).toEqual([]);
  });
});

describe('stages', () => {
  test('a blocked stage does not keep the order of a stage that reached its target', () => {
    const later = action(untilTenPercent, { stage: 1, atMs: 5 });
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    // The exchange takes a part itself, and then reports a liquidation price on the wrong side.
    const taken = { ...at({ size: '0.4' }), disagreement: true };
    driver.read(taken).ask(action(half), later).read(taken);
    expect(ends(driver)).toEqual(['reached:target', 'open']);
    expect(driver.cancel().why).toBe('resolved');
  });

  test('a later stage with the same target takes over', () => {
    const driver = new Driver().read(at({})).ask(action(half), action(half, { stage: 1, atMs: 5 }));
    expect(ends(driver)).toEqual(['superseded:laterStage', 'open']);
  });
});

describe('a market that lost its entry in the config', () => {
  const unknownMarket = { marketSettings: () => undefined };

  test('cancels unwanted orders', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.context = { ...driver.context, settings: { ...driver.context.settings, ...unknownMarket } };
    driver.read(at({}));
    expect(driver.cancel().why).toBe('resolved');
    expect(driver.state.orders).toEqual([]);
  });

  test('keeps an unwanted order, and reports it, if its cancel would take down a stop that could not come back', () => {
    const driver = new Driver().read(at({})).ask(action(half), action(protect, { ruleId: 'cover' }));
    driver.place();
    driver.place();
    driver.context = { ...driver.context, settings: { ...driver.context.settings, ...unknownMarket } };
    driver.read(at({}));
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'blocked' });
    expect(driver.reasons('standingOrder')).toEqual(['resolved']);
    expect(driver.state.orders).toHaveLength(2);
  });
});

describe('follow-up', () => {
  test('an order that waited long is not replaced at the moment when the market reaches it', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.later(30_000).read(at({ mark: '999.5' }));
    expect(driver.next().kind).toBe('idle');
    // At the activation of 998.9, within the gap between mark and last price.
    driver.later(1_000).read(at({ mark: '998.8' }));
    expect(driver.next().kind).toBe('idle');
    driver.later(30_000).read(at({ mark: '998.8' }));
    expect(driver.next().kind).toBe('idle');
  });
});

describe('stops', () => {
  test('in a market without an entry are reported once with an alarm, and placed when it has one', () => {
    const driver = new Driver({ marketSettings: () => undefined }).read(at({})).ask(action(protect));
    driver.next();
    driver.next();
    const said = driver.events.filter((event) => event.kind === 'blocked');
    expect(said).toMatchObject([{ reason: 'marketNotConfigured', alarm: true }]);
    driver.context = new Driver().context;
    expect(driver.read(at({})).place().order.role).toBe('cover');
  });

  test('that could add up with those of an earlier store epoch are blocked with an alarm, and fail no intent', () => {
    const driver = new Driver({ cancelCoversStops: false, overshoot: 'never' });
    driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
    const cover = action(protect, { subject: 'position:1', ruleId: 'cover' });
    driver.read(long, short).ask(cover).later(5_000).ordersAreTaken().cancel();
    driver.answerRead(long, short);
    expect(driver.next().kind).toBe('idle');
    driver.next();
    expect(driver.reasons('blocked')).toEqual(['priorOrders']);
  });

  test('whose closing failed do not raise the alarm again with every read', () => {
    const driver = new Driver({ maxAttempts: 1, cancel: 'never' }).read(at({})).ask(action(protect));
    driver.place();
    for (let reads = 0; reads < 5; reads++)
      driver
        .later(60_000 * 4)
        .read(at({ mark: '960' }))
        .next();
    expect(driver.reasons('coverTriggered')).toEqual(['triggered']);
  });
});

describe('an intent is taken up again when the reason of its failure is gone', () => {
  test('when the market has an entry again', () => {
    const driver = new Driver({ marketSettings: () => undefined }).read(at({})).ask(action(half));
    expect(ends(driver)).toEqual(['failed:marketNotConfigured']);
    driver.context = new Driver().context;
    expect(ends(driver.read(at({})))).toEqual(['open']);
  });

  test('when the liquidation price becomes known, but not for a mark that was known all along', () => {
    const blind = readPositionOf({
      distance: null,
      liquidationPrice: null,
    });
    const driver = new Driver({ maxRenewals: 0 }).read(blind).ask(action(untilTenPercent));
    driver.later(60_000).next();
    expect(ends(driver)).toEqual(['failed:blocked:liquidationPriceUnknown']);
    expect(ends(driver.read(blind))).toEqual(['failed:blocked:liquidationPriceUnknown']);
    expect(ends(driver.read(at({})))).toEqual(['open']);
  });
});

describe('reads that lag', () => {
  test('do not turn a rebuilt position back into the earlier one', () => {
    const driver = new Driver({ readLagMs: 500 }).read(at({ size: '0.02' })).ask(action(half));
    driver.later(600).read(at({ size: '0.008', openDate: 2 }));
    expect(targets(driver)).toEqual(['0.004']);
    // Older content, sent later: smaller, so that the size alone does not show its age.
    driver.read(at({ size: '0.007', openDate: 1 }));
    expect(driver.reasons('readIgnored')).toEqual(['stalePosition']);
    driver.later(600).read(at({ size: '0.008', openDate: 2 }));
    expect(driver.reasons('intentEnded')).toEqual(['expired:rebuilt']);
    expect(targets(driver)).toEqual(['0.004']);
  });

  test('delay no read with a newer date: that position was certainly built since', () => {
    const driver = new Driver({ readLagMs: 500 }).read(at({})).ask(action(half));
    driver.read(at({ size: '0.8', openDate: 2 }));
    expect(driver.reasons('readIgnored')).toEqual([]);
    expect(targets(driver)).toEqual(['0.4']);
  });

  test('do not turn a reversed position back if no date tells; after the lag they are believed', () => {
    const dateless = (position: ReadPosition): ReadPosition => ({ ...position, openDate: null });
    const driver = new Driver({ readLagMs: 500 }).read(dateless(at({}))).ask(action(half));
    driver.later(600).read(dateless(turned()));
    driver.read(dateless(at({ size: '0.9' })));
    expect(driver.reasons('readIgnored')).toEqual(['stalePosition']);
    driver.later(600).read(dateless(at({ size: '0.9' })));
    expect(driver.reasons('intentEnded')).toEqual(['expired:rebuilt', 'expired:rebuilt']);
  });
});
