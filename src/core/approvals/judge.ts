import { type AuditEvent, type Recorder, recorder } from '../audit/audit-event.ts';
import type { ApprovalSettings } from '../quantities/settings.ts';
import { type Margin, mayComeWithin } from '../risk/time-left.ts';
import {
  type ApprovalQuestion,
  type Approvals,
  askedNow,
  byStage,
  isAnswerable,
  partsOf,
  questionId,
  referenceOf,
  type SettledBy,
} from './question.ts';
import { settledWords } from './words.ts';

/** A stage that wants to act and needs approval for it. */
export interface AskingStage {
  readonly stageKey: string;
  /** One of its positions is in a margin call: it acts regardless of any answer. */
  readonly isExempt: boolean;
  /** The gate holds it back for a reason other than approval. */
  readonly isHeldBack: boolean;
  /** Margins to liquidation of the positions it concerns; undefined if one of them is unknown. */
  readonly margins: readonly Margin[] | undefined;
}

type Answer = NonNullable<ApprovalQuestion['answer']>;

export interface GivenAnswer extends Answer {
  readonly questionId: string;
}

export type DeliveryState = 'delivered' | 'failed' | 'pending';

export interface JudgeInputs {
  readonly accountId: string;
  /** Id of the store epoch; question ids of another epoch never match. */
  readonly epochId: string;
  readonly stages: readonly AskingStage[];
  /** Whether the absence of a stage proves that it ended. */
  readonly conclusive: boolean;
  /** In the order in which they were given. */
  readonly answers: readonly GivenAnswer[];
  /** Delivery of the notice that asks. */
  readonly deliveryOf: (question: ApprovalQuestion) => DeliveryState;
  readonly settings: ApprovalSettings;
  /** Time that acting takes once it need not wait for anybody, milliseconds. */
  readonly actingMs: number;
  readonly nowMs: number;
}

export interface Settled {
  readonly question: ApprovalQuestion;
  readonly by: SettledBy;
}

export interface Judged {
  readonly approvals: Approvals;
  readonly settled: readonly Settled[];
  readonly events: readonly AuditEvent[];
}

/** A notice still undelivered after this counts as lost, and the stage no longer waits. */
const DELIVERED_WITHIN_MS = 30_000;
/** Asks again once the distance to liquidation has shrunk below this fraction of the distance at the answer. */
const WORSE_SHARE = 0.9;

/** Applies the answers, then decides for each question whether it still waits. */
export function judgeQuestions(approvals: Approvals, inputs: JudgeInputs): Judged {
  const { accountId, stages, conclusive, answers, nowMs } = inputs;
  const audit = recorder(accountId, undefined, nowMs);
  const known = byStage(approvals);
  const settled: Settled[] = [];
  const questions = stages.flatMap((stage): readonly ApprovalQuestion[] => {
    const before = known.get(stage.stageKey);
    const question = judgeOne(before, stage, inputs, audit);
    if (question === undefined) return [];
    if (question.settledBy !== undefined && question !== before && question.settledBy !== before?.settledBy)
      settled.push({ question, by: question.settledBy });
    return [question];
  });
  const asking = new Set(stages.map(({ stageKey }) => stageKey));
  for (const question of approvals.questions) {
    if (asking.has(question.stageKey)) continue;
    // The question can still be answered while the state of the rule is unknown.
    if (!conclusive) questions.push(withAnswers(question, undefined, answers, audit));
    else if (question.state === 'waiting' && question.askedMs !== undefined)
      settled.push({ question, by: 'notNeeded' });
  }
  for (const answer of answers) {
    if (!questions.some(({ id }) => id === answer.questionId)) sayIgnored(answer, 'it is not asked', audit);
  }
  for (const { question, by } of settled) saySettled(question, by, audit);
  return { approvals: { ...approvals, questions }, settled, events: audit.events };
}

function judgeOne(
  before: ApprovalQuestion | undefined,
  stage: AskingStage,
  inputs: JudgeInputs,
  audit: Recorder,
): ApprovalQuestion | undefined {
  if (before === undefined && (stage.isExempt || stage.isHeldBack)) return undefined;
  const { accountId, epochId, answers } = inputs;
  const { stageKey } = stage;
  const known =
    before ?? waitingFrom({ id: questionId({ accountId, epochId, stageKey }), stageKey, asked: [] }, inputs);
  // Answers come first: they are about what was asked when they were given.
  const answered = withAnswers(known, stage, answers, audit);
  if (stage.isExempt) return answered;
  if (stage.isHeldBack) return heldBack(answered);
  const awake =
    answered.heldBack === true ? waitingFrom(answered, inputs) : withFirstDistance(answered, stage);
  const worse = isWorse(awake, stage) ? waitingFrom(awake, inputs) : awake;
  if (worse.state === 'unanswered' && isTooNear(stage, inputs)) return released(worse, 'timeTooShort');
  if (worse.state !== 'waiting') return worse;
  const told = withDelivery(worse, inputs);
  const by = endOfWait(told, stage, inputs);
  if (by === undefined) return told;
  if (by !== 'unanswered') return released(told, by);
  return { ...told, state: 'unanswered', settledBy: by, ...distanceOf(stage) };
}

function released(question: ApprovalQuestion, settledBy: SettledBy): ApprovalQuestion {
  return { ...question, state: 'released', settledBy };
}

