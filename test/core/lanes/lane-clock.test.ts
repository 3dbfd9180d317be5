import { describe, expect, test } from 'vitest';
import type { ApprovalQuestion, Approvals } from '../../../src/core/approvals/question.ts';
import { NO_QUESTIONS } from '../../../src/core/approvals/question.ts';
import { followCosts } from '../../../src/core/costs/follow-costs.ts';
import type { LimitLedger } from '../../../src/core/intents/gate.ts';
import {
  approvalsOnClock,
  type LaneMoment,
  ledgerOnClock,
  onClock,
} from '../../../src/core/lanes/lane-clock.ts';
import { type LaneState, newLane } from '../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { MS_PER_HOUR } from '../../../src/core/quantities/units.ts';
import { at, Driver } from './driver.ts';
import { action, half, MARKET, protect, settings } from './fixtures.ts';

const OLD_MS = 1_760_000_000_000;
const LANE: LaneState = {
  ...newLane('desk', MARKET, 'e', OLD_MS),
  roundTripMs: 400,
  retryAtMs: { reduce: OLD_MS + 2_000, cover: OLD_MS, cancel: OLD_MS, read: OLD_MS },
  latestRead: { sentAtMs: OLD_MS - 50, receivedAtMs: OLD_MS, positions: [] },
};

const contestedAt = (atMs: number): LaneState => ({
  ...LANE,
  contests: [
    { positionId: '42', isReduced: true, addsMs: [atMs - 10, atMs], falls: [{ episodeKey: 'e', atMs }] },
  ],
});

const moment = (nowMs: number, byMs?: number): LaneMoment => ({
  nowMs,
  step: byMs === undefined ? null : { byMs, untilMs: nowMs - byMs },
});

describe("the store's clock steps ahead", () => {
  const now = moment(OLD_MS + 60_100, 60_000);

  test('shifts every time of a lane, and no duration', () => {
    const moved = onClock(LANE, settings, now);
    expect(moved).toEqual({
      ...LANE,
      readAfterMs: LANE.readAfterMs + 60_000,
      ignoreReadsBeforeMs: LANE.ignoreReadsBeforeMs + 60_000,
      doubt: { ...LANE.doubt, sinceMs: OLD_MS + 60_000 },
      retryAtMs: {
        reduce: OLD_MS + 62_000,
        cover: OLD_MS + 60_000,
        cancel: OLD_MS + 60_000,
        read: OLD_MS + 60_000,
      },
      latestRead: { sentAtMs: OLD_MS + 59_950, receivedAtMs: OLD_MS + 60_000, positions: [] },
      rebasedMs: now.nowMs,
    });
  });

  test('shifts the times at which others traded a position', () => {
    expect(onClock(contestedAt(OLD_MS), settings, now).contests).toEqual(
      contestedAt(OLD_MS + 60_000).contests,
    );
  });

  test('shifts a lane once, however often it is looked at', () => {
    const moved = onClock(LANE, settings, now);
    expect(onClock(moved, settings, { ...now, nowMs: now.nowMs + 500 })).toBe(moved);
    const idle: LaneState = { ...LANE, doubt: null, latestRead: null };
    const once = onClock(idle, settings, now);
    expect(onClock(once, settings, { ...now, nowMs: now.nowMs + 500 })).toBe(once);
  });

  test('does not shift a lane written after the step', () => {
    const later = newLane('desk', MARKET, 'e', now.nowMs + 10);
    expect(onClock(later, settings, { ...now, nowMs: now.nowMs + 20 })).toBe(later);
  });
});

test("the store's clock steps back: waits of a lane start now and last no longer than usual", () => {
  const nowMs = OLD_MS - 60_000;
  const back = onClock(LANE, settings, moment(nowMs));
  expect(back.doubt?.sinceMs).toBe(nowMs);
  expect(back.readAfterMs).toBe(nowMs);
  expect(back.retryAtMs.reduce).toBeLessThanOrEqual(nowMs + settings.fillWithinMs);
  expect(onClock(back, settings, moment(nowMs + 1))).toBe(back);
});

test("the store's clock steps back: what others did is not remembered longer", () => {
  const nowMs = OLD_MS - 60_000;
  const [contest] = onClock(contestedAt(OLD_MS), settings, moment(nowMs)).contests ?? [];
  expect(contest).toMatchObject({ addsMs: [nowMs, nowMs], falls: [{ atMs: nowMs }] });
});

