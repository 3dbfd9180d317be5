import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Acknowledgement,
  NO_CONTROLS,
  type Pause,
  type Silence,
} from '../../../src/core/controls/controls.ts';
import { POSITION_VALUES } from '../../../src/core/fields/field-values.ts';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { AccountQuantities } from '../../../src/core/quantities/account.ts';
import type { ConditionSpec } from '../../../src/core/rules/rule.ts';
import { marketForecasts, subjectsOf } from '../../../src/core/rules/subjects.ts';
import { accountSchema } from '../../../src/core/view/account-view.ts';
import { FIGURES_EVERY_MS, figuresDue, figuresOf } from '../../../src/core/view/stored-figures.ts';
import { viewAccount } from '../../../src/core/view/view-account.ts';
import {
  above,
  at,
  below,
  creditLine,
  d,
  list,
  type Overrides,
  position,
  positionsSnapshot,
  read,
  rule,
  SERVER_MS,
  settings,
  short,
  snapshot,
} from '../rules/fixtures.ts';
import { poll, storedWith, view } from './fixtures.ts';

const NEAR = rule('position', below('liquidationDistance', 0.2, 0.3), { id: 'near' });
const LTV = rule('creditLine', above('currentLtv', 0.7), {
  id: 'ltv',
  severity: 'warning',
  actions: [{ kind: 'notify', channels: ['ops'], cure: [0.5, 0.55] }],
});
const BLIND = rule(
  'account',
  { ...above('dataAge', 30), parameter: { source: 'positions' } } as ConditionSpec,
  {
    id: 'blind',
    severity: 'info',
  },
);

