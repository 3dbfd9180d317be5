import { z } from 'zod';
import { SOURCE_NAMES } from '../../core/fields/field-catalogue.ts';
import { creditLineFields, positionFields } from '../../core/ports/exchange-records.ts';
import { modeSchema } from '../../core/rules/rule.ts';
import type { StoredFigures } from '../../core/view/stored-figures.ts';

/** Records are stored as they were read, values of enumerations marked. */
const position = positionFields.omit({ liquidationState: true, positionSide: true });

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
  creditLine: readingOf(listOf(creditLineFields)),
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
