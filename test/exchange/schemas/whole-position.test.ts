import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NumberText } from '../../../src/exchange/call/parse-json.ts';
import { positionReader, positionSchema } from '../../../src/exchange/schemas/records.ts';
import { readWholePosition } from '../../../src/exchange/schemas/whole-position.ts';
import { POSITION } from '../fixtures.ts';

const WHOLE = { ...POSITION, amount: '-0.075', liquidationState: null };

const oddText = fc.constantFrom(
  '',
  '-',
  '.',
  '1.',
  '.5',
  '-.5',
  '00.10',
  '-0',
  '+1',
  '1e3',
  '1E-400',
  ' 1',
  '1 ',
  '1.2.3',
  '0x1',
  '١',
  'NaN',
  '1'.repeat(60),
  '1'.repeat(61),
  `0.${'1'.repeat(80)}`,
  'x'.repeat(101),
  'margin_call',
  'BOTH',
  'sideways',
  '12',
);
const oddNumber = fc.constantFrom(0, -0, -1, 1.5, 2 ** 53, 1e300, 1e12, 0.1);
const odd = fc.oneof(
  oddText,
  oddNumber,
  fc.constantFrom(
    null,
    true,
    undefined,
    [],
    {},
    new NumberText('12'),
    new NumberText('1.50'),
    new NumberText('1e400'),
  ),
  fc.jsonValue(),
  fc.string({ unit: fc.constantFrom('0', '7', '.', '-', 'e'), maxLength: 8 }),
);

type Fields = Record<string, unknown>;

function changed(base: Fields, key: string, value: unknown): Fields {
  const { [key]: _, ...rest } = base;
  return value === undefined ? rest : { ...rest, [key]: value };
}

const change = (keys: string[]) => fc.array(fc.tuple(fc.constantFrom(...keys), odd), { maxLength: 3 });

describe('a whole position', () => {
  test('is read by hand as the schema reads it; anything else is left to the schema', () => {
    let whole = 0;
    let refused = 0;
    const position = fc
      .tuple(change([...Object.keys(WHOLE), 'unheardOf']), change(Object.keys(WHOLE.tpsl)))
      .map(([outer, inner]) => {
        const tpsl = inner.reduce<Fields>((fields, [key, value]) => changed(fields, key, value), WHOLE.tpsl);
        return outer.reduce<Fields>((fields, [key, value]) => changed(fields, key, value), {
          ...WHOLE,
          tpsl,
        });
      });
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: position }, { weight: 1, arbitrary: odd }), (value) => {
        const byHand = readWholePosition(value);
        const bySchema = positionSchema.safeParse(value);
        if (byHand !== undefined) expect(bySchema).toStrictEqual({ success: true, data: byHand });
        const read = positionReader.safeParse(value);
        expect(read.success ? read.data : read.error.issues).toEqual(
          bySchema.success ? bySchema.data : bySchema.error?.issues,
        );
        whole += byHand === undefined ? 0 : 1;
        refused += bySchema.success ? 0 : 1;
      }),
      { numRuns: 2_000 },
    );
    expect(readWholePosition(WHOLE)).toMatchObject({ positionId: '191823', amount: '-0.075' });
    expect(Math.min(whole, refused)).toBeGreaterThan(100);
  });
});
