import { z } from 'zod';
import { actingOverrides, approvalOverrides, cadenceOverrides } from './acting.ts';
import { depositLinkSchema } from './deposit-link.ts';
import { exchangeOverrides } from './exchange.ts';
import { filterSchema } from './rules/filter.ts';
import { labelsSchema, modeSchema } from './rules/rule.ts';
import { secretRef } from './shape/references.ts';
import { flag, name, number, text, ticker } from './shape/scalars.ts';
import { list, oneOrMany } from './shape/shape.ts';

const reference = (): z.ZodType<string> =>
  text({
    expected: 'the id of a rule, a rule set, or a rule of a set such as balanced/near-liquidation',
    pattern: /^[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)?$/,
    maxLength: 100,
  });

/** One entry of an account's `rules`: the name of a rule or rule set, possibly with changes. */
export const ruleUseSchema = z
  .preprocess(
    (written) => (typeof written === 'string' ? { use: written } : written),
    z.strictObject({
      use: reference().describe('A rule of this file, a rule set, or one rule of a set (set/rule).'),
      without: oneOrMany(name('a rule id')).exactOptional().describe('Rules of the set that are left out.'),
      where: filterSchema('position')
        .exactOptional()
        .describe('Replaces `where` of all its position rules, and `positions` of all others.'),
      mode: modeSchema().exactOptional().describe('Replaces `mode` of all its rules.'),
      with: z
        .record(name('a rule id'), z.looseObject({}))
        .exactOptional()
        .describe('Changes by rule id: each key given here replaces that key of the rule.'),
    }),
  )
  .meta({ shorthand: 'use' });

export type RuleUse = z.output<typeof ruleUseSchema>;

const watchSchema = z.strictObject({
  positions: flag().prefault(true).describe('Open positions.'),
  creditLine: flag()
    .exactOptional()
    .describe('The credit line (its endpoint needs access enabled by support); read when a rule needs it.'),
  mainBalance: z
    .array(ticker())
    .exactOptional()
    .describe('Assets of the main balance to show; it is also read when a rule needs it.'),
  transfers: flag().exactOptional().describe('Deposits and withdrawals; read when a rule needs them.'),
  spotOrders: flag().exactOptional().describe('The history of spot orders; read when a rule needs it.'),
  withdrawalAllowList: secretRef()
    .exactOptional()
    .describe(
      'Addresses to which withdrawals are expected, one per line; without it every one is unexpected.',
    ),
});

const worth = number({ min: 0, expected: 'a worth in the money currency such as 30000' });

export const accountSchema = z.strictObject({
  id: name('an id').describe(
    'Name of the account in metrics, messages and stored state; do not change it later.',
  ),
  apiKey: secretRef().describe('The public API key.'),
  apiSecret: secretRef().describe('The API secret.'),
  nonceStart: number({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    integer: true,
    expected: 'a whole number up to 9007199254740991, the largest nonce that the key has sent',
  })
    .exactOptional()
    .describe(
      'Nonces are at least this; only for a key that another program has used with larger ones than Unix microseconds. What is stored of a key and lies more than ten minutes ahead of both is not believed.',
    ),
  mode: modeSchema()
    .exactOptional()
    .describe("`observe`, `approve` or `enforce` for this account; without it the file's mode."),
  watch: watchSchema.prefault({}).describe('What is read from the exchange.'),
  rules: list(ruleUseSchema).prefault([]).describe('Rules and rule sets that judge this account.'),
  holdings: z
    .record(ticker(), worth)
    .prefault({})
    .describe(
      'Coins that serve as collateral, other than the money currency: what each is worth now, after haircuts, in the money currency of the positions. They fall with the market, and `jointDistance` counts them.',
    ),
  cadence: cadenceOverrides.prefault({}).describe('How often this account is looked at.'),
  exchange: exchangeOverrides.prefault({}).describe('How the exchange answers this account.'),
  acting: actingOverrides.prefault({}).describe('How to act for this account.'),
  approval: approvalOverrides.prefault({}).describe('How people are asked about this account.'),
  egress: name('a name').prefault('default').describe('Egress group whose request budget this account uses.'),
  labels: labelsSchema.prefault({}),
  depositLink: depositLinkSchema.exactOptional().describe("Instead of the file's `depositLink`, as a whole."),
});

export type WrittenAccount = z.output<typeof accountSchema>;
