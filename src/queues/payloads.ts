import { z } from 'zod';
import type { CureFigures, Notice } from '../core/ports/notifier.ts';
import { BUCKETS } from '../core/ports/state-store.ts';
import { isDecimalString } from '../core/quantities/decimal.ts';

// Job payloads are validated when read: another version of this program may have written them.

const bucketSchema = z
  .int()
  .min(0)
  .max(BUCKETS - 1);

export const pollJobSchema = z.object({
  version: z.literal(2),
  buckets: z.array(bucketSchema).min(1).max(BUCKETS),
  /** Time between ticks, milliseconds. */
  everyMs: z.int().min(1),
});

export const actJobSchema = z.object({
  version: z.literal(1),
  accountId: z.string().min(1),
  /** Null: all lanes of the account. */
  market: z.string().min(1).nullable(),
});

const decimalSchema = z.custom<CureFigures['repay']>(
  (value) => typeof value === 'string' && isDecimalString(value),
  'expected a decimal number as a text',
);

const cureSchema = z.object({
  asset: z.string(),
  currentLtv: z.number(),
  targetLtv: z.number(),
  repay: decimalSchema,
  addCollateral: decimalSchema,
});

const figureSchema = z.union([z.number(), z.literal('none'), z.null()]);

const figuresSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('position'),
    market: z.string().nullable(),
    direction: z.enum(['long', 'short']).nullable(),
    sizeBase: decimalSchema.nullable(),
    notional: figureSchema,
    markPrice: decimalSchema.nullable(),
    liquidationPrice: z.union([z.literal('none'), decimalSchema]).nullable(),
    liquidationDistance: figureSchema,
    minutesToLiquidation: figureSchema,
  }),
  z.object({
    kind: z.literal('creditLine'),
    asset: z.string(),
    debt: decimalSchema.nullable(),
    currentLtv: figureSchema,
    marginCallLtv: figureSchema,
    liquidationLtv: figureSchema,
    minutesToMarginCall: figureSchema,
  }),
]);

const doingSchema = z.object({
  state: z.string(),
  cause: z.string(),
  words: z.string(),
  orders: z.array(z.string()),
  next: z.string(),
});

/** Names every field of a notice: reading it drops any other. */
const noticeSchema = z.object({
  version: z.literal(1),
  id: z.string().min(1),
  key: z.string(),
  kind: z.enum(['firing', 'reminder', 'resolved', 'alarm', 'approval', 'digest']),
  accountId: z.string(),
  ruleId: z.string(),
  subject: z.string(),
  market: z.string().exactOptional(),
  episode: z.number(),
  stage: z.number(),
  severity: z.enum(['info', 'warning', 'critical']),
  mode: z.enum(['observe', 'approve', 'enforce']),
  labels: z.record(z.string(), z.string()),
  words: z.string(),
  sinceMs: z.number(),
  atMs: z.number(),
  channels: z.array(z.string()),
  cures: z.array(cureSchema),
  figures: figuresSchema.exactOptional(),
  doing: doingSchema.exactOptional(),
  approval: z
    .object({
      reference: z.string(),
      untilMs: z.number(),
      withoutAnswer: z.enum(['act', 'hold']),
      orders: z.array(z.string()),
    })
    .exactOptional(),
  acknowledged: z.object({ author: z.string(), atMs: z.number() }).exactOptional(),
  lines: z.array(z.string()).exactOptional(),
  ending: z.enum(['gone', 'notJudged']).exactOptional(),
} satisfies Readonly<Record<Exclude<keyof Notice, 'isUnproven'>, z.ZodType>>);

export const notifyJobSchema = z.object({
  version: z.literal(1),
  notice: noticeSchema,
  seal: z.string().max(64).exactOptional(),
});

export type PollJob = z.output<typeof pollJobSchema>;
export type ActJob = z.output<typeof actJobSchema>;
/** A notify job as the producer writes it. */
export interface NotifyJob {
  readonly version: 1;
  readonly notice: Notice;
  /** See `OperatorTrust.noticeSeal`; absent without an operator key. */
  readonly seal?: string;
}

/** Limits the issues in one message: a long list with only wrong entries must not fill the log. */
const MOST_TOLD = 20;

/** Validates a job's data: the payload, or why it is refused. */
export function readPayload<T>(
  schema: z.ZodType<T>,
  data: unknown,
): { readonly ok: true; readonly payload: T } | { readonly ok: false; readonly why: string } {
  const parsed = schema.safeParse(data);
  if (parsed.success) return { ok: true, payload: parsed.data };
  const { issues } = parsed.error;
  const told = issues.slice(0, MOST_TOLD).map(({ path, message }) => `${path.join('.')}: ${message}`);
  if (issues.length > MOST_TOLD) told.push(`and ${issues.length - MOST_TOLD} more`);
  return { ok: false, why: told.join('; ') };
}
