import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { acknowledgeAll, isMeant, type OpenEpisode } from '../../../src/core/controls/acknowledge.ts';
import {
  type Acknowledgement,
  acknowledgementOf,
  type Control,
  controlsInForce,
  episodeOf,
  hasExpired,
  isSilenced,
  LONGEST_ACKNOWLEDGED_MS,
  NO_CONTROLS,
  NOTHING_IN_FORCE,
  slippageFault,
} from '../../../src/core/controls/controls.ts';
import type { SubjectKey } from '../../../src/core/rules/subject.ts';

const NOW_MS = 1_767_225_600_000;
const SUBJECTS = ['position:42', 'position:43', 'account'] as unknown as readonly SubjectKey[];
const [SUBJECT, OTHER] = SUBJECTS as [SubjectKey, SubjectKey];

const accountId = fc.constantFrom(null, 'desk', 'other');
const ruleId = fc.constantFrom('r1', 'r2');
const subject = fc.constantFrom(...SUBJECTS);
const endsMs = fc.constantFrom(NOW_MS - 1, NOW_MS, NOW_MS + 1, NOW_MS + 2);
const authored = { author: fc.constant('ann'), reason: fc.constant('why'), atMs: fc.constant(NOW_MS - 5) };
const control: fc.Arbitrary<Control> = fc.oneof(
  fc.record({
    ...authored,
    kind: fc.constant('pause' as const),
    id: fc.uuid(),
    accountId,
    expiresAtMs: fc.option(endsMs, { nil: null }),
  }),
  fc.record({
    ...authored,
    kind: fc.constant('silence' as const),
    id: fc.uuid(),
    accountId,
    ruleId,
    subject: fc.option(subject, { nil: null }),
    expiresAtMs: endsMs,
  }),
  fc.record({
    ...authored,
    kind: fc.constant('acknowledgement' as const),
    id: fc.uuid(),
    accountId,
    ruleId,
    subject,
    episode: fc.nat(2),
    stage: fc.nat(2),
    expiresAtMs: endsMs,
  }),
);

describe('controls in force', () => {
  test('are the unexpired ones of the account or of all accounts; the longest pause wins', () => {
    fc.assert(
      fc.property(fc.array(control, { maxLength: 12 }), (entries) => {
        const inForce = controlsInForce({ stamp: 's', entries }, 'desk', NOW_MS);
        const held = entries.filter(
          (one) =>
            (one.accountId === null || one.accountId === 'desk') &&
            (one.expiresAtMs === null || one.expiresAtMs > NOW_MS),
        );
        const silences = held.filter(({ kind }) => kind === 'silence');
        expect(inForce.silences).toEqual(silences);
        expect(inForce.acknowledgements).toEqual(held.filter(({ kind }) => kind === 'acknowledgement'));
        const ends = held.flatMap((one) => (one.kind === 'pause' ? [one.expiresAtMs ?? Infinity] : []));
        expect(inForce.pause === undefined ? -Infinity : (inForce.pause.expiresAtMs ?? Infinity)).toBe(
          Math.max(-Infinity, ...ends),
        );
        const longest = held.find(
          (one) => one.kind === 'pause' && (one.expiresAtMs ?? Infinity) === Math.max(...ends),
        );
        expect(inForce.pause).toBe(longest);
        for (const rule of ['r1', 'r2']) {
          const ofRule = new Set(
            held.flatMap((one) => (one.kind === 'silence' && one.ruleId === rule ? [one.subject] : [])),
          );
          expect(inForce.silencedRules.filter((one) => one === rule)).toEqual(ofRule.has(null) ? [rule] : []);
          for (const one of SUBJECTS) {
            expect(isSilenced(inForce, rule, one)).toBe(ofRule.has(null) || ofRule.has(one));
          }
        }
      }),
    );
  });

  test('are empty when no control exists', () => {
    expect(controlsInForce(NO_CONTROLS, 'desk', NOW_MS)).toBe(NOTHING_IN_FORCE);
    expect(NOTHING_IN_FORCE).toEqual({
      pause: undefined,
      silencedRules: [],
      silences: [],
      acknowledgements: [],
    });
    expect(NO_CONTROLS).toEqual({ stamp: '', entries: [] });
  });

  test.each([
    [null, false],
    [NOW_MS - 1, true],
    [NOW_MS, true],
    [NOW_MS + 1, false],
  ])('a control that ends at %s has expired: %s', (expiresAtMs, expired) => {
    const pause: Control = {
      kind: 'pause',
      id: 'p',
      accountId: null,
      expiresAtMs,
      author: '',
      reason: '',
      atMs: 0,
    };
    expect(hasExpired(pause, NOW_MS)).toBe(expired);
  });
});

