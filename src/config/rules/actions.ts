import { z } from 'zod';
import type { ActionSpec, ReduceTarget, SubjectKind } from '../../core/rules/rule.ts';
import { protectAt, slippage, slippageSteps } from '../acting.ts';
import { decimalText, marketGlob, oneOf, ratio, text, ticker } from '../shape/scalars.ts';
import { across, exactlyOne, list, oneOrMany, perKind } from '../shape/shape.ts';
import { withoutUndefined } from './filter.ts';
import { ladderSchema } from './ladder.ts';

type ActionOf<K extends ActionSpec['kind']> = Extract<ActionSpec, { readonly kind: K }>;

/** An action as a rule states it. The account that uses the rule supplies what is missing. */
export type ActionDraft =
  | (Omit<ActionOf<'reduce'>, 'slippageSteps'> & { readonly slippageSteps?: readonly number[] })
  | (Omit<ActionOf<'protect'>, 'at' | 'slippage'> & { readonly at?: number; readonly slippage?: number })
  | ActionOf<'cancelAll'>
  | (Omit<ActionOf<'notify'>, 'channels'> & { readonly channels?: readonly string[] });

const ORDER_TYPES = ['spot', 'margin', 'futures'] as const;
const CANCEL_DEFAULT_TYPES = ['margin', 'futures'] as const;

/** Account and credit-line rules must say which positions are meant. */
function positionsKey(on: SubjectKind): Record<string, z.ZodType> {
  if (on === 'position') return {};
  return {
    positions: oneOrMany(marketGlob()).describe(
      'Markets whose positions are meant: one or several patterns, `"*"` for all.',
    ),
  };
}

const TARGETS = {
  by: ratio({ max: 1, exclusive: 'min', bounds: 'above 0 and up to 100%' })
    .exactOptional()
    .describe('Take away this share of the size it had when the rule fired.'),
  to: ratio({ max: 1, exclusive: 'max', bounds: 'from 0 to below 100%' })
    .exactOptional()
    .describe('Leave this share of the size it had when the rule fired; 0% closes the position.'),
  toNotional: decimalText({ expected: 'an amount of the money currency such as 50000' })
    .exactOptional()
    .describe("Leave a position worth this much, in the market's money currency."),
  untilDistance: ratio({ max: 10, exclusive: 'min', bounds: 'above 0' })
    .exactOptional()
    .describe('Reduce until the position is this far from liquidation.'),
} as const;

function reduceSchema(on: SubjectKind): z.ZodType<ActionDraft> {
  const keys = z.strictObject({
    ...TARGETS,
    slippage: slippageSteps()
      .exactOptional()
      .describe('Slippage of each attempt in turn (one value or a list); without it `acting.slippage`.'),
    ...(on === 'account' ? ACCOUNT_KEYS : positionsKey(on)),
  });
  const choices = [...Object.keys(TARGETS), ...(on === 'account' ? ['until'] : [])];
  return across(keys, (written, isComplete) => {
    const issue = exactlyOne(choices, written, isComplete);
    if (issue !== undefined) return issue;
    const { until, positions } = written as WrittenReduce;
    if (on !== 'account' || positions !== undefined || until !== undefined || !isComplete) return undefined;
    return { expected: 'positions, the markets whose positions are meant ("*" for all)', got: 'none' };
  }).transform((written): ActionDraft => {
    const target = targetOf(written);
    if (target === undefined) return z.NEVER;
    const { positions, until } = written as WrittenReduce;
    return withoutUndefined<ActionDraft>({
      kind: 'reduce',
      target,
      slippageSteps: written.slippage,
      positions: positions ?? (until === undefined ? undefined : ['*']),
    });
  });
}

const ACCOUNT_KEYS = {
  until: across(
    z.strictObject({
      jointDistance: ratio({ max: 10, exclusive: 'min', bounds: 'above 0' })
        .exactOptional()
        .describe('Until all markets together, and each alone, are this far from liquidation.'),
      marginUsage: ratio({ max: 1, exclusive: 'both', bounds: 'between 0 and 100%' })
        .exactOptional()
        .describe('Until positions take up no more than this share of the funds; with `asset`.'),
      asset: ticker().exactOptional().describe('The money currency that `marginUsage` is about.'),
    }),
    (written, isComplete) => {
      const issue = exactlyOne(['jointDistance', 'marginUsage'], written, isComplete);
      if (issue !== undefined) return issue;
      const { marginUsage, asset } = written;
      if (!isComplete || (asset === undefined) === (marginUsage === undefined)) return undefined;
      return asset === undefined
        ? { expected: 'asset together with marginUsage', got: 'marginUsage alone' }
        : { expected: 'asset together with marginUsage only', got: 'asset with jointDistance' };
    },
  )
    .exactOptional()
    .describe(
      'For the account as a whole: reduce where that brings most for its cost, until the target is reached. Hedges are left alone as long as closing them would bring liquidation nearer.',
    ),
  positions: oneOrMany(marketGlob())
    .exactOptional()
    .describe(
      'Markets whose positions are meant: one or several patterns, `"*"` for all. Needed but for `until`, which means all without it.',
    ),
} as const;

