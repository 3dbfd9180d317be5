import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { caseAt, controlAt } from './case-at.ts';
import { documentOf } from './document.ts';
import { FACTOR_NAMES, valuesOf } from './factors.ts';
import type { CaseResult, Failure } from './judge.ts';
import { reportOf } from './report.ts';
import { SCENARIOS } from './scenarios.ts';

/** The shape of docs/field.md; its figures come from the run that wrote them. */
const guide = readFileSync(new URL('../../docs/field.md', import.meta.url), 'utf8');

function rowsOf(title: string): readonly (readonly string[])[] {
  const [, section = ''] =
    new RegExp(`### ${title}[^\\n]*\\n([^]*?)(?=\\n###|<!-- end -->)`).exec(guide) ?? [];
  return section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
}

describe('docs/field.md', () => {
  it('says how many cases were played: enough preventable ones, and every pair of values', () => {
    const [, drawn, preventable, prevented, covered, all] =
      /(\d+) cases drawn, (\d+) preventable, (\d+) prevented; (\d+) of (\d+) pairs/
        .exec(guide)
        ?.map(Number) ?? [];
    expect(preventable).toBeGreaterThanOrEqual(2_000);
    expect(drawn).toBeGreaterThanOrEqual(preventable ?? 0);
    expect(prevented).toBeLessThanOrEqual(preventable ?? 0);
    expect(covered).toBe(all);
  });

  it('has a row for each value of each factor, and for each scenario', () => {
    const rows = rowsOf('By value of a factor').map(([factor, value]) => `${factor}=${value}`);
    expect(rows).toEqual(
      FACTOR_NAMES.flatMap((factor) => valuesOf(factor).map((value) => `${factor}=${value}`)),
    );
    expect(rowsOf('Scenarios of their own').map(([id]) => id)).toEqual(SCENARIOS.map(({ id }) => id));
  });

  it('adds up: the values of each factor sum to the whole', () => {
    const whole = /drawn, (\d+) preventable/.exec(guide)?.[1];
    for (const factor of FACTOR_NAMES) {
      const own = rowsOf('By value of a factor').filter(([name]) => name === factor);
      const sum = own.reduce((total, [, , , preventable]) => total + Number(preventable), 0);
      expect(`${factor} ${sum}`).toBe(`${factor} ${whole}`);
    }
  });

  it('names each factor and each kind of failure in its own words', () => {
    for (const factor of FACTOR_NAMES.slice(0, 15)) expect(guide).toContain(`\`${factor}\``);
    const failures: Record<Failure, true> = {
      'no request left': true,
      'only cancels left': true,
      'no order was accepted': true,
      'first order too late': true,
      'activation on the wrong side': true,
      'activation not reached': true,
      'triggered, not filled': true,
      'reduced too little': true,
      'a remainder was liquidated': true,
    };
    for (const failure of Object.keys(failures)) expect(guide).toContain(`| ${failure} |`);
  });
});

describe('a report', () => {
  const levelsAt = (index: number) => caseAt(1, index).levels;
  const cases: readonly CaseResult[] = [
    prevented(0, 2_000, 4_000),
    prevented(1, 9_000, 6_000),
    {
      ...prevented(2, 1, 1),
      verdict: 'liquidated',
      daemon: { reactionMs: null, boundMs: null, liquidatedMs: 9, failure: 'only cancels left', errors: [] },
    },
    { id: '1-3', levels: levelsAt(3), verdict: 'unpreventable', timeMs: 1 },
  ];

  function prevented(index: number, reactionMs: number, boundMs: number): CaseResult {
    const daemon = { reactionMs, boundMs, liquidatedMs: null, failure: null, errors: [] };
    return { id: `1-${index}`, levels: levelsAt(index), verdict: 'prevented', timeMs: 1, daemon };
  }

  const played = {
    seed: 1,
    fixed: {},
    cases,
    controls: [
      { id: '1-c0', levels: controlAt(1, 0).levels, harm: ['owner-stop-BTC_PERP is gone'], errors: [] },
    ],
    scenarios: [{ ...(cases[2] as CaseResult), id: '1-s0' }],
    tookMs: 1,
    cpuMs: 1,
    isStopped: false,
  };

  it('counts the prevented among the preventable, and compares each figure with its bar', () => {
    const report = reportOf(played);
    expect(report.total).toEqual({ drawn: 4, preventable: 3, prevented: 2, share: 2 / 3 });
    expect(report.failures).toMatchObject([{ failure: 'only cancels left', count: 1, ids: ['1-2'] }]);
    expect(report.reaction).toEqual({ fills: 2, medianMs: 9_000, medianOfBound: 1.5 });
    expect(report.scenarios).toMatchObject([
      { id: SCENARIOS[0]?.id, preventable: 1, prevented: 0, lost: ['1-s0'] },
    ]);
    expect(report.bars.map(({ holds }) => holds)).toEqual([false, false, false, false]);
    const good = reportOf({ ...played, cases: cases.slice(0, 1), controls: [] });
    expect(good.bars.map(({ holds }) => holds)).toEqual([true, true, true, true]);
  });

  it('replaces the previous one in the document', () => {
    const written = documentOf(guide, reportOf(played));
    expect(written).toContain('4 cases drawn, 3 preventable, 2 prevented');
    expect(documentOf(written, reportOf(played))).toBe(written);
    expect(written.split('<!-- generated: field -->')).toHaveLength(2);
  });
});