describe('positions', () => {
  test('shows every figure of a long position', () => {
    const shown = view(poll([NEAR], [positionsSnapshot([position()])]));
    expect(shown.positions).toEqual([
      {
        subject: 'position:42',
        positionId: '42',
        market: 'BTC_PERP',
        direction: 'long',
        sizeBase: '2',
        basePrice: '100.0',
        markPrice: '90',
        liquidationPrice: '81',
        liquidationState: 'none',
        liquidationDistance: 0.1,
        disagreement: false,
        notional: 180,
        unrealizedPnl: -20,
        marginUsage: 0.25,
        stopCover: 'missing',
        unprotectedMs: 0,
        liquidationProbability1h: null,
        minutesToLiquidation: null,
        marks: [
          { ruleId: 'near', severity: 'critical', field: 'liquidationDistance', op: 'below', threshold: 0.2 },
        ],
      },
    ]);
  });

  test('shows a short past its liquidation price as a disagreement', () => {
    const [line] = view(poll([], [positionsSnapshot([short({ liquidationPrice: d('105') })])])).positions;
    expect(line).toMatchObject({ direction: 'short', sizeBase: '2', markPrice: '110', disagreement: true });
    expect(line?.liquidationDistance).toBeNull();
  });

  test('with both sides of a market open, a rule that one side leaves undecided is not frozen', () => {
    const near = rule('position', below('liquidationDistance', 0.05), { id: 'near' });
    const passed = short({
      positionId: '43',
      liquidationPrice: d('105'),
      positionSide: { known: true, value: 'SHORT' },
    });
    const frozenOf = (records: readonly PositionRecord[]) =>
      view(poll([near], [positionsSnapshot(records)])).rules.map(({ subject, frozen }) => [subject, frozen]);
    expect(frozenOf([passed])).toEqual([['position:43', true]]);
    expect(frozenOf([position(), passed])).toEqual([
      ['position:42', false],
      ['position:43', false],
    ]);
  });

  test('shows the joint distance of all markets', () => {
    const other = position({ positionId: '43', market: 'ETH_PERP' });
    expect(view(poll([], [positionsSnapshot([position(), other])])).jointDistance).toBeCloseTo(0.05, 9);
  });

  test.each<[string, Overrides<PositionRecord>, object]>([
    [
      'no liquidation price: none',
      { liquidationPrice: null },
      {
        liquidationPrice: 'none',
        liquidationDistance: 'none',
        minutesToLiquidation: 'none',
        liquidationProbability1h: 'none',
        disagreement: false,
      },
    ],
    [
      'nothing said of it: unknown',
      { liquidationPrice: undefined },
      {
        liquidationPrice: null,
        liquidationDistance: null,
        minutesToLiquidation: null,
        liquidationProbability1h: null,
        disagreement: null,
      },
    ],
    [
      'a result of zero is zero',
      { unrealizedPnl: d('0') },
      { unrealizedPnl: 0, markPrice: '100', notional: 200 },
    ],
    [
      'an unknown result is not zero',
      { unrealizedPnl: undefined },
      { unrealizedPnl: null, markPrice: null, notional: null },
    ],
    ['margin unknown', { freeMargin: undefined }, { marginUsage: null }],
    ['state unknown', { liquidationState: undefined }, { liquidationState: null }],
    [
      'state not documented',
      { liquidationState: { known: false, raw: 'odd' } },
      { liquidationState: 'unrecognised' },
    ],
    ['stops unknown', { tpsl: undefined }, { stopCover: null, unprotectedMs: null }],
    ['covered', { tpsl: { stopLoss: d('85') } }, { stopCover: 'ok', unprotectedMs: 0 }],
    ['stop too late', { tpsl: { stopLoss: d('80') } }, { stopCover: 'beyondLiquidation' }],
    [
      'direction contradicted',
      { amount: d('-2'), positionSide: { known: true, value: 'LONG' } },
      { direction: null, markPrice: null, liquidationDistance: null },
    ],
  ])('%s', (_words, changes, expected) => {
    const [line] = view(poll([], [positionsSnapshot([position(changes)])])).positions;
    expect(line).toMatchObject(expected);
  });

  test('shows forecasts once the evaluated state has enough samples', () => {
    const snapshots = Array.from({ length: 40 }, (_, index) => {
      const record = position({ unrealizedPnl: d((-20 + Math.sin(index)).toFixed(2)) });
      return positionsSnapshot([record], at(index * 1_000));
    });
    const [line] = view(poll([], snapshots)).positions;
    expect(line?.liquidationProbability1h).toBeGreaterThan(0);
    expect(line?.minutesToLiquidation).toBeGreaterThan(0);
  });

  const optional = [
    'basePrice',
    'liquidationPrice',
    'liquidationState',
    'unrealizedPnl',
    'margin',
    'freeMargin',
    'tpsl',
    'positionSide',
  ] as const;
  const amounts = fc.constantFrom('2', '-2', '0.001', '0', '1e2');
  const prices = fc.constantFrom(null, undefined, '81', '121', '-5', '0', '90');
  const records = fc.record({
    amount: amounts,
    liquidationPrice: prices,
    unrealizedPnl: fc.constantFrom('-20.00', '0', '35.5', '-500'),
    left: fc.subarray([...optional]),
  });

  test('with any field left out, the figures are those of the catalogue, and all is plain JSON', () => {
    fc.assert(
      fc.property(fc.array(records, { maxLength: 3 }), (drawn) => {
        const list = drawn.map(({ amount, liquidationPrice, unrealizedPnl, left }, index) =>
          position({
            positionId: String(index),
            amount: d(amount),
            unrealizedPnl: d(unrealizedPnl),
            liquidationPrice: typeof liquidationPrice === 'string' ? d(liquidationPrice) : liquidationPrice,
            ...Object.fromEntries(left.map((name) => [name, undefined])),
          }),
        );
        const taken = positionsSnapshot(list);
        const polled = poll([NEAR], [taken]);
        const shown = view(polled);
        expect(JSON.parse(JSON.stringify(shown))).toEqual(shown);
        const { state } = polled.evaluation;
        const account = new AccountQuantities(taken, polled.rules.settings, taken.at);
        const { positions } = subjectsOf(account, state, marketForecasts(state));
        for (const [index, { of }] of positions.subjects.entries()) {
          const line = shown.positions[index]!;
          for (const name of ['liquidationDistance', 'notional', 'unrealizedPnl', 'marginUsage'] as const) {
            const quantity = POSITION_VALUES[name](of, {});
            const expected =
              quantity.kind === 'unknown' ? null : quantity.kind === 'none' ? 'none' : quantity.value;
            expect(line[name]).toBe(expected);
          }
        }
      }),
    );
  });
});

