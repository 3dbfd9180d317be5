import type { GateReason } from '../audit/audit-event.ts';
import type { ReadPosition } from '../lanes/lane-state.ts';
import { isSameHolding } from '../lanes/market-read.ts';
import { sha256Hex } from '../orders/sha256.ts';
import { type DecimalString, decimalFromNumber, toDecimal } from '../quantities/decimal.ts';
import type { ActionRequest, SubjectKey } from '../rules/subject.ts';

/** What people are asked about: a document of the account. Plain JSON; times are on the lanes' clock. */
export interface Approvals {
  readonly version: 1;
  readonly questions: readonly ApprovalQuestion[];
  /** When its times were last moved because the lanes' clock had been set ahead; absent: never. */
  readonly rebasedMs?: number;
}

export const NO_QUESTIONS: Approvals = { version: 1, questions: [] };

/** One stage of one episode that acts only when it may. */
export interface ApprovalQuestion {
  /** Letters and digits, unique in the account. */
  readonly id: string;
  /** As `stageKeyOf` writes it. */
  readonly stageKey: string;
  /** When its present wait began, and when it ends. */
  readonly openedMs: number;
  readonly untilMs: number;
  readonly state: QuestionState;
  /** Why it does not wait any more. */
  readonly settledBy?: SettledBy;
  /** What was asked, the newest last; an answer names the revision that it is about. */
  readonly asked: readonly Asked[];
  /** In the present wait people were first asked then; absent: not yet. */
  readonly askedMs?: number;
  /** Something else holds the action back (a pause, say): nobody is asked meanwhile, and the wait begins anew. */
  readonly heldBack?: true;
  /** Somebody was reached. */
  readonly delivered?: true;
  /** Positions may be reduced to this, whatever else is asked now. */
  readonly approved?: readonly AskedTarget[];
  readonly answer?: Answered;
  /** How near liquidation was when it was answered or given up: clearly nearer asks again. */
  readonly distance?: number;
}

/**
 * `released`: it acts without an answer. `unanswered`: it does not, and can still be approved. Only `approved` is bound
 * to the targets that were shown.
 */
export type QuestionState = 'waiting' | 'approved' | 'vetoed' | 'unanswered' | 'released';

/** Why a question does not wait. Closed list. `notNeeded`: the rule does not fire any more. */
export type SettledBy =
  | 'approved'
  | 'vetoed'
  | 'deadline'
  | 'timeTooShort'
  | 'notDelivered'
  | 'unanswered'
  | 'notNeeded';

export interface Asked {
  /** From 1. */
  readonly revision: number;
  readonly atMs: number;
  /** Empty: nothing but cancels. */
  readonly targets: readonly AskedTarget[];
}

/** `openDate` and `direction` tell a position from another one under its id. */
export interface AskedTarget extends Partial<Pick<ReadPosition, 'openDate' | 'direction'>> {
  readonly positionId: string;
  readonly market: string;
  /** At most so much is left. */
  readonly targetBase: DecimalString;
  /** The size that it is taken from. */
  readonly sizeBase: DecimalString;
}

export interface Answered {
  readonly decision: 'approve' | 'veto';
  readonly author: string;
  readonly reason: string;
  readonly atMs: number;
  readonly revision: number;
}

/** Rule, its checksum, subject, episode and stage. */
export function stageKeyOf(
  request: Pick<ActionRequest, 'ruleId' | 'ruleChecksum' | 'subject' | 'episode' | 'stage'>,
): string {
  const { ruleId, ruleChecksum, subject, episode, stage } = request;
  return JSON.stringify([ruleId, ruleChecksum, subject, episode, stage]);
}

/** The stage of an action, by a key that `actionKey` has written; such a stage itself. */
export function stageOf(key: string): string {
  return JSON.stringify((JSON.parse(key) as readonly unknown[]).slice(0, 5));
}

export interface StageParts {
  readonly ruleId: string;
  readonly subject: SubjectKey;
  readonly episode: number;
  readonly stage: number;
}

export function partsOf({ stageKey }: Pick<ApprovalQuestion, 'stageKey'>): StageParts {
  const [ruleId, , subject, episode, stage] = JSON.parse(stageKey) as [
    string,
    string,
    string,
    number,
    number,
  ];
  return { ruleId, subject, episode, stage };
}

const ID_LENGTH = 8;

interface QuestionOf {
  readonly accountId: string;
  readonly epochId: string;
  readonly stageKey: string;
}

/** Episodes are counted anew in another store epoch: an answer from before must not fit. */
export function questionId({ accountId, epochId, stageKey }: QuestionOf): string {
  return sha256Hex(JSON.stringify([accountId, epochId, stageKey])).slice(0, ID_LENGTH);
}

