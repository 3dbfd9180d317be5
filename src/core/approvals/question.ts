import { z } from 'zod';
import type { GateReason } from '../audit/audit-event.ts';
import { sha256Hex } from '../audit/sha256.ts';
import type { ReadPosition } from '../lanes/lane-state.ts';
import { isSameHolding } from '../lanes/market-read.ts';
import { decimalFromNumber, toDecimal } from '../quantities/decimal.ts';
import type { ActionRequest, SubjectKey } from '../rules/subject.ts';
import { decimal, type OutputOf, timeMs } from '../schema/parts.ts';

/** Questions to people: one document per account. Plain JSON; times are on the lanes' clock. */
export interface Approvals {
  readonly version: 1;
  readonly questions: readonly ApprovalQuestion[];
  /** When its times were last shifted because the lanes' clock had jumped ahead; absent: never. */
  readonly rebasedMs?: number;
}

export const NO_QUESTIONS: Approvals = { version: 1, questions: [] };

/** One stage of one episode that needs approval to act. */
export interface ApprovalQuestion {
  /** Letters and digits, unique in the account. */
  readonly id: string;
  /** As `stageKeyOf` writes it. */
  readonly stageKey: string;
  /** When the present wait began and when it ends. */
  readonly openedMs: number;
  readonly untilMs: number;
  readonly state: QuestionState;
  /** Why it stopped waiting. */
  readonly settledBy?: SettledBy;
  /** All revisions that were asked, newest last; an answer names its revision. */
  readonly asked: readonly Asked[];
  /** When people were first asked in the present wait; absent: not yet. */
  readonly askedMs?: number;
  /** Another reason (a pause, say) holds the action back: nobody is asked meanwhile, and the wait restarts. */
  readonly heldBack?: true;
  /** The notice reached somebody. */
  readonly delivered?: true;
  /** Positions may be reduced down to these targets, even if a later revision asks for more. */
  readonly approved?: readonly AskedTarget[];
  readonly answer?: Answered;
  /** Distance to liquidation at the answer or the deadline; a clearly smaller distance asks again. */
  readonly distance?: number;
}

/** Only `approved` is bound to the targets that were shown. */
export const questionState = z
  .enum(['waiting', 'approved', 'vetoed', 'unanswered', 'released'])
  .describe('released: it acts without an answer. unanswered: it does not, and can still be approved.');
export type QuestionState = z.output<typeof questionState>;

/** Why a question stopped waiting. Closed list. `notNeeded`: the rule no longer fires. */
export const settledBy = z.enum([
  'approved',
  'vetoed',
  'deadline',
  'timeTooShort',
  'notDelivered',
  'unanswered',
  'notNeeded',
]);
export type SettledBy = z.output<typeof settledBy>;

export interface Asked {
  /** From 1. */
  readonly revision: number;
  readonly atMs: number;
  /** Empty: only cancels. */
  readonly targets: readonly AskedTarget[];
}

export const askedTargetSchema = z.strictObject({
  positionId: z.string(),
  market: z.string(),
  /** The most that may remain open. */
  targetBase: decimal(),
  /** The size when it was asked. */
  sizeBase: decimal(),
});

/** `openDate` and `direction` distinguish positions that share an id. */
export type AskedTarget = OutputOf<typeof askedTargetSchema> &
  Partial<Pick<ReadPosition, 'openDate' | 'direction'>>;

export const answeredSchema = z.strictObject({
  decision: z.enum(['approve', 'veto']),
  author: z.string(),
  reason: z.string(),
  atMs: timeMs(),
  revision: z.number().int(),
});
export type Answered = OutputOf<typeof answeredSchema>;

/** Key of a stage: rule, rule checksum, subject, episode, stage. */
export function stageKeyOf(
  request: Pick<ActionRequest, 'ruleId' | 'ruleChecksum' | 'subject' | 'episode' | 'stage'>,
): string {
  const { ruleId, ruleChecksum, subject, episode, stage } = request;
  return JSON.stringify([ruleId, ruleChecksum, subject, episode, stage]);
}

/** Returns the stage key of an action key written by `actionKey`; a stage key maps to itself. */
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

/** Episodes are counted anew in each store epoch: an answer from an earlier epoch must not match. */
export function questionId({ accountId, epochId, stageKey }: QuestionOf): string {
  return sha256Hex(JSON.stringify([accountId, epochId, stageKey])).slice(0, ID_LENGTH);
}

/** The reference that people type: question id and revision. */
export function referenceOf({ id }: Pick<ApprovalQuestion, 'id'>, revision: number): string {
  return `${id}-${revision}`;
}

export function readReference(
  text: string,
): { readonly questionId: string; readonly revision: number } | undefined {
  const [, id, revision] = /^([0-9a-z]{1,40})-([1-9]\d{0,5})$/.exec(text) ?? [];
  return id === undefined ? undefined : { questionId: id, revision: Number(revision) };
}

/** Key under which the delivery of the question's notice is recorded. */
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

/** True while it waits or after it ended unanswered. */
export function isAnswerable({ state }: Pick<ApprovalQuestion, 'state'>): boolean {
  return state === 'waiting' || state === 'unanswered';
}

/** Returns the revision if it was asked in the present wait; undefined otherwise. */
export function askedNow({ asked, askedMs }: ApprovalQuestion, revision: number): Asked | undefined {
  const shown = asked.find((one) => one.revision === revision);
  return shown !== undefined && askedMs !== undefined && shown.atMs >= askedMs ? shown : undefined;
}

/** An action that needs approval, as the gate asks about it. */
export interface ApprovalSubject {
  readonly key: string;
  /** Absent or null: it concerns no single position. */
  readonly positionId?: string | null;
}

/** Returns why an action must wait or not act; null if it may act, down to `approvedTarget`. */
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

/** Returns why the part beyond the approved target must wait or not act. */
export function restRefusal(
  { key }: ApprovalSubject,
  questions: ReadonlyMap<string, ApprovalQuestion> | undefined,
): ReturnType<typeof approvalRefusal> {
  const state = questions?.get(stageOf(key))?.state;
  if (state === 'vetoed') return 'vetoed';
  return state === 'unanswered' ? 'notAnswered' : 'awaitingApproval';
}

/** Returns how far the action may reduce; undefined if no approval limits it. */
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

/** True if the position is not the one that was shown under this id. */
export function isAnother(shown: AskedTarget, now: Pick<AskedTarget, 'openDate' | 'direction'>): boolean {
  const { openDate = null, direction = null } = now;
  const before = { openDate: shown.openDate ?? null, direction: shown.direction ?? null };
  return !isSameHolding(before, { openDate, direction });
}

/** True if a reduction clearly exceeds what was shown: another position, a larger size, or a lower target. */
export function goesBeyond(target: AskedTarget, shown: readonly AskedTarget[], tolerance: number): boolean {
  const known = shown.find(({ positionId }) => positionId === target.positionId);
  if (known === undefined || isAnother(known, target)) return true;
  if (toDecimal(target.sizeBase).gt(toDecimal(known.sizeBase))) return true;
  const asked = toDecimal(known.sizeBase).minus(toDecimal(known.targetBase));
  const further = toDecimal(known.targetBase).minus(toDecimal(target.targetBase));
  return further.gt(asked.times(decimalFromNumber(tolerance)));
}
