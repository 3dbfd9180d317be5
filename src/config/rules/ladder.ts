import { z } from 'zod';
import type { Rung } from '../../core/rules/rule.ts';
import { protectAt } from '../acting.ts';
import { readRatio, scalar } from '../shape/scalars.ts';
import { across, list } from '../shape/shape.ts';

/** Limited because the fills must identify all orders of two ladders and of a reduction. */
const MOST_RUNGS = 5;
/** Tolerance of sums; smaller than any share that can be written. */
const TINY = 1e-9;

/** Several standing stops, nearest first, each for its share of the size at placement. */
export function ladderSchema(): z.ZodType<readonly Rung[]> {
  const rung = z.strictObject({
    at: protectAt().describe(
      'Where it activates, from mark (0%) to liquidation (100%); farther than the one before.',
    ),
    close: closeSchema().describe(
      'The share of the size at placement that it closes; `rest`, in the last one: all that is left.',
    ),
  });
  return across(list(rung, 1), wrongRung).transform(leavingShares);
}

type Close = number | 'rest';

interface WrittenRung {
  readonly at: number;
  readonly close: Close;
}

function closeSchema(): z.ZodType<Close> {
  return scalar<Close>({
    expected: 'a share such as 30%, above 0 and up to 100%, or rest',
    read: (written) => {
      if (written === 'rest') return { ok: true, value: 'rest' };
      const reading = readRatio(written);
      return reading.ok && !(reading.value > 0 && reading.value <= 1) ? { ok: false } : reading;
    },
    json: { type: ['string', 'number'], examples: ['30%', 'rest'] },
  });
}

function wrongRung(
  rungs: readonly WrittenRung[],
): { readonly expected: string; readonly got: string } | undefined {
  if (rungs.length > MOST_RUNGS)
    return { expected: `at most ${MOST_RUNGS} stops`, got: String(rungs.length) };
  // Wrong single values are reported at their own place.
  if (!rungs.every((rung) => typeof rung?.at === 'number')) return undefined;
  const late = rungs.findIndex(({ at }, index) => index > 0 && at <= (rungs[index - 1]?.at ?? 0));
  if (late > 0) {
    const got = `${percentText(rungs[late]?.at ?? 0)} after ${percentText(rungs[late - 1]?.at ?? 0)}`;
    return { expected: '`at` to rise from one stop to the next, the nearest to the market first', got };
  }
  const early = rungs.findIndex(({ close }, index) => close === 'rest' && index < rungs.length - 1);
  if (early >= 0) return { expected: '`close: rest` in the last stop only', got: `it in stop ${early + 1}` };
  const sum = rungs.reduce((total, { close }) => total + (typeof close === 'number' ? close : 0), 0);
  if (sum > 1 + TINY) return { expected: 'shares to close of at most 100% together', got: percentText(sum) };
  return rungs.at(-1)?.close === 'rest' && sum > 1 - TINY
    ? { expected: 'shares that leave something for `close: rest`', got: '100% before it' }
    : undefined;
}

function percentText(share: number): string {
  return `${Number((share * 100).toFixed(6))}%`;
}

/** Converts the share that each rung closes to the share that is left after it. */
function leavingShares(rungs: readonly WrittenRung[]): readonly Rung[] {
  let left = 1;
  return rungs.map(({ at, close }) => {
    left = close === 'rest' ? 0 : Math.max(0, Number((left - close).toFixed(9)));
    return { at, leave: left };
  });
}
