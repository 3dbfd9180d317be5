import { describe, expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import { operatorIntent, withdrawOperatorIntent } from '../../../src/core/intents/intent.ts';
import { mayGo } from '../../../src/core/lanes/due-task.ts';
import { observeRead, observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import { type LaneState, newLane, type PlaceStep } from '../../../src/core/lanes/lane-state.ts';
import { finish } from '../../../src/core/lanes/lane-step.ts';
import { recover, startEpoch } from '../../../src/core/lanes/recover-lane.ts';
import { standingStops } from '../../../src/core/orders/protective-stop.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { at, Driver, ends, failure, gone, targets } from './driver.ts';
import {
  acknowledgeNoPriorOrders,
  action,
  all,
  half,
  MARKET,
  protect,
  readAt,
  readPositionOf,
} from './fixtures.ts';

const untilTenPercent: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'untilDistance', distance: 0.1 },
  slippageSteps: [0.005],
};

const long = readPositionOf({ positionId: '1', positionSide: 'LONG', sizeBase: '1' as DecimalString });
const short = readPositionOf({
  positionId: '2',
  positionSide: 'SHORT',
  direction: 'short',
  sizeBase: '0.4' as DecimalString,
});
const halfOf = (positionId: string) => action(half, { subject: `position:${positionId}` });

describe('targets', () => {
  test('are computed once per episode and stage from the size at firing, and never compound', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    expect(targets(driver)).toEqual(['0.5']);
    driver.place();
    driver.read(at({ size: '0.7', mark: '998.9' })).ask(action(half));
    expect(targets(driver)).toEqual(['0.5']);
  });

  test('of a later stage are based on the size at firing, too, and take over from the earlier stage', () => {
    const later = action({ ...half, target: { kind: 'by', fraction: 0.75 } } as ActionSpec, {
      stage: 1,
      atMs: 5,
    });
    const driver = new Driver().read(at({})).ask(action(half));
    driver
      .read(at({ size: '0.8' }))
      .ask(action(half), later)
      .read(at({ size: '0.8' }));
    expect(targets(driver)).toEqual(['0.5', '0.25']);
    expect(ends(driver)).toEqual(['superseded:laterStage', 'open']);
  });

  test('untilDistance: follow each complete read and only fall', () => {
    const driver = new Driver().read(at({})).ask(action(untilTenPercent));
    const first = Number(targets(driver)[0]);
    driver.read(at({ mark: '980' }));
    const second = Number(targets(driver)[0]);
    driver.read(at({ mark: '1030' }));
    expect(second).toBeLessThan(first);
    expect(targets(driver)).toEqual([String(second)]);
  });

  test('untilDistance: keep falling with the market while an order of the lane is in doubt', () => {
    const driver = new Driver({ marginModel: 'cross' }).read(at({})).ask(action(untilTenPercent));
    driver.lose('place').read(at({ mark: '980' }));
    // 3.06 % away: 1 * (0.0306 + 0.0309) / (0.1 + 0.0309)
    expect(targets(driver)).toEqual(['0.471']);
  });

  test('untilDistance: a target from before a doubt is not reached while the distance falls', () => {
    const driver = new Driver({ marginModel: 'cross' }).read(at({})).ask(action(untilTenPercent));
    const [before] = targets(driver);
    // The order filled without an answer, and the market has fallen since.
    driver
      .lose('place')
      .later(500)
      .read(at({ size: before ?? '', mark: '968', liquidation: '938' }));
    expect(driver.intents()[0]?.end).toBeNull();
    expect(Number(targets(driver)[0])).toBeLessThan(0.4);
  });

  test('untilDistance: a target limited by the largest single reduction is not opened and ended with every read', () => {
    const driver = new Driver({ marginModel: 'cross', largestReduction: 0.2 })
      .read(at({}))
      .ask(action(untilTenPercent));
    driver.place();
    driver.later(1_000).read(at({ size: '0.8', mark: '985' }));
    expect(driver.intents()[0]?.end).toMatchObject({ how: 'reached' });
    const said = driver.events.length;
    for (const mark of ['980', '975', '970']) driver.later(1_000).read(at({ size: '0.8', mark }));
    expect(driver.events.slice(said)).toEqual([]);
    expect(driver.intents()[0]?.end).toMatchObject({ how: 'reached' });
  });

  test('the smallest of several targets wins with the largest slippage, in one order', () => {
    const wide = action(
      { ...half, target: { kind: 'by', fraction: 0.25 }, slippageSteps: [0.02] } as ActionSpec,
      {
        ruleId: 'other',
      },
    );
    const driver = new Driver().read(at({})).ask(action(half), wide);
    const step = driver.place();
    expect(step.request.amount).toBe('0.5');
    expect(step.order.slippage).toBe(0.02);
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  });

  test('a reached target cancels the later stages of its episode', () => {
    const driver = new Driver()
      .read(at({}))
      .ask(action(half))
      .read(at({ size: '0.5' }))
      .ask(action(half));
    driver.ask(action(half), action(all, { stage: 1, atMs: driver.nowMs + 1 }));
    expect(ends(driver)).toEqual(['reached:target', 'superseded:targetReachedEarlier']);
  });

  test('a target with nothing to reduce does not cancel the later stages', () => {
    const nothing = action({ ...half, target: { kind: 'toNotional', notional: '5000' } } as ActionSpec);
    const driver = new Driver().read(at({})).ask(nothing);
    driver.ask(nothing, action(all, { stage: 1, atMs: driver.nowMs + 1 }));
    expect(ends(driver)).toEqual(['reached:nothingToReduce', 'open']);
  });

  test('untilDistance: a reduction resumes when half of the gained distance is lost again', () => {
    const driver = new Driver().read(at({})).ask(action(untilTenPercent));
    driver.read(at({ size: '0.6', liquidation: '899' }));
    expect(ends(driver)).toEqual(['reached:target']);
    driver.read(at({ size: '0.6', mark: '985', liquidation: '899' }));
    expect(ends(driver)).toEqual(['reached:target']);
    driver.read(at({ size: '0.6', mark: '970', liquidation: '899' }));
    expect(ends(driver)).toEqual(['open']);
  });

  test('are bounded by the largest single reduction, which is audited', () => {
    const driver = new Driver({ largestReduction: 0.3 }).read(at({})).ask(action(all));
    expect(targets(driver)).toEqual(['0.7']);
    expect(driver.reasons('refused')).toEqual(['largestReduction']);
  });
});