/** What people type: the question and what of it they have seen. */
export function referenceOf({ id }: Pick<ApprovalQuestion, 'id'>, revision: number): string {
  return `${id}-${revision}`;
}

export function readReference(
  text: string,
): { readonly questionId: string; readonly revision: number } | undefined {
  const [, id, revision] = /^([0-9a-z]{1,40})-([1-9]\d{0,5})$/.exec(text) ?? [];
  return id === undefined ? undefined : { questionId: id, revision: Number(revision) };
}

/** Of the notice that asks, by which its delivery is known. */
export function noticeKeyOf(accountId: string, { id }: Pick<ApprovalQuestion, 'id'>): string {
  return `${accountId}|approval:${id}`;
}

export function noticeIdOf(
  accountId: string,
  question: Pick<ApprovalQuestion, 'id'>,
  revision: number,
): string {
  return JSON.stringify([noticeKeyOf(accountId, question), revision]);
}

export function latestOf({ asked }: Pick<ApprovalQuestion, 'asked'>): Asked | undefined {
  return asked.at(-1);
}

/** Whether it can be answered: it waits, or was given up for want of an answer. */
export function isAnswerable({ state }: Pick<ApprovalQuestion, 'state'>): boolean {
  return state === 'waiting' || state === 'unanswered';
}

/** A revision that is asked in the present wait; undefined: it was never asked, or before. */
export function askedNow({ asked, askedMs }: ApprovalQuestion, revision: number): Asked | undefined {
  const shown = asked.find((one) => one.revision === revision);
  return shown !== undefined && askedMs !== undefined && shown.atMs >= askedMs ? shown : undefined;
}

/** What the gate asks of an action that needs approval. */
export interface ApprovalSubject {
  readonly key: string;
  /** Absent or null: it is of no one position. */
  readonly positionId?: string | null;
}

/** Why an action has to wait or stay away; null: it may act, down to `approvedTarget`. */
export function approvalRefusal(
  { key, positionId = null }: ApprovalSubject,
  questions: ReadonlyMap<string, ApprovalQuestion> | undefined,
): Extract<GateReason, 'awaitingApproval' | 'vetoed' | 'notAnswered'> | null {
  const question = questions?.get(stageOf(key));
  if (question === undefined) return 'awaitingApproval';
  if (question.state === 'released') return null;
  const isApproved =
    question.approved !== undefined &&
    (positionId === null || question.approved.some((target) => target.positionId === positionId));
  return isApproved ? null : restRefusal({ key }, questions);
}

/** Why what goes beyond the approved target has to wait or stay away. */
export function restRefusal(
  { key }: ApprovalSubject,
  questions: ReadonlyMap<string, ApprovalQuestion> | undefined,
): ReturnType<typeof approvalRefusal> {
  const state = questions?.get(stageOf(key))?.state;
  if (state === 'vetoed') return 'vetoed';
  return state === 'unanswered' ? 'notAnswered' : 'awaitingApproval';
}

/** How far an action may go; undefined: it is not bound by an approval. */
export function approvedTarget(
  { key, positionId }: ApprovalSubject,
  questions: ReadonlyMap<string, ApprovalQuestion> | undefined,
): AskedTarget | undefined {
  const question = questions?.get(stageOf(key));
  if (question === undefined || question.state === 'released') return undefined;
  return question.approved?.find((target) => target.positionId === positionId);
}

export function byStage({ questions }: Approvals): ReadonlyMap<string, ApprovalQuestion> {
  return new Map(questions.map((question) => [question.stageKey, question]));
}

/** Whether it is another position than the one that was shown under this id. */
export function isAnother(shown: AskedTarget, now: Pick<AskedTarget, 'openDate' | 'direction'>): boolean {
  const { openDate = null, direction = null } = now;
  const before = { openDate: shown.openDate ?? null, direction: shown.direction ?? null };
  return !isSameHolding(before, { openDate, direction });
}

/** Whether a reduction goes clearly beyond one that was shown: another position, a larger one, or a lower target. */
export function goesBeyond(target: AskedTarget, shown: readonly AskedTarget[], tolerance: number): boolean {
  const known = shown.find(({ positionId }) => positionId === target.positionId);
  if (known === undefined || isAnother(known, target)) return true;
  if (toDecimal(target.sizeBase).gt(toDecimal(known.sizeBase))) return true;
  const asked = toDecimal(known.sizeBase).minus(toDecimal(known.targetBase));
  const further = toDecimal(known.targetBase).minus(toDecimal(target.targetBase));
  return further.gt(asked.times(decimalFromNumber(tolerance)));
}
