import fc from 'fast-check';
import { Counter, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { Tally } from '../../src/telemetry/tally.ts';

const NAMES = ['a', 'b', 'c'] as const;

test('a tally reads at any time like a counter incremented each time', async () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        first: fc.constantFrom(...NAMES),
        second: fc.constantFrom(...NAMES),
        value: fc.nat(3),
      }),
    },
    { weight: 1, arbitrary: fc.constant('look' as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const [plain, tallied] = ['plain', 'tallied'].map(() => {
        const registers = [new Registry()];
        return new Counter({ name: 'what_total', help: 'x', labelNames: ['first', 'second'], registers });
      }) as [Counter<'first' | 'second'>, Counter<'first' | 'second'>];
      const tally = new Tally(tallied, (first, second) => ({ first, second }));
      for (const one of [...steps, 'look' as const]) {
        if (one !== 'look') {
          const { first, second, value } = one;
          plain.inc({ first, second }, value);
          tally.add(first, second, value);
          continue;
        }
        tally.flush();
        const [expected, found] = [await plain.get(), await tallied.get()];
        expect(new Set(found.values.map((entry) => JSON.stringify(entry)))).toEqual(
          new Set(expected.values.map((entry) => JSON.stringify(entry))),
        );
      }
    }),
  );
});