describe('both sides open', () => {
  test('all orders together, cover included, stay within the net exposure', () => {
    const cover = action(protect, { ruleId: 'cover', subject: 'position:1' });
    const quarter = action({ ...half, target: { kind: 'by', fraction: 0.25 } } as ActionSpec, {
      subject: 'position:1',
    });
    const driver = new Driver().read(long, short).ask(quarter, cover);
    expect(driver.place().request.amount).toBe('0.25');
    const stop = driver.place();
    expect(stop.order.role).toBe('cover');
    expect(stop.request).toMatchObject({ amount: '0.35', positionSide: 'LONG' });
    expect(driver.next().kind).toBe('idle');
  });

  test('the larger side is reduced to the net exposure at most', () => {
    const driver = new Driver().read(long, short).ask(action(all, { subject: 'position:1' }));
    expect(driver.place().request.amount).toBe('0.6');
  });

  test('a passed reduction that unanswered cancels may have taken down is not waited for: a trial shows the way', () => {
    const quarter = action({ ...half, target: { kind: 'by', fraction: 0.25 } } as ActionSpec, {
      subject: 'position:1',
    });
    // More than half as large: two orders could raise the net exposure.
    const other = { ...short, sizeBase: '0.6' as DecimalString };
    const driver = new Driver().read(long, other).ask(quarter);
    driver.place();
    const orders = driver.state.orders.map((order) => ({
      ...order,
      status: 'unsure' as const,
      seenBelow: true,
      activatedMs: driver.nowMs,
      reachedMs: driver.nowMs,
    }));
    driver.state = { ...driver.state, orders };
    const below = (one: typeof long) => ({ ...one, markPrice: '900' as DecimalString });
    // Long after the last accepted order: nothing proves that orders are taken.
    driver.later(60_000).read(below(long), below(other));
    expect(driver.place().order).toMatchObject({ amount: '0.001', trial: true });
    expect(driver.cancel().why).toBe('notFilled');
  });

  test('a filled reduction that only lacks its proof took the room of the trial that shows the way', () => {
    const other = { ...short, sizeBase: '0.6' as DecimalString };
    const driver = new Driver().read(long, other).ask(halfOf('1'));
    driver.place();
    // 0.2 filled, as the position shows; 0.2 is in doubt, before the market. The net exposure is 0.2.
    const orders = driver.state.orders.flatMap((order) => {
      const known = { amount: '0.2' as DecimalString, baseSizeBase: '0.8' as DecimalString };
      const unsure = { ...order, ...known, status: 'unsure' as const };
      const request = { ...order.request, clientOrderId: 'bw1.r.later', amount: unsure.amount };
      return [
        { ...unsure, presumedFilled: true },
        { ...unsure, request, behindCancel: true },
      ];
    });
    // The exchange cannot be asked for what is in doubt: it does not repeat ids.
    driver.state = { ...driver.state, orders, unechoedMs: driver.nowMs };
    driver.later(60_000).read({ ...long, sizeBase: '0.8' as DecimalString }, other);
    expect(driver.place().order).toMatchObject({ amount: '0.001', trial: true });
    expect(driver.cancel().why).toBe('ambiguousMove');
  });

  test('a side that may not be reduced fails as hedged, with an alarm', () => {
    const driver = new Driver().read(long, short).ask(halfOf('2'));
    expect(driver.next().kind).toBe('idle');
    expect(ends(driver)).toEqual(['failed:hedged']);
    expect(driver.events.find((event) => event.reason === 'failed:hedged')?.alarm).toBe(true);
  });

  test('an intent that failed as hedged opens again when the other side is gone', () => {
    const driver = new Driver().read(long, short).ask(halfOf('2'));
    driver.next();
    driver.read(short);
    // Not known yet whether it is gone.
    expect(ends(driver)).toEqual(['failed:hedged']);
    gone(driver, short);
    expect(ends(driver)).toEqual(['open']);
  });

  test('perLeg lifts the bound', () => {
    const driver = new Driver({ hedge: 'perLeg' }).read(long, short).ask(halfOf('2'));
    expect(driver.place().request).toMatchObject({ amount: '0.2', side: 'buy', positionSide: 'SHORT' });
  });

  test("an operator's flatten lifts the bound, too, an operator's reduce does not", () => {
    for (const flatten of [true, false]) {
      const driver = new Driver().read(long, short);
      const request = {
        id: '1',
        positionId: '2',
        target: { kind: 'to', fraction: 0 },
        slippageSteps: [0.01],
        flatten,
        because: 'by hand',
      } as const;
      const audit = recorder('desk', 'BTC_PERP', driver.nowMs);
      driver.state = operatorIntent(driver.state, request, {
        settings: driver.context.settings,
        nowMs: driver.nowMs,
        audit,
      });
      driver.ask().read(long, short);
      expect(driver.next().kind).toBe(flatten ? 'place' : 'idle');
    }
  });

  const likely = { ...long, fenceRisk: 0.9 };
  /** More than half of the long. */
  const large = { ...short, sizeBase: '0.6' as DecimalString };

  test('orders ahead of the fence and lost ones together raise no net exposure the other way round', () => {
    const driver = new Driver().read(likely, large).ask(action(all, { subject: 'position:1' }));
    driver.lose('place').read(likely, large);
    const ahead = driver.place();
    expect(ahead).toMatchObject({ ahead: true, request: { amount: '0.4' }, order: { overshoot: true } });
    // Together twice the net exposure of 0.4: not a step more may be open.
    driver.later(6_000).read(likely, large);
    expect(driver.next().kind).not.toBe('place');
  });

  test('a lost order does not make a side wait for the fence if closing all of it leaves less on the other side', () => {
    const driver = new Driver().read(likely, short).ask(halfOf('1')).lose('place').read(likely, short);
    expect(driver.place()).toMatchObject({ ahead: true, request: { positionSide: 'LONG' } });
  });

  test('in a new store epoch orders left open by an earlier one do not keep the larger side from being reduced', () => {
    const driver = new Driver({ cancelCoversStops: false });
    driver.state = newLane('desk', MARKET, 'L1', driver.nowMs);
    driver.read(long, short).ask(halfOf('1'));
    driver.later(6_000).read(long, short);
    expect(driver.place()).toMatchObject({ order: { overshoot: true }, request: { amount: '0.5' } });
    expect(ends(driver)).toEqual(['open']);
  });

  test('a reduction of a tight hedge stays within the net exposure beside orders left open by an earlier store epoch', () => {
    const driver = new Driver({ cancelCoversStops: false });
    driver.state = { ...newLane('desk', MARKET, 'L1', driver.nowMs), doubt: null, priorOrdersPossible: true };
    driver.read(likely, large).ask(action(all, { subject: 'position:1' }));
    expect(driver.lose('place').read(likely, large).next().kind).toBe('wait');
    expect(driver.state.orders.map(({ amount }) => amount)).toEqual(['0.4']);
  });

  test('a reduction does not wait for the cancel of a stop that takes up the net exposure', () => {
    const cover = action(protect, { ruleId: 'cover', subject: 'position:1' });
    const driver = new Driver().read(long, short).ask(cover);
    expect(driver.place().request.amount).toBe('0.6');
    driver.ask(cover, halfOf('1'));
    expect(driver.place()).toMatchObject({ order: { role: 'reduce' }, request: { amount: '0.5' } });
    expect(driver.next().kind).toBe('idle');
  });

  test('after a reduction the stop of a hedge is not cancelled to be loosened while its rule fires', () => {
    const cover = action(protect, { ruleId: 'cover', subject: 'position:1' });
    const quarter = action({ ...half, target: { kind: 'by', fraction: 0.25 } } as ActionSpec, {
      subject: 'position:1',
    });
    const driver = new Driver().read(long, short).ask(cover);
    expect(driver.place().request.amount).toBe('0.6');
    driver.ask(cover, quarter).place();
    const rest = {
      ...long,
      sizeBase: '0.75' as DecimalString,
      markPrice: '996' as DecimalString,
      liquidationPrice: '920' as DecimalString,
    };
    driver.later(7_000).read(rest, short).ask(cover, quarter);
    expect(driver.next().kind).toBe('idle');
    // No rule reduces it any more: now the stop is brought within the net exposure of 0.35.
    driver.later(1_000).read(rest, short).ask(cover);
    expect(driver.next()).toMatchObject({ kind: 'cancelAll', why: 'exceedsNetExposure' });
  });

  test('a side with its own margin is closed in full, beyond the net exposure', () => {
    const driver = new Driver()
      .read({ ...long, margin: 'own' }, { ...short, margin: 'own' })
      .ask(action(all, { subject: 'position:1' }));
    expect(driver.place().request.amount).toBe('1');
  });

  test('a stop that the smaller side of a hedge cannot have raises no alarm', () => {
    const driver = new Driver()
      .read(long, short)
      .ask(action(protect, { ruleId: 'cover', subject: 'position:2' }));
    expect(driver.next().kind).toBe('idle');
    expect(driver.reasons('blocked')).toEqual(['netExposure']);
    expect(driver.events.filter(({ alarm }) => alarm)).toEqual([]);
  });

  test('a reduction that its hedge blocks was unblocked by each read, and audited as blocked again', () => {
    const driver = new Driver().read(long, short).ask(action(untilTenPercent, { subject: 'position:1' }));
    const intents = driver.state.intents.map((intent) => ({ ...intent, blockedBy: 'netExposure' as const }));
    driver.state = { ...driver.state, intents };
    driver.later(1_000).read(long, short);
    expect(driver.state.intents).toMatchObject([{ blockedBy: 'netExposure' }]);
  });

  test('what only a cancel lifts held back the rule’s own cancel', () => {
    const driver = new Driver({ cancel: 'never' }).read(long, short).ask(halfOf('1'));
    const [intent] = driver.state.intents;
    const blocked = (blockedBy: NonNullable<typeof intent>['blockedBy']) =>
      intent !== undefined && mayGo({ ...intent, blockedBy }, driver.state);
    expect(blocked('cancelForbidden')).toBe(true);
    expect(blocked('stopNotCancellable')).toBe(true);
    expect(blocked('markUnknown')).toBe(false);
  });

  test('a direction that was unknown for some reads blocks no longer than it was unknown', () => {
    const unsided = { ...readPositionOf({}), direction: null };
    const driver = new Driver().read(unsided).ask(action(half));
    driver.next();
    expect(driver.state.intents).toMatchObject([{ blockedBy: 'directionUnknown' }]);
    driver.later(1_000).read(readPositionOf({}));
    driver.place();
    expect(driver.state.intents).toMatchObject([{ blockedBy: null }]);
  });

  test('a side with its own margin is not closed beyond the net exposure if the other side would be larger', () => {
    const driver = new Driver()
      .read({ ...long, margin: 'own' }, { ...large, margin: 'own' })
      .ask(action(all, { subject: 'position:1' }));
    expect(driver.place().request.amount).toBe('0.4');
  });
});

