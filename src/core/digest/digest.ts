import { z } from 'zod';
import { costRowSchema, costTotalSchema, totalsOfRows } from '../costs/cost-report.ts';
import { stopRequestSchema } from '../ports/exchange.ts';
import { modeSchema, severitySchema } from '../rules/rule.ts';
import { named, type OutputOf, timeMs } from '../schema/parts.ts';
import { sightingSchema } from './sighting.ts';

/** From `fromMs` up to, but not including, `toMs`, Unix milliseconds. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A rule that fired or is firing. */
const ruleDigest = named('RuleDigest', () => ({
  ruleId: z.string(),
  severity: severitySchema,
  mode: modeSchema,
  fired: z.number().int().describe('How often it started to fire; 0: it was firing already.'),
  escalated: z.number().int().describe('How often an escalation stage started.'),
  subjects: z.array(z.string()).describe('Names of markets and credit lines.'),
  isFiring: z.boolean().describe('At the end of the period.'),
}));
export type RuleDigest = OutputOf<typeof ruleDigest>;

const outcomeCounts = named('OutcomeCounts', () => ({
  accepted: z.number().int(),
  rejected: z.number().int(),
  unknown: z.number().int().describe('No answer came, or not yet.'),
}));
export type OutcomeCounts = OutputOf<typeof outcomeCounts>;

const accountDigest = named('AccountDigest', () => ({
  accountId: z.string(),
  nearest: sightingSchema.nullable().describe('The nearest call of the account; null: nothing is known.'),
  cameNear: z.boolean().describe('Nearer than 10 %, or a call was made.'),
  rules: z.array(ruleDigest),
  gone: z
    .array(
      z.strictObject({
        name: z.string().describe('Of its market or asset.'),
        ruleIds: z.array(z.string()),
        atMs: timeMs(),
      }),
    )
    .describe('Positions and credit lines that left the list while rules fired for them.'),
  answers: z
    .array(
      z.strictObject({
        ruleId: z.string(),
        end: z
          .string()
          .describe('Why the questions stopped waiting: `approved`, `vetoed`, `deadline` and others.'),
        times: z.number().int(),
        words: z.string().describe('Of the last one.'),
      }),
    )
    .describe('Outcomes of questions to people.'),
  requests: z
    .strictObject({ orders: outcomeCounts, cancels: outcomeCounts })
    .describe('Those that were started, by outcome.'),
  costs: z.array(costRowSchema).describe('Of what was closed, by rule and market.'),
  observed: z
    .array(
      z.strictObject({
        ruleId: z.string(),
        market: z.string().nullable(),
        orders: z.number().int(),
        cancels: z.number().int(),
        largest: stopRequestSchema
          .nullable()
          .describe('The order that would have closed most; null: only cancels.'),
      }),
    )
    .describe('What enforce mode would have sent for rules that only observe.'),
  troubles: z.array(
    z.strictObject({
      kind: z
        .enum(['heldBack', 'orderRefused', 'cancelRefused', 'blocked', 'failed', 'alarm'])
        .describe('`heldBack`: by Breakwater itself. `alarm`: anything else that a person should see.'),
      reason: z.string(),
      ruleId: z.string().nullable(),
      market: z.string().nullable(),
      times: z.number().int(),
      words: z.string().describe('Of the last one.'),
      lastMs: timeMs(),
      alarm: z.boolean(),
    }),
  ),
  unread: z
    .strictObject({
      source: z.string(),
      sinceMs: timeMs().nullable().describe('Time of the last good read; null: there was none.'),
      why: z.string().nullable().describe('Why the newest read failed; null: unknown.'),
    })
    .nullable()
    .describe(
      'Among the sources too old for rules, the one not read for the longest time; null: all are read.',
    ),
  recordsFromMs: timeMs()
    .nullable()
    .describe('Records before this were pruned: the start is not covered; null: none is missing.'),
  unreadable: z.string().nullable().describe('Why the stored data could not be read; null: it could.'),
}));
export type AccountDigest = OutputOf<typeof accountDigest>;
export type GoneDigest = AccountDigest['gone'][number];
export type AnswerDigest = AccountDigest['answers'][number];
export type RequestCounts = AccountDigest['requests'];
export type ObservedDigest = AccountDigest['observed'][number];
export type TroubleDigest = AccountDigest['troubles'][number];
export type TroubleKind = TroubleDigest['kind'];
export type UnreadDigest = NonNullable<AccountDigest['unread']>;

/** Summary of all accounts over a period, from audit, history and views. Plain JSON, without secrets. */
export const digestSchema = named('Digest', () => ({
  fromMs: timeMs(),
  toMs: timeMs(),
  versions: z.strictObject({ breakwater: z.string(), node: z.string() }),
  notes: z.array(z.string()).describe('To read first, whole sentences.'),
  accounts: z.array(accountDigest).describe('In the order of the config.'),
  costs: z.array(costTotalSchema).describe('Of all orders that closed something, by money currency.'),
  heads: z
    .array(
      z.strictObject({
        chain: z.string().describe('Account id, or `@operators`.'),
        head: z.strictObject({ seq: z.number().int(), hash: z.string() }),
      }),
    )
    .describe(
      'Ends of the audit chains when the digest was made, for `audit verify --head`; empty chains are omitted.',
    ),
}));
export type Digest = OutputOf<typeof digestSchema>;
export type DigestHead = Digest['heads'][number];

/** An account counts as near when its nearest distance is below this fraction. */
export const NEAR = 0.1;

export function digestOf(
  accounts: readonly AccountDigest[],
  { fromMs, toMs }: Period,
  about: Pick<Digest, 'versions' | 'notes'> & Partial<Pick<Digest, 'heads'>>,
): Digest {
  const { versions, notes, heads = [] } = about;
  return {
    fromMs,
    toMs,
    versions,
    notes,
    accounts,
    costs: totalsOfRows(accounts.flatMap(({ costs }) => costs)),
    heads,
  };
}
