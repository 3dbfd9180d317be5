import { expect, test } from 'vitest';
import { ANCHORS, candidatesOf, USUAL_LADDERS, USUAL_SPACE } from './candidates.ts';
import { picture } from './picture.ts';
import { type CasePlayer, searchFront, type TuneHooks, type TunePlan } from './search.ts';
import type { BareOutcome, Candidate, CaseOutcome, TuneCase } from './tune-case.ts';
import { figuresOf } from './tune-figures.ts';

const CASE: TuneCase = {
  id: 'one',
  book: '5x long',
  kind: 'market',
  account: { id: 'desk-1', collateral: {}, hedgeMode: false, positions: [], loans: [] },
  prices: [],
  model: 'bridge',
  terms: {},
  fromMs: 0,
  durationMs: 3_600_000,
  conditions: { latency: 0, faults: [] },
  seed: 1,
};

const OUTCOME: CaseOutcome = {
  liquidated: false,
  equityStart: 100,
  equityEnd: 90,
  orders: 1,
  closings: 0,
  playedMs: 3_600_000,
};

function candidate(name: string, more: Partial<Candidate> = {}): Candidate {
  return { name, rules: [{ id: name }], ...more };
}

/** Every third case is doomed; a candidate's name states what it keeps and gives up. */
function player(asked: string[], way: number | null = null): CasePlayer {
  const isDoomed = (index: number): boolean => index % 3 === 0;
  return {
    lanes: 2,
    bare: async (index): Promise<BareOutcome> => {
      const liquidated = isDoomed(index);
      return {
        ...OUTCOME,
        liquidated,
        equityEnd: liquidated ? 10 : 90,
        way,
        distance: way === null ? null : 0.2,
      };
    },
    async play(index, { name }) {
      asked.push(`${name} ${index}`);
      if (name === 'refused') throw Object.assign(new Error('no such rule'), { code: 'config-refused' });
      const [kept = 0, given = 0] = name.split('-').map(Number);
      return { ...OUTCOME, equityEnd: isDoomed(index) ? kept : 90 * (1 - given / 100) };
    },
  };
}

const HOOKS: TuneHooks = { signal: new AbortController().signal, nowMs: () => 0, budgetMs: 1 };
const plan = (candidates: readonly Candidate[], cases: number): TunePlan => ({
  cases: Array.from({ length: cases }, () => CASE),
  candidates,
  base: { file: 'x', text: '' },
  seed: 1,
});

test('the front has the candidates that nothing beats in both columns, and always the anchors', async () => {
  const sets = ['50-5', '60-5', '40-1', '60-9'].map((name) => candidate(name));
  const record = await searchFront(
    plan([candidate('20-9', { isAnchor: true }), ...sets], 9),
    player([]),
    HOOKS,
  );
  expect(record).toMatchObject({ end: 'done', cases: { used: 9, all: 9 } });
  const shown = record.rows.map(({ name, isOnFront, isAnchor }) => [name, isOnFront, isAnchor]);
  expect(shown).toEqual([
    ['20-9', false, true],
    ['40-1', true, false],
    ['50-5', false, false],
    ['60-5', true, false],
    ['60-9', false, false],
  ]);
  expect(record.rows[3]?.figures).toMatchObject({ doomed: 3, prevented: 3, survivors: 6 });
  expect(record.rows[3]?.figures.kept).toBeCloseTo(0.6, 9);
  expect(record.rows[3]?.figures.givenUpMean).toBeCloseTo(0.05, 9);
  expect(picture(record.rows).html).toContain('60-5: keeps 60.0 %, gives up 5.0 %');
});

test('after a round only the better third continues, and no case is played twice', async () => {
  const asked: string[] = [];
  const sets = Array.from({ length: 60 }, (_, index) => candidate(`${index + 10}-${index % 7}`));
  const record = await searchFront(plan(sets, 72), player(asked), HOOKS);
  expect(new Set(asked).size).toBe(asked.length);
  expect(asked.length).toBe(60 * 24 + 20 * 48);
  expect(record.rows).toHaveLength(20);
  expect(record.rows.some(({ name, isOnFront }) => name === '66-0' && isOnFront)).toBe(true);
});

test('a set is not played if the price never came near its threshold, and its standing stops count', async () => {
  const asked: string[] = [];
  const rules = [{ id: 's', do: [{ protect: { ladder: [{}, {}] } }] }];
  const near = candidate('50-5', { reach: { way: 0.32, distance: 0 } });
  const far = candidate('40-1', { rules, reach: { way: 0.34, distance: 0.1 } });
  const record = await searchFront(plan([near, far], 3), player(asked, 0.3), HOOKS);
  expect(asked.filter((one) => one.startsWith('40-1'))).toEqual(['40-1 0']);
  expect(asked.filter((one) => one.startsWith('50-5'))).toHaveLength(3);
  expect(record.runs).toMatchObject({ played: 4, inferred: 2 });
});

test('a candidate that the config refuses is named and left out, and a stop keeps the last finished round', async () => {
  const stop = new AbortController();
  const refused = await searchFront(plan([candidate('refused'), candidate('50-5')], 3), player([]), HOOKS);
  expect(refused.rows.map(({ name }) => name)).toEqual(['50-5']);
  expect(refused.notes).toEqual(['refused is not in the table: no such rule']);
  const slow = player([]);
  let played = 0;
  const stopping: CasePlayer = {
    ...slow,
    async play(index, one) {
      played += 1;
      if (played === 30) stop.abort();
      return await slow.play(index, one);
    },
  };
  const stopped = await searchFront(plan([candidate('50-5')], 72), stopping, {
    ...HOOKS,
    signal: stop.signal,
  });
  expect(stopped).toMatchObject({ end: 'stopped', cases: { used: 24, all: 72 } });
});

test('false actions are counted only over position-days in quiet markets', () => {
  const account = { ...CASE.account, positions: [{}, {}] as unknown as TuneCase['account']['positions'] };
  const bare = { ...OUTCOME, way: null, distance: null };
  const quiet = { of: { ...CASE, kind: 'quiet' as const, account, durationMs: 43_200_000 }, bare };
  const one = figuresOf([
    { ...quiet, ruled: { ...OUTCOME, closings: 1, playedMs: 1 } },
    { ...quiet, ruled: OUTCOME },
    { of: CASE, bare, ruled: { ...OUTCOME, closings: 7 } },
  ]);
  expect(one.falseActions).toBe(500);
  expect(one.survivors).toBe(1);
});

test('the usual space has every set once, no empty one, and ladders as one more list', () => {
  const sets = candidatesOf(USUAL_SPACE);
  expect(new Set(sets.map(({ name }) => name)).size).toBe(sets.length);
  expect(sets.every(({ rules }) => rules.length > 0)).toBe(true);
  const withLadders = candidatesOf({ ...USUAL_SPACE, covers: [...USUAL_SPACE.covers, ...USUAL_LADDERS] });
  expect(withLadders.length).toBeGreaterThan(sets.length);
  const ladder = withLadders.find(({ name }) => name === 'ladder 75%: 30%, 88%: 40%, 95%: rest');
  expect(ladder).toMatchObject({
    reach: { way: 0.75, distance: 0 },
    rules: [
      {
        do: [
          {
            protect: {
              ladder: [
                { at: '75%', close: '30%' },
                { at: '88%', close: '40%' },
                { at: '95%', close: 'rest' },
              ],
            },
          },
        ],
      },
    ],
  });
  expect(ANCHORS).toHaveLength(2);
});