describe('protect', () => {
  test('in a pool the stop is computed from the joint liquidation price, until that has not been read for a minute', () => {
    const far = at({ liquidation: '400' });
    const joint = { ...far, jointLiquidationPrice: '950' as DecimalString };
    const driver = new Driver({ cancelCoversStops: false }).read(joint).ask(action(protect));
    // 60 % of the way from 1000 to 950.
    expect(driver.place().request.activationPrice).toBe('970');
    // A read of this market alone does not show the joint price.
    for (let seconds = 0; seconds < 60; seconds += 10) driver.later(9_000).read(far);
    expect(driver.state.jointLimits).toHaveLength(1);
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
    expect(driver.later(10_000).read(far).state.jointLimits).toBeUndefined();
  });

  test('a list that comes too early for sizing still tells the joint price: the first stop is not placed far beyond it', () => {
    const far = at({ liquidation: '400' });
    const driver = new Driver({ cancelCoversStops: false }).ask(action(protect));
    driver.state = { ...driver.state, ignoreReadsBeforeMs: driver.nowMs + 5_000 };
    driver.read({ ...far, jointLiquidationPrice: '950' as DecimalString });
    expect(driver.reasons('readIgnored')).toEqual(['tooEarly']);
    expect(driver.later(5_000).read(far).place().request.activationPrice).toBe('970');
  });

  test('places one standing stop for the whole position, 60 % of the way to liquidation', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    const { request } = driver.place();
    expect(request).toMatchObject({ side: 'sell', amount: '1', activationPrice: '970', price: '960.3' });
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  });

  test('is not cancelled to stand farther away while rules reduce and the market runs against the position', () => {
    const reduceAt = (mark: string) => {
      const driver = new Driver().read(at({})).ask(action(protect));
      driver.place();
      driver.later(2_000).read(at({ mark, liquidation: '900' }));
      return driver.ask(action(protect), action(half, { ruleId: 'other' }));
    };
    const standing = reduceAt('1000');
    expect(standing.next()).toMatchObject({ kind: 'cancelAll', why: 'stopLoosened' });
    // In a fall that takes minutes the stop is loosened, to keep what the reduction has saved.
    expect(reduceAt('999.8').next()).toMatchObject({ kind: 'cancelAll', why: 'stopLoosened' });
    const falling = reduceAt('990');
    falling.place();
    expect(falling.next()).toMatchObject({ kind: 'idle' });
    expect(falling.state.orders.map(({ role }) => role)).toEqual(['cover', 'reduce']);
  });

  test('counts as confirmed cover once it is accepted, but not while anything is in doubt', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.start('place');
    expect(standingStops(driver.state, 'epoch')).toMatchObject([{ confirmed: false }]);
    const other = new Driver().read(at({})).ask(action(protect));
    other.place();
    expect(standingStops(other.state, 'epoch')).toEqual([
      { positionId: '42', activationPrice: '970', amount: '1', confirmed: true },
    ]);
    other.ask(action(protect), action(half, { ruleId: 'other' })).lose('place');
    expect(standingStops(other.state, 'epoch')).toMatchObject([{ confirmed: false }]);
  });

  test('is no confirmed cover once the mark has reached its activation, and no cover once it has filled', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    const confirmed = () => standingStops(driver.state, 'epoch').map((stop) => stop.confirmed);
    driver.read(at({ mark: '990' }));
    expect(confirmed()).toEqual([true]);
    driver.read(at({ mark: '970' }));
    expect(driver.state.orders).toMatchObject([{ activatedMs: null }]);
    expect(confirmed()).toEqual([false]);
    driver.read(at({ mark: '940' }));
    expect(confirmed()).toEqual([false]);
    driver.read(at({ mark: '990' }));
    expect(driver.state.orders.map(({ activatedMs }) => activatedMs)).not.toContain(null);
    expect(confirmed()).toEqual([false]);
    const filled = {
      ...driver.state,
      orders: driver.state.orders.map((order) => Object.assign({}, order, { presumedFilled: true })),
    };
    expect(standingStops(filled, 'epoch')).toEqual([]);
  });

  test('of an earlier store epoch is no confirmed cover until the lane has begun the current one', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    expect(standingStops(driver.state, 'epoch')).toMatchObject([{ confirmed: true }]);
    expect(standingStops(driver.state, 'another')).toMatchObject([{ confirmed: false }]);
  });

  test('is no confirmed cover if the position moved in a way that it may explain', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    const orders = driver.state.orders.map((order) => Object.assign({}, order, { ambiguous: true }));
    expect(standingStops({ ...driver.state, orders }, 'epoch')).toMatchObject([{ confirmed: false }]);
  });

  test('stays where it is while only the mark moves', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    for (const mark of ['990', '980', '1100']) {
      driver.read(at({ mark }));
      expect(driver.next().kind).toBe('idle');
    }
  });

  test('tighter: the new stop is placed first, without a cancel', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ liquidation: '960' }));
    expect(driver.place().request.activationPrice).toBe('976');
    expect(driver.state.orders).toHaveLength(2);
    expect(driver.next().kind).toBe('idle');
  });

  test('tighter, with no room beside the standing stop: that one is cancelled first', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ liquidation: '960' }));
    driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
    driver.later(1_000).read(at({ liquidation: '960' }));
    expect(driver.cancel().why).toBe('noRoom');
    driver.answerRead(at({ liquidation: '960' }));
    expect(driver.place().request.activationPrice).toBe('976');
    expect(driver.state.orders).toHaveLength(1);
    expect(driver.next().kind).toBe('idle');
  });

  test('too many tightened stops beside each other are cleaned up', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    for (const liquidation of ['955', '960', '965']) {
      driver.read(at({ liquidation }));
      driver.place();
    }
    driver.read(at({ liquidation: '965' }));
    expect(driver.cancel().why).toBe('tooManyStops');
    driver.answerRead(at({ liquidation: '965' }));
    driver.place();
    expect(driver.state.orders).toHaveLength(1);
  });

  test('looser: cancel, read, place', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ liquidation: '900' }));
    expect(driver.cancel().why).toBe('stopLoosened');
    driver.answerRead(at({ liquidation: '900' }));
    expect(driver.place().request.activationPrice).toBe('940');
  });

  test('looser, with the cancel refused: recorded at once, and an alarm only if the stop still stands a minute later', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ liquidation: '900' }));
    driver.refuseCancel({ name: 'rateLimited', retryAfterMs: 4_000 });
    const said = () =>
      driver.events.flatMap(({ kind, alarm, words }) => (kind === 'standingOrder' ? [{ alarm, words }] : []));
    driver.next();
    expect(said()).toEqual([
      { alarm: false, words: expect.stringMatching(/not yet: the last cancel .*; tried again in 1 s/) },
    ]);
    driver.later(59_000).read(at({ liquidation: '900' }));
    driver.next();
    expect(said()).toHaveLength(1);
    driver.later(2_000).read(at({ liquidation: '900' }));
    // The order that would show that orders are taken is refused, too.
    driver.refuse({ name: 'rateLimited' });
    driver.next();
    driver.next();
    expect(said().map(({ alarm }) => alarm)).toEqual([false, true]);
  });

  test('a grown position gets a stop for its new size', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ size: '1.5' }));
    expect(driver.place().request.amount).toBe('1.5');
  });

  test('once it triggers the target is zero, and the rest is followed up', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ mark: '960' }));
    expect(driver.reasons('coverTriggered')).toEqual(['triggered']);
    expect(targets(driver)).toEqual(['0']);
    expect(driver.next().kind).toBe('idle');
    driver.later(3_100).read(at({ mark: '960' }));
    // The stop may still stand: the exchange trims what adds up.
    expect(driver.place()).toMatchObject({ order: { role: 'reduce' }, request: { amount: '1' } });
    expect(driver.state.orders.map(({ role }) => role)).toEqual(['cover', 'reduce']);
    expect(driver.next().kind).toBe('idle');
  });

  test('asks nobody, nor does what follows once it triggers, in approve mode either', () => {
    const asked = action(protect, { mode: 'approve' });
    const driver = new Driver({}, { modeOf: () => 'approve' }).read(at({})).ask(asked);
    driver.place();
    driver.read(at({ mark: '960' })).ask(asked);
    driver
      .later(3_100)
      .read(at({ mark: '960' }))
      .ask(asked);
    expect(driver.place()).toMatchObject({ order: { role: 'reduce' }, request: { amount: '1' } });
  });

  test('is not needed without a liquidation price; if it cannot be placed the reason is recorded', () => {
    const none = new Driver().read(at({ liquidation: null })).ask(action(protect));
    expect(none.next().kind).toBe('idle');
    expect(none.reasons('blocked')).toEqual([]);
    const unclear = new Driver().read(readPositionOf({ liquidationPrice: null })).ask(action(protect));
    unclear.next();
    expect(unclear.reasons('blocked')).toEqual(['liquidationPriceUnknown']);
    const near = new Driver().read(at({ liquidation: '999.5' })).ask(action(protect));
    near.next();
    expect(near.reasons('blocked')).toEqual(['noRoomForStop']);
  });

  test('a stop whose rule has resolved is cancelled', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.ask();
    expect(driver.cancel().why).toBe('resolved');
    expect(driver.state.orders).toEqual([]);
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'nothingWanted' });
  });
});

