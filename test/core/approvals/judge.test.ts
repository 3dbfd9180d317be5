import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { askQuestions } from '../../../src/core/approvals/ask.ts';
import {
  type AskingStage,
  type GivenAnswer,
  type JudgeInputs,
  judgeQuestions,
} from '../../../src/core/approvals/judge.ts';
import {
  type Approvals,
  byStage,
  goesBeyond,
  NO_QUESTIONS,
  readReference,
  referenceOf,
  stageKeyOf,
} from '../../../src/core/approvals/question.ts';
import { gateRefusal } from '../../../src/core/intents/gate.ts';
import { actionKey } from '../../../src/core/intents/intent.ts';
import { actingMs, mayComeWithin, WORST_MINUTE_MOVE, worstCaseMs } from '../../../src/core/risk/time-left.ts';
import { text } from '../../support/account-view.ts';
import { action, half } from '../lanes/fixtures.ts';

const REQUEST = action(half, { mode: 'approve' });
const STAGE_KEY = stageKeyOf(REQUEST);
const SETTINGS = { withinMs: 60_000, withoutAnswer: 'act' } as const;
const ACTING_MS = 10_000;

const stage = (distance: number | undefined, changes: Partial<AskingStage> = {}): AskingStage => ({
  stageKey: STAGE_KEY,
  isExempt: false,
  isHeldBack: false,
  margins: distance === undefined ? undefined : [{ distance, dangerous: 'fall', motion: undefined }],
  ...changes,
});

const INPUTS: JudgeInputs = {
  accountId: 'desk',
  epochId: 'first',
  stages: [],
  conclusive: true,
  answers: [],
  deliveryOf: () => 'delivered',
  settings: SETTINGS,
  actingMs: ACTING_MS,
  nowMs: 0,
};

interface Poll {
  readonly epochId?: string;
  readonly isReady?: boolean;
  readonly nowMs: number;
  readonly stage: AskingStage;
  readonly answers?: readonly GivenAnswer[];
  readonly withoutAnswer?: 'act' | 'hold';
  readonly targetBase?: string;
}

/** One poll: takes in the answers, then asks people. */
function poll(
  before: Approvals,
  {
    epochId = 'first',
    isReady = true,
    nowMs,
    stage: asking,
    answers = [],
    withoutAnswer = 'act',
    targetBase = '0.5',
  }: Poll,
) {
  const settings = { ...SETTINGS, withoutAnswer };
  const judged = judgeQuestions(before, {
    ...INPUTS,
    epochId,
    stages: [asking],
    answers,
    settings,
    nowMs,
  });
  const target = { positionId: '42', market: 'BTC_PERP', targetBase: text(targetBase), sizeBase: text('1') };
  const wanted = new Map([[STAGE_KEY, { targets: isReady ? [target] : [], isReady, orders: () => [] }]]);
  return askQuestions(judged.approvals, { accountId: 'desk', wanted, settings, tolerance: 0.1, nowMs })
    .approvals;
}

const refusalOf = (approvals: Approvals, exemptFromLimits = false) =>
  gateRefusal(
    {
      mode: 'approve',
      ruleId: REQUEST.ruleId,
      key: actionKey(REQUEST, '42'),
      positionId: '42',
      episodeKey: STAGE_KEY,
      exemptFromLimits,
    },
    { paused: false, silencedRules: [], limited: {}, questions: byStage(approvals) },
  );

function answerTo(approvals: Approvals, decision: 'approve' | 'veto'): readonly GivenAnswer[] {
  const [question] = approvals.questions;
  const revision = question?.asked.at(-1)?.revision ?? 0;
  return [{ questionId: question?.id ?? '', decision, revision, author: 'ann', reason: 'seen', atMs: 0 }];
}

test('an action that needs approval is held back until somebody has been asked', () => {
  expect(refusalOf(NO_QUESTIONS)).toBe('awaitingApproval');
});

test('an exempt stage (margin call) acts whether vetoed or not, and leaves the question unchanged', () => {
  const asked = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.3) });
  const vetoed = poll(asked, { nowMs: 1_000, stage: stage(0.3), answers: answerTo(asked, 'veto') });
  expect(refusalOf(vetoed)).toBe('vetoed');
  expect(refusalOf(vetoed, true)).toBeNull();
  const called = poll(vetoed, { nowMs: 2_000, stage: stage(0.01, { isExempt: true }) });
  expect(called).toEqual(vetoed);
  expect(poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.01, { isExempt: true }) }).questions).toEqual([]);
});