describe("the store's clock steps back an hour", () => {
  const pooled = { ...at({ liquidation: '400' }), jointLiquidationPrice: '950' as DecimalString };

  /** What a driver holds, seen on a clock that is an hour behind. */
  function setBack(driver: Driver): Driver {
    driver.nowMs -= MS_PER_HOUR;
    driver.state = onClock(driver.state, driver.context.settings, { nowMs: driver.nowMs, step: null });
    return driver;
  }

  test('a joint limit that no list shows any more bounded stops for an hour longer', () => {
    const driver = new Driver();
    driver.nowMs += MS_PER_HOUR;
    setBack(driver.read(pooled))
      .later(61_000)
      .read(at({ liquidation: '400' }))
      .ask(action(protect));
    // 60 % of the way from 1000 to 400.
    expect(driver.place().request.activationPrice).toBe('640');
  });

  test('a fill was remembered for an hour longer', () => {
    const driver = new Driver();
    driver.nowMs += MS_PER_HOUR;
    driver.read(at({})).ask(action(half));
    driver.place();
    driver.later(1_000).read(at({ size: '0.5', mark: '990' }));
    const { state: lane } = setBack(driver);
    const nowMs = driver.nowMs + MS_PER_HOUR;
    expect(lane.costs).toHaveLength(1);
    expect(followCosts(lane, { accountId: 'desk', nowMs, orders: [] })?.lane).not.toHaveProperty('costs');
  });
});

test('without a step the lane stays unchanged', () => {
  expect(onClock(LANE, settings, moment(OLD_MS + 3_600_000))).toBe(LANE);
});

describe('times that limits count from', () => {
  const episode = { ruleId: 'r', ruleChecksum: 'c', subject: 's', episode: 1 };
  const ledger: LimitLedger = {
    version: 1,
    admitted: [{ ...episode, atMs: OLD_MS - 5_000, endedMs: OLD_MS - 2_000 }],
  };

  test('a step ahead shortens no cooldown', () => {
    const now = moment(OLD_MS + 3_600_000, 3_600_000);
    const moved = ledgerOnClock(ledger, now);
    expect(moved.admitted[0]).toMatchObject({ atMs: now.nowMs - 5_000, endedMs: now.nowMs - 2_000 });
    expect(ledgerOnClock(moved, { ...now, nowMs: now.nowMs + 100 })).toBe(moved);
  });

  test('a step back lengthens no cooldown', () => {
    const nowMs = OLD_MS - 60_000;
    const [moved] = ledgerOnClock(ledger, moment(nowMs)).admitted;
    expect(moved).toMatchObject({ atMs: nowMs - 3_000, endedMs: nowMs });
  });
});

describe('times of approval questions', () => {
  const question: ApprovalQuestion = {
    id: 'q1',
    stageKey: 'r:1',
    openedMs: OLD_MS - 5_000,
    untilMs: OLD_MS + 55_000,
    state: 'waiting',
    asked: [{ revision: 1, atMs: OLD_MS - 5_000, targets: [] }],
  };
  const asked = (changed: Partial<ApprovalQuestion> = {}): Approvals => ({
    version: 1,
    questions: [{ ...question, ...changed }],
  });

  test('a step ahead ends no wait, and shifts it once', () => {
    const now = moment(OLD_MS + 3_600_000, 3_600_000);
    const moved = approvalsOnClock(asked(), now);
    expect(moved).toMatchObject({ version: 1, rebasedMs: now.nowMs });
    expect(moved.questions[0]).toMatchObject({
      openedMs: now.nowMs - 5_000,
      untilMs: now.nowMs + 55_000,
      asked: [{ atMs: now.nowMs - 5_000 }],
    });
    expect(approvalsOnClock(moved, { ...now, nowMs: now.nowMs + 100 })).toBe(moved);
    expect(approvalsOnClock(NO_QUESTIONS, now)).toBe(NO_QUESTIONS);
  });

  test.each([
    ['opened', { openedMs: OLD_MS }, 0],
    ['asked last', { askedMs: OLD_MS }, -5_000],
  ])('a step back makes no wait longer: what was %s is dated now', (_what, changed, agoMs) => {
    const nowMs = OLD_MS - 1_001;
    const set = approvalsOnClock(asked(changed), moment(nowMs));
    expect(set.version).toBe(1);
    expect(set.questions[0]).toMatchObject({ openedMs: nowMs + agoMs, untilMs: nowMs + 55_000 });
    const within = asked(changed);
    expect(approvalsOnClock(within, moment(OLD_MS - 1_000))).toBe(within);
  });

  test('a question asked since the step stays unchanged', () => {
    const now = moment(OLD_MS + 3_600_000, 3_600_000);
    const later = asked({ askedMs: OLD_MS + 1 });
    expect(approvalsOnClock(later, now)).toBe(later);
  });
});
