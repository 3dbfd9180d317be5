import fc from 'fast-check';
import { expect, test } from 'vitest';
import type {
  AccountView,
  CreditLineLine,
  IntentLine,
  PositionLine,
  RuleLine,
} from '../../src/core/view/account-view.ts';
import { MOST_SUBJECTS, stateGaugesText } from '../../src/telemetry/metrics/state-gauges.ts';
import { STATE_METRICS } from '../../src/telemetry/metrics/state-metrics.ts';
import { d } from '../core/rules/fixtures.ts';
import { checkMetrics } from '../support/programs.ts';
import { textOf } from './parts.ts';
import { seriesOf, viewOf } from './views.ts';

const NOW = 1_700_000_000_000;

const POSITION: PositionLine = {
  subject: 'position:42',
  positionId: '42',
  market: 'BTC_PERP',
  direction: 'long',
  sizeBase: d('2'),
  basePrice: d('100'),
  markPrice: d('90'),
  liquidationPrice: d('81'),
  liquidationState: 'margin_call',
  liquidationDistance: 0.1,
  disagreement: false,
  notional: 180,
  unrealizedPnl: -20,
  marginUsage: 0.25,
  stopCover: 'missing',
  unprotectedMs: 1_500,
  liquidationProbability1h: 0.02,
  minutesToLiquidation: 90,
  marks: [],
};

const LOAN: CreditLineLine = {
  subject: 'creditLine:USDT@1700000000',
  asset: 'USDT',
  amount: d('1000'),
  totalFunding: d('8'),
  debt: d('1008.5'),
  currentLtv: 0.6,
  initialLtv: 0.5,
  marginCallLtv: 0.75,
  liquidationLtv: 0.8,
  ltvToMarginCall: 0.8,
  collateralMayFall: 0.2,
  minutesToMarginCall: 2,
  cures: [],
  marks: [],
};

const RULE: RuleLine = {
  ruleId: 'near',
  subject: 'position:42',
  severity: 'critical',
  mode: 'enforce',
  phase: 'firing',
  frozen: false,
  episode: 1,
  stage: 0,
  sinceMs: NOW - 4_000,
  silenced: false,
  reason: '',
  condition: '',
};

const INTENT: IntentLine = {
  key: 'k',
  market: 'BTC_PERP',
  positionId: '42',
  ruleId: 'near',
  mode: 'enforce',
  target: '',
  targetBase: null,
  openedMs: NOW - 5_000,
  deadlineMs: NOW + 1_000,
  failures: 0,
  state: '',
  ended: false,
};

const TIMES = { nowMs: NOW, laneMs: NOW };

function text(accounts: readonly AccountView[], isPausedEverywhere = false): string {
  const series = seriesOf(accounts, TIMES);
  series.isPausedEverywhere = isPausedEverywhere;
  return textOf(stateGaugesText(series));
}

/** Samples by series, without the prefix. */
function samples(of: string): Record<string, string> {
  return Object.fromEntries(
    of
      .split('\n')
      .filter((line) => line.startsWith('breakwater_'))
      .map((line) => {
        const at = line.lastIndexOf(' ');
        return [line.slice('breakwater_'.length, at), line.slice(at + 1)];
      }),
  );
}

const AT = 'account="desk-1",market="BTC_PERP",position="42",direction="long"';
const OF = 'account="desk-1",asset="USDT",loan="1700000000"';

