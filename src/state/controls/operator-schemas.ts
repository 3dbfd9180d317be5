import { z } from 'zod';

/** What operators say is read from Redis, where others may write, so all of it is checked. */

const moment = z.number().min(0).max(8.64e15);
const words = z.string().min(1).max(2_000);
const name = z.string().min(1).max(200);
const fraction = z.number().min(0).max(1);
/** The bounds of the config. */
const slippage = z.number().gt(0).max(0.5);

const authored = {
  id: z.string().regex(/^[a-z0-9]{1,40}$/),
  author: words,
  reason: words,
  atMs: moment,
  seal: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
};

const target = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('by'), fraction }),
  z.strictObject({ kind: z.literal('to'), fraction }),
  z.strictObject({ kind: z.literal('toNotional'), notional: z.string().regex(/^\d{1,30}(?:\.\d{1,30})?$/) }),
  z.strictObject({ kind: z.literal('untilDistance'), distance: fraction }),
]);

export const operatorOrderSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    ...authored,
    kind: z.literal('reduce'),
    expiresAtMs: moment,
    positionId: name.optional(),
    markets: z.array(name).max(100).optional(),
    target,
    slippageSteps: z.array(slippage).min(1).max(20),
    flatten: z.boolean(),
    urgent: z.literal(true).optional(),
  }),
  z.strictObject({ ...authored, kind: z.literal('withdraw'), expiresAtMs: moment, orderId: authored.id }),
  z.strictObject({
    ...authored,
    kind: z.literal('answer'),
    expiresAtMs: moment,
    decision: z.enum(['approve', 'veto']),
    questionId: authored.id,
    revision: z.int().min(1),
  }),
]);

const scope = { ...authored, accountId: name.nullable() };

export const controlSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...scope, kind: z.literal('pause'), expiresAtMs: moment.nullable() }),
  z.strictObject({
    ...scope,
    kind: z.literal('silence'),
    ruleId: name,
    subject: z.string().min(1).max(400).nullable(),
    expiresAtMs: moment,
  }),
  z.strictObject({
    ...scope,
    kind: z.literal('acknowledgement'),
    ruleId: name,
    subject: z.string().max(400),
    episode: moment,
    stage: z.number().int().min(0).max(1_000),
    expiresAtMs: moment,
  }),
]);