describe('blocks raise an alarm', () => {
  test.for([
    ['markUnknown', readPositionOf({ markPrice: null })],
    ['directionUnknown', readPositionOf({ direction: null })],
    ['markTooCoarse', readPositionOf({ markError: 3 })],
  ] as const)('%s', ([why, position]) => {
    const driver = new Driver().read(position).ask(action(half));
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'blocked' });
    expect(driver.events.find((event) => event.kind === 'blocked')).toMatchObject({
      reason: why,
      alarm: true,
    });
    driver.next();
    expect(driver.reasons('blocked')).toEqual([why]);
  });

  test('disagreement with both sides open raises no alarm: one side has always passed its liquidation price', () => {
    const odd = { disagreement: true, distance: -0.1 };
    const long = readPositionOf({ ...odd, positionSide: 'LONG' });
    const short = readPositionOf({ positionId: '43', positionSide: 'SHORT', direction: 'short' });
    for (const [positions, alarm] of [
      [[long], true],
      [[long, short], false],
    ] as const) {
      const driver = new Driver().read(...positions).ask(action(untilTenPercent));
      driver.next();
      expect(driver.events.find(({ kind }) => kind === 'blocked')).toMatchObject({
        reason: 'disagreement',
        alarm,
      });
    }
  });

  test('disagreement: targets by size are computed, targets by distance are not', () => {
    const odd = readPositionOf({ disagreement: true, distance: -0.1 });
    const driver = new Driver().read(odd).ask(action(untilTenPercent), action(half, { ruleId: 'other' }));
    expect(targets(driver)).toEqual([null, '0.5']);
    expect(driver.reasons('blocked')).toEqual(['disagreement']);
  });
});

