import { z } from 'zod';
import { acknowledgementSchema, pauseSchema, silenceSchema } from '../../src/core/controls/controls.ts';
import { quietHoursSchema } from '../../src/core/lines/quiet-hours.ts';
import { timeMs } from '../../src/core/schema/parts.ts';
import { accountSchema } from '../../src/core/view/account-view.ts';
import { acknowledgedReply, liftedReply, processLine, prunedReply } from '../../src/web/api/schemas.ts';

const processes = z.array(processLine).describe('Who has confirmed it.');
const reached = {
  processes: processes.optional().describe('Who has confirmed it; absent: nothing was changed.'),
};
const event = z.strictObject({
  seq: z.number(),
  atMs: timeMs(),
  kind: z.string(),
  market: z.string().nullable(),
  reason: z.string(),
  words: z.string(),
  alarm: z.boolean(),
});
const statusAccount = z.strictObject({
  ...accountSchema.shape,
  calmMs: z.number().nullable(),
  events: z.array(event),
  alarms: z.array(event),
});

/** What commands print with `--json`, by command. `test/cli/json-shapes.test.ts` holds them to it. */
export const JSON_SHAPES = {
  status: z.strictObject({
    atMs: timeMs(),
    stored: z.string().nullable().describe('Why it is what is stored; null: a daemon says so.'),
    controls: z.array(z.union([pauseSchema, silenceSchema, acknowledgementSchema])),
    refusedControls: z.array(z.string()).describe('What is not obeyed, and why.'),
    watchers: z.number().int().describe('Daemons that run and poll.'),
    pausedQueues: z.array(z.string()).describe('Queues that somebody has paused as a whole.'),
    troubles: z.array(z.string()).describe('What does not work in the daemon that was asked.'),
    quietHours: quietHoursSchema.nullable().describe('null: they are off, and no notice waits.'),
    accounts: z
      .array(statusAccount)
      .describe(
        'Each an `Account`, plus `calmMs` (longest time between polls; null: not known), `events` (the newest ' +
          'actions and outcomes) and `alarms` (of the last 10 minutes), each with `seq`, `atMs`, `kind`, `market`, ' +
          '`reason`, `words` and `alarm`.',
      ),
  }),
  pause: z.strictObject({ ...pauseSchema.shape, processes }),
  silence: z.strictObject({ ...silenceSchema.shape, processes }),
  acknowledge: z.strictObject({ ...acknowledgedReply.shape, ...reached }),
  'resume`, `silence --lift`, `acknowledge --lift': z.strictObject({ ...liftedReply.shape, ...reached }),
  'audit prune': z.strictObject({
    accountId: z.string(),
    file: z.string().nullable().describe('null: there was nothing to prune.'),
    ...prunedReply.shape,
  }),
} as const;

interface Node {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly type?: string | readonly string[];
  readonly items?: Node;
  readonly description?: string;
}

function typeOf({ $ref, const: only, enum: some, anyOf, type, items }: Node): string {
  if ($ref?.startsWith('#/$defs/__') === false) return `\`${$ref.replace('#/$defs/', '')}\``;
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (some !== undefined) return some.map((one) => `\`${JSON.stringify(one)}\``).join(', ');
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  return typeof type === 'string' ? type : (type?.join(' or ') ?? 'any');
}

/** Tables of the fields of each shape. */
export function jsonShapeTables(): string {
  return Object.entries(JSON_SHAPES)
    .map(([command, shape]) => {
      const { properties = {}, required = [] } = z.toJSONSchema(shape, { unrepresentable: 'any' });
      const rows = Object.entries(properties as Record<string, Node>).map(([name, node]) => {
        const absent = required.includes(name) ? '' : ', may be absent';
        return `| \`${name}\` | ${typeOf(node)}${absent} | ${(node.description ?? '').replaceAll('|', '\\|')} |`;
      });
      return [`### \`${command}\``, '', '| Field | Type | Meaning |', '|---|---|---|', ...rows].join('\n');
    })
    .join('\n\n');
}
