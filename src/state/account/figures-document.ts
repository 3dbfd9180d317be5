import { z } from 'zod';
import { SOURCE_NAMES } from '../../core/fields/field-catalogue.ts';
import { modeSchema } from '../../core/rules/rule.ts';
import { decimalText } from '../../core/schema/parts.ts';
import type { StoredFigures } from '../../core/view/stored-figures.ts';

const optional = decimalText.exactOptional();

const position = z.object({
  positionId: z.string(),
  market: z.string(),
  amount: decimalText,
  basePrice: optional,
  liquidationPrice: decimalText.nullable().exactOptional(),
  pnl: optional,
  pnlPercent: optional,
  margin: optional,
  freeMargin: optional,
  funding: optional,
  unrealizedFunding: optional,
  unrealizedPnl: optional,
  tpsl: z.object({ stopLoss: optional, takeProfit: optional }).nullable().exactOptional(),
});

const creditLine = z.object({
  asset: z.string(),
  createdAt: z.number(),
  amount: decimalText,
  totalFunding: optional,
  currentLtv: optional,
  initialLtv: optional,
  marginCallLtv: optional,
  liquidationLtv: optional,
});

const setAside = z.array(z.object({ path: z.string(), expected: z.string(), got: z.string() }));

const opening = z.object({ positionId: z.string(), market: z.string() });

function listOf<T extends z.ZodType>(record: T) {
  return z.object({ records: z.array(record), setAside, complete: z.boolean() });
}

function readingOf<T extends z.ZodType>(list: T) {
  return z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('notRead'), ageMs: z.number() }),
      z.object({ kind: z.literal('read'), ageMs: z.number(), value: list }),
    ])
    .exactOptional();
}

const figuresSchema = z.object({
  version: z.literal(1),
  at: z.object({ wallMs: z.number(), monotonicMs: z.number(), clockId: z.string() }),
  settings: z.object({
    mode: modeSchema,
    bothSign: z.enum(['signed', 'unsigned']),
    ltvUnit: z.enum(['auto', 'percent', 'fraction']),
    maxSnapshotAgeMs: z.number(),
  }),
  positions: readingOf(listOf(position).extend({ notOpenYet: z.array(opening).exactOptional() })),
  creditLine: readingOf(listOf(creditLine)),
  failures: z
    .array(
      z.object({
        source: z.enum(SOURCE_NAMES),
        error: z.string(),
        httpStatus: z.number().exactOptional(),
        words: z.string(),
        sinceMs: z.number(),
      }),
    )
    .exactOptional(),
}) satisfies z.ZodType<StoredFigures>;

/** Checks stored figures, which are only shown: unreadable ones are left out, not refused. Other members are kept. */
export function parseFigures(value: unknown): StoredFigures {
  figuresSchema.parse(value);
  return value as StoredFigures;
}