const acknowledged = { ruleId: 'r', subject: SUBJECT, episode: 3, stage: 1 };

describe('an acknowledgement', () => {
  test.each([
    ['the same', {}, true],
    ['a lower stage', { stage: 0 }, true],
    ['a higher stage', { stage: 2 }, false],
    ['another rule', { ruleId: 'other' }, false],
    ['another subject', { subject: OTHER }, false],
    ['another episode', { episode: 4 }, false],
  ])('holds for its own episode unless that gets worse: %s', (_what, change, holds) => {
    const one = { ...acknowledged, kind: 'acknowledgement' } as Acknowledgement;
    expect(acknowledgementOf([one], { ...acknowledged, ...change })).toBe(holds ? one : undefined);
  });

  test('identifies an episode without a number by its start', () => {
    expect(episodeOf({ episode: 0, sinceMs: NOW_MS })).toBe(NOW_MS);
    expect(episodeOf({ episode: 1, sinceMs: NOW_MS })).toBe(1);
  });

  test('is selected by rule, by subject, by both or by neither', () => {
    const meant = (filter: Parameters<typeof isMeant>[1]): boolean => isMeant(acknowledged, filter);
    expect(meant({})).toBe(true);
    for (const [name, own, other] of [
      ['ruleId', 'r', 's'],
      ['subject', SUBJECT, OTHER],
    ] as const) {
      expect(meant({ [name]: own })).toBe(true);
      expect(meant({ [name]: other })).toBe(false);
    }
    expect(meant({ ruleId: 'r', subject: OTHER })).toBe(false);
    expect(meant({ ruleId: 's', subject: SUBJECT })).toBe(false);
  });

  test.each([
    [undefined, LONGEST_ACKNOWLEDGED_MS],
    [60_000, 60_000],
    [LONGEST_ACKNOWLEDGED_MS + 1, LONGEST_ACKNOWLEDGED_MS],
  ])('for %s ms lasts %i ms and is put once per open episode', async (forMs, lastsMs) => {
    const older = { author: 'bob' } as Acknowledgement;
    const episodes: OpenEpisode[] = [
      { accountId: 'desk', ...acknowledged, acknowledged: null },
      { accountId: 'desk', ...acknowledged, subject: OTHER, acknowledged: older },
      { accountId: null, ...acknowledged, episode: 9, acknowledged: null },
    ];
    const puts: unknown[] = [];
    const controls = {
      put: async (draft: unknown) => {
        puts.push(draft);
        // For the last one, another process was faster.
        return { ...(draft as Acknowledgement), ...(puts.length === 2 ? { author: 'bob' } : {}) };
      },
    } as unknown as Parameters<typeof acknowledgeAll>[0];
    const by = { author: 'ann', reason: 'on it' };
    const result = await acknowledgeAll(controls, episodes, { by, nowMs: NOW_MS, forMs });
    const draft = { kind: 'acknowledgement', ...acknowledged, expiresAtMs: NOW_MS + lastsMs, ...by };
    expect(puts).toEqual([
      { ...draft, accountId: 'desk' },
      { ...draft, accountId: null, episode: 9 },
    ]);
    expect(result.map(({ isOlder }) => isOlder)).toEqual([false, true, true]);
    expect(result[1]?.acknowledgement).toBe(older);
  });

  test('lasts a week at most', () => expect(LONGEST_ACKNOWLEDGED_MS).toBe(604_800_000));
});

test.each([
  [[0.01], undefined, undefined],
  [[], 0.01, undefined],
  [[0.01], 0.01, undefined],
  [[0.001, 0.02, 0.005], 0.01, 'a slippage of 2 % is beyond operators.maxSlippage (1 %)'],
])('the fault of slippage %j with a bound of %s', (steps, most, fault) => {
  expect(slippageFault(steps, most)).toBe(fault);
});