test('an unknown distance releases the question: the time may be too short to ask', () => {
  const asked = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(undefined) });
  expect(asked.questions[0]).toMatchObject({ state: 'released', settledBy: 'timeTooShort' });
});

describe('answers are kept', () => {
  const asked = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.3) });

  test('a veto given during a pause holds after the pause', () => {
    const answers = answerTo(asked, 'veto');
    const paused = poll(asked, { nowMs: 1_000, stage: stage(0.3, { isHeldBack: true }), answers });
    expect(refusalOf(poll(paused, { nowMs: 200_000, stage: stage(0.3) }))).toBe('vetoed');
  });

  test('a veto given during a margin call holds after it', () => {
    const called = stage(0.3, { isExempt: true });
    const vetoed = poll(asked, { nowMs: 1_000, stage: called, answers: answerTo(asked, 'veto') });
    expect(refusalOf(poll(vetoed, { nowMs: 200_000, stage: stage(0.3) }))).toBe('vetoed');
  });

  test('a veto counts while the rule cannot be evaluated', () => {
    const judged = judgeQuestions(asked, { ...INPUTS, conclusive: false, answers: answerTo(asked, 'veto') });
    expect(judged.approvals.questions).toMatchObject([{ state: 'vetoed' }]);
  });

  test('a late approval counts although the position gets worse', () => {
    const hold = { withoutAnswer: 'hold' } as const;
    const silent = poll(asked, { nowMs: 60_000, stage: stage(0.3), ...hold });
    expect(refusalOf(silent)).toBe('notAnswered');
    const worse = { nowMs: 70_000, stage: stage(0.2), answers: answerTo(silent, 'approve'), ...hold };
    expect(refusalOf(poll(silent, worse))).toBeNull();
  });
});

test('after a veto at unknown distance it asks again once 10 % nearer than the first known distance', () => {
  const asked = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.3) });
  const answers = answerTo(asked, 'veto');
  const blind = poll(asked, { nowMs: 1_000, stage: stage(undefined), answers });
  const seen = poll(blind, { nowMs: 2_000, stage: stage(0.28) });
  expect(seen.questions).toMatchObject([{ state: 'vetoed', distance: 0.28 }]);
  expect(poll(seen, { nowMs: 3_000, stage: stage(0.251) }).questions).toMatchObject([{ state: 'waiting' }]);
});

test('an unanswered question on hold is released when liquidation may come before the action could', () => {
  const hold = { withoutAnswer: 'hold' } as const;
  const asked = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.13), ...hold });
  const silent = poll(asked, { nowMs: 60_000, stage: stage(0.0172), ...hold });
  expect(refusalOf(silent)).toBe('notAnswered');
  expect(refusalOf(poll(silent, { nowMs: 61_000, stage: stage(0.0165), ...hold }))).toBeNull();
});

test('the deadline runs only from when people can be asked', () => {
  const unknown = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.3), isReady: false });
  const later = poll(unknown, { nowMs: 100_000, stage: stage(0.3), isReady: false });
  expect(later.questions).toMatchObject([{ state: 'waiting' }]);
  const asked = poll(later, { nowMs: 101_000, stage: stage(0.3) });
  expect(asked.questions).toMatchObject([{ state: 'waiting', untilMs: 161_000 }]);
});

test('an answer from before the store was lost does not match a question of the new store', () => {
  const before = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.3) });
  const after = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.3), epochId: 'second' });
  expect(after.questions[0]?.stageKey).toBe(before.questions[0]?.stageKey);
  const answers = answerTo(before, 'approve');
  const replayed = poll(after, { nowMs: 1_000, stage: stage(0.3), answers, epochId: 'second' });
  expect(refusalOf(replayed)).toBe('awaitingApproval');
});

test('an approval covers the position shown, not another one under the same id', () => {
  const shown = { positionId: '42', market: 'BTC_PERP', targetBase: text('0.5'), sizeBase: text('1') };
  const long = { ...shown, openDate: 1, direction: 'long' } as const;
  expect(goesBeyond(long, [long], 0.1)).toBe(false);
  expect(goesBeyond({ ...long, openDate: 2 }, [long], 0.1)).toBe(true);
  expect(goesBeyond({ ...long, direction: 'short' }, [long], 0.1)).toBe(true);
  expect(goesBeyond(long, [shown], 0.1)).toBe(false);
});

