import { z } from 'zod';
import type { GateReason } from '../audit/audit-event.ts';
import { sha256Hex } from '../audit/sha256.ts';
import { isSameHolding } from '../lanes/market-read.ts';
import { decimalFromNumber, toDecimal } from '../quantities/decimal.ts';
import type { ActionRequest } from '../rules/subject.ts';
import { decimalText, type OutputOf } from '../schema/parts.ts';
import { parsedJson } from '../text/parsed-json.ts';

export const questionState = z
  .enum(['waiting', 'approved', 'vetoed', 'unanswered', 'released'])
  .describe('released: it acts without an answer. unanswered: it does not, and can still be approved.');

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

/** A step of the lanes' clock may move a time to before 1970. */
const moment = z.number().min(-8.64e15).max(8.64e15);
const text = z.string().max(2_000);
const revision = z.int().min(1).max(1_000_000);

const target = z.object({
  positionId: text,
  market: text,
  /** The most that may remain open. */
  targetBase: decimalText,
  /** The size when it was asked. */
  sizeBase: decimalText,
  /** Date and direction distinguish positions that share an id. */
  openDate: z.number().nullable().exactOptional(),
  direction: z.enum(['long', 'short']).nullable().exactOptional(),
});
export type AskedTarget = OutputOf<typeof target>;

const asked = z.object({
  revision,
  atMs: moment,
  /** Empty: only cancels. */
  targets: z.array(target).max(1_000),
});
export type Asked = OutputOf<typeof asked>;

/** One stage of one episode that needs approval to act. */
const question = z.object({
  /** Letters and digits, unique in the account. */
  id: z.string().regex(/^[0-9a-z]{1,40}$/),
  /** As `stageKeyOf` writes it. */
  stageKey: text.refine(isStageKey, 'expected rule, checksum, subject, episode and stage as JSON'),
  /** When the present wait began and when it ends. */
  openedMs: moment,
  untilMs: moment,
  /** Only `approved` is bound to the targets that were shown. */
  state: questionState,
  /** Why it stopped waiting; a later version may know more reasons. */
  settledBy: (text as unknown as z.ZodType<SettledBy>).exactOptional(),
  /** All revisions that were asked, newest last; an answer names its revision. */
  asked: z.array(asked).max(1_000),
  /** When people were first asked in the present wait; absent: not yet. */
  askedMs: moment.exactOptional(),
  /** Another reason (a pause, say) holds the action back: nobody is asked meanwhile, and the wait restarts. */
  heldBack: z.literal(true).exactOptional(),
  /** The notice reached somebody. */
  delivered: z.literal(true).exactOptional(),
  /** Positions may be reduced down to these targets, even if a later revision asks for more. */
  approved: z.array(target).max(1_000).exactOptional(),
  answer: z
    .object({ decision: z.enum(['approve', 'veto']), author: text, reason: text, atMs: moment, revision })
    .exactOptional(),
  /** Distance to liquidation at the answer or the deadline; a clearly smaller distance asks again. */
  distance: z.number().exactOptional(),
});
export type ApprovalQuestion = OutputOf<typeof question>;

/** Questions to people: one document per account. Plain JSON; times are on the lanes' clock. */
const approvals = z.object({
  version: z.literal(1),
  questions: z.array(question).max(1_000),
  /** When its times were last shifted because the lanes' clock had jumped ahead; absent: never. */
  rebasedMs: moment.exactOptional(),
});
export type Approvals = OutputOf<typeof approvals>;

export const NO_QUESTIONS: Approvals = { version: 1, questions: [] };

/**
 * Checks what is stored, nested values too: others may write there. Fields that a later version adds are kept, and do not
 * keep the account from being judged.
 * @throws Error with what is wrong, and where
 */
export function parseApprovals(value: unknown): Approvals {
  const [issue] = approvals.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return value as Approvals;
  throw new Error(`${issue.path.join('.')}: ${issue.message}`);
}

function isStageKey(written: string): boolean {
  const parts = parsedJson(written);
  return Array.isArray(parts) && parts.map((part) => typeof part).join() === STAGE_KEY_PARTS;
}

const STAGE_KEY_PARTS = 'string,string,string,number,number';

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

export type StageParts = Pick<ActionRequest, 'ruleId' | 'subject' | 'episode' | 'stage'>;

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
