import { describe, expect, test } from 'vitest';
import {
  ACCOUNT_HOLDER,
  MOST_WAIT_MS,
  newAccountLane,
  recoverAccount,
} from '../../../src/core/lanes/account-lane.ts';
import type { LaneState } from '../../../src/core/lanes/lane-state.ts';
import { rebase, takeUp } from '../../../src/core/lanes/recover-lane.ts';
import { Dice } from '../../support/dice.ts';
import { sceneOf } from '../orders/scenes.ts';
import { at, Driver } from './driver.ts';
import { action, half, settings } from './fixtures.ts';

/** A driver whose reduction is on its way. */
function sending(): Driver {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.start('place');
  return driver;
}

describe('taking up a lane', () => {
  test('puts the request that was in progress in doubt', () => {
    const { state, nowMs } = sending();
    const taken = takeUp(state, settings, nowMs + 100);
    expect(taken.state).toMatchObject({ inProgress: null, doubt: { why: 'processDied' }, read: null });
    expect(taken.state.orders.map(({ status }) => status)).toEqual(['unsure']);
    expect(taken.state.orders[0]?.arrivedByMs).toBe(nowMs + 100 + settings.lateArrivalMs);
    expect(taken.events.map(({ kind, reason }) => [kind, reason])).toContainEqual(['doubt', 'processDied']);
  });

  test('changes nothing if none was in progress', () => {
    const { state, nowMs } = new Driver().read(at({}));
    expect(takeUp(state, settings, nowMs)).toEqual({ state, events: [] });
    const held = { ...state, heldBy: ACCOUNT_HOLDER };
    expect(takeUp(held, settings, nowMs).state).toBe(held);
  });

  test('frees it from an unknown holder', () => {
    const { state, nowMs } = new Driver().read(at({}));
    expect(takeUp({ ...state, heldBy: 'nobody' }, settings, nowMs).state.heldBy).toBeNull();
  });

  const LONGEST_MS = MOST_WAIT_MS + settings.lateArrivalMs + settings.fillWithinMs;
  const waits: readonly [string, (state: LaneState, atMs: number) => LaneState][] = [
    ['a read', (state, atMs) => ({ ...state, readAfterMs: atMs })],
    ['a read that tells of orders', (state, atMs) => ({ ...state, ignoreReadsBeforeMs: atMs })],
    ['an order', (state, atMs) => ({ ...state, retryAtMs: { ...state.retryAtMs, reduce: atMs } })],
  ];
  test.each(waits)('cuts its wait for %s to the longest a lane can have', (_what, waiting) => {
    const { state, nowMs } = new Driver().read(at({}));
    const patient = waiting(state, nowMs + LONGEST_MS);
    expect(takeUp(patient, settings, nowMs).state).toBe(patient);
    const { state: freed } = takeUp(waiting(state, nowMs + LONGEST_MS + 1), settings, nowMs);
    const { readAfterMs, ignoreReadsBeforeMs, retryAtMs } = freed;
    const untilMs = Math.max(readAfterMs, ignoreReadsBeforeMs, ...Object.values(retryAtMs));
    expect(untilMs).toBeLessThanOrEqual(nowMs + settings.fillWithinMs);
  });
});

test('taking up an account with nothing in progress leaves its lanes alone, and limits its wait to that after a refusal', () => {
  const lanes = [sending().state];
  const waiting = { ...newAccountLane('desk'), retryAtMs: 1_000_000 };
  const taken = recoverAccount(waiting, lanes, settings, 5_000);
  expect(taken).toEqual({
    state: { ...waiting, retryAtMs: 5_000 + settings.fillWithinMs },
    lanes,
    events: [],
  });
  expect(taken.lanes).toBe(lanes);
});

test('taking up a lane from a clock that was ahead moves every future time back to one that can be', () => {
  const nowMs = 1_000;
  const dice = new Dice(4);
  for (let index = 0; index < 50; index++) {
    const { state } = sceneOf(dice);
    const aheadMs = 10_000_000;
    const intents = state.intents.map((intent) => ({ ...intent, endedMs: aheadMs, stageAtMs: aheadMs }));
    const orders = state.orders.map((order) => ({ ...order, unwantedSinceMs: aheadMs }));
    const doubt = { why: 'processDied', sinceMs: aheadMs, sentAhead: [] } as const;
    const retryAtMs = { reduce: aheadMs, cover: aheadMs, cancel: aheadMs, read: aheadMs };
    const ahead = { ...state, intents, orders, doubt, retryAtMs, cancelPendingUntilMs: aheadMs };
    const back = rebase(ahead, settings, nowMs);
    const longest = nowMs + settings.fillWithinMs;
    expect(back.retryAtMs).toEqual({ reduce: longest, cover: longest, cancel: longest, read: longest });
    expect(back.cancelPendingUntilMs).toBe(nowMs + settings.lateArrivalMs);
    expect(back.doubt?.sinceMs).toBe(nowMs);
    expect(back).toMatchObject({ read: null, latestRead: null, marks: [] });
    for (const intent of back.intents) {
      expect(intent).toMatchObject({ openedMs: nowMs, stageAtMs: nowMs, endedMs: nowMs });
      expect(intent.deadlineMs).toBe(nowMs + settings.intentTtlMs);
    }
    for (const [order, before] of back.orders.map((one, at) => [one, orders[at]] as const)) {
      expect(order).toMatchObject({ sentMs: nowMs, unwantedSinceMs: nowMs });
      expect(order.activatedMs).toBe(before?.activatedMs === null ? null : nowMs);
      expect(order.reachedMs).toBe(before?.reachedMs === null ? null : nowMs);
      expect(order.arrivedByMs).toBe(nowMs + settings.lateArrivalMs);
    }
  }
});