describe('credit lines', () => {
  const creditLines = (...records: ReturnType<typeof creditLine>[]) =>
    snapshot({ creditLine: read(list(records)) });

  test('show LTVs as fractions, the exact debt, and one cure per target below the LTV', () => {
    const [line] = view(
      poll([LTV], [creditLines(creditLine({ totalFunding: d('0.000000000000000001') }))]),
    ).creditLines;
    expect(line).toMatchObject({
      subject: 'creditLine:USDT@1700000000',
      asset: 'USDT',
      amount: '1000',
      debt: '1000.000000000000000001',
      currentLtv: 0.6,
      initialLtv: 0.5,
      marginCallLtv: 0.75,
      liquidationLtv: 0.8,
      minutesToMarginCall: null,
      marks: [{ ruleId: 'ltv', field: 'currentLtv', op: 'above', threshold: 0.7 }],
    });
    expect(line?.ltvToMarginCall).toBeCloseTo(0.8, 12);
    expect(line?.collateralMayFall).toBeCloseTo(0.2, 12);
    // 1000 * (1 - 0.55 / 0.6) and 1000 * (1 / 0.55 - 1 / 0.6), rounded up.
    expect(line?.cures).toEqual([
      { targetLtv: 0.55, repay: '83.33333334', addCollateralWorth: '151.51515152' },
      { targetLtv: 0.5, repay: '166.66666667', addCollateralWorth: '333.33333334' },
    ]);
  });

  test('show no cure if it is not needed or not known', () => {
    const cured = view(poll([LTV], [creditLines(creditLine({ currentLtv: d('50') }))]));
    expect(cured.creditLines[0]?.cures).toEqual([]);
    const unknownUnit = view(poll([LTV], [creditLines(creditLine({ liquidationLtv: d('5') }))]));
    expect(unknownUnit.creditLines[0]).toMatchObject({ currentLtv: null, marginCallLtv: null, cures: [] });
    const [unsaid] = view(poll([LTV], [creditLines(creditLine({ totalFunding: undefined }))])).creditLines;
    expect(unsaid).toMatchObject({ totalFunding: null, debt: null, cures: [], currentLtv: 0.6 });
  });
});

describe('marks', () => {
  test('show only rules that select the subject, inverted within a `not`', () => {
    const notFar = rule(
      'position',
      { kind: 'not', condition: above('liquidationDistance', 0.4) },
      { id: 'not-far' },
    );
    const elsewhere = rule('position', below('notional', 5), { id: 'eth', where: { market: ['ETH_*'] } });
    const either = rule(
      'position',
      {
        kind: 'any',
        conditions: [
          above('marginUsage', 0.9),
          { kind: 'field', field: 'market', comparison: { op: 'equals', value: 'X' } },
        ],
      },
      { id: 'either', severity: 'info' },
    );
    const [line] = view(poll([notFar, elsewhere, either], [positionsSnapshot([position()])])).positions;
    expect(line?.marks).toEqual([
      { ruleId: 'not-far', severity: 'critical', field: 'liquidationDistance', op: 'below', threshold: 0.4 },
      { ruleId: 'either', severity: 'info', field: 'marginUsage', op: 'above', threshold: 0.9 },
    ]);
  });
});

