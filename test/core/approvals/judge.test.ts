import fc from 'fast-check';
import { expect, test } from 'vitest';
import { askQuestions } from '../../../src/core/approvals/ask.ts';
import { type AskingStage, type GivenAnswer, judgeQuestions } from '../../../src/core/approvals/judge.ts';
import {
  type Approvals,
  byStage,
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

interface Poll {
  readonly nowMs: number;
  readonly stage: AskingStage;
  readonly answers?: readonly GivenAnswer[];
  readonly withoutAnswer?: 'act' | 'hold';
  readonly targetBase?: string;
}

/** One poll: what was answered is taken in, then people are asked. */
function poll(
  before: Approvals,
  { nowMs, stage: asking, answers = [], withoutAnswer = 'act', targetBase = '0.5' }: Poll,
) {
  const settings = { ...SETTINGS, withoutAnswer };
  const judged = judgeQuestions(before, {
    accountId: 'desk',
    stages: [asking],
    conclusive: true,
    answers,
    deliveryOf: () => 'delivered',
    settings,
    actingMs: ACTING_MS,
    nowMs,
  });
  const target = { positionId: '42', market: 'BTC_PERP', targetBase: text(targetBase), sizeBase: text('1') };
  const wanted = new Map([[STAGE_KEY, { targets: [target], reduces: true, orders: () => [] }]]);
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

test('before anybody was asked an action that needs approval is held back', () => {
  expect(refusalOf(NO_QUESTIONS)).toBe('awaitingApproval');
});

test('in a margin call it acts, vetoed or not, and the question stays as it was', () => {
  const asked = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.3) });
  const vetoed = poll(asked, { nowMs: 1_000, stage: stage(0.3), answers: answerTo(asked, 'veto') });
  expect(refusalOf(vetoed)).toBe('vetoed');
  expect(refusalOf(vetoed, true)).toBeNull();
  const called = poll(vetoed, { nowMs: 2_000, stage: stage(0.01, { isExempt: true }) });
  expect(called).toEqual(vetoed);
  expect(poll(NO_QUESTIONS, { nowMs: 0, stage: stage(0.01, { isExempt: true }) }).questions).toEqual([]);
});

test('what is not known may be too short a time', () => {
  const asked = poll(NO_QUESTIONS, { nowMs: 0, stage: stage(undefined) });
  expect(asked.questions[0]).toMatchObject({ state: 'released', settledBy: 'timeTooShort' });
});

test('the time that is left is that of the worst minutes, or of the present speed where that is faster', () => {
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

test('a reference is read as it was written', () => {
  expect(readReference(referenceOf({ id: '4c604367' }, 2))).toEqual({ questionId: '4c604367', revision: 2 });
  for (const other of ['', '4c604367', '4c604367-0', '-1', 'A-1', '4c604367-1-1'])
    expect(readReference(other)).toBeUndefined();
});

test('whatever is answered when: silence acts at the deadline, a veto holds until it is clearly worse', () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 500, max: 20_000 }),
    // Mostly far enough for somebody to answer.
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
          // Nothing waits beyond its deadline, nor when there is no time to.
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
          // Silence never acts where nothing may be done without an answer.
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