describe('changing the order set', () => {
  test('additions are placed without a cancel', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.ask(action(half), action(protect, { ruleId: 'cover' }));
    expect(driver.place().order.role).toBe('cover');
  });

  test('a removal cancels all of that market and type, reads, and places the whole remaining set', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({})).ask(action(half), cover);
    driver.place();
    driver.place();
    driver.ask(cover);
    const cancel = driver.cancel();
    expect(cancel).toMatchObject({ why: 'resolved', request: { market: 'BTC_PERP', types: ['futures'] } });
    driver.answerRead(at({}));
    expect(driver.place().order.role).toBe('cover');
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  });

  test('with cancel: never, the order stays, which is recorded', () => {
    const driver = new Driver({ cancel: 'never' }).read(at({})).ask(action(half));
    driver.place();
    driver.ask();
    expect(driver.next().kind).toBe('idle');
    expect(driver.reasons('standingOrder')).toEqual(['resolved']);
    expect(driver.state.orders).toHaveLength(1);
  });

  test('every cancel raises the generation, and with it changes every later id', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    const first = driver.place();
    driver.later(4_000).read(at({ mark: '1020' }));
    driver.cancel();
    expect(driver.state.generation).toBe(1);
    driver.answerRead(at({ mark: '1020' }));
    expect(driver.place().request.clientOrderId).not.toBe(first.request.clientOrderId);
  });

  test('an order whose position is gone is cancelled, never presumed filled', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    gone(driver);
    expect(driver.cancel().why).toBe('positionGone');
  });

  test('an order placed for a position that was rebuilt under the same id is cancelled', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(at({ openDate: 2 }));
    expect(driver.cancel().why).toBe('positionGone');
  });
});

describe('outcomes', () => {
  test('cancelled at creation counts as rejected: read, and the next attempt takes the next slippage', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place({ status: { known: true, value: 'CANCELLED' } });
    expect(driver.state.orders).toEqual([]);
    driver.later(1_000).answerRead(at({}));
    expect(driver.place().order.slippage).toBe(0.02);
  });

  test('an adjusted amount is recorded', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place({ amount: '0.4' as DecimalString, adjustedFrom: '0.5' as DecimalString });
    expect(driver.state.orders[0]?.amount).toBe('0.4');
    expect(driver.reasons('adjusted')).toEqual(['trimmed']);
  });

  test('after a trimmed order the position is read before more is placed, as it was smaller than last read', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place({ amount: '0.001' as DecimalString, adjustedFrom: '0.5' as DecimalString });
    expect(driver.next().kind).toBe('readPositions');
  });

  test('an accepted order is no success: the intent stays open until the position is at its target', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place({ status: { known: true, value: 'FILLED' } });
    expect(ends(driver)).toEqual(['open']);
    driver.answerRead(at({ size: '0.5' }));
    expect(ends(driver)).toEqual(['reached:target']);
  });

  test('after 116 a read without the position proves nothing until that has lasted', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
    driver.answerRead();
    expect(ends(driver)).toEqual(['open']);
    expect(driver.events.some((event) => event.alarm)).toBe(false);
    expect(ends(gone(driver))).toEqual(['reached:positionGone']);
  });

  test('after 116 a read with the position is rejected(side), with an alarm', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
    driver.answerRead(at({}));
    expect(driver.events.find((event) => event.kind === 'rejected' && event.alarm)?.reason).toBe('side');
  });

  test('a duplicate of an id never sent before is a doubt: somebody shares our identity', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
    expect(driver.state.doubt?.why).toBe('duplicateUnexpected');
  });

  test('a rejection with a possible effect has an unknown outcome', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.refuse({ effect: 'possible', httpStatus: 500 });
    expect(driver.state.doubt?.why).toBe('unknownOutcome');
  });

  test('a rate limit is waited out and is no failed attempt', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.refuse({ name: 'rateLimited', httpStatus: 429, retryAfterMs: 700 });
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'backoff' });
    expect(driver.later(701).start('place').order.slippage).toBe(0.005);
  });

  test('after the maximum of failed attempts the intent fails, with an alarm', () => {
    const driver = new Driver({ maxAttempts: 2 }).read(at({})).ask(action(half));
    driver.refuse({ code: 30 });
    driver.later(6_000).read(at({}));
    driver.refuse({ code: 30 });
    driver.next();
    expect(ends(driver)).toEqual(['failed:attempts']);
    expect(driver.events.at(-1)?.alarm).toBe(true);
  });

  test('an intent that failed so is tried again only clearly nearer to liquidation', () => {
    const driver = new Driver({ maxAttempts: 1 }).read(at({})).ask(action(half));
    driver.refuse({ code: 30 });
    driver.next();
    driver.read(at({ mark: '999' }));
    expect(ends(driver)).toEqual(['failed:attempts']);
    driver.read(at({ mark: '990' }));
    expect(ends(driver)).toEqual(['open']);
  });

  test('a second report of the same step changes nothing', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.lose('place');
    const { state } = driver;
    const result = { kind: 'place', outcome: { kind: 'rejected', error: failure({}) } } as const;
    expect(finish(state, result, driver.context.settings, driver.nowMs).state).toBe(state);
  });
});

describe('outstanding orders', () => {
  test('place at most size minus target minus what may still fill', () => {
    const driver = new Driver({ cancel: 'never' }).read(at({})).ask(action(half));
    driver.place();
    const more = action({ ...half, target: { kind: 'by', fraction: 0.75 } } as ActionSpec, {
      ruleId: 'other',
    });
    driver.ask(action(half), more);
    expect(driver.place().request.amount).toBe('0.25');
    expect(driver.next().kind).toBe('idle');
  });

  test('an order counts as filled when the position fell by exactly its amount near its activation', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read(at({ size: '0.5', mark: '998' }));
    expect(driver.reasons('filled')).toEqual(['positionMoved']);
    expect(ends(driver)).toEqual(['reached:target']);
    expect(driver.next().kind).toBe('idle');
  });

  test('an order that counts as filled is cancelled before anything is placed there, as somebody else may have traded', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read(at({ size: '0.5', mark: '998' })).ask(action(half), action(all, { ruleId: 'other' }));
    expect(driver.cancel().why).toBe('fillUnproven');
    driver.answerRead(at({ size: '0.5', mark: '998' }));
    expect(driver.place().request.amount).toBe('0.5');
  });

  test('an order that counts as filled is cancelled when the position is gone', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    gone(driver.read(at({ size: '0.5', mark: '998' })));
    expect(driver.cancel().why).toBe('positionGone');
  });

  test("the same fall far from its activation is somebody else's: the order is replaced, not presumed filled", () => {
    const driver = new Driver().read(at({})).ask(action(protect), action(half, { ruleId: 'other' }));
    driver.place();
    driver.place();
    driver.read(at({ size: '0.5', mark: '1100' }));
    expect(driver.state.orders).toHaveLength(2);
    expect(driver.next()).toMatchObject({ kind: 'cancelAll' });
  });

  test('any other fall makes the order ambiguous: cancel, read, place what is left', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read(at({ size: '0.8', mark: '998' }));
    expect(driver.cancel().why).toBe('ambiguousMove');
    driver.answerRead(at({ size: '0.8', mark: '998' }));
    expect(driver.place().request.amount).toBe('0.3');
  });

  test('without cancelCoversStops an order is forgotten only when certainly activated, then cancelled', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(half));
    driver.place();
    driver.ask();
    expect(driver.next().kind).toBe('idle');
    expect(driver.reasons('standingOrder')).toEqual(['resolved']);
    // Above and then below the activation at 998.9, each by more than step and basis allowance, and past the limit.
    driver.read(at({ mark: '1000.1' })).read(at({ mark: '993' }));
    expect(driver.state.orders[0]?.activatedMs).not.toBeNull();
    driver.cancel();
    expect(driver.state.orders).toEqual([]);
  });

  test('without cancelCoversStops an order on the wrong side is not taken for activated, and not forgotten', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(half));
    driver.place();
    // Within its limit: an activated order would have filled.
    driver.read(at({ mark: '1000.1' })).read(at({ mark: '997' }));
    expect(driver.state.orders).toMatchObject([{ inverted: true }]);
    expect(driver.place().request.amount).toBe('0.5');
    expect(driver.state.orders.map(({ inverted }) => inverted === true)).toEqual([true, false]);
  });

  test('without cancelCoversStops a cover in doubt is sent again under its own id; a duplicate means it is there', () => {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(protect));
    const first = driver.start('place');
    driver.end({ kind: 'place', outcome: { kind: 'unknown', error: failure({ effect: 'possible' }) } });
    driver.later(5_100).answerRead(at({}));
    const again = driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
    expect(again.request).toEqual(first.request);
    expect(again.isResend).toBe(true);
    expect(driver.state.orders).toMatchObject([{ status: 'open' }]);
    expect(driver.state.doubt).toBeNull();
    expect(driver.read(at({})).next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  });
});