describe('other parts of the view', () => {
  const polled = poll(
    [NEAR, BLIND],
    [
      snapshot({
        positions: read(list([position()], false), 400),
        mainBalance: read({ USDT: d('12.5'), BTC: d('0'), ETH: d('1') }, 2_000),
        transfers: { kind: 'notRead', ageMs: 7_000 },
      }),
    ],
  );

  test('sources have their age, completeness and whether they are too old', () => {
    const { sources } = view(polled, { nowMs: SERVER_MS + 1_000 });
    expect(sources).toEqual([
      {
        source: 'positions',
        readAtMs: SERVER_MS - 400,
        ageMs: 1_400,
        complete: false,
        setAside: 1,
        tooOld: false,
      },
      {
        source: 'mainBalance',
        readAtMs: SERVER_MS - 2_000,
        ageMs: 3_000,
        complete: true,
        setAside: 0,
        tooOld: false,
      },
      { source: 'transfers', readAtMs: null, ageMs: 8_000, complete: false, setAside: 0, tooOld: true },
    ]);
    expect(view(polled, { nowMs: SERVER_MS + 9_700 }).sources[0]).toMatchObject({ tooOld: true });
  });

  test('balances: the configured ones, with absent ones as zero; else all that are not zero', () => {
    expect(view(polled, { balances: ['USDT', 'SOL'] }).balances).toEqual([
      { asset: 'USDT', available: '12.5' },
      { asset: 'SOL', available: '0' },
    ]);
    expect(view(polled).balances.map(({ asset }) => asset)).toEqual(['USDT', 'ETH']);
    expect(view(poll([], [positionsSnapshot([])]), { balances: ['USDT'] }).balances).toEqual([]);
  });

  test('the age of a read is that of the last one, although its figures were not stored again', () => {
    const OLD = rule('position', above('ageSeconds', 5_000), { id: 'old' });
    const taken = (ms: number, ageMs: number) => {
      const serverDateMs = SERVER_MS + ms - ageMs;
      const reading = { kind: 'read', value: list([position()]), ageMs, serverDateMs } as const;
      return snapshot({ positions: reading }, at(ms));
    };
    const later = poll([OLD, BLIND], [taken(0, 300), taken(4_000, 100)]);
    const documents = {
      ...later.stored.documents,
      figures: figuresOf(taken(0, 300), later.rules.settings),
    };
    const shown = view({ ...later, stored: storedWith(documents) }, { nowMs: SERVER_MS + 4_500 });
    expect(shown).toMatchObject({ figuresAtMs: SERVER_MS, judgedAtMs: SERVER_MS + 4_000 });
    expect(shown.sources[0]).toMatchObject({ ageMs: 600, readAtMs: SERVER_MS + 3_900 });
    // The exchange's clock moves along.
    expect(shown.rules.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^the condition is not met: age is 100[45] s, not above 5000 s$/),
      'the condition is not met: age of the data (positions) is 0.6 s, not above 30 s',
    ]);
  });

  test('only controls in force are shown', () => {
    const by = { author: 'ann', reason: 'x', atMs: 0 };
    const pause: Pause = { kind: 'pause', id: 'p', accountId: null, expiresAtMs: SERVER_MS + 10, ...by };
    const silence: Silence = {
      kind: 'silence',
      id: 's',
      accountId: 'desk-1',
      ruleId: 'near',
      subject: null,
      expiresAtMs: SERVER_MS + 10,
      ...by,
    };
    const others: Silence = { ...silence, id: 'o', accountId: 'desk-2' };
    const controls = { stamp: 'x', entries: [pause, silence, others] };
    const shown = view(polled, { controls });
    expect(shown).toMatchObject({ pause, silences: [silence] });
    expect(shown.rules.map(({ ruleId, silenced }) => [ruleId, silenced])).toEqual([
      ['near', true],
      ['blind', false],
    ]);
    expect(view(polled, { controls, nowMs: SERVER_MS + 10 })).toMatchObject({ pause: null, silences: [] });
  });

  test('open notices are shown, with their acknowledgement until they get worse', () => {
    const notice = (kind: string, changes: object) => ({
      notice: { ...changes, kind, ruleId: 'near', subject: 'position:1', severity: 'critical', market: 'M' },
    });
    const entries = {
      a: notice('firing', { episode: 3, stage: 0, sinceMs: 5, atMs: 6 }),
      b: notice('reminder', { episode: 3, stage: 1, sinceMs: 8, atMs: 9 }),
      older: notice('firing', { episode: 2, stage: 4, sinceMs: 1, atMs: 1 }),
      over: { notice: { ...notice('resolved', { episode: 9, stage: 0, sinceMs: 1, atMs: 1 }).notice } },
      own: {
        notice: { ...notice('firing', { episode: 0, stage: 0, sinceMs: 7, atMs: 7 }).notice, ruleId: 'own' },
      },
      broken: { notice: null },
      text: 'text',
    };
    const by = { author: 'ann', reason: 'x', atMs: 0 };
    const acknowledgement = (stage: number): Acknowledgement => ({
      kind: 'acknowledgement',
      id: 'k',
      accountId: 'desk-1',
      ruleId: 'near',
      subject: 'position:1',
      episode: 3,
      stage,
      expiresAtMs: SERVER_MS + 10,
      ...by,
    });
    const shown = (stage: number, nowMs = SERVER_MS) => {
      const documents = { alerts: { version: 1 as const, entries } };
      const controls = { stamp: 'x', entries: [acknowledgement(stage)] };
      const load = { kind: 'loaded', account: storedWith(documents) } as const;
      return viewAccount({ load, rules: polled.rules, controls, nowMs }).notices;
    };
    expect(shown(1)).toEqual([
      {
        ruleId: 'near',
        subject: 'position:1',
        market: 'M',
        severity: 'critical',
        episode: 3,
        stage: 1,
        sinceMs: 5,
        toldAtMs: 9,
        acknowledged: acknowledgement(1),
      },
      expect.objectContaining({ ruleId: 'own', episode: 7, acknowledged: null }),
    ]);
    expect(shown(0)[0]?.acknowledged).toBeNull();
    expect(shown(1, SERVER_MS + 10)[0]?.acknowledged).toBeNull();
  });

  test('a poll due within a fraction of a millisecond gives a whole time, which `status` can read', () => {
    const { rules, stored } = poll([NEAR], [positionsSnapshot([position()])]);
    const { evaluation } = stored.documents;
    const passage = { ...evaluation!.passage!, plannedMs: 1_234.5678 };
    const documents = { ...stored.documents, evaluation: { ...evaluation!, passage } };
    const shown = viewAccount({
      load: { kind: 'loaded', account: storedWith(documents) },
      rules,
      controls: NO_CONTROLS,
      nowMs: SERVER_MS,
    });
    expect(shown.nextDueAtMs).toBe(passage.at.wallMs + 1_235);
    expect(accountSchema.safeParse(JSON.parse(JSON.stringify(shown))).error?.issues).toBeUndefined();
  });

  test('an account that was never judged, and one whose state is refused, are shown', () => {
    const { rules } = polled;
    const never = viewAccount({
      load: { kind: 'loaded', account: storedWith({}, { version: 0, danger: 0 }) },
      rules,
      controls: NO_CONTROLS,
      nowMs: SERVER_MS,
    });
    expect(never).toMatchObject({
      mode: 'enforce',
      epoch: null,
      judgedAtMs: null,
      nextDueAtMs: null,
      figuresAtMs: null,
      worst: null,
      sources: [],
      positions: [],
      balances: [],
      refused: null,
      rules: [{ ruleId: 'blind', phase: 'inactive', reason: 'the account has not been judged yet' }],
    });
    const problem = {
      accountId: 'desk-1',
      version: 3,
      document: 'evaluation',
      code: 'DOCUMENT_NEWER',
      message: 'newer',
    } as const;
    const refused = viewAccount({
      load: { kind: 'refused', problem },
      rules,
      controls: NO_CONTROLS,
      nowMs: 1,
    });
    expect(refused).toMatchObject({
      mode: 'enforce',
      positions: [],
      refused: { document: 'evaluation', message: 'newer' },
    });
    expect(Object.keys(refused).sort()).toEqual(Object.keys(never).sort());
  });

  test('without a config figures are read as they were stored, and rules as remembered', () => {
    const fired = poll([NEAR], [positionsSnapshot([short({ amount: d('2') })])], { bothSign: 'unsigned' });
    const shown = view(fired, { rules: undefined });
    // A rule that the config does not have counts as critical, as in `state`: null would say that none fires.
    expect(shown).toMatchObject({
      mode: 'enforce',
      labels: {},
      worst: 'critical',
      state: { severity: 'critical' },
    });
    expect(shown.positions[0]).toMatchObject({ direction: 'short', marks: [] });
    expect(shown.positions[0]?.liquidationDistance).toBeCloseTo(0.1, 12);
    expect(shown.rules).toMatchObject([
      { ruleId: 'near', severity: null, mode: 'enforce', phase: 'firing', condition: '' },
    ]);
    const unread = viewAccount({
      load: { kind: 'loaded', account: storedWith({}) },
      controls: NO_CONTROLS,
      nowMs: 1,
    });
    expect(unread).toMatchObject({ mode: null, positions: [], rules: [] });
  });

  test('without figures an account is shown without them, and the age of its data stays known', () => {
    const { figures: _figures, ...documents } = polled.stored.documents;
    const shown = view({ ...polled, stored: storedWith(documents) }, { nowMs: SERVER_MS + 600 });
    expect(shown.positions).toEqual([]);
    expect(shown.sources[0]).toMatchObject({ source: 'positions', readAtMs: null, ageMs: 1_000 });
    expect(shown.rules.find(({ ruleId }) => ruleId === 'near')).toMatchObject({
      phase: 'firing',
      frozen: true,
    });
  });
});

