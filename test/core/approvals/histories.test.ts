import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { askQuestions, type WantedStage } from '../../../src/core/approvals/ask.ts';
import {
  type AskingStage,
  type DeliveryState,
  type GivenAnswer,
  judgeQuestions,
} from '../../../src/core/approvals/judge.ts';
import {
  type Approvals,
  type AskedTarget,
  approvalRefusal,
  approvedTarget,
  byStage,
  latestOf,
  NO_QUESTIONS,
  noticeIdOf,
  readReference,
  referenceOf,
  restRefusal,
  stageKeyOf,
} from '../../../src/core/approvals/question.ts';
import { questionLines } from '../../../src/core/view/lane-lines.ts';
import { text } from '../../support/account-view.ts';
import { Dice } from '../../support/dice.ts';

/**
 * Random polls of an account that asks people: checks the invariants and keeps the questions for review.
 * `npm test -- test/core/approvals/histories.test.ts --update` rewrites the transcript.
 */

const POLLS = 30;
const ACTING_MS = 10_000;
const KEYS = ['near', 'far'].map((ruleId) =>
  stageKeyOf({ ruleId, ruleChecksum: 'c', subject: 'position:41', episode: 1, stage: 0 }),
);
const POSITIONS = ['41', '42'] as const;
const keyOf = (stageKey: string): string =>
  JSON.stringify([...(JSON.parse(stageKey) as unknown[]), 'reduce']);

function stageOf(dice: Dice, stageKey: string): AskingStage {
  const distance = dice.of(0.5, 0.5, 0.45, 0.449, 0.4, 0.02, 0.004);
  return {
    stageKey,
    isExempt: dice.hits(0.03),
    isHeldBack: dice.hits(0.08),
    margins: dice.hits(0.05)
      ? undefined
      : dice.hits(0.1)
        ? []
        : [
            { distance, dangerous: dice.of('fall', 'rise'), motion: undefined },
            ...(dice.hits(0.3) ? [{ distance: 0.6, dangerous: 'rise' as const, motion: undefined }] : []),
          ],
  };
}

function targetsOf(dice: Dice): readonly AskedTarget[] {
  return POSITIONS.slice(0, dice.of(0, 1, 1, 2)).map((positionId): AskedTarget => {
    const sizeBase = text(dice.of('2', '2', '2', '2.1'));
    const target = {
      positionId,
      market: 'BTC_PERP',
      sizeBase,
      targetBase: text(dice.of('1', '1', '0.9', '0.89', '0.5')),
    };
    if (dice.hits(0.3)) return target;
    return Object.assign(target, {
      openDate: dice.of(1, 1, 1, 1, 2),
      direction: dice.of<'long' | 'short'>('long', 'long', 'long', 'short'),
    });
  });
}

function answersOf(dice: Dice, approvals: Approvals, nowMs: number): readonly GivenAnswer[] {
  const answers: GivenAnswer[] = [];
  for (const question of approvals.questions) {
    if (!dice.hits(0.15)) continue;
    for (let times = dice.of(1, 1, 1, 2); times > 0; times -= 1) {
      answers.push({
        questionId: dice.hits(0.95) ? question.id : 'unknown',
        decision: dice.of('approve', 'veto'),
        author: dice.of('ann', 'bob'),
        reason: 'so',
        atMs: nowMs - 100,
        revision: (latestOf(question)?.revision ?? 1) - dice.of(0, 0, 0, 1),
      });
    }
  }
  return answers;
}

function wantedOf(dice: Dice): ReadonlyMap<string, WantedStage> {
  const wanted = new Map<string, WantedStage>();
  for (const key of KEYS) {
    if (dice.hits(0.1)) continue;
    const targets = targetsOf(dice);
    wanted.set(key, {
      targets,
      isReady: dice.hits(0.8),
      orders: () => targets.map(({ positionId }) => `o ${positionId}`),
    });
  }
  return wanted;
}

interface Step {
  readonly lines: readonly string[];
  readonly before: Approvals;
  readonly after: Approvals;
  readonly answers: readonly GivenAnswer[];
  readonly nowMs: number;
}

