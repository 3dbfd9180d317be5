import { describe, expect, test } from 'vitest';
import { SCHEDULED_SCENARIOS } from '../../src/config/stress.ts';
import { SCENARIO_LIBRARY } from '../../src/replay/scenarios/library.ts';
import { linesOf, loaded, withRules } from './support.ts';

const RULE = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ notify: {} }]
`;

const withStress = (text: string) => `${withRules(RULE, ['near'])}\nstress: ${text}\n`;
const lines = (text: string) => linesOf(withStress(text));

describe('the section stress', () => {
  test('is absent by default', () => {
    expect(loaded(withRules(RULE, ['near'])).stress).toBeUndefined();
  });

  test('needs a time only; the rest has defaults, and no scenario is played twice', () => {
    expect(loaded(withStress('{ at: "0 7 * * *" }')).stress).toEqual({
      at: '0 7 * * *',
      timeZone: 'UTC',
      scenarios: ['shock-down-20', '2020-03-12', '2025-10-10', 'rally'],
      conditions: ['crash'],
      timeLimitMs: 600_000,
    });
    const twice = loaded(
      withStress('{ at: "0 7 * * *", scenarios: [wick, wick], conditions: [calm, calm] }'),
    );
    expect([twice.stress?.scenarios, twice.stress?.conditions]).toEqual([['wick'], ['calm']]);
  });

  test('offers every scenario of the library', () => {
    expect([...SCHEDULED_SCENARIOS]).toEqual(SCENARIO_LIBRARY.map(({ id }) => id));
  });

  test.each([
    ['{ }', 'at'],
    ['{ at: "0 25 * * *" }', 'got "0 25 * * *" (25 is a invalid expression for hour)'],
    ['{ at: "0 0 31 2 *" }', 'impossible day of month'],
    ['{ at: daily }', 'such as "0 7 * * *"'],
    ['{ at: 7 }', 'such as "0 7 * * *"'],
    ['{ at: "0 7 * * *", tz: Europe/Londn }', 'Europe/London'],
    ['{ at: "0 7 * * *", scenarios: [2020-03-13] }', '2020-03-12'],
    ['{ at: "0 7 * * *", scenarios: [] }', 'scenarios'],
    ['{ at: "0 7 * * *", conditions: [storm] }', 'one of calm, crash'],
    ['{ at: "0 7 * * *", timeLimit: 2h }', 'from 10s to 1h'],
    ['{ at: "0 7 * * *", every: day }', 'every'],
  ])('refuses %s with its place', (text, words) => {
    const found = lines(text);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^breakwater\.yaml:\d+:\d+ stress.*: expected /);
    expect(found[0]).toContain(words);
  });

  test.each([
    ['{ at: "*/10 * * * *" }', ['at at least 15 min between two runs, got 10 min']],
    ['{ at: "0,5 7 * * *" }', ['at at least 15 min between two runs, got 5 min']],
    ['{ at: "*/15 * * * *" }', []],
    [
      '{ at: "*/15 * * * *", timeLimit: 20m }',
      ['timeLimit less than the 15 min between two runs, got 20 min'],
    ],
    ['{ at: "0 0 29 2 *" }', []],
  ])('warns of runs that keep a core busy or are dropped: %s', (text, expected) => {
    const found = lines(text).map((line) =>
      line.replace(/^.*stress\.(\w+): warning: expected (.*?):.*$/, '$1 $2'),
    );
    expect(found).toEqual(expected);
  });
});