test('the time left assumes the worst minute on record, or the present speed if that is faster', () => {
  const margin = { dangerous: 'fall', motion: undefined } as const;
  expect(WORST_MINUTE_MOVE).toBe(0.1);
  expect(worstCaseMs(0.05)).toBe(30_000);
  expect(mayComeWithin({ ...margin, distance: 0.1 }, 60_000)).toBe(true);
  expect(mayComeWithin({ ...margin, distance: 0.101 }, 60_000)).toBe(false);
  const falling = { variancePerMs: 0, driftPerMs: -0.2 / 60_000 };
  expect(mayComeWithin({ ...margin, distance: 0.15, motion: falling }, 60_000)).toBe(true);
  expect(mayComeWithin({ distance: 0.15, dangerous: 'rise', motion: falling }, 60_000)).toBe(false);
  const settings = { cadence: { calmMs: 10_000, alertMs: 1_000 }, lateArrivalMs: 5_000, fillWithinMs: 5_000 };
  expect(actingMs(settings)).toBe(16_000);
});

test('a written reference is read back unchanged; malformed ones are refused', () => {
  expect(readReference(referenceOf({ id: '4c604367' }, 2))).toEqual({ questionId: '4c604367', revision: 2 });
  for (const other of ['', '4c604367', '4c604367-0', '-1', 'A-1', '4c604367-1-1'])
    expect(readReference(other)).toBeUndefined();
});

test('under any answers, silence acts at the deadline and a veto holds until the distance is clearly worse', () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 500, max: 20_000 }),
    // Mostly far enough for somebody to answer in time.
    distance: fc.oneof(
      { weight: 6, arbitrary: fc.double({ min: 0.2, max: 0.5, noNaN: true }) },
      { weight: 1, arbitrary: fc.double({ min: 0.001, max: 0.2, noNaN: true }) },
    ),
    answer: fc.option(fc.constantFrom('approve' as const, 'veto' as const), { freq: 4 }),
    target: fc.constantFrom('0.5', '0.48', '0.3', '0'),
  });
  fc.assert(
    fc.property(
      fc.constantFrom('act' as const, 'hold' as const),
      fc.array(step, { maxLength: 25 }),
      (withoutAnswer, steps) => {
        let approvals: Approvals = NO_QUESTIONS;
        let nowMs = 0;
        for (const { afterMs, distance, answer, target } of steps) {
          const [before] = approvals.questions;
          const answers = answer === null ? [] : answerTo(approvals, answer);
          nowMs += afterMs;
          approvals = poll(approvals, {
            nowMs,
            stage: stage(distance),
            answers,
            withoutAnswer,
            targetBase: target,
          });
          const [after] = approvals.questions;
          if (after === undefined) throw new Error('a stage that asks has a question');
          // No question waits past its deadline, or when there is no time to wait.
          if (after.state === 'waiting') {
            expect(nowMs).toBeLessThan(after.untilMs);
            if (after.askedMs !== nowMs)
              expect(
                mayComeWithin(
                  { distance, dangerous: 'fall', motion: undefined },
                  after.untilMs - nowMs + ACTING_MS,
                ),
              ).toBe(false);
          }
          const isHeld = before?.state === 'vetoed' || before?.state === 'unanswered';
          const isClearlyWorse = distance < (before?.distance ?? 0) * 0.9;
          const wasApproved = before?.state === 'unanswered' && answer === 'approve';
          if (isHeld && !isClearlyWorse && !wasApproved)
            expect(['vetoed', 'unanswered']).toContain(after.state);
          // With `hold`, silence never acts.
          if (withoutAnswer === 'hold') expect(after.settledBy).not.toBe('deadline');
          // No approval covers more than was shown.
          if (after.state === 'approved' && before?.state !== 'approved') {
            const shown = before?.asked.find(({ revision }) => revision === after.answer?.revision);
            expect(after.approved).toEqual(shown?.targets);
          }
          if (before?.state === 'released') expect(after.state).toBe('released');
        }
      },
    ),
  );
});