describe('unknown outcomes', () => {
  test('the fence comes first, then cancel, read, place', () => {
    const driver = new Driver().read(at({})).ask(action(half)).lose('place');
    const wait = driver.next();
    expect(wait).toMatchObject({ kind: 'wait', why: 'lateArrival', untilMs: driver.nowMs + 5_000 });
    driver.later(5_000).ordersAreTaken().cancel();
    driver.answerRead(at({}));
    expect(driver.place().request.amount).toBe('0.5');
  });

  test('before any order was accepted: the fence, a read, and the order again under its own id', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    const first = driver.start('place');
    driver.end({ kind: 'place', outcome: { kind: 'unknown', error: failure({ effect: 'possible' }) } });
    driver.later(5_000).answerRead(at({}));
    const again = driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
    expect(again.request).toEqual(first.request);
    expect(driver.state).toMatchObject({ doubt: null, orders: [{ status: 'open' }] });
    expect(driver.read(at({})).next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  });

  test('a cancel sent earlier does not end the doubt', () => {
    const cancelNow = action(
      { kind: 'cancelAll', types: ['margin', 'futures'], scope: 'market' },
      { ruleId: 'c' },
    );
    const driver = new Driver().read(at({})).ask(action(half)).lose('place').ask(action(half), cancelNow);
    driver.later(10).ordersAreTaken().cancel();
    expect(driver.state.doubt).not.toBeNull();
  });

  test('with increasing nonces the accepted cancel is the fence', () => {
    const driver = new Driver({ nonceMode: 'increasing' }).read(at({})).ask(action(half)).lose('place');
    driver.later(10).ordersAreTaken().cancel();
    driver.answerRead(at({}));
    driver.place();
  });

  test('a read counts only when it must show the cancel, in any nonce mode', () => {
    const driver = new Driver({ nonceMode: 'increasing', readLagMs: 800 })
      .read(at({}))
      .ask(action(half))
      .lose('place')
      .later(10)
      .ordersAreTaken();
    driver.cancel();
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'readLag', untilMs: driver.nowMs + 800 });
    driver.read(at({}));
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'readLag' });
    driver.later(800).answerRead(at({}));
    driver.place();
  });

  test('a target of zero needs no fence', () => {
    const driver = new Driver().read(at({})).ask(action(all)).lose('place');
    driver.answerRead(at({}));
    const step = driver.place();
    expect(step).toMatchObject({ ahead: true, isResend: true, order: { overshoot: false } });
    expect(driver.state.doubt).toBeNull();
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  });

  test('if liquidation would come first an order goes out at once, once, with an audited overshoot', () => {
    const likely = { ...at({}), fenceRisk: 0.2 };
    const driver = new Driver().read(likely).ask(action(half)).lose('place');
    driver.answerRead(likely);
    expect(driver.place()).toMatchObject({ ahead: true, isResend: true, order: { overshoot: true } });
    expect(driver.events.filter((event) => event.kind === 'overshoot')).toMatchObject([
      { reason: 'liquidationLikely', alarm: true },
    ]);
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  });

  test('a slow read from before the end of the fence was of no use after it, though liquidation would come first', () => {
    const driver = new Driver().read(at({})).ask(action(protect)).lose('place').later(4_500);
    const slow = readAt(driver.nowMs, { ...at({ mark: '960' }), fenceRisk: 0.9 });
    driver.later(600);
    expect(driver.start('readPositions')).toMatchObject({ kind: 'readPositions' });
    driver.apply(observeRead(driver.state, slow, driver.context.settings, driver.nowMs));
    driver.ask(action(half)).end({ kind: 'readPositions', observation: null });
    expect(driver.place()).toMatchObject({ ahead: true, order: { role: 'reduce' } });
  });

  describe('an order that went ahead behind the fence was cancelled in the next step', () => {
    const danger = { ...at({ mark: '980' }), fenceRisk: 0.9 };

    test('to end the doubt', () => {
      const driver = new Driver().read(at({})).ask(action(protect)).lose('place').later(4_500);
      const slow = readAt(driver.nowMs, danger);
      driver.later(600).start('readPositions');
      driver.apply(observeRead(driver.state, slow, driver.context.settings, driver.nowMs));
      driver.ask(action(half)).end({ kind: 'readPositions', observation: null });
      expect(driver.place()).toMatchObject({ ahead: true, order: { role: 'reduce' } });
      expect(driver.next()).toMatchObject({ kind: 'wait', why: 'backoff' });
    });

    test('and with a read lag nothing stood for as long', () => {
      const driver = new Driver({ readLagMs: 5_000 }).read(at({})).ask(action(protect));
      driver.lose('place').later(5_000).next();
      driver.later(4_000).read(danger).ask(action(half));
      driver.place();
      expect(driver.next()).toMatchObject({ kind: 'wait', why: 'readLag' });
    });
  });

  test('a read from after the fence lets no order go ahead beside the one in doubt', () => {
    const near = (mark: string) => at({ mark, liquidation: '975' });
    const driver = new Driver().read(near('1000')).ask(action(half)).lose('place').later(5_000);
    driver.answerRead({ ...near('999.2'), fenceRisk: 0.9 });
    expect(driver.next()).toMatchObject({ kind: 'place', ahead: false });
  });

  test('what a store that is new may hide is no doubt that a read ends: a full close long after the fence may go ahead', () => {
    const driver = new Driver({ overshoot: 'never' });
    driver.state = newLane('desk', MARKET, 'epoch', driver.nowMs);
    driver
      .read(at({}))
      .later(20_000)
      .read(at({ mark: '990' }))
      .later(1_000)
      .read(at({ mark: '980' }));
    expect(driver.ask(action(all)).next()).toMatchObject({ kind: 'place', ahead: true });
  });

  test('if its price is past by then, another order goes out, once', () => {
    const likely = (mark: string) => ({ ...at({ mark }), fenceRisk: 0.2 });
    const driver = new Driver().read(likely('1000')).ask(action(half)).lose('place');
    driver.answerRead(likely('990'));
    expect(driver.place()).toMatchObject({ ahead: true, isResend: false, order: { overshoot: true } });
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
  });

  test('an order that another process may have cancelled is not sent again then, as a taken id would place nothing', () => {
    const likely = { ...at({}), fenceRisk: 0.2 };
    const driver = new Driver().read(likely).ask(action(half));
    const before = driver.place();
    driver.later(1_000).read(likely);
    driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
    driver.read(likely);
    const ahead = driver.place();
    expect(ahead).toMatchObject({ ahead: true, isResend: false, order: { overshoot: true } });
    expect(ahead.request.clientOrderId).not.toBe(before.request.clientOrderId);
  });

  test('with overshoot: never nothing goes out ahead of the fence', () => {
    const likely = { ...at({}), fenceRisk: 0.2 };
    const driver = new Driver({ overshoot: 'never' }).read(likely).ask(action(half)).lose('place');
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
  });

  test('an action in progress when its process died is unknown, and its waiting starts anew', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.start('place');
    driver.later(60_000);
    driver.state = JSON.parse(JSON.stringify(driver.state)) as LaneState;
    driver.apply(recover(driver.state, driver.context.settings, driver.nowMs));
    expect(driver.state.doubt).toMatchObject({ why: 'processDied', sinceMs: driver.nowMs });
    expect(driver.state.orders).toMatchObject([{ status: 'unsure' }]);
  });

  test('the first step of a new store epoch is an order after the fence, beside what may stand', () => {
    const driver = new Driver();
    driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
    driver.read(at({})).ask(action(half));
    expect(driver.next()).toMatchObject({ kind: 'wait', why: 'lateArrival' });
    driver.later(5_000).answerRead(at({}));
    expect(driver.place().order).toMatchObject({ amount: '0.5', overshoot: true });
    expect(driver.reasons('overshoot')).toEqual(['priorOrders']);
    expect(driver.reasons('cancelling')).toEqual([]);
  });

  test('an order sent for another process may add up with its orders (overshoot), unless it closes all', () => {
    const standingIn = (request: ActionRequest) => {
      const driver = new Driver();
      driver.context = { ...driver.context, standsIn: true };
      driver.read(at({})).ask(request);
      driver.place();
      return driver.reasons('overshoot');
    };
    expect(standingIn(action(half))).toEqual(['standsIn']);
    expect(standingIn(action(all))).toEqual([]);
    const itself = new Driver().read(at({})).ask(action(half));
    itself.place();
    expect(itself.reasons('overshoot')).toEqual([]);
  });

  describe('in a new store epoch a standing order is sent again, as another process may have cancelled it:', () => {
    function inNewEpoch(request: ActionRequest): { driver: Driver; before: PlaceStep } {
      const driver = new Driver().read(at({})).ask(request);
      const before = driver.place();
      driver.later(1_000).read(at({}));
      driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
      driver.read(at({})).later(5_000);
      driver.answerRead(at({}));
      return { driver, before };
    }

    test('a reduction whose id is free is placed that way', () => {
      const { driver, before } = inNewEpoch(action(half));
      expect(driver.place().request).toEqual(before.request);
      expect(driver.state.orders).toMatchObject([{ status: 'open', amount: '0.5' }]);
      expect(driver.next().kind).toBe('idle');
    });

    test('a reduction whose id is taken, which proves nothing, is cancelled and placed anew', () => {
      const { driver, before } = inNewEpoch(action(half));
      driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
      driver.cancel();
      driver.answerRead(at({}));
      const { order } = driver.place();
      expect(order).toMatchObject({ amount: '0.5', overshoot: false });
      expect(order.request.clientOrderId).not.toBe(before.request.clientOrderId);
      expect(driver.state.orders).toHaveLength(1);
    });

    test('a stop whose id is taken gets another one beside it, and cover is confirmed only then', () => {
      const { driver } = inNewEpoch(action(protect));
      expect(standingStops(driver.state, 'second')).toMatchObject([{ confirmed: false }]);
      expect(driver.refuse({ name: 'duplicateClientOrderId', code: 36 }).isResend).toBe(true);
      expect(standingStops(driver.state, 'second')).toMatchObject([{ confirmed: false }]);
      expect(driver.place().isResend).toBe(false);
      expect(standingStops(driver.state, 'second')).toMatchObject([
        { confirmed: false },
        { confirmed: true },
      ]);
      expect(driver.reasons('cancelling')).toEqual([]);
      expect(driver.next().kind).toBe('idle');
    });

    test('a stop without an answer is not taken to stand because there is no room for it', () => {
      const driver = new Driver().read(at({})).ask(action(protect));
      driver.lose('place').later(1_000).read(at({}));
      driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
      driver.read(at({})).later(5_000);
      driver.answerRead(at({}));
      expect(driver.refuse({ name: 'reduceOnlyRefused', code: 116 }).isResend).toBe(true);
      expect(driver.state.orders).toMatchObject([{ status: 'unsure' }]);
    });

    test('a stop without an answer whose id is taken gets another one beside it', () => {
      const driver = new Driver().read(at({})).ask(action(protect));
      driver.lose('place').later(1_000).read(at({}));
      driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
      driver.read(at({})).later(5_000);
      driver.answerRead(at({}));
      driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
      expect(driver.place().isResend).toBe(false);
      expect(driver.next().kind).toBe('idle');
    });
  });

  test.for([
    { firesAfterMs: 20, waitsMs: 4_980 },
    { firesAfterMs: 3_000, waitsMs: 2_000 },
    { firesAfterMs: 6_000, waitsMs: 0 },
  ])(
    'first start: a rule that fires $firesAfterMs ms after the lane was begun waits $waitsMs ms, and sends an order first',
    ({ firesAfterMs, waitsMs }) => {
      const driver = new Driver();
      const begunMs = driver.nowMs;
      driver.state = newLane('desk', MARKET, 'first', begunMs);
      driver.read(at({}));
      driver.nowMs = begunMs + firesAfterMs - 10;
      driver.read(at({})).ask(action(half));
      const firedMs = driver.nowMs;
      const step = driver.next();
      if (waitsMs > 0) {
        expect(step).toMatchObject({ kind: 'wait', why: 'lateArrival', untilMs: firedMs + waitsMs });
        driver.later(waitsMs).answerRead(at({}));
      }
      expect(driver.place().order).toMatchObject({ amount: '0.5' });
      expect(driver.reasons('cancelling')).toEqual([]);
    },
  );

  test('with overshoot: never the smallest order shows whether orders are taken; then cancel, read, place', () => {
    const driver = new Driver({ overshoot: 'never' });
    driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
    driver.read(at({})).ask(action(half)).later(5_000).answerRead(at({}));
    expect(driver.place().order).toMatchObject({ amount: '0.001', trial: true, overshoot: false });
    driver.cancel();
    driver.answerRead(at({}));
    expect(driver.place().order).toMatchObject({ amount: '0.5', overshoot: false });
    expect(driver.state.orders).toHaveLength(1);
  });

  test('if a cancel cannot clear an earlier store epoch, orders are audited as overshoot, or fail', () => {
    for (const overshoot of ['audited', 'never'] as const) {
      const driver = new Driver({ cancelCoversStops: false, overshoot });
      driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
      driver.read(at({})).ask(action(half)).later(5_000);
      if (overshoot === 'never') driver.ordersAreTaken().cancel();
      driver.answerRead(at({}));
      if (overshoot === 'audited') expect(driver.place().order.overshoot).toBe(true);
      else {
        expect(driver.next().kind).toBe('idle');
        expect(ends(driver)).toEqual(['failed:priorOrders']);
      }
      expect(acknowledgeNoPriorOrders(driver.state).priorOrdersPossible).toBe(false);
    }
  });
});