/** True if liquidation may come before the rule could act on a late approval. */
function isTooNear({ margins = [] }: AskingStage, { actingMs }: JudgeInputs): boolean {
  return margins.some((margin) => mayComeWithin(margin, actingMs));
}

function withAnswers(
  question: ApprovalQuestion,
  stage: AskingStage | undefined,
  answers: JudgeInputs['answers'],
  audit: Recorder,
): ApprovalQuestion {
  return answers
    .filter(({ questionId: id }) => id === question.id)
    .reduce((before, answer) => withAnswer(before, answer, stage, audit), question);
}

function heldBack(question: ApprovalQuestion): ApprovalQuestion {
  if (question.state !== 'waiting' || question.heldBack === true) return question;
  const { askedMs: _, delivered: __, ...rest } = question;
  return { ...rest, heldBack: true };
}

/** Returns the question as waiting from now, not asked yet. */
export function waitingFrom(
  question: Pick<ApprovalQuestion, 'id' | 'stageKey' | 'asked' | 'approved'>,
  { settings, nowMs }: Pick<JudgeInputs, 'settings' | 'nowMs'>,
): ApprovalQuestion {
  const { id, stageKey, asked, approved } = question;
  return {
    id,
    stageKey,
    openedMs: nowMs,
    untilMs: nowMs + settings.withinMs,
    state: 'waiting',
    asked,
    ...(approved === undefined ? {} : { approved }),
  };
}

function isWorse({ state, distance }: ApprovalQuestion, stage: AskingStage): boolean {
  if (state !== 'vetoed' && state !== 'unanswered') return false;
  const now = nearest(stage);
  return now !== undefined && distance !== undefined && now < distance * WORSE_SHARE;
}

/** Records the first known distance if it was unknown at the answer. */
function withFirstDistance(question: ApprovalQuestion, stage: AskingStage): ApprovalQuestion {
  const isHeld = question.state === 'vetoed' || question.state === 'unanswered';
  return isHeld && question.distance === undefined ? { ...question, ...distanceOf(stage) } : question;
}

function nearest({ margins = [] }: AskingStage): number | undefined {
  return margins.length === 0 ? undefined : Math.min(...margins.map(({ distance }) => distance));
}

function distanceOf(stage: AskingStage | undefined): Pick<ApprovalQuestion, 'distance'> {
  const distance = stage && nearest(stage);
  return distance === undefined ? {} : { distance };
}

/** Applies an answer; the first one decides, later ones are ignored. */
function withAnswer(
  question: ApprovalQuestion,
  answer: GivenAnswer,
  stage: AskingStage | undefined,
  audit: Recorder,
): ApprovalQuestion {
  const { questionId: _, ...given } = answer;
  if (!isAnswerable(question)) {
    const first = question.answer;
    sayIgnored(
      answer,
      first === undefined ? 'it was not waited for any longer' : `${first.author} answered before`,
      audit,
    );
    return question;
  }
  const shown = askedNow(question, answer.revision);
  if (shown === undefined) {
    sayIgnored(answer, 'this revision was never asked, or long ago', audit);
    return question;
  }
  const { distance: ___, ...rest } = question;
  if (answer.decision === 'veto') {
    return { ...rest, state: 'vetoed', settledBy: 'vetoed', answer: given, ...distanceOf(stage) };
  }
  return { ...rest, state: 'approved', settledBy: 'approved', answer: given, approved: shown.targets };
}

function withDelivery(question: ApprovalQuestion, { deliveryOf }: JudgeInputs): ApprovalQuestion {
  const { delivered, askedMs } = question;
  if (delivered === true || askedMs === undefined || deliveryOf(question) !== 'delivered') return question;
  return { ...question, delivered: true };
}

/** Returns why the question stops waiting; undefined while it waits. */
function endOfWait(
  question: ApprovalQuestion,
  { margins }: AskingStage,
  inputs: JudgeInputs,
): SettledBy | undefined {
  const { settings, actingMs, nowMs, deliveryOf } = inputs;
  const { untilMs, askedMs } = question;
  const neededMs = Math.max(0, untilMs - nowMs) + actingMs;
  // An unknown margin may be too short.
  if (margins === undefined || margins.some((margin) => mayComeWithin(margin, neededMs)))
    return 'timeTooShort';
  // Not asked yet, so the time to answer has not started.
  if (askedMs === undefined) return undefined;
  if (question.delivered !== true) {
    const isLost = nowMs - askedMs >= Math.min(DELIVERED_WITHIN_MS, settings.withinMs / 2);
    const delivery = deliveryOf(question);
    if (delivery === 'failed' || (delivery === 'pending' && isLost)) return 'notDelivered';
  }
  if (nowMs < untilMs) return undefined;
  return settings.withoutAnswer === 'act' ? 'deadline' : 'unanswered';
}

function saySettled(question: ApprovalQuestion, by: SettledBy, audit: Recorder): void {
  const { ruleId } = partsOf(question);
  const words = settledWords(question, by);
  audit.emit({ kind: 'approvalSettled', key: question.stageKey, ruleId, reason: by, words });
}

function sayIgnored(answer: GivenAnswer, why: string, audit: Recorder): void {
  const { decision, author, revision } = answer;
  const what = referenceOf({ id: answer.questionId }, revision);
  const words = `the ${decision === 'approve' ? 'approval' : 'veto'} of ${what} by ${author} changes nothing: ${why}`;
  audit.emit({ kind: 'approvalIgnored', reason: decision, words });
}