test('all current state is exposed, each series once', () => {
  const account = viewOf('desk-1', {
    danger: 3.5,
    jointDistance: 0.041,
    judgedAtMs: NOW - 250,
    sources: [
      { source: 'positions', readAtMs: NOW - 300, ageMs: 300, complete: true, setAside: 0, tooOld: false },
    ],
    positions: [POSITION],
    creditLines: [LOAN],
    rules: [
      RULE,
      {
        ...RULE,
        ruleId: 'blind',
        subject: 'account',
        phase: 'inactive',
        frozen: true,
        sinceMs: null,
        severity: null,
      },
    ],
    intents: [
      INTENT,
      { ...INTENT, openedMs: NOW - 9_000, deadlineMs: NOW - 2_000 },
      { ...INTENT, ended: true, openedMs: 0 },
    ],
    pause: {
      kind: 'pause',
      id: 'p',
      accountId: null,
      expiresAtMs: null,
      author: 'a',
      reason: 'r',
      atMs: NOW - 60_000,
    },
  });
  expect(samples(text([account], true))).toEqual({
    paused: '1',
    'account_refused{account="desk-1"}': '0',
    'account_state{account="desk-1",state="calm",cause="nothing"}': '1',
    'account_enforcing{account="desk-1"}': '1',
    'account_paused{account="desk-1"}': '1',
    'account_pause_seconds{account="desk-1"}': '60',
    'account_danger{account="desk-1"}': '3.5',
    'account_joint_distance_ratio{account="desk-1"}': '0.041',
    'account_last_judged_timestamp_seconds{account="desk-1"}': '1699999999.75',
    'data_age_seconds{account="desk-1",source="positions"}': '0.3',
    'intents_open{account="desk-1",mode="enforce"}': '2',
    'intents_open{account="desk-1",mode="observe"}': '0',
    'oldest_intent_age_seconds{account="desk-1",mode="enforce"}': '9',
    'oldest_intent_age_seconds{account="desk-1",mode="observe"}': '0',
    'intent_overdue_seconds{account="desk-1",mode="enforce"}': '2',
    'intent_overdue_seconds{account="desk-1",mode="observe"}': '0',
    'rules_firing{account="desk-1"}': '1',
    'rule_state{account="desk-1",rule="near",subject="position:42",severity="critical"}': '2',
    'rule_state{account="desk-1",rule="blind",subject="account",severity="unknown"}': '0',
    'rule_frozen{account="desk-1",rule="near",subject="position:42",severity="critical"}': '0',
    'rule_frozen{account="desk-1",rule="blind",subject="account",severity="unknown"}': '1',
    'rule_state_seconds{account="desk-1",rule="near",subject="position:42",severity="critical"}': '4',
    'account_positions{account="desk-1"}': '1',
    'account_credit_lines{account="desk-1"}': '1',
    [`position_liquidation_distance_ratio{${AT}}`]: '0.1',
    [`position_liquidation_state{${AT},state="margin_call"}`]: '1',
    [`position_stop_cover{${AT},cover="missing"}`]: '1',
    [`position_stop_cover_ratio{${AT}}`]: '0',
    [`position_notional{${AT}}`]: '180',
    [`position_unrealized_pnl{${AT}}`]: '-20',
    [`position_margin_usage_ratio{${AT}}`]: '0.25',
    [`position_liquidation_probability_ratio{${AT}}`]: '0.02',
    [`position_unprotected_seconds{${AT}}`]: '1.5',
    [`position_disagreement{${AT}}`]: '0',
    [`credit_line_ltv_ratio{${OF}}`]: '0.6',
    [`credit_line_initial_ltv_ratio{${OF}}`]: '0.5',
    [`credit_line_margin_call_ltv_ratio{${OF}}`]: '0.75',
    [`credit_line_liquidation_ltv_ratio{${OF}}`]: '0.8',
    [`credit_line_headroom_ratio{${OF}}`]: '0.2',
    [`credit_line_margin_call_seconds{${OF}}`]: '120',
    [`credit_line_debt{${OF}}`]: '1008.5',
  });
});

test('none, unknown and zero are distinct', () => {
  const far = {
    ...POSITION,
    liquidationDistance: 'none',
    liquidationProbability1h: 'none',
    unrealizedPnl: 0,
  } as const;
  expect(samples(text([viewOf('desk-1', { positions: [far] })]))).toMatchObject({
    [`position_liquidation_distance_ratio{${AT}}`]: '+Inf',
    [`position_liquidation_probability_ratio{${AT}}`]: '0',
    [`position_unrealized_pnl{${AT}}`]: '0',
  });
  const unsaid: PositionLine = {
    ...POSITION,
    direction: null,
    liquidationState: null,
    liquidationDistance: null,
    disagreement: null,
    notional: null,
    unrealizedPnl: null,
    marginUsage: null,
    stopCover: null,
    unprotectedMs: null,
    liquidationProbability1h: null,
  };
  const bare = samples(text([viewOf('desk-1', { positions: [unsaid] })]));
  expect(Object.keys(bare).filter((series) => series.startsWith('position_'))).toEqual([]);
  const away = samples(
    text([viewOf('desk-1', { creditLines: [{ ...LOAN, minutesToMarginCall: 'none', debt: null }] })]),
  );
  expect(away[`credit_line_margin_call_seconds{${OF}}`]).toBe('+Inf');
  expect(away[`credit_line_debt{${OF}}`]).toBeUndefined();
});

test('an unreadable account has no invented series, and is reported', () => {
  const account = viewOf('desk-1', { refused: { document: 'evaluation', message: 'newer' } });
  expect(samples(text([account]))).toEqual({
    paused: '0',
    'account_refused{account="desk-1"}': '1',
    'account_state{account="desk-1",state="calm",cause="nothing"}': '1',
    'account_enforcing{account="desk-1"}': '1',
    'account_paused{account="desk-1"}': '0',
    'account_pause_seconds{account="desk-1"}': '0',
  });
});

test('removed state disappears from the scrape', () => {
  const before = text([viewOf('desk-1', { positions: [POSITION], rules: [RULE] }), viewOf('desk-2')]);
  const after = text([viewOf('desk-1')]);
  expect(before).toContain('position="42"');
  expect(after).not.toMatch(/position="42"|rule="near"|desk-2/);
});