describe('when figures are stored', () => {
  const calm = (ms: number, records = [position()]) => {
    const taken = positionsSnapshot(records, at(ms));
    return { snapshot: taken, evaluation: { ...poll([], [taken]).evaluation } };
  };
  const before = figuresOf(calm(0).snapshot, settings());
  const due = (changes: object = {}, ms = 1_000) =>
    figuresDue({ before, ...calm(ms), failures: [], isBusy: false, ...changes });

  test('at most once per period while all is calm', () => {
    expect(due({ before: undefined })).toBe(true);
    expect(due({}, FIGURES_EVERY_MS - 1)).toBe(false);
    expect(due({}, FIGURES_EVERY_MS)).toBe(true);
  });

  test('at once while something happens, or when a subject has changed', () => {
    expect(due({ isBusy: true })).toBe(true);
    expect(due(calm(1_000, []))).toBe(true);
    expect(due(calm(1_000, [position({ positionId: '43' })]))).toBe(true);
    expect(due(calm(1_000, [position(), position({ positionId: '43' })]))).toBe(true);
    const firing = poll([NEAR], [calm(0).snapshot, calm(1_000).snapshot]).evaluation;
    expect(firing.transitions).toEqual([]);
    expect(due({ evaluation: firing })).toBe(true);
    const called = calm(1_000, [position({ liquidationState: { known: true, value: 'margin_call' } })]);
    expect(due(called)).toBe(true);
    const blind = { snapshot: snapshot({ positions: { kind: 'notRead', ageMs: 1 } }, at(1_000)) };
    expect(due({ ...blind, evaluation: poll([], [blind.snapshot]).evaluation })).toBe(true);
  });

  test('another process counts by the wall clock, even if that stepped back', () => {
    const from = (ms: number) => ({ snapshot: { ...calm(0).snapshot, at: at(9, 'other', ms) } });
    expect(due(from(1_000))).toBe(false);
    expect(due(from(FIGURES_EVERY_MS))).toBe(true);
    expect(due(from(-60_000))).toBe(true);
  });
});
