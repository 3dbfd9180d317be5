import { z } from 'zod';
import type {
  Answered,
  ApprovalQuestion,
  Approvals,
  Asked,
  AskedTarget,
} from '../../core/approvals/question.ts';
import { type DecimalString, isDecimalString } from '../../core/quantities/decimal.ts';
import { parsedJson } from '../read-json.ts';

/** Approval questions as stored in Redis. Others may write there, so nested values are checked too. */

/** A step of the lanes' clock may move a time to before 1970. */
const moment = z.number().min(-8.64e15).max(8.64e15);
const text = z.string().max(2_000);
const revision = z.int().min(1).max(1_000_000);
const decimal = z.custom<DecimalString>(
  (value) => typeof value === 'string' && isDecimalString(value),
  'expected a decimal number as a text',
);

/** Requires a schema for every field of a type: a field that is added to the type only does not compile. */
type Fields<T> = { readonly [K in keyof T]-?: z.ZodType };

// Loose: fields that a later version adds must not keep the account from being judged.
const target = z.looseObject({
  positionId: text,
  market: text,
  targetBase: decimal,
  sizeBase: decimal,
  openDate: z.number().nullable().exactOptional(),
  direction: z.enum(['long', 'short']).nullable().exactOptional(),
} satisfies Fields<AskedTarget>);
const targets = z.array(target).max(1_000);

/** In the format of `stageKeyOf`. */
const stageKey = text.refine(isStageKey, 'expected rule, checksum, subject, episode and stage as JSON');

const answer = z.looseObject({
  decision: z.enum(['approve', 'veto']),
  author: text,
  reason: text,
  atMs: moment,
  revision,
} satisfies Fields<Answered>);

const question = z.looseObject({
  id: z.string().regex(/^[0-9a-z]{1,40}$/),
  stageKey,
  openedMs: moment,
  untilMs: moment,
  state: z.enum(['waiting', 'approved', 'vetoed', 'unanswered', 'released']),
  settledBy: text.exactOptional(),
  asked: z.array(z.looseObject({ revision, atMs: moment, targets } satisfies Fields<Asked>)).max(1_000),
  askedMs: moment.exactOptional(),
  heldBack: z.literal(true).exactOptional(),
  delivered: z.literal(true).exactOptional(),
  approved: targets.exactOptional(),
  answer: answer.exactOptional(),
  distance: z.number().exactOptional(),
} satisfies Fields<ApprovalQuestion>);

const approvals = z.looseObject({
  version: z.literal(1),
  questions: z.array(question).max(1_000),
  rebasedMs: moment.exactOptional(),
} satisfies Fields<Approvals>);

/** @throws Error with what is wrong, and where */
export function parseApprovals(value: unknown): Approvals {
  const [issue] = approvals.safeParse(value).error?.issues ?? [];
  if (issue === undefined) return value as Approvals;
  throw new Error(`${issue.path.join('.')}: ${issue.message}`);
}

function isStageKey(written: string): boolean {
  const parts = parsedJson(written);
  const kinds = Array.isArray(parts) ? parts.map((part) => typeof part) : [];
  return kinds.join() === 'string,string,string,number,number';
}