test('accounts come in a fixed order, and all series of a metric together', () => {
  const accounts = ['c', 'a', 'b'].map((id) => viewOf(id, { positions: [POSITION], rules: [RULE] }));
  const inOrder = textOf(stateGaugesText(seriesOf(accounts, TIMES)));
  expect(textOf(stateGaugesText(seriesOf(accounts, TIMES, [2, 0, 1])))).toBe(inOrder);
  const names = inOrder.split('\n').flatMap((line) => /^breakwater_(\w+)[{ ]/.exec(line)?.[1] ?? []);
  expect(names.filter((name, index) => name !== names[index - 1])).toEqual([...new Set(names)]);
  expect([...inOrder.matchAll(/^breakwater_account_danger\{account="(.)"/gm)].map(([, id]) => id)).toEqual([
    'c',
    'a',
    'b',
  ]);
  // An account without data simply has no series.
  const without = textOf(stateGaugesText(seriesOf(accounts, TIMES, [0, 2])));
  expect(without).toBe(
    inOrder
      .split('\n')
      .filter((line) => !line.includes('account="a"'))
      .join('\n'),
  );
});

test('text longer than a part arrives complete, with names of any length and script', () => {
  const long = 'ü€😀'.repeat(20_000);
  const accounts = Array.from({ length: 300 }, (_, index) =>
    viewOf(`desk-${index}`, { positions: [POSITION] }),
  );
  const parts = [...stateGaugesText(seriesOf(accounts, TIMES))];
  expect(parts.length).toBeGreaterThan(2);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
  const odd = viewOf(`x-${long}`, { positions: [POSITION] });
  const found = samples(textOf(stateGaugesText(seriesOf([odd, ...accounts], TIMES))));
  expect(found[`account_danger{account="x-${long}"}`]).toBe('0');
  const at = `account="x-${long}",market="BTC_PERP",position="42",direction="long"`;
  expect(found[`position_stop_cover{${at},cover="missing"}`]).toBe('1');
  expect(Object.keys(found).filter((series) => series.startsWith('position_notional{'))).toHaveLength(301);
});

test('an account with an extreme number of positions has bounded memory', () => {
  const positions = Array.from({ length: MOST_SUBJECTS + 100 }, (_, index) => ({
    ...POSITION,
    positionId: String(index),
    subject: `position:${index}`,
  }));
  const rules = positions.map(({ subject }) => ({ ...RULE, subject }));
  const found = Object.keys(samples(text([viewOf('desk-1', { positions, rules })])));
  expect(found.filter((series) => series.startsWith('position_notional{'))).toHaveLength(MOST_SUBJECTS);
  expect(found.filter((series) => series.startsWith('rule_state{'))).toHaveLength(MOST_SUBJECTS);
  expect(samples(text([viewOf('desk-1', { positions, rules })]))).toMatchObject({
    'account_positions{account="desk-1"}': String(MOST_SUBJECTS + 100),
    'rules_firing{account="desk-1"}': String(MOST_SUBJECTS + 100),
  });
});

test('names are escaped if necessary, and no name breaks the format', async ({ skip }) => {
  const odd = fc.string({
    unit: fc.constantFrom('"', '\\', '\n', '{', '}', ',', ' ', 'é', '=', 'a'),
    minLength: 1,
    maxLength: 8,
  });
  const views: AccountView[] = [];
  fc.assert(
    fc.property(odd, odd, odd, (market, positionId, ruleId) => {
      const id = `desk-${views.length}`;
      views.push(
        viewOf(id, { positions: [{ ...POSITION, market, positionId }], rules: [{ ...RULE, ruleId }] }),
      );
    }),
    { numRuns: 50 },
  );
  const found = await checkMetrics(text(views));
  if (found === undefined) skip('promtool is not installed');
  expect(found).toEqual({ code: 0, output: '' });
  const [first] = views;
  const quoted = text([viewOf('x', { positions: [{ ...first!.positions[0]!, market: 'a"b\\c\nd' }] })]);
  expect(quoted).toContain('market="a\\"b\\\\c\\nd"');
});

test('each metric is explained once, even if nothing can be read', () => {
  for (const each of [text([]), textOf(stateGaugesText(undefined))]) {
    for (const { name, help } of Object.values(STATE_METRICS)) {
      expect(each.split('\n').filter((line) => line === `# HELP breakwater_${name} ${help}`)).toHaveLength(1);
      expect(each.split('\n').filter((line) => line === `# TYPE breakwater_${name} gauge`)).toHaveLength(1);
    }
  }
  expect(samples(textOf(stateGaugesText(undefined)))).toEqual({});
});
