import { z } from 'zod';
import { accountSchema } from './accounts.ts';
import { actingSchema, approvalSchema, cadenceSchema } from './acting.ts';
import { channelsSchema } from './channels.ts';
import { depositLinkSchema } from './deposit-link.ts';
import { digestSchema } from './digest.ts';
import { egressSchema, exchangeSchema } from './exchange.ts';
import { EXPOSURES } from './exposures.ts';
import { heartbeatSchema } from './heartbeat.ts';
import { marketsSchema } from './markets.ts';
import { notifySchema } from './notify.ts';
import { operatorsSchema } from './operators.ts';
import { redisSchema } from './redis.ts';
import { modeSchema, ruleSchema } from './rules/rule.ts';
import { name, oneOf, text } from './shape/scalars.ts';
import { list, section } from './shape/shape.ts';
import { stressSchema } from './stress.ts';
import { logSchema, webSchema } from './web.ts';

/**
 * Every top-level key of a config file with its shape, default and description. The loader, the JSON Schema and the
 * reference are based on it.
 */
export const ROOT_KEYS = {
  mode: modeSchema()
    .prefault('observe')
    .describe(
      '`observe`: judge, and record the exact orders it would send. `approve`: ask a person before a rule acts, for as long as there is time. `enforce`: send them. Accounts and rules can differ.',
    ),
  insecure: list(oneOf(...EXPOSURES))
    .prefault([])
    .describe(
      'What may go in plain text beyond this machine, or without a password, because the network is private: `exchange` (http://), `redis` (redis://, no password), `channels` (http://; also that of `heartbeat`), `web` (another `web.host` than loopback, where a proxy ends TLS). In enforce and approve mode anything else is refused.',
    ),
  exchange: exchangeSchema,
  redis: redisSchema
    .exactOptional()
    .describe(
      "The Redis server that several processes share: a second host that takes over, or the queues' board. Default: none, and one process keeps everything in `stateDir`.",
    ),
  stateDir: text({ expected: 'the path of a directory', maxLength: 1000 })
    .exactOptional()
    .describe(
      'Directory, relative to this file, in which a process keeps what it must find again after a restart: without `redis` everything, with it what it must know to go on while Redis is lost. Only its owner can read the files. Default: `STATE_DIRECTORY` of the environment, which systemd sets; without that and without `redis`, a directory of this config in `~/.local/state/breakwater`.',
    ),
  egress: z
    .record(name('a group name'), egressSchema)
    .prefault({ default: {} })
    .describe('Groups of accounts by outgoing IP address; request budgets are counted per group.'),
  markets: marketsSchema
    .prefault({})
    .describe(
      'Steps and margin rates by market or pattern; an exact name wins over patterns, patterns in the order written. Without an entry a market is only watched.',
    ),
  cadence: cadenceSchema.prefault({}).describe('How often accounts are looked at.'),
  acting: actingSchema.prefault({}).describe('How to act.'),
  approval: approvalSchema
    .prefault({})
    .describe('How people are asked, where the mode is `approve` (docs/approval.md).'),
  channels: channelsSchema
    .prefault({})
    .describe(
      'Ways to reach people, by name, in the order in which they stand in for each other; which keys one has depends on its `type`. The channel `log` is always there.',
    ),
  notify: notifySchema.prefault({}).describe('What is told, whatever the channel.'),
  web: webSchema.prefault({}).describe('The HTTP server for the status page, the API, metrics and health.'),
  operators: operatorsSchema.prefault({}).describe('How operators are told from others who reach Redis.'),
  audit: section(
    {
      headsFile: text({
        expected: 'an absolute path of a file',
        pattern: /^\/[^\0]*[^/\0]$/,
        maxLength: 1_000,
      })
        .exactOptional()
        .describe(
          'File to which the end of every audit chain is appended at the start, after each action, every hour and at the stop, as JSON lines; `breakwater audit verify --head` takes one of them. At the start the chains are compared with it. Keep it where nobody who reaches Redis can write. Default: none, and the heads are in the log alone.',
        ),
    },
    {},
  )
    .prefault({})
    .describe('What tells an audit trail that was made anew.'),
  log: logSchema.prefault({}).describe("The daemon's log, on standard error."),
  heartbeat: heartbeatSchema
    .exactOptional()
    .describe(
      'An address of a dead-man service, which alarms when it hears nothing (docs/operations.md). Each process that polls pings it while every account is judged in time, and pings `/fail` with the reason while one is not. Default: none.',
    ),
  depositLink: depositLinkSchema
    .exactOptional()
    .describe(
      'Links at which a person pays fiat in to bring a credit line back, offered on the status page for accounts whose credit lines are watched. The endpoint needs access enabled by support.',
    ),
  stress: stressSchema
    .exactOptional()
    .describe(
      'Plays crashes against what the accounts hold, on a schedule, and shows the outcome on the status page and in /metrics (docs/replay.md). Sends nothing to the exchange.',
    ),
  digest: digestSchema
    .exactOptional()
    .describe(
      'Sends a summary of the last 24 hours of all accounts every day (docs/notifications.md); `breakwater digest` prints it. Default: none.',
    ),
  accounts: z.array(accountSchema).min(1).describe('The accounts to watch.'),
  rules: z
    .array(z.union([ruleSchema('position'), ruleSchema('creditLine'), ruleSchema('account')]))
    .prefault([])
    .describe('Rules of your own; accounts name those they use.'),
} as const;

/** Leaves channels and rules open: they are read one by one, because their keys depend on their kind. */
export const sectionsSchema = z.strictObject({ ...ROOT_KEYS, channels: z.unknown(), rules: z.unknown() });

export type Section = keyof typeof ROOT_KEYS;
