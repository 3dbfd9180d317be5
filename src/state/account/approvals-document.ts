import { z } from 'zod';
import type { ApprovalQuestion, Approvals } from '../../core/approvals/question.ts';
import { type DecimalString, isDecimalString } from '../../core/quantities/decimal.ts';

/** What people were asked, as it stands in Redis: where others may write, so nothing nested is taken on trust. */

/** A step of the lanes' clock may move one to before 1970. */
const moment = z.number().min(-8.64e15).max(8.64e15);
const text = z.string().max(2_000);
const revision = z.int().min(1).max(1_000_000);
const decimal = z.custom<DecimalString>(
  (value) => typeof value === 'string' && isDecimalString(value),
  'expected a decimal number as a text',
);

const target = z.strictObject({
  positionId: text,
  market: text,
  targetBase: decimal,
  sizeBase: decimal,
  openDate: z.number().nullable().exactOptional(),
  direction: z.enum(['long', 'short']).nullable().exactOptional(),
});

/** As `stageKeyOf` writes it. */
const stageKey = text.refine(isStageKey, 'expected rule, checksum, subject, episode and stage as JSON');

const question = z.strictObject({
  id: z.string().regex(/^[0-9a-z]{1,40}$/),
  stageKey,
  openedMs: moment,
  untilMs: moment,
  state: z.enum(['waiting', 'approved', 'vetoed', 'unanswered', 'released']),
  settledBy: z
    .enum(['approved', 'vetoed', 'deadline', 'timeTooShort', 'notDelivered', 'unanswered', 'notNeeded'])
    .exactOptional(),
  asked: z.array(z.strictObject({ revision, atMs: moment, targets: z.array(target).max(1_000) })).max(1_000),
  askedMs: moment.exactOptional(),
  heldBack: z.literal(true).exactOptional(),
  delivered: z.literal(true).exactOptional(),
  approved: z.array(target).max(1_000).exactOptional(),
  answer: z
    .strictObject({
      decision: z.enum(['approve', 'veto']),
      author: text,
      reason: text,
      atMs: moment,
      revision,
    })
    .exactOptional(),
  distance: z.number().exactOptional(),
}) satisfies z.ZodType<ApprovalQuestion>;

const approvals = z.strictObject({
  version: z.literal(1),
  questions: z.array(question).max(1_000),
  rebasedMs: moment.exactOptional(),
}) satisfies z.ZodType<Approvals>;

/** @throws Error with what is wrong, and where */
export function parseApprovals(value: unknown): Approvals {
  const { data, error } = approvals.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error?.issues ?? [];
  throw new Error(`${issue?.path.join('.')}: ${issue?.message}`);
}

function isStageKey(written: string): boolean {
  try {
    const parts: unknown = JSON.parse(written);
    const kinds = Array.isArray(parts) ? parts.map((part) => typeof part) : [];
    return kinds.join() === 'string,string,string,number,number';
  } catch {
    return false;
  }
}
