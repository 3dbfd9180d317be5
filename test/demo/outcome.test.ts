import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { CliIo } from '../../src/cli/io.ts';
import type { DemoOutcome } from '../../src/demo/open-demo.ts';
import { outcomeLines } from '../../src/demo/outcome.ts';

const characters = [
  { id: 'a', kind: 'long', required: true, about: 'long at 10x', leverage: 10 },
  { id: 'b', kind: 'long', required: false, about: 'long at 20x', leverage: 20 },
  { id: 'loan', kind: 'borrower', required: false, about: 'a credit line', leverage: 1 },
] as const;

const outcome: DemoOutcome = {
  result: {
    liquidations: { protected: 1, unprotected: 2 },
    closedFraction: 0.4,
    accounts: [
      { id: 'a', liquidated: false, twinLiquidated: true, closedFraction: 0.625 },
      { id: 'b', liquidated: true, twinLiquidated: false, closedFraction: 0 },
      { id: 'loan', liquidated: null, twinLiquidated: null, closedFraction: null },
    ],
    actions: 14,
    breachToOrderMs: { p50: 30.5, p99: 61 },
    alerts: 7,
  },
  failures: [],
  hindsight: [],
  creditLineWarnings: [{ id: 'loan', calledAtMs: 50_000, toldAtMs: 8_000, inTime: true }],
  longestStallMs: 12,
};

function linesOf(changes: Partial<DemoOutcome>, { columns = 200, stoppedAfterMs = -1 } = {}): string {
  const stdout = Object.assign(new PassThrough(), { columns });
  const io = {
    stdout,
    stderr: stdout,
    isTty: { stdin: true, stdout: true, stderr: true },
    env: { NO_COLOR: '1' },
  } as unknown as CliIo;
  const stopped = stoppedAfterMs < 0 ? undefined : stoppedAfterMs;
  return outcomeLines(io, { characters, speed: 5 }, { ...outcome, ...changes }, stopped).join('\n');
}

const warning = (calledAtMs: number | null, toldAtMs: number | null, inTime: boolean) => ({
  creditLineWarnings: [{ id: 'loan', calledAtMs, toldAtMs, inTime }],
});

describe('the table at the end', () => {
  test('sets each account beside its twin, with what was closed', () => {
    const text = linesOf({});
    expect(text).toMatch(/long at 10x +came through +liquidated +62\.5 %/);
    expect(text).toMatch(/long at 20x \(not required\) +liquidated +came through +0\.0 %/);
    expect(text).toContain('Liquidated: 1 with protection, 2 without. 14 orders and cancels, 7 alerts;');
    expect(text).toContain('from breach to order 30.5 ms (median), 61 ms (p99).');
  });

  test('says of an account that was reduced for what nobody could know that hindsight would not have', () => {
    expect(linesOf({ hindsight: ['a'] })).toMatch(
      /long at 10x +came through \(in hindsight, without orders too\) +liquidated +62\.5 %/,
    );
  });

  test('without a breach there are no times', () => {
    const result = { ...outcome.result, breachToOrderMs: { p50: null, p99: null } };
    expect(linesOf({ result })).toMatch(/7 alerts\.$/m);
  });

  test.each([
    ['told in time', warning(50_000, 8_000, true), 'told 42.0 s of market time before its margin call'],
    ['told too late', warning(50_000, 51_000, false), 'told only after its margin call'],
    ['never told', warning(50_000, null, false), 'margin call, and never told'],
    ['told, never called', warning(null, 8_000, true), 'told; no margin call came'],
    ['neither', warning(null, null, true), 'no need to tell'],
  ])('of a credit line it says whether its owner was %s', (_name, change, words) => {
    expect(linesOf(change)).toMatch(new RegExp(`a credit line +${words}$`, 'm'));
  });

  test('says what is not as it should be, unless it was stopped before it could be', () => {
    const failures = ['a was liquidated although it was protected'];
    expect(linesOf({ failures })).toContain('Not as it should be: a was liquidated');
    const stopped = linesOf({ failures }, { stoppedAfterMs: 12_345 });
    expect(stopped).toContain('Stopped after 12.3 s.');
    expect(stopped).not.toContain('Not as it should be');
  });

  test('a machine that kept it waiting for long is named, in market time too', () => {
    expect(linesOf({})).not.toContain('This machine');
    expect(linesOf({ longestStallMs: 499 })).not.toContain('This machine');
    expect(linesOf({ longestStallMs: 500 })).toContain('for up to 0.5 s at a time, 2.5 s of the market');
  });

  test('on a narrow terminal each account is a block of its own', () => {
    const text = linesOf({}, { columns: 40 });
    expect(text).toMatch(/ACCOUNT +long at 10x\nPROTECTED +came through\nONLY WATCHED +liquidated\n/);
  });

  test('has no control characters without colours', () => {
    const text = linesOf({ failures: ['x'] });
    expect(stripVTControlCharacters(text)).toBe(text);
  });
});
