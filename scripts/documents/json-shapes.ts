import { z } from 'zod';
import { recomputationSchema } from '../../src/app/recompute-decisions.ts';
import { acknowledgementSchema, pauseSchema, silenceSchema } from '../../src/core/controls/controls.ts';
import { operatorOrderSchema } from '../../src/core/controls/operator-schemas.ts';
import {
  costRowSchema,
  costTotalSchema,
  otherClosingSchema,
  pricedActionSchema,
} from '../../src/core/costs/cost-report.ts';
import { digestSchema } from '../../src/core/digest/digest.ts';
import { chainBroken, chainIntact } from '../../src/core/ports/audit-reader.ts';
import { deliverySchema } from '../../src/core/ports/delivery.ts';
import { modeSchema, severitySchema } from '../../src/core/rules/rule.ts';
import { timeMs } from '../../src/core/schema/parts.ts';
import { accountSchema } from '../../src/core/view/account-view.ts';
import { doctorReportSchema } from '../../src/doctor/doctor-report.ts';
import { fileIntact } from '../../src/state/audit/audit-file.ts';
import { orderOutcome } from '../../src/web/api/order-routes.ts';
import { acknowledgedReply, liftedReply, processLine, prunedReply } from '../../src/web/api/schemas.ts';
import { auditRecord } from './audit-shape.ts';
import { demonstrated, replayed, scenarios, simulating, stressed, vocabulary } from './play-shapes.ts';
import { callable, called, initialised } from './set-up-shapes.ts';

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
const statusAccount = z
  .strictObject({
    ...accountSchema.shape,
    calmMs: z.number().nullable().describe('Longest time between two polls, milliseconds; null: not known.'),
    events: z.array(event).describe('The newest actions and outcomes.'),
    alarms: z.array(event).describe('Of the last 10 minutes.'),
  })
  .meta({ more: 'Account' });

const question = accountSchema.shape.questions.element;
const notice = accountSchema.shape.notices.element;
const [reduceOrder, withdrawOrder, answerOrder] = operatorOrderSchema.options;

const outcome = z
  .strictObject({
    kind: z.enum([...orderOutcome.shape.kind.options, 'ordered']),
    why: z.string().optional(),
  })
  .describe(`${orderOutcome.shape.kind.description} \`ordered\`: the command did not wait, or cannot know.`);

const verified = {
  of: z.string().describe('The chain or file.'),
  recomputed: recomputationSchema
    .optional()
    .describe('Decisions that were judged once more; absent: the chain is broken, or `--decisions 0`.'),
};

const problem = z.strictObject({
  severity: z.enum(['error', 'warning']),
  code: z.string().describe('Stable, for scripts: `unknown-key`.'),
  file: z.string(),
  line: z.number().int().describe('Counts from 1.'),
  column: z.number().int().describe('Counts from 1.'),
  path: z.string().describe('`accounts[0].cadence.calm`; empty for the file as a whole.'),
  message: z.string().describe('Never has the value of a secret.'),
  text: z.string().describe('All of it in one line, as people read it.'),
});