type WrittenReduce = Partial<
  z.output<z.ZodObject<typeof TARGETS>> & z.output<z.ZodObject<typeof ACCOUNT_KEYS>>
>;

function targetOf({ by, to, toNotional, untilDistance, until }: WrittenReduce): ReduceTarget | undefined {
  if (by !== undefined) return { kind: 'by', fraction: by };
  if (to !== undefined) return { kind: 'to', fraction: to };
  if (toNotional !== undefined) return { kind: 'toNotional', notional: toNotional };
  if (untilDistance !== undefined) return { kind: 'untilDistance', distance: untilDistance };
  if (until?.jointDistance !== undefined)
    return { kind: 'untilJointDistance', distance: until.jointDistance };
  if (until?.marginUsage === undefined) return undefined;
  return { kind: 'untilMarginUsage', asset: until.asset ?? '', usage: until.marginUsage };
}

function protectSchema(on: SubjectKind): z.ZodType<ActionDraft> {
  const keys = z.strictObject({
    at: protectAt()
      .exactOptional()
      .describe('Where it activates, from mark (0%) to liquidation (100%); without it `acting.protect.at`.'),
    ladder: ladderSchema()
      .exactOptional()
      .describe('Several stops in the place of one, each for its part of the size; not together with `at`.'),
    slippage: slippage().exactOptional().describe('Its slippage; without it `acting.protect.slippage`.'),
    ...positionsKey(on),
  });
  return across(keys, ({ at, ladder }) =>
    at !== undefined && ladder !== undefined
      ? { expected: 'at for one stop or ladder for several', got: 'both' }
      : undefined,
  ).transform((written): ActionDraft => {
    const [first] = written.ladder ?? [];
    return { kind: 'protect', ...written, ...(first === undefined ? {} : { at: first.at }) };
  });
}

function cancelAllSchema(on: SubjectKind): z.ZodType<ActionDraft> {
  const types = z
    .array(oneOf(...ORDER_TYPES))
    .min(1)
    .prefault([...CANCEL_DEFAULT_TYPES])
    .describe('Types of orders: `margin` and `futures` take up collateral, `spot` does not.');
  const schema =
    on === 'position'
      ? z.strictObject({
          types,
          scope: oneOf('market', 'account')
            .prefault('market')
            .describe("Orders in the position's market, or in the whole account."),
        })
      : z.strictObject({
          types,
          scope: oneOf('account').prefault('account').describe('Orders in the whole account.'),
        });
  return schema.transform(
    (written): ActionDraft => ({
      kind: 'cancelAll',
      types: [...new Set(written.types)],
      scope: written.scope,
    }),
  );
}

export const channelName = text({ expected: 'the name of a channel', maxLength: 48 });

/** One or several channel names; absent: none. */
export function noneOrMoreChannels(): z.ZodType<readonly string[]> {
  return oneOrMany(channelName)
    .optional()
    .transform((names = []) => names);
}

function notifySchema(on: SubjectKind): z.ZodType<ActionDraft> {
  const cure = oneOrMany(ratio({ max: 1, exclusive: 'both', bounds: 'between 0 and 100%' }))
    .exactOptional()
    .describe('Target LTVs for which the message says what to repay or to add.');
  return z
    .strictObject({
      channels: oneOrMany(channelName)
        .exactOptional()
        .describe('Channels to tell; without it all there are.'),
      ...(on === 'creditLine' ? { cure } : {}),
    })
    .transform((written): ActionDraft => {
      const { cure: targets = [], ...same } = written as typeof written & { cure?: readonly number[] };
      return { kind: 'notify', ...same, cure: targets };
    });
}

/** A list of actions; each is a mapping with one key, its kind. */
export function actionsSchema(on: SubjectKind): z.ZodType<readonly ActionDraft[]> {
  return list(actionSchema(on));
}

const actionSchema = perKind(buildActionSchema);

function buildActionSchema(on: SubjectKind): z.ZodType<ActionDraft> {
  const kinds = z.strictObject({
    cancelAll: cancelAllSchema(on)
      .exactOptional()
      .describe('Cancel orders: the first thing that frees collateral.'),
    reduce: reduceSchema(on)
      .exactOptional()
      .describe('Reduce the position with reduce-only stop-limit orders.'),
    protect: protectSchema(on)
      .exactOptional()
      .describe('Keep one standing reduce-only stop for the position.'),
    notify: notifySchema(on).exactOptional().describe('Tell people.'),
  });
  return across(kinds, (written, isComplete) => {
    const given = Object.keys(written);
    if (given.length === 1 || (given.length === 0 && !isComplete)) return undefined;
    return {
      expected: 'one action per list item: cancelAll, reduce, protect or notify',
      got: given.length === 0 ? 'an empty mapping' : given.join(' and '),
    };
  })
    .transform((written): ActionDraft => Object.values(written)[0] ?? z.NEVER)
    .meta({ id: `${on}Action`, description: 'One action: a mapping with its kind as the only key.' });
}