describe('follow-up', () => {
  test('not filled within fillWithin although the market was there: next attempt, next slippage step', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    // Above its activation when it arrived, below it now: it was activated.
    driver.read(at({ mark: '1001' }));
    driver.later(1_000).read(at({ mark: '990' }));
    expect(driver.next().kind).toBe('idle');
    driver.later(3_100).read(at({ mark: '990' }));
    expect(driver.place().order).toMatchObject({ slippage: 0.02, overshoot: true });
  });

  test('the market moved away from the activation: placed anew', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.later(3_100).read(at({ mark: '1020' }));
    expect(driver.cancel().why).toBe('marketMovedAway');
  });

  test('an order that waits next to a market that does not move is left alone', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.later(9_000).read(at({ mark: '1001' }));
    expect(driver.next().kind).toBe('idle');
  });
});

describe('endings', () => {
  test('resolved: the rule no longer asks, in a conclusive evaluation', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.apply(observeRequests(driver.state, [], false, driver.context.settings, driver.nowMs));
    expect(driver.state.intents).toHaveLength(1);
    driver.ask();
    expect(driver.reasons('intentEnded')).toEqual(['resolved:ruleResolved']);
  });

  test('expired after its time to live, renewed while the rule fires up to a bound, then failed', () => {
    const driver = new Driver({ maxRenewals: 1 }, { paused: true }).read(at({})).ask(action(half));
    for (let round = 0; round < 3; round++) {
      driver.next();
      driver.later(60_000);
    }
    driver.next();
    expect(driver.reasons('intentEnded')).toEqual(['expired:ttl', 'expired:ttl', 'failed:refused:paused']);
  });

  test('a failure at the gate is taken up again when the gate opens', () => {
    const driver = new Driver({ maxRenewals: 0 }, { paused: true }).read(at({})).ask(action(half));
    driver.next();
    driver.later(60_000).next();
    expect(ends(driver)).toEqual(['failed:refused:paused']);
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: false } };
    driver.read(at({}));
    expect(driver.next().kind).toBe('place');
  });

  test('expired when the position is another one, has grown or was rebuilt', () => {
    const other = new Driver()
      .read(at({}))
      .ask(action(half))
      .read({ ...at({}), positionId: '43' });
    expect(ends(other)).toEqual(['expired:newPosition']);
    const grown = new Driver()
      .read(at({}))
      .ask(action(half))
      .read(at({ size: '1.2' }));
    expect(grown.reasons('intentEnded')).toEqual(['expired:grown']);
    expect(targets(grown)).toEqual(['0.5']);
    const rebuilt = new Driver()
      .read(at({}))
      .ask(action(half))
      .read(at({ size: '0.8', openDate: 2 }));
    expect(rebuilt.reasons('intentEnded')).toEqual(['expired:rebuilt']);
    expect(targets(rebuilt)).toEqual(['0.4']);
  });

  test("an operator's intent can be withdrawn", () => {
    const driver = new Driver().read(at({}));
    const request = {
      id: '7',
      positionId: '42',
      target: half.kind === 'reduce' ? half.target : never(),
      slippageSteps: [0.01],
      flatten: false,
      because: 'by hand',
    };
    const audit = recorder('desk', 'BTC_PERP', driver.nowMs);
    driver.state = operatorIntent(driver.state, request, {
      settings: driver.context.settings,
      nowMs: driver.nowMs,
      audit,
    });
    driver.ask().read(at({}));
    driver.place();
    driver.state = withdrawOperatorIntent(driver.state, '7', { nowMs: driver.nowMs, audit });
    driver.ask();
    expect(driver.cancel().why).toBe('resolved');
  });
});

