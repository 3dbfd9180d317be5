import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FALSE, TRUE, type Truth, UNKNOWN } from '../../../src/core/rules/condition.ts';
import {
  endRule,
  freezeRule,
  type RuleEntry,
  type RuleStepResult,
  type RuleTiming,
  stepRule,
} from '../../../src/core/rules/rule-state.ts';

const NO_STAGES: RuleTiming['escalate'] = [];
const timing = (changes: Partial<RuleTiming> = {}): RuleTiming => ({
  forMs: 3_000,
  keepFiringForMs: 5_000,
  escalate: NO_STAGES,
  ...changes,
});

/** Runs a rule over `[truth, ms since the previous step]`, through JSON after every step: a restart each time. */
function run(
  rule: RuleTiming,
  steps: readonly (readonly [Truth, number])[],
  restart = true,
): readonly RuleStepResult[] {
  let entry: RuleEntry | undefined;
  let episode = 0;
  return steps.map(([truth, timerMs], index) => {
    const result = stepRule('position:42', entry, rule, {
      truth,
      latches: '',
      timerMs,
      atMs: index,
      nextEpisode: () => ++episode,
      because: () => `step ${index}`,
    });
    entry = result.entry;
    if (restart && entry !== undefined) entry = JSON.parse(JSON.stringify(entry)) as RuleEntry;
    return result;
  });
}

const story = (results: readonly RuleStepResult[]): string[] =>
  results.map(({ phase, reason }) => `${phase}: ${reason}`);

describe('transitions, each across a restart', () => {
  test('inactive stays inactive and needs no entry', () => {
    const [only] = run(timing(), [[FALSE, 1_000]]);
    expect(only).toEqual({ entry: undefined, phase: 'inactive', reason: 'conditionNotMet', changes: [] });
  });

  test('goes from inactive to pending, firing, kept firing and back to inactive', () => {
    expect(
      story(
        run(timing(), [
          [TRUE, 9_000],
          [TRUE, 2_999],
          [TRUE, 1],
          [FALSE, 1_000],
          [FALSE, 4_999],
          [FALSE, 1],
          [FALSE, 1],
        ]),
      ),
    ).toEqual([
      'pending: conditionMet',
      'pending: waitingFor',
      'firing: heldLongEnough',
      'firing: keptFiring',
      'firing: keptFiring',
      'inactive: conditionCleared',
      'inactive: conditionNotMet',
    ]);
  });

  test('pending clears with the condition, and its time is forgotten', () => {
    expect(
      story(
        run(timing(), [
          [TRUE, 0],
          [TRUE, 2_900],
          [FALSE, 10],
          [TRUE, 10],
          [TRUE, 2_900],
        ]),
      ),
    ).toEqual([
      'pending: conditionMet',
      'pending: waitingFor',
      'inactive: clearedWhilePending',
      'pending: conditionMet',
      'pending: waitingFor',
    ]);
  });

  test('without `for` it fires at once; without `keepFiringFor` it resolves at once', () => {
    expect(
      story(
        run(timing({ forMs: 0, keepFiringForMs: 0 }), [
          [TRUE, 0],
          [TRUE, 1],
          [FALSE, 1],
        ]),
      ),
    ).toEqual(['firing: heldLongEnough', 'firing: stillFiring', 'inactive: conditionCleared']);
  });

  test('a condition true again within `keepFiringFor` continues the episode and forgets the time it was clear', () => {
    const results = run(timing({ forMs: 0 }), [
      [TRUE, 0],
      [FALSE, 1],
      [FALSE, 4_000],
      [TRUE, 1],
      [FALSE, 1],
      [FALSE, 4_000],
    ]);
    expect(story(results).slice(3)).toEqual([
      'firing: stillFiring',
      'firing: keptFiring',
      'firing: keptFiring',
    ]);
    expect(new Set(results.map(({ entry }) => entry?.episode))).toEqual(new Set([1]));
  });

  test('every pending phase starts an episode with a new number', () => {
    const results = run(timing(), [
      [TRUE, 0],
      [FALSE, 1],
      [TRUE, 1],
      [TRUE, 3_000],
    ]);
    expect(results.flatMap(({ changes }) => changes.map(({ episode }) => episode))).toEqual([1, 1, 2, 2]);
  });

  test.each([
    ['inactive', [[FALSE, 0]], undefined],
    [
      'pending',
      [
        [TRUE, 0],
        [TRUE, 1_000],
      ],
      'pending',
    ],
    [
      'firing',
      [
        [TRUE, 0],
        [TRUE, 3_000],
      ],
      'firing',
    ],
    [
      'kept firing',
      [
        [TRUE, 0],
        [TRUE, 3_000],
        [FALSE, 1],
        [FALSE, 2_000],
      ],
      'firing',
    ],
  ] as const)('unknown freezes %s, timers included', (_, before, phase) => {
    const frozen = run(timing(), [...before, [UNKNOWN, 60_000], [UNKNOWN, 60_000]]);
    const last = frozen.at(-1);
    expect(last?.reason).toBe('frozenByUnknown');
    expect(last?.changes).toEqual([]);
    const entryBefore = run(timing(), before).at(-1)?.entry;
    expect(entryBefore?.phase).toBe(phase);
    expect(last?.entry).toEqual(entryBefore === undefined ? undefined : { ...entryBefore, frozen: true });
    expect(freezeRule(last?.entry).entry).toBe(last?.entry);
  });

  test('an interval with unknown data at either end counts for no timer', () => {
    expect(
      story(
        run(timing(), [
          [TRUE, 0],
          [UNKNOWN, 2_000],
          [TRUE, 9_000],
          [TRUE, 2_999],
          [TRUE, 1],
        ]),
      ),
    ).toEqual([
      'pending: conditionMet',
      'pending: frozenByUnknown',
      'pending: waitingFor',
      'pending: waitingFor',
      'firing: heldLongEnough',
    ]);
    const clearing: readonly (readonly [Truth, number])[] = [
      [TRUE, 0],
      [TRUE, 3_000],
      [FALSE, 1],
      [UNKNOWN, 9_000],
      [FALSE, 9_000],
    ];
    expect(story(run(timing(), clearing)).at(-1)).toBe('firing: keptFiring');
  });
});

