import { z } from 'zod';
import { noticeSchema } from '../core/ports/notifier.ts';
import { BUCKETS } from '../core/ports/state-store.ts';
import type { OutputOf } from '../core/schema/parts.ts';

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

export const notifyJobSchema = z.object({
  version: z.literal(1),
  notice: noticeSchema,
  /** See `OperatorTrust.noticeSeal`; absent without an operator key. */
  seal: z.string().max(64).exactOptional(),
});

export type PollJob = z.output<typeof pollJobSchema>;
export type ActJob = z.output<typeof actJobSchema>;
export type NotifyJob = OutputOf<typeof notifyJobSchema>;

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
