import { z } from 'zod';
import type { ReduceTarget } from '../rules/rule.ts';

/** What operators say is read from Redis, where others may write, so all of it is checked. */

const moment = z.number().min(0).max(8.64e15);
const words = z.string().min(1).max(2_000);
const name = z.string().min(1).max(200);
const fraction = z.number().min(0).max(1);
/** The bounds of the config. */
const slippage = z.number().gt(0).max(0.5);

const authored = {
  /** Unique; part of client order ids. */
  id: z.string().regex(/^[a-z0-9]{1,40}$/),
  author: words,
  reason: words,
  atMs: moment,
  seal: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .exactOptional(),
};

/** Not started after `expiresAtMs`. */
const ordered = { ...authored, expiresAtMs: moment };

const target: z.ZodType<ReduceTarget> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('by'), fraction }),
  z.strictObject({ kind: z.literal('to'), fraction }),
  z.strictObject({ kind: z.literal('toNotional'), notional: z.string().regex(/^\d{1,30}(?:\.\d{1,30})?$/) }),
  z.strictObject({ kind: z.literal('untilDistance'), distance: fraction }),
]);

export const operatorOrderSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    ...ordered,
    kind: z.literal('reduce'),
    /** Exactly one of a position id or globs of markets. */
    positionId: name.exactOptional(),
    markets: z.array(name).max(100).exactOptional(),
    target,
    slippageSteps: z.array(slippage).min(1).max(20),
    /** Also where it raises the net exposure of the market. */
    flatten: z.boolean(),
    /** Closes whichever way the market moves, by one stop on each side; only with `flatten`. */
    urgent: z.literal(true).exactOptional(),
  }),
  /** Withdraws an earlier order of this inbox, started or not. */
  z.strictObject({ ...ordered, kind: z.literal('withdraw'), orderId: authored.id }),
  /** Answers the given revision of a question. */
  z.strictObject({
    ...ordered,
    kind: z.literal('answer'),
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
