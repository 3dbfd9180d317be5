import { describe, expect, test } from 'vitest';
import { observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { recover, startEpoch } from '../../../src/core/lanes/recover-lane.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { at, Driver, ends, failure, gone, targets } from './driver.ts';
import { action, all, half, protect, readPositionOf } from './fixtures.ts';

/** Sequences that once led to a wrong order, or to none: each is named after what went wrong. */

const untilTenPercent: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'untilDistance', distance: 0.1 },
  slippageSteps: [0.005],
};

/** The usual position turned around: short, with the liquidation price above the mark. */
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
    'is not taken from a read that a quiet lane kept from long ago: %s',
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

  test('is read anew when the newest read could not be used for sizing', () => {
    const driver = new Driver().read(at({ size: '1' })).ask(action(protect, { ruleId: 'cover' }));
    driver.start('place');
    // The owner adds while our request is under way; the poll that shows it makes the rule fire.
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

describe('a position that changed hands', () => {
  test('turned around under its id in one-way mode: the target is computed anew, on the other side', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read(turned({ sizeBase: at({ size: '0.8' }).sizeBase }));
    expect(driver.reasons('intentEnded')).toEqual(['expired:rebuilt']);
    expect(targets(driver)).toEqual(['0.4']);
    expect(driver.cancel().why).toBe('positionGone');
    driver.answerRead(turned({ sizeBase: at({ size: '0.8' }).sizeBase }));
    expect(driver.place().request).toMatchObject({ side: 'buy', amount: '0.4' });
  });

  test('while its intent was held back at the gate: looked at before anything is placed', () => {
    const driver = new Driver({ maxRenewals: 0 }, { paused: true }).read(at({ size: '1' })).ask(action(half));
    driver.later(60_000).next();
    expect(ends(driver)).toEqual(['failed:refused:paused']);
    driver.read(at({ size: '10', openDate: 2 }));
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: false } };
    // No renewals are left: it fails rather than selling what was built since.
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

  test('while its intent had failed: looked at before it is taken up again', () => {
    const driver = new Driver({ maxAttempts: 1 }).read(at({})).ask(action(half));
    driver.refuse({ name: 'insufficientBalance' });
    driver.next();
    expect(ends(driver)).toEqual(['failed:attempts']);
    driver.read(at({ size: '10', mark: '980', openDate: 2 }));
    expect(targets(driver)).toEqual(['5']);
  });

  test('is not closed ahead of the fence for what the earlier one was', () => {
    const driver = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(all)).lose('place');
    // Too early to size by, and good enough for a full close.
    driver.answerRead(at({ size: '10', openDate: 2 }));
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
    const grown = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(all)).lose('place');
    grown.answerRead(at({ size: '10' }));
    expect(grown.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
    const same = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(all)).lose('place');
    same.answerRead(at({}));
    expect(same.place().ahead).toBe(true);
  });

  test('has nothing left to send ahead of the fence: no order of zero', () => {
    const likely = { ...at({}), fenceRisk: 0.9 };
    const driver = new Driver({ readLagMs: 1_000 }).read(likely).ask(action(half)).lose('place');
    driver.answerRead({ ...likely, sizeBase: at({ size: '0.5' }).sizeBase });
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
  });

  test('a stop that triggered closes its own position, not what was built under its id since', () => {
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

  test('its stop is not reckoned from the mark of the earlier one', () => {
    const driver = new Driver().read(at({ mark: '2000', liquidation: '1500' })).ask(action(protect));
    expect(driver.place().request.activationPrice).toBe('1700');
    driver.read(at({ openDate: 2 }));
    driver.cancel();
    driver.answerRead(at({ openDate: 2 }));
    // 60 % of the way from 1000 to 950, not beside the market.
    expect(driver.place().request.activationPrice).toBe('970');
  });

  test('a stop that only the liquidation price has overtaken is reckoned from the market, not put beside it', () => {
    const driver = new Driver().read(at({ mark: '2000', liquidation: '500' })).ask(action(protect));
    expect(driver.place().request.activationPrice).toBe('1100');
    driver.read(at({ mark: '1200', liquidation: '1100' }));
    expect(driver.place().request.activationPrice).toBe('1140');
  });

  test('a stop that the market has come to is not moved out of its way', () => {
    const driver = new Driver().read(at({})).ask(action(protect), action(half, { ruleId: 'other' }));
    driver.place();
    driver.place();
    driver.ask(action(protect)).cancel();
    driver.answerRead(at({ mark: '969' }));
    // Meant for 970: as near to the market as an activation can be.
    expect(driver.place().request.activationPrice).toBe('967.9');
  });

  test('gone for so long that it was taken to be closed, and there again: its intent goes on', () => {
    const driver = gone(new Driver().read(at({})).ask(action(half)));
    expect(ends(driver)).toEqual(['reached:positionGone']);
    driver.read(at({}));
    expect(ends(driver)).toEqual(['open']);
    expect(driver.reasons('intentReopened')).toEqual(['backAgain']);
    // What was built anew under its id is another one: the rule has to fire for it.
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
  test('until a distance, on a side whose reduction would bring liquidation nearer: hedged, with an alarm', () => {
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
  test('of a reduction beside an older stop of the same amount are not taken for the stop', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({ size: '0.5' })).ask(cover);
    expect(driver.place().request).toMatchObject({ amount: '0.5', activationPrice: '970' });
    driver.read(at({ size: '1' }));
    expect(driver.place().request.amount).toBe('1');
    driver.ask(cover, action(half));
    expect(driver.place().request.amount).toBe('0.5');
    // Beside the stop, not past it.
    driver.read(at({ size: '0.5', mark: '970.5' }));
    const filled = driver.state.orders.filter((order) => order.presumedFilled);
    expect(filled.map((order) => order.role)).toEqual(['reduce']);
    expect(driver.reasons('coverTriggered')).toEqual([]);
  });

  test('of a stop that the market jumped past were taken for the reduction that was on its way, and then stood unseen', () => {
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

  test('that the exchange has confirmed are not held against the stop beside them', () => {
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

  test('of one order do not count a second time for another of the same amount, where none is cancelled', () => {
    const driver = new Driver({ cancel: 'never', overshoot: 'never' }).read(at({})).ask(action(tenth));
    expect(driver.place().request.amount).toBe('0.1');
    driver.read(at({ mark: '990' })).ask(action(tenth), action(fifth, { ruleId: 'other' }));
    expect(driver.place().request.amount).toBe('0.1');
    driver.read(at({ size: '0.9', mark: '990' }));
    expect(driver.reasons('filled')).toHaveLength(1);
    // Now the second one is reached as well, and does not fill.
    driver.read(at({ size: '0.9', mark: '985' }));
    expect(driver.state.orders).toHaveLength(1);
    expect(driver.next().kind).toBe('idle');
    driver.read(at({ size: '0.8', mark: '985' }));
    expect(driver.state.orders).toEqual([]);
  });

  test('in part of one order are not taken for the whole of another that no cancel reaches', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(fifth));
    expect(driver.place().request.amount).toBe('0.2');
    const third = action(reduceTo(0.7), { ruleId: 'other' });
    driver.ask(action(fifth), third);
    expect(driver.place().request.amount).toBe('0.1');
    // Both are reached: the second one has filled, or half of the first. Forgotten, it would add up with the next.
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
    // The mark is where the second one was placed: it seems that only the first one can have filled.
    driver.read(at({ size: '0.9', mark: '975' }));
    expect(driver.reasons('filled')).toEqual([]);
    expect(driver.state.orders).toHaveLength(2);
  });

  test('that add up to all orders take them all out, where none is cancelled', () => {
    const driver = new Driver({ cancel: 'never', cancelCoversStops: false }).read(at({})).ask(action(tenth));
    driver.place();
    driver.ask(action(tenth), action(fifth, { ruleId: 'other' }));
    driver.place();
    driver.read(at({ size: '0.9', mark: '990' }));
    expect(driver.state.orders).toHaveLength(2);
    driver.read(at({ size: '0.8', mark: '990' }));
    expect(driver.state.orders).toEqual([]);
  });

  test('that the exchange has confirmed do not count for another order either, where none is cancelled', () => {
    const driver = new Driver({ cancel: 'never', overshoot: 'never' }).read(at({})).ask(action(tenth));
    driver.place();
    driver.ask(action(tenth), action(fifth, { ruleId: 'other' }));
    driver.place({ status: { known: true, value: 'FILLED' } });
    driver.answerRead(at({ size: '0.9', mark: '990' }));
    expect(driver.state.orders).toHaveLength(1);
    expect(driver.next().kind).toBe('idle');
  });
});

describe('an exchange that does not judge', () => {
  test.for([
    'rateLimited',
    'rateBudgetSpent',
    'nonceRefused',
    'connectFailed',
    'clientClosed',
    // They never left: the lane's lease did not cover the request, or it got no turn in time.
    'aborted',
    'timeout',
  ])('%s is no failed attempt, takes no other slippage and gives nobody the alarm', (name) => {
    const driver = new Driver({ maxAttempts: 2 }).read(at({})).ask(action(half));
    for (let times = 0; times < 8; times++) {
      driver.refuse({ name });
      driver.later(5_000).read(at({}));
    }
    expect(driver.place().order.slippage).toBe(0.005);
    expect(driver.events.some((event) => event.alarm)).toBe(false);
  });

  test('nor is a cancel that is put off: nothing waits for it', () => {
    const driver = new Driver({ maxAttempts: 2 }).read(at({})).ask(action(half));
    driver.place();
    driver.later(4_000).read(at({ mark: '990' }));
    driver.refuseCancel({ name: 'rateLimited' });
    expect(driver.place().order.slippage).toBe(0.02);
    driver.later(1_000).read(at({ mark: '990' }));
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
    // Once a second, more seldom after the third refusal, and never longer than half a minute.
    expect(pauses.slice(0, 6)).toEqual([1_000, 1_000, 1_000, 2_000, 4_000, 8_000]);
    expect(Math.max(...pauses)).toBe(30_000);
  });

  test('what was turned away ahead of the fence is tried again ahead of it', () => {
    const driver = new Driver().read(at({})).ask(action(all)).lose('place');
    driver.answerRead(at({}));
    expect(driver.refuse({ name: 'rateLimited' }).ahead).toBe(true);
    driver.later(1_000);
    expect(driver.place().ahead).toBe(true);
  });

  test('during a change under a pause the stop still comes back', () => {
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

  test('but a reduction only for seconds, after which the pause holds, and the stop still comes back', () => {
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

  test('but a change does not outlast a time to live', () => {
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

describe('ids', () => {
  test('one that is wrong in itself does not pass for one that was used: no doubt, a failed attempt', () => {
    const driver = new Driver({ maxAttempts: 1 }).read(at({})).ask(action(half));
    driver.refuse({ name: 'clientOrderIdInvalid', code: 36, fields: { client_order_id: ['too long'] } });
    expect(driver.state.doubt).toBeNull();
    driver.next();
    expect(ends(driver)).toEqual(['failed:attempts']);
  });

  test('one that was used already counts as there, until the market shows otherwise', () => {
    const patient: ActionSpec = { ...half, slippageSteps: [0.005] } as ActionSpec;
    const driver = new Driver().read(at({})).ask(action(patient));
    driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
    driver.later(5_000).answerRead(at({}));
    expect(driver.refuse({ name: 'duplicateClientOrderId', code: 36 }).isResend).toBe(true);
    expect(driver.state.orders).toMatchObject([{ status: 'open' }]);
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
    driver
      .later(4_000)
      .read(at({ mark: '990' }))
      .cancel();
    driver.answerRead(at({ mark: '990' }));
    expect(driver.place().isResend).toBe(false);
  });
});

describe('a cancel', () => {
  const cancelNow = action(
    { kind: 'cancelAll', types: ['margin', 'futures'], scope: 'market' },
    { ruleId: 'c' },
  );

  test('does not reach an order that arrives after it: where nothing else is cancelled, it stays counted', () => {
    const driver = new Driver({ cancel: 'never' }).read(at({})).ask(action(half)).lose('place');
    driver.later(10).ordersAreTaken().ask(action(half), cancelNow).cancel();
    expect(driver.state.orders).toMatchObject([{ status: 'unsure' }]);
    driver.later(5_000).next();
    driver.read(at({}));
    expect(driver.place()).toMatchObject({ isResend: true });
    expect(driver.next().kind).toBe('idle');
    // With increasing nonces it would be refused.
    const ordered = new Driver({ nonceMode: 'increasing' }).read(at({})).ask(action(half)).lose('place');
    ordered.later(10).ordersAreTaken().ask(action(half), cancelNow).cancel();
    expect(ordered.state.orders).toEqual([]);
  });

  test('that was not answered: with increasing nonces one order follows it, not one after the other', () => {
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

  test('waits, after a restart, until nothing of ours can arrive after it, and is not sent again and again', () => {
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

  test('that a rule asked for and that failed is said once, and given up', () => {
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
  test('do not keep their order in the way of another rule', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, silencedRules: ['near'] } };
    driver.ask(action(half), action(all, { ruleId: 'other' }));
    expect(driver.place().request.amount).toBe('1');
  });

  test('do not keep an order, only presumed to have filled, from being cancelled before the next one', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read(at({ size: '0.5', mark: '998' }));
    driver.context = { ...driver.context, gate: { ...driver.context.gate, silencedRules: ['near'] } };
    driver.ask(action(half), action(all, { ruleId: 'other' }));
    expect(driver.cancel().why).toBe('fillUnproven');
  });
});

describe('an evaluation that decides nothing', () => {
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
  test('is asked for every intent that is taken up again because another one is', () => {
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

  test('counts again when the cancel of a change was refused: nothing was taken down', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.ask().refuseCancel();
    expect(driver.state.change).toBeNull();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: true } };
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'gateClosed' });
  });
});

describe('observe mode', () => {
  test('what was only watched has failed nobody: counted, without an alarm', () => {
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
  test('a blocked one does not keep the order of one that reached its target', () => {
    const later = action(untilTenPercent, { stage: 1, atMs: 5 });
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    // The exchange takes a part itself, and from then on reports a liquidation price on the wrong side.
    const taken = { ...at({ size: '0.4' }), disagreement: true };
    driver.read(taken).ask(action(half), later).read(taken);
    expect(ends(driver)).toEqual(['reached:target', 'open']);
    expect(driver.cancel().why).toBe('resolved');
  });

  test('a later one with the same target takes over', () => {
    const driver = new Driver().read(at({})).ask(action(half), action(half, { stage: 1, atMs: 5 }));
    expect(ends(driver)).toEqual(['superseded:laterStage', 'open']);
  });
});

describe('a market that lost its entry in the config', () => {
  const unknownMarket = { marketSettings: () => undefined };

  test('is rid of what nobody wants', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.context = { ...driver.context, settings: { ...driver.context.settings, ...unknownMarket } };
    driver.read(at({}));
    expect(driver.cancel().why).toBe('resolved');
    expect(driver.state.orders).toEqual([]);
  });

  test('keeps it, and says so, where a stop would go with it and could not come back', () => {
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
  test('an order that waited long is not replaced at the moment in which the market comes to it', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.later(30_000).read(at({ mark: '999.5' }));
    expect(driver.next().kind).toBe('idle');
    // At the activation of 998.9, within the gap between mark and last price.
    driver.later(1_000).read(at({ mark: '998.8' }));
    expect(driver.next().kind).toBe('idle');
    driver.later(3_000).read(at({ mark: '998.8' }));
    expect(driver.place().order).toMatchObject({ slippage: 0.02, overshoot: true });
    expect(driver.cancel().why).toBe('exceedsTarget');
  });
});

describe('stops', () => {
  test('in a market without an entry are missed loudly, once, and placed when it has one', () => {
    const driver = new Driver({ marketSettings: () => undefined }).read(at({})).ask(action(protect));
    driver.next();
    driver.next();
    const said = driver.events.filter((event) => event.kind === 'blocked');
    expect(said).toMatchObject([{ reason: 'marketNotConfigured', alarm: true }]);
    driver.context = new Driver().context;
    expect(driver.read(at({})).place().order.role).toBe('cover');
  });

  test('that could add up with those of an earlier store epoch are blocked loudly, and fail no intent', () => {
    const driver = new Driver({ cancelCoversStops: false, overshoot: 'never' });
    driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
    const cover = action(protect, { subject: 'position:1', ruleId: 'cover' });
    driver.read(long, short).ask(cover).later(5_000).ordersAreTaken().cancel();
    driver.answerRead(long, short);
    expect(driver.next().kind).toBe('idle');
    driver.next();
    expect(driver.reasons('blocked')).toEqual(['priorOrders']);
  });

  test('whose closing failed do not give the alarm again with every read', () => {
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

describe('what failed for a reason that is gone is taken up again', () => {
  test('a market that has an entry now', () => {
    const driver = new Driver({ marketSettings: () => undefined }).read(at({})).ask(action(half));
    expect(ends(driver)).toEqual(['failed:marketNotConfigured']);
    driver.context = new Driver().context;
    expect(ends(driver.read(at({})))).toEqual(['open']);
  });

  test('a liquidation price that is known now, not a mark that was known all along', () => {
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
  test('do not make a rebuilt position the earlier one again', () => {
    const driver = new Driver({ readLagMs: 500 }).read(at({ size: '0.02' })).ask(action(half));
    driver.later(600).read(at({ size: '0.008', openDate: 2 }));
    expect(targets(driver)).toEqual(['0.004']);
    // Content of before, sent later: smaller, so that its size alone gives nothing away.
    driver.read(at({ size: '0.007', openDate: 1 }));
    expect(driver.reasons('readIgnored')).toEqual(['stalePosition']);
    driver.later(600).read(at({ size: '0.008', openDate: 2 }));
    expect(driver.reasons('intentEnded')).toEqual(['expired:rebuilt']);
    expect(targets(driver)).toEqual(['0.004']);
  });

  test('hold up nothing that bears a newer date: that was certainly built since', () => {
    const driver = new Driver({ readLagMs: 500 }).read(at({})).ask(action(half));
    driver.read(at({ size: '0.8', openDate: 2 }));
    expect(driver.reasons('readIgnored')).toEqual([]);
    expect(targets(driver)).toEqual(['0.4']);
  });

  test('nor turn one back that has turned, where no date tells; after the lag they are believed', () => {
    const dateless = (position: ReadPosition): ReadPosition => ({ ...position, openDate: null });
    const driver = new Driver({ readLagMs: 500 }).read(dateless(at({}))).ask(action(half));
    driver.later(600).read(dateless(turned()));
    driver.read(dateless(at({ size: '0.9' })));
    expect(driver.reasons('readIgnored')).toEqual(['stalePosition']);
    driver.later(600).read(dateless(at({ size: '0.9' })));
    expect(driver.reasons('intentEnded')).toEqual(['expired:rebuilt', 'expired:rebuilt']);
  });
});