const [delivered, duplicate, superseded, failed] = deliverySchema.options;
const tested = <K extends string, S extends z.ZodRawShape>({
  kind,
  ...rest
}: { kind: z.ZodLiteral<K> } & S) =>
  z.strictObject({ channel: z.string(), type: z.string(), outcome: kind, ...rest });

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
    accounts: z.array(statusAccount),
  }),
  doctor: doctorReportSchema,
  check: z.strictObject({
    file: z.string(),
    ok: z.boolean().describe('It can be used: there are no errors.'),
    errors: z.number().int(),
    warnings: z.number().int(),
    problems: z.array(problem),
    heartbeat: z.string().optional().describe('Only with `--print`: in words; absent: there is none.'),
    accounts: z
      .array(
        z.strictObject({
          id: z.string(),
          mode: modeSchema,
          rules: z.array(
            z.strictObject({
              id: z.string(),
              mode: modeSchema,
              severity: severitySchema,
              words: z.string().describe('What it does.'),
            }),
          ),
        }),
      )
      .optional()
      .describe('Only with `--print`; empty if there is an error.'),
  }),
  'notify test': z.union([
    tested(delivered.shape),
    tested(duplicate.shape),
    tested(superseded.shape),
    tested(failed.shape),
  ]),
  report: z.strictObject({
    event: z.literal('report'),
    accountId: z.string(),
    fromMs: timeMs(),
    toMs: timeMs(),
    totals: z.array(costTotalSchema).describe('By money currency.'),
    rules: z.array(costRowSchema).describe('By rule and market.'),
    actions: z.array(pricedActionSchema).describe('Orders that closed something, oldest first.'),
    others: z.array(otherClosingSchema).describe('What others closed, or nobody knows who, oldest first.'),
  }),
  digest: z.strictObject({ event: z.literal('digest'), ...digestSchema.shape }),
  'audit tail`, `audit show': auditRecord,
  'audit verify': z.union([
    z.strictObject({ ...verified, ...chainIntact.shape }),
    z.strictObject({ ...verified, ...chainBroken.shape }),
  ]),
  'audit verify --file': z.union([
    z.strictObject({ ...verified, ...fileIntact.shape }),
    z.strictObject({ ...verified, ...chainBroken.shape }),
  ]),
  'audit export': z.strictObject({
    accountId: z.string(),
    file: z.string(),
    records: z.number().int(),
    firstNumber: z.number().int().describe('0: there were no records.'),
    lastNumber: z.number().int(),
    headHash: z.string().describe('Of the last record.'),
  }),
  'audit prune': z.strictObject({
    accountId: z.string(),
    file: z.string().nullable().describe('null: there was nothing to prune.'),
    ...prunedReply.shape,
  }),
  pause: z.strictObject({ ...pauseSchema.shape, processes }),
  'pause --list': pauseSchema,
  silence: z.strictObject({ ...silenceSchema.shape, processes }),
  'silence --list': silenceSchema,
  acknowledge: z.strictObject({ accountId: z.string(), ...notice.shape }).meta({ more: 'Notice' }),
  'resume`, `silence --lift`, `acknowledge --lift': z.strictObject({ ...liftedReply.shape, ...reached }),
  'acknowledge --all`, `acknowledge --account`, `acknowledge --rule`, `acknowledge --subject': z.strictObject(
    {
      ...acknowledgedReply.shape,
      ...reached,
    },
  ),
  'reduce`, `flatten': z.strictObject({
    accountId: z.string(),
    key: z.string().describe('Said again with it, the order is not done twice.'),
    order: reduceOrder,
    obstacles: z.array(z.string()).describe('Why nothing may happen, as far as it could be seen.'),
    outcome,
  }),
  'reduce --withdraw': z.strictObject({
    accountId: z.string(),
    order: withdrawOrder,
    isSeen: z.boolean().describe('It was open; false: nobody can tell.'),
    outcome,
  }),
  'approve ACCOUNT REFERENCE`, `veto ACCOUNT REFERENCE': answerOrder,
  'approve`, `veto': z.strictObject({ accountId: z.string(), ...question.shape }).meta({ more: 'Question' }),
  init: initialised,
  replay: replayed,
  stress: stressed,
  'stress --list': scenarios,
  demo: demonstrated,
  simulate: simulating,
  'simulate --list': vocabulary,
  call: called,
  'call --list': callable,
  token: z.strictObject({
    name: z.string(),
    scopes: z.array(z.string()),
    token: z.string().describe('Shown only once.'),
    tokenHash: z.string().describe('For `web.users` of the config.'),
  }),
  version: z.strictObject({
    version: z.string(),
    node: z.string(),
    platform: z.string(),
    arch: z.string(),
  }),
} as const;
