import { z } from 'zod';
import { accountSchema } from './accounts.ts';
import { actingSchema, cadenceSchema } from './acting.ts';
import { channelsSchema, notifySchema } from './channels.ts';
import { depositLinkSchema } from './deposit-link.ts';
import { egressSchema, exchangeSchema } from './exchange.ts';
import { marketsSchema } from './markets.ts';
import { redisSchema } from './redis.ts';
import { modeSchema, ruleSchema } from './rules/rule.ts';
import { name } from './shape/scalars.ts';
import { stressSchema } from './stress.ts';
import { logSchema, webSchema } from './web.ts';

export const egressGroupsSchema = z.record(name('a group name'), egressSchema);

/**
 * Every key of a config file with its shape, default and description: what the loader reads by and what the
 * JSON Schema and the reference are generated from.
 */
export const ROOT_KEYS = {
  mode: modeSchema()
    .prefault('observe')
    .describe(
      '`observe`: judge, and record the exact orders it would send. `enforce`: send them. Accounts and rules can differ.',
    ),
  exchange: exchangeSchema.describe('The exchange and how it answers.'),
  redis: redisSchema.prefault({}).describe('The Redis server that holds queues and state.'),
  egress: egressGroupsSchema
    .prefault({ default: {} })
    .describe('Groups of accounts by outgoing IP address; request budgets are counted per group.'),
  markets: marketsSchema
    .prefault({})
    .describe(
      'Steps and margin rates by market or pattern; an exact name wins over patterns, patterns in the order written. Without an entry a market is only watched.',
    ),
  cadence: cadenceSchema.prefault({}).describe('How often accounts are looked at.'),
  acting: actingSchema.prefault({}).describe('How to act.'),
  channels: channelsSchema
    .prefault({})
    .describe(
      'Ways to reach people, by name, in the order in which they stand in for each other; which keys one has depends on its `type`. The channel `log` is always there.',
    ),
  notify: notifySchema.prefault({}).describe('What is told, whatever the channel.'),
  web: webSchema.prefault({}).describe('The HTTP server for the status page, the API, metrics and health.'),
  log: logSchema.prefault({}).describe("The daemon's log, on standard error."),
  depositLink: depositLinkSchema
    .optional()
    .describe(
      'Links at which a person pays fiat in to bring a credit line back, offered on the status page for accounts whose credit lines are watched. The endpoint needs access enabled by support.',
    ),
  stress: stressSchema
    .optional()
    .describe(
      'Plays crashes against what the accounts hold, on a schedule, and shows the outcome on the status page and in /metrics (docs/replay.md). Sends nothing to the exchange.',
    ),
  accounts: z.array(accountSchema).min(1).describe('The accounts to watch.'),
  rules: z
    .array(z.union([ruleSchema('position'), ruleSchema('creditLine'), ruleSchema('account')]))
    .prefault([])
    .describe('Rules of your own; accounts name those they use.'),
} as const;

/** Without channels and rules: these are read one by one, since their keys depend on their kind. */
export const sectionsSchema = z.strictObject({ ...ROOT_KEYS, channels: z.unknown(), rules: z.unknown() });

export type Section = keyof typeof ROOT_KEYS;
