import { z } from 'zod';
import type { ExchangeError } from '../../src/core/ports/exchange.ts';

// What commands print that set up a daemon, or ask the exchange: init and call.

const texts = z.array(z.string());
const reference = z
  .union([z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })])
  .describe('Where it is.');
const proposal = z.strictObject({
  value: z.string(),
  from: z.string().describe('Completes "proposed from".'),
});
const unknown = 'null: the exchange does not say.';

export const initialised = z.strictObject({
  event: z.literal('init'),
  file: z.string().describe('The config.'),
  mode: z.literal('observe'),
  exchange: z.strictObject({ baseUrls: texts, nonce: z.string() }),
  account: z.strictObject({ id: z.string(), apiKey: reference, apiSecret: reference, rules: texts }),
  redis: z.string().nullable(),
  operators: z.strictObject({ key: reference }),
  web: z.strictObject({ controlToken: reference }),
  leverage: z.number().describe('The most at which the account is to run.'),
  positions: z
    .array(
      z.strictObject({
        market: z.string(),
        direction: z.enum(['long', 'short']).nullable().describe(unknown),
        amount: z.string().describe('Base currency.'),
        markPrice: z.number().nullable().describe(unknown),
        liquidationPrice: z.number().nullable().describe(unknown),
        liquidationDistance: z.number().nullable().describe(`A fraction of the mark price; ${unknown}`),
      }),
    )
    .nullable()
    .describe('null: the exchange was not asked.'),
  leverageNow: z.number().nullable().describe('null: not known.'),
  creditLines: z
    .array(
      z.strictObject({
        asset: z.string(),
        amount: z.string(),
        currentLtv: z.number().nullable().describe(`A fraction; ${unknown}`),
        marginCallLtv: z.number().nullable().describe(`A fraction; ${unknown}`),
      }),
    )
    .nullable()
    .describe('null: the exchange was not asked.'),
  markets: z
    .record(
      z.string(),
      z.strictObject({
        amountStep: proposal,
        priceStep: proposal,
        minAmount: proposal,
        maintenanceMargin: proposal,
        money: z.string().nullable(),
        referencePrice: z.string().nullable(),
      }),
    )
    .describe('By market.'),
  marketsConfirmed: z.boolean().describe('A person has confirmed or corrected their figures.'),
  ruleSet: z.strictObject({
    name: z.string(),
    summary: z.string(),
    mostLeverage: z.number().describe('For which it is made.'),
    fits: z.boolean().describe('false: `leverage` is above that.'),
    measured: z
      .strictObject({
        prevented: z.number().int(),
        doomed: z.number().int(),
        kept: z.number().nullable(),
        without: z.number().nullable(),
        givenUp: z.number().nullable(),
        falseActions: z.number().nullable(),
      })
      .describe('docs/rule-sets.md says what each means.'),
  }),
  cancel: z.string().nullable().describe('null: left to the default of the config.'),
  channel: z
    .record(z.string(), z.union([z.string(), z.number(), reference]))
    .nullable()
    .describe('`type`, and the keys of the config; null: only the log.'),
  files: texts.describe('That were written.'),
  check: z
    .strictObject({
      ok: z.boolean(),
      errors: z.number().int(),
      warnings: z.number().int(),
      problems: texts.describe('In one line each.'),
    })
    .describe('What `check` says of the new config.'),
  warnings: texts.describe('Whole sentences.'),
});

const error: z.ZodType<ExchangeError> = z.strictObject({
  name: z.string().describe('docs/client.md has all of them.'),
  endpoint: z.string(),
  message: z.string(),
  effect: z.enum(['none', 'possible']).describe('Whether it may have changed anything at the exchange.'),
  httpStatus: z.number().int().exactOptional(),
  code: z.number().exactOptional().describe('Of the exchange.'),
  fields: z.record(z.string(), z.array(z.string())).exactOptional().describe('Of the exchange.'),
  params: z.array(z.string()).exactOptional().describe('Of the exchange.'),
  retryAfterMs: z.number().exactOptional().describe('Milliseconds.'),
  gateway: z.literal(true).exactOptional().describe('A gateway answered, not the exchange.'),
});

export const called = z.discriminatedUnion('outcome', [
  z.looseObject({
    endpoint: z.string(),
    outcome: z.literal('ok').describe('Further fields are the reply of the exchange.'),
  }),
  z.looseObject({ endpoint: z.string(), outcome: z.literal('accepted') }),
  ...(['failed', 'rejected', 'unknown'] as const).map((outcome) =>
    z.strictObject({
      endpoint: z.string(),
      outcome: z.literal(outcome),
      error,
      advice: z.string().optional(),
    }),
  ),
]);

export const callable = z.strictObject({
  name: z.string(),
  method: z.string(),
  path: z.string(),
  section: z.string().describe('Of the specification.'),
  summary: z.string(),
  changes: z.string().nullable().describe('What it changes; null: it reads.'),
  canOpenExposure: z.boolean(),
  parameters: z.array(
    z.strictObject({
      name: z.string(),
      aliases: texts,
      type: z.string(),
      required: z.boolean(),
      repeatable: z.boolean(),
      note: z.string(),
    }),
  ),
});