describe('escalation', () => {
  const rule = timing({
    forMs: 0,
    keepFiringForMs: 60_000,
    escalate: [
      { afterMs: 30_000, actions: [] },
      { afterMs: 50_000, actions: [] },
    ],
  });

  test('stages begin after the condition itself has held for so long since firing', () => {
    const results = run(rule, [
      [TRUE, 0],
      [TRUE, 29_999],
      [FALSE, 20_000],
      [FALSE, 20_000],
      [TRUE, 20_000],
      [TRUE, 1],
      [TRUE, 20_000],
    ]);
    expect(story(results)).toEqual([
      'firing: heldLongEnough',
      'firing: stillFiring',
      'firing: keptFiring',
      'firing: keptFiring',
      'firing: stillFiring',
      'firing: stageReached',
      'firing: stageReached',
    ]);
    expect(results.at(-1)?.entry?.stages).toEqual([
      { stage: 0, atMs: 0, because: 'step 0' },
      { stage: 1, atMs: 5, because: 'step 5' },
      { stage: 2, atMs: 6, because: 'step 6' },
    ]);
  });

  test('one long step may reach several stages', () => {
    expect(
      run(rule, [
        [TRUE, 0],
        [TRUE, 50_000],
      ])
        .at(-1)
        ?.changes.map(({ stage }) => stage),
    ).toEqual([1, 2]);
  });
});