function never(): never {
  throw new Error('not a reduce');
}

describe('the gate', () => {
  test('a started cancel-read-place completes under a pause; nothing new begins', () => {
    const cover = action(protect, { ruleId: 'cover' });
    const driver = new Driver().read(at({})).ask(action(half), cover);
    driver.place();
    driver.place();
    driver.ask(cover);
    driver.cancel();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: true } };
    driver.ask(cover, action(half, { ruleId: 'new' }));
    driver.answerRead(at({}));
    expect(driver.place().order.role).toBe('cover');
    expect(driver.next()).toMatchObject({ kind: 'idle' });
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'gateClosed' });
  });

  test('a pause keeps standing orders and removes nothing', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.context = { ...driver.context, gate: { ...driver.context.gate, paused: true } };
    driver.ask();
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'gateClosed' });
    expect(driver.state.orders).toHaveLength(1);
  });

  test('a silenced rule does not act, others do', () => {
    const driver = new Driver({}, { silencedRules: ['near'] })
      .read(at({}))
      .ask(action(half), action(all, { ruleId: 'other' }));
    expect(driver.place().order.ruleId).toBe('other');
    expect(driver.reasons('refused')).toEqual(['silenced']);
  });

  test('observe mode records the exact order it would send, once, and sends nothing', () => {
    const real = new Driver().read(at({})).ask(action(half)).place().request;
    const driver = new Driver({}, { modeOf: () => 'observe' })
      .read(at({}))
      .ask(action(half, { mode: 'observe' }));
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'gateClosed' });
    driver.next();
    const said = driver.events.filter((event) => event.kind === 'wouldPlace');
    expect(said).toHaveLength(1);
    expect(said[0]?.order).toEqual(real);
  });

  test('observe mode records the new amount when the position shrinks, without a second event', () => {
    const driver = new Driver({}, { modeOf: () => 'observe' })
      .read(at({ size: '0.4' }))
      .ask(action(all, { mode: 'observe' }));
    driver.next();
    const amounts = () => driver.state.observed?.map(({ request }) => request.amount);
    expect(amounts()).toEqual(['0.4']);
    driver.later(1_000).read(at({ size: '0.32' }));
    driver.next();
    expect(amounts()).toEqual(['0.32']);
    expect(driver.reasons('wouldPlace')).toHaveLength(1);
  });
});

describe('reads', () => {
  test('a size that grows again within the read lag is not believed', () => {
    const driver = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(half));
    driver.place();
    driver
      .later(1_000)
      .read(at({ size: '0.5', mark: '998' }))
      .read(at({ mark: '998' }));
    expect(driver.reasons('readIgnored')).toEqual(['staleGrowth']);
    expect(ends(driver)).toEqual(['reached:target']);
  });

  test('after an order only a read that must show its effect is used for sizing', () => {
    const driver = new Driver({ readLagMs: 1_000 }).read(at({})).ask(action(half));
    driver.place();
    driver.read(at({ size: '0.5', mark: '998' }));
    expect(driver.reasons('readIgnored')).toEqual(['tooEarly']);
    expect(driver.state.orders).toHaveLength(1);
    driver.later(1_000).read(at({ size: '0.5', mark: '998' }));
    expect(driver.state.orders).toMatchObject([{ presumedFilled: true }]);
  });

  test('reads out of order, or during a request, are not used for sizing', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    const old = readAt(driver.nowMs - 5, at({ size: '0.1' }));
    driver.apply(observeRead(driver.state, old, driver.context.settings, driver.nowMs));
    driver.start('place');
    driver.read(at({ size: '0.5' }));
    expect(driver.reasons('readIgnored')).toEqual(['older', 'underWay']);
  });
});