function play(seed: number): readonly Step[] {
  const dice = new Dice(seed);
  const settings = {
    withinMs: dice.of(20_000, 60_000, 600_000),
    withoutAnswer: dice.of('act', 'hold'),
  } as const;
  let approvals = NO_QUESTIONS;
  let nowMs = 0;
  const steps: Step[] = [];
  for (let poll = 0; poll < POLLS; poll += 1) {
    nowMs += dice.of(0, 1_000, 5_000, 10_000, 15_000, 30_000);
    const before = approvals;
    const answers = answersOf(dice, approvals, nowMs);
    const delivery = dice.of<DeliveryState>('delivered', 'delivered', 'pending', 'pending', 'failed');
    const judged = judgeQuestions(approvals, {
      accountId: 'desk',
      epochId: 'e',
      stages: KEYS.filter(() => dice.hits(0.9)).map((key) => stageOf(dice, key)),
      conclusive: dice.hits(0.5),
      answers,
      deliveryOf: () => delivery,
      settings,
      actingMs: ACTING_MS,
      nowMs,
    });
    const asked = askQuestions(judged.approvals, {
      accountId: 'desk',
      wanted: wantedOf(dice),
      settings,
      tolerance: 0.1,
      nowMs,
    });
    approvals = asked.approvals;
    const known = byStage(approvals);
    const gates = KEYS.flatMap((key) =>
      [null, ...POSITIONS].map((positionId) => {
        const subject = { key: keyOf(key), positionId };
        const target = approvedTarget(subject, known)?.targetBase ?? '-';
        return `${approvalRefusal(subject, known) ?? 'acts'} ${restRefusal(subject, known)} ${target}`;
      }),
    );
    const lines = [
      `-- ${nowMs}: ${answers.map(({ decision, author }) => `${author} ${decision}`).join(', ')}`,
      ...[...judged.events, ...asked.events].map(({ kind, reason, words }) => `${kind} ${reason}: ${words}`),
      ...judged.settled.map(({ question, by }) => `settled ${question.id} ${by}`),
      ...asked.asked.map(
        ({ question, revision, orders }) => `ask ${noticeIdOf('desk', question, revision)} ${orders.join()}`,
      ),
      ...approvals.questions.map((question) => JSON.stringify(question)),
      gates.join(', '),
      JSON.stringify(questionLines(approvals, [], settings.withoutAnswer)),
    ];
    steps.push({ lines, before, after: approvals, answers, nowMs });
  }
  return steps;
}

test('what is asked and answered', async () => {
  const lines = [1, 2, 3].flatMap((seed) => play(seed).flatMap((step) => step.lines));
  const file = path.join(import.meta.dirname, 'transcripts', 'histories.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

test.for([1, 2, 3, 4])('a hundred histories by their hash, %i', (seed) => {
  const hash = createHash('sha256');
  for (let index = 0; index < 100; index += 1) {
    for (const { lines } of play(seed * 1_000 + index)) hash.update(lines.join('\n'));
  }
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});

test('nothing is approved that nobody approved, nor beyond what was shown', () => {
  for (let seed = 0; seed < 100; seed += 1) {
    for (const { before, after, answers } of play(seed)) {
      const known = new Map(before.questions.map((question) => [question.id, question]));
      for (const question of after.questions) {
        const earlier = known.get(question.id);
        if (question.state === 'approved' && earlier?.state !== 'approved') {
          const isApproved = answers.some(
            ({ questionId, decision }) => questionId === question.id && decision === 'approve',
          );
          expect(isApproved).toBe(true);
        }
        const shown = question.asked.flatMap(({ targets }) =>
          targets.map((target) => JSON.stringify(target)),
        );
        const approvedBefore = (earlier?.approved ?? []).map((target) => JSON.stringify(target));
        for (const target of question.approved ?? []) {
          expect([...shown, ...approvedBefore]).toContain(JSON.stringify(target));
        }
        expect(question.asked.length).toBeLessThanOrEqual(8);
        const revisions = question.asked.map(({ revision }) => revision);
        expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
        if (question.state === 'vetoed') expect(question.answer?.decision).toBe('veto');
      }
    }
  }
});

test.each([
  ['q1-1', { questionId: 'q1', revision: 1 }],
  [`${'q'.repeat(40)}-999999`, { questionId: 'q'.repeat(40), revision: 999_999 }],
  [`${'q'.repeat(41)}-1`, undefined],
  ['q1-0', undefined],
  ['q1-1000000', undefined],
  ['Q1-1', undefined],
  ['q1', undefined],
  ['-1', undefined],
  [' q1-1', undefined],
])('the reference %j is read', (written, read) => {
  expect(readReference(written)).toEqual(read);
  if (read !== undefined) expect(referenceOf({ id: read.questionId }, read.revision)).toBe(written);
});
