import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TRUSTING } from '../../../src/core/ports/operator-trust.ts';
import type { AccountState, RuleSlot } from '../../../src/core/rules/account-state.ts';
import { prepareChange } from '../../../src/state/account/change.ts';
import { DocumentError, readDocuments, textsOf } from '../../../src/state/account/documents.ts';
import { type Entry, emptyEntry } from '../../../src/state/account/entry.ts';
import {
  joinEvaluation,
  movingText,
  type RestingEvaluation,
  restingText,
  restsAlike,
} from '../../../src/state/account/evaluation-document.ts';
import { settleChange } from '../../../src/state/account/settle-change.ts';

const figure = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const sums = { sumReturn: figure, sumSquare: figure, sumTimeMs: figure };
const forecast = fc.record(
  {
    lastLog: figure,
    returns: fc.nat(),
    ...sums,
    recent: fc.record({
      stray: figure,
      sumSquare: figure,
      sumTimeMs: figure,
      minutesSquare: figure,
      minutesTimeMs: figure,
    }),
  },
  // An evaluation stored by an earlier version has no `recent`.
  { requiredKeys: ['lastLog', 'returns', 'sumReturn', 'sumSquare', 'sumTimeMs'] },
);
const slot: fc.Arbitrary<RuleSlot> = fc.record({
  ruleId: fc.string(),
  checksum: fc.string(),
  mode: fc.constantFrom('observe', 'enforce'),
  entries: fc.constant([]),
});
const passage = fc.record({
  at: fc.record({ wallMs: figure, monotonicMs: figure, clockId: fc.string() }),
  plannedMs: figure,
});
/** Credit lines without an LTV are read back after the others. */
function creditLines(): fc.Arbitrary<AccountState['creditLines']> {
  const optional = <T>(line: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
    fc.option(line).map((one) => (one === null ? [] : [one]));
  const measured = (subject: string) =>
    fc.record(
      { subject: fc.constant(subject), forecast, gap: fc.boolean(), unseen },
      { requiredKeys: ['subject', 'gap', 'forecast'] },
    );
  const silent = (subject: string) =>
    fc.record(
      { subject: fc.constant(subject), gap: fc.constant(true), unseen },
      { requiredKeys: ['subject', 'gap'] },
    );
  const both = (first: fc.Arbitrary<CreditLine>, second: fc.Arbitrary<CreditLine>) =>
    fc.tuple(optional(first), optional(second)).map((lines) => lines.flat());
  return fc.oneof(
    both(measured('creditLine:BTC@1'), measured('creditLine:BTC@2')),
    both(measured('creditLine:BTC@1'), silent('creditLine:BTC@2')),
    both(silent('creditLine:BTC@1'), silent('creditLine:BTC@2')),
  );
}
type CreditLine = AccountState['creditLines'][number];
const unseen = fc.record({ reads: fc.constantFrom(1, 2), forMs: fc.constantFrom(0, 1_000) });

const states: fc.Arbitrary<AccountState> = fc.record(
  {
    version: fc.constant(1 as const),
    accountId: fc.string(),
    passage,
    nextEpisode: fc.nat(),
    rules: fc.array(slot, { maxLength: 3 }),
    markets: fc.array(fc.record({ market: fc.string(), forecast, absentMs: figure }), { maxLength: 3 }),
    creditLines: creditLines(),
    positions: fc.array(
      fc.record({
        positionId: fc.string(),
        unprotectedMs: figure,
        cover: fc.constantFrom('covered', 'open', 'unknown'),
      }),
      { maxLength: 3 },
    ),
    ages: fc.record({ positions: figure, creditLine: figure }, { requiredKeys: [] }),
  },
  {
    requiredKeys: [
      'version',
      'accountId',
      'nextEpisode',
      'rules',
      'markets',
      'creditLines',
      'positions',
      'ages',
    ],
  },
);

const RESTING = 'd:evaluation';
const MOVING = 'm';

test('both parts together are the original state, bit for bit', () => {
  fc.assert(
    fc.property(states, (state) => {
      const joined = joinEvaluation(JSON.parse(restingText(state)) as RestingEvaluation, movingText(state));
      expect(joined).toEqual(state);
      expect(JSON.stringify(joined)).toBe(JSON.stringify({ ...state, version: 1 }));
    }),
  );
});

test('the resting part keeps its text from poll to poll', () => {
  fc.assert(
    fc.property(
      states,
      states,
      fc.constantFrom(...(Object.keys(SAMPLE) as (keyof AccountState)[])),
      (a, b, part) => {
        const next = { ...a, [part]: b[part], accountId: a.accountId };
        if (restsAlike(a, next)) expect(restingText(next)).toBe(restingText(a));
        expect(restsAlike(a, { ...a, rules: [...a.rules] })).toBe(true);
      },
    ),
  );
});

const FORECAST = { lastLog: 10, returns: 2, sumReturn: 0.5, sumSquare: 0.25, sumTimeMs: 2_000 };
const SAMPLE: AccountState = {
  version: 1,
  accountId: 'acc',
  passage: { at: { wallMs: 5, monotonicMs: 6, clockId: 'c' }, plannedMs: 1_000 },
  nextEpisode: 3,
  rules: [{ ruleId: 'r', checksum: 'x', mode: 'observe', entries: [] }],
  markets: [{ market: 'BTC_PERP', forecast: FORECAST, absentMs: 0 }],
  creditLines: [{ subject: 'creditLine:USDT@1', forecast: FORECAST, gap: true }],
  positions: [{ positionId: '7', unprotectedMs: 12, cover: 'open' }],
  ages: { positions: 8.5 },
};

/** The state after one more calm poll. */
const LATER: AccountState = {
  ...SAMPLE,
  passage: { at: { wallMs: 1_005, monotonicMs: 1_006, clockId: 'c' }, plannedMs: 1_000 },
  rules: [...SAMPLE.rules],
  markets: [{ market: 'BTC_PERP', forecast: { ...FORECAST, returns: 3 }, absentMs: 0 }],
  positions: [{ positionId: '7', unprotectedMs: 1_012, cover: 'open' }],
};

const LIFE = { id: 'life1', why: 'empty', sinceMs: 1 } as const;
const CONTEXT = {
  trust: TRUSTING,
  writer: 'abcdefghijkl',
  nowMs: 9,
  historyEveryMs: 10_000,
  redact: (text: string) => text,
};

function written(entry: Entry, evaluation: AccountState | null) {
  const commit = { base: entry.account, documents: { evaluation } };
  const prepared = prepareChange(entry, commit, CONTEXT);
  const { raw } = prepared;
  const next = settleChange(prepared, { kind: 'committed', tally: null, leftOut: [] }, undefined);
  const fields = raw.set.filter((_text, index) => index % 2 === 0);
  return { fields: fields.toSorted(), remove: raw.remove, next };
}

test('a credit line that gets its first LTV is read back with it', () => {
  const silent = { ...SAMPLE, creditLines: [{ subject: 'creditLine:USDT@1', gap: true }] };
  const first = written(emptyEntry('acc', LIFE), silent);
  expect(readDocuments('acc', first.next.texts).documents.evaluation).toEqual(silent);
  const second = written(first.next, SAMPLE);
  expect(readDocuments('acc', second.next.texts).documents.evaluation).toEqual(SAMPLE);
});

test('for a calm account only the moving figures are written', () => {
  const first = written(emptyEntry('acc', LIFE), SAMPLE);
  expect(first.fields).toEqual([RESTING, MOVING]);
  const second = written(first.next, LATER);
  expect(second.fields).toEqual([MOVING]);
  expect(readDocuments('acc', second.next.texts).documents.evaluation).toEqual(LATER);
  const fired = { ...LATER, rules: [{ ...LATER.rules[0]!, mode: 'enforce' as const }] };
  const third = written(second.next, fired);
  expect(third.fields).toEqual([RESTING]);
  expect(readDocuments('acc', third.next.texts).documents.evaluation).toEqual(fired);
  const gone = written(third.next, null);
  expect(gone.remove.toSorted()).toEqual([RESTING, MOVING]);
  expect(readDocuments('acc', gone.next.texts).documents.evaluation).toBeUndefined();
});

test('a state of the first version is read, with any moving part beside it, and rewritten in two parts', () => {
  const { creditLines, ...others } = SAMPLE;
  const texts = new Map([
    [RESTING, JSON.stringify({ ...others, loans: creditLines })],
    [MOVING, movingText({ ...LATER, ages: {} })],
  ]);
  const stored = textsOf(texts);
  const { documents, lanes } = readDocuments('acc', stored);
  expect(documents.evaluation).toEqual(SAMPLE);
  const empty = emptyEntry('acc', LIFE);
  const entry: Entry = { ...empty, account: { ...empty.account, documents, lanes }, texts: stored };
  const next = written(entry, { ...LATER, rules: documents.evaluation!.rules });
  expect(next.fields).toEqual([RESTING, MOVING]);
  expect(readDocuments('acc', next.next.texts).documents.evaluation).toEqual(LATER);
});

test('another process gets the new figures, even if it knows the resting part', () => {
  const texts = new Map([
    [RESTING, restingText(SAMPLE)],
    [MOVING, movingText(SAMPLE)],
  ]);
  const stored = textsOf(texts);
  const known = { ...readDocuments('acc', stored), texts: stored };
  const later = new Map([...stored, [MOVING, movingText(LATER)]]);
  expect(readDocuments('acc', later, known).documents.evaluation).toEqual(LATER);
  expect(readDocuments('acc', stored, known).documents.evaluation).toBe(known.documents.evaluation);
});

const [, ...MOVED] = JSON.parse(movingText(SAMPLE)) as unknown[];

test.each([
  ['nothing', undefined, /missing/],
  ['no JSON', '{', /JSON/],
  ['another form', '{}', /lacks some/],
  ['a later version', JSON.stringify([3, ...MOVED]), /of another version/],
  ['too few figures', JSON.stringify([2, ...MOVED.slice(1)]), /lacks some/],
  ['those of other markets', JSON.stringify([2, ...MOVED.with(2, [])]), /of another evaluation/],
  ['a null for a figure', JSON.stringify([2, ...MOVED.with(4, [null])]), /something else/],
  ['no name of a clock', JSON.stringify([2, [1, 2, 3, 4], ...MOVED.slice(1)]), /no clock/],
])('%s beside it makes the state unreadable, never zero', (_what, moving, why) => {
  const texts = new Map([[RESTING, restingText(SAMPLE)]]);
  if (moving !== undefined) texts.set(MOVING, moving);
  expect(() => readDocuments('acc', textsOf(texts))).toThrow(DocumentError);
  expect(() => readDocuments('acc', textsOf(texts))).toThrow(why);
});

test('a moving part without the document counts as none: the document was discarded by hand', () => {
  expect(readDocuments('acc', textsOf(new Map([[MOVING, 'whatever']])))).toEqual({
    documents: {},
    lanes: new Map(),
  });
});