describe('ending a rule', () => {
  const firing = run(timing({ forMs: 0 }), [[TRUE, 0]])[0]?.entry;

  test('reports what ended, and forgets the entry', () => {
    expect(endRule(firing, 'subjectGone', false)).toEqual({
      entry: undefined,
      changes: [{ reason: 'subjectGone', from: 'firing', to: 'inactive', episode: 1 }],
    });
    expect(endRule(undefined, 'subjectGone', false)).toEqual({ entry: undefined, changes: [] });
  });

  test('may keep the latches of hysteresis', () => {
    const latched = firing && { ...firing, latches: '1' };
    expect(endRule(latched, 'modeChanged', true).entry).toMatchObject({
      phase: 'inactive',
      latches: '1',
      episode: 0,
    });
    expect(endRule(firing, 'modeChanged', true).entry).toBeUndefined();
  });
});

describe('properties', () => {
  const steps = fc.array(
    fc.tuple(fc.constantFrom<Truth>(TRUE, FALSE, UNKNOWN), fc.integer({ min: 0, max: 4_000 })),
    {
      maxLength: 40,
    },
  );
  const anyTiming = fc.record({
    forMs: fc.constantFrom(0, 1_000, 3_000),
    keepFiringForMs: fc.constantFrom(0, 2_000),
    escalate: fc.constantFrom(NO_STAGES, [{ afterMs: 2_000, actions: [] }]),
  });

  test('a restart between any two evaluations changes nothing', () => {
    fc.assert(
      fc.property(anyTiming, steps, (rule, history) => {
        expect(run(rule, history, true)).toEqual(run(rule, history, false));
      }),
    );
  });

  test('unknown evaluations never transition', () => {
    fc.assert(
      fc.property(anyTiming, steps, (rule, history) => {
        run(rule, history).forEach((result, index) => {
          if (history[index]?.[0] === UNKNOWN) expect(result.changes).toEqual([]);
        });
      }),
    );
  });

  test('without unknowns it behaves like a Prometheus alert computed from timestamps', () => {
    fc.assert(
      fc.property(anyTiming, steps, (rule, history) => {
        const decided = history.filter(([truth]) => truth !== UNKNOWN);
        // The reference: activeAt and the time since it was clear, as timestamps.
        let [now, activeAt, clearSince] = [0, -1, -1];
        let phase = 'inactive';
        const expected = decided.map(([truth, ms]) => {
          now += ms;
          if (truth === TRUE) {
            clearSince = -1;
            if (phase === 'inactive') [phase, activeAt] = ['pending', now];
            if (phase === 'pending' && now - activeAt >= rule.forMs) phase = 'firing';
          } else if (phase === 'pending') phase = 'inactive';
          else if (phase === 'firing') {
            if (clearSince < 0) clearSince = now;
            if (now - clearSince >= rule.keepFiringForMs) phase = 'inactive';
          }
          return phase;
        });
        expect(run(rule, decided).map((result) => result.phase)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the entry of an episode stays the same object, so that polls write nothing', () => {
  const step = (entry: RuleEntry | undefined, truth: Truth, latches = '1') =>
    stepRule('position:42', entry, timing({ forMs: 0, escalate: [{ afterMs: 2_000, actions: [] }] }), {
      truth,
      latches,
      timerMs: 1_500,
      atMs: 0,
      nextEpisode: () => 1,
      because: () => 'it is near',
    }).entry;

  test('once every stage is reached', () => {
    const fired = step(undefined, TRUE);
    const held = step(step(fired, TRUE), TRUE);
    expect(held).toMatchObject({ phase: 'firing', heldMs: 2_000, stages: [{ stage: 0 }, { stage: 1 }] });
    expect(step(held, TRUE)).toBe(held);
    expect(step(held, FALSE)).not.toBe(held);
  });

  test('while only a latch is kept', () => {
    const latched = step(undefined, FALSE);
    expect(latched).toMatchObject({ phase: 'inactive', latches: '1' });
    expect(step(latched, FALSE)).toBe(latched);
    expect(step(latched, FALSE, '')).toBeUndefined();
  });
});
