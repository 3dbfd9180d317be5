import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { condensed } from '../../../src/replay/scenarios/condensed.ts';
import { SCENARIO_LIBRARY } from '../../../src/replay/scenarios/library.ts';
import type { Scenario, ScenarioPoint } from '../../../src/replay/scenarios/scenario.ts';

const minutesOf = ({ majors }: Scenario): number => majors.at(-1)?.[0] ?? 0;

function steps(points: readonly ScenarioPoint[]) {
  return points.slice(1).map(([minute, percent], index) => {
    const [before, from] = points[index] ?? [0, 0];
    return { minutes: minute - before, moved: Math.abs(percent - from), percent };
  });
}

const scenario = (majors: readonly ScenarioPoint[], others?: readonly ScenarioPoint[]): Scenario => ({
  id: 'made',
  title: 'Made',
  about: '',
  kind: 'shape',
  majors,
  ...(others === undefined ? {} : { others }),
});

describe('a condensed scenario', () => {
  test.each(SCENARIO_LIBRARY.map((one) => [one.id, one] as const))(
    '%s makes the same moves; none becomes faster than 4 %% an hour',
    (_id, original) => {
      const short = condensed(original);
      expect(short.majors.map(([, percent]) => percent)).toEqual(
        original.majors.map(([, percent]) => percent),
      );
      const before = steps(original.majors);
      for (const [index, { minutes, moved }] of steps(short.majors).entries()) {
        const was = before[index]?.minutes ?? 0;
        expect(minutes).toBeLessThanOrEqual(was + 1e-9);
        if (minutes < was - 1e-9) expect((60 * moved) / minutes).toBeLessThanOrEqual(4 + 1e-9);
      }
      expect(minutesOf(short)).toBeLessThanOrEqual(16 * 60);
    },
  );

  test('majors and others stay aligned', () => {
    const short = condensed(
      scenario(
        [
          [0, 0],
          [600, -1],
        ],
        [
          [0, 0],
          [100, 0],
          [101, -40],
          [600, -40],
        ],
      ),
    );
    const [, , fall] = short.others ?? [];
    expect(fall).toEqual([21, -40]);
    expect(short.majors.at(-1)?.[0]).toBeCloseTo(short.others?.at(-1)?.[0] ?? NaN, 9);
  });

  test('of any points: time stays monotonic, a jump stays a jump, and condensing again changes nothing', () => {
    const points = fc
      .array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: -60, max: 60 })), {
        minLength: 1,
        maxLength: 20,
      })
      .map((gaps) => {
        let minute = 0;
        const later = gaps.map(([gap, percent]): ScenarioPoint => {
          minute += gap;
          return [minute, percent];
        });
        return [[0, 0] as ScenarioPoint].concat(later);
      });
    fc.assert(
      fc.property(points, (majors) => {
        const short = condensed(scenario(majors));
        const [was, is] = [steps(majors), steps(short.majors)];
        for (const [index, { minutes }] of is.entries()) {
          expect(minutes).toBeGreaterThanOrEqual(0);
          expect(minutes < 1e-9).toBe(was[index]?.minutes === 0);
        }
        expect(minutesOf(condensed(short))).toBeCloseTo(minutesOf(short), 6);
      }),
    );
  });
});
