import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MainBalance, PositionRecord } from '../../../src/core/ports/exchange.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { Instant, Snapshot } from '../../../src/core/quantities/snapshot.ts';
import { type AccountState, emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { type Evaluation, evaluate } from '../../../src/core/rules/evaluate.ts';
import { reasonWords } from '../../../src/core/rules/reason.ts';
import type { ConditionSpec, RuleSpec } from '../../../src/core/rules/rule.ts';
import { runsOf } from '../../support/slice.ts';
import {
  above,
  at,
  below,
  creditLine,
  d,
  LOAN,
  list,
  position,
  positionsSnapshot,
  read,
  rule,
  settings,
  short,
  snapshot,
} from './fixtures.ts';

const NEAR = below('liquidationDistance', 0.05, 0.07);
/** Mark 85 with liquidation at 81: 4.7 % away. */
const near = (changes: Parameters<typeof position>[0] = {}): PositionRecord =>
  position({ unrealizedPnl: d('-30.00'), ...changes });

interface Poll {
  readonly snapshot: Snapshot;
  readonly now: Instant;
}

/** An account over several polls; its state passes through JSON between polls. */
class Account {
  state: AccountState = emptyAccountState('desk-1');
  last: Evaluation | undefined;
  rules: readonly RuleSpec[];
  settings: AccountSettings;

  constructor(rules: readonly RuleSpec[], changes: Partial<AccountSettings> = {}) {
    this.rules = rules;
    this.settings = settings(changes);
  }

  poll({ snapshot: taken, now }: Poll): Evaluation {
    const compiled = compileRules(this.rules, this.settings);
    this.last = evaluate({ snapshot: taken, state: this.state, now }, compiled);
    this.state = JSON.parse(JSON.stringify(this.last.state)) as AccountState;
    return this.last;
  }

  positions(ms: number, records: readonly PositionRecord[], complete = true): Evaluation {
    return this.poll({ snapshot: positionsSnapshot(records, at(ms), complete), now: at(ms) });
  }
}

const reasons = (evaluation: Evaluation): string[] =>
  evaluation.decisions.map(({ subject, phase, reason }) => `${subject} ${phase} ${reason}`);
const changes = (evaluation: Evaluation): string[] =>
  evaluation.transitions.map(({ subject, from, to, reason }) => `${subject} ${from}>${to} ${reason}`);

test('figures that once fitted no side clear no rule later, when they fit one: nothing is known of the side', () => {
  const account = new Account([rule('position', NEAR)], { bothSign: 'unsigned', marginModel: 'cross' });
  // As a long at 60, as a short at 140, and the liquidation price at 81.
  const odd = position({ unrealizedPnl: d('-80.00'), liquidationPrice: d('81') });
  expect(reasons(account.positions(0, [odd]))).toEqual(['position:42 inactive frozenByUnknown']);
  const likeLong = position({ unrealizedPnl: d('-36.00'), liquidationPrice: d('81') });
  expect(reasons(account.positions(1_000, [likeLong]))).toEqual(['position:42 inactive frozenByUnknown']);
  // Closed: the next position has a side of its own.
  account.positions(2_000, [position({ amount: d('0') })]);
  expect(reasons(account.positions(3_000, [likeLong]))).not.toEqual(['position:42 inactive frozenByUnknown']);
});

describe('active requests of a rule', () => {
  const reduce = rule('position', NEAR, {
    forMs: 3_000,
    actions: [
      { kind: 'notify', channels: ['ops'], cure: [] },
      { kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.005] },
    ],
    escalate: [
      {
        afterMs: 2_000,
        actions: [{ kind: 'reduce', target: { kind: 'to', fraction: 0 }, slippageSteps: [0.02] }],
      },
    ],
  });

  test('is level-triggered: all actions of all reached stages, until it resolves', () => {
    const account = new Account([reduce]);
    expect(account.positions(0, [near()]).active).toEqual([]);
    expect(
      account.positions(3_000, [near()]).active.map(({ stage, actionIndex }) => [stage, actionIndex]),
    ).toEqual([
      [0, 0],
      [0, 1],
    ]);
    const escalated = account.positions(5_000, [near()]);
    expect(escalated.active.map(({ stage, actionIndex }) => [stage, actionIndex])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
    expect(escalated.active[2]).toEqual({
      accountId: 'desk-1',
      ruleId: 'rule-1',
      ruleChecksum: 'c1',
      subjectKind: 'position',
      subject: 'position:42',
      episode: 1,
      stage: 1,
      actionIndex: 0,
      action: reduce.escalate[0]?.actions[0],
      mode: 'enforce',
      severity: 'critical',
      atMs: at(5_000).wallMs,
      because: 'distance to liquidation is 4.706 %, below 5 %',
      exemptFromLimits: false,
    });
    expect(account.positions(6_000, [near()]).active).toEqual(escalated.active);
    expect(account.positions(7_000, [position()]).active).toEqual([]);
  });

  test.each([
    ['margin_call', { known: true, value: 'margin_call' }, true],
    ['liquidation', { known: true, value: 'liquidation' }, true],
    ['a state that is not documented', { known: false, raw: 'odd' }, true],
    ['no state', null, false],
  ] as const)("the rule's limits do not apply in %s", (_, liquidationState, exempt) => {
    const own = new Account([{ ...reduce, forMs: 0 }]).positions(0, [near({ liquidationState })]);
    expect(own.active.every(({ exemptFromLimits }) => exemptFromLimits === exempt)).toBe(true);
    const byAccount = rule('account', above('positionCount', 0), {
      actions: [
        { kind: 'reduce', target: { kind: 'by', fraction: 1 }, slippageSteps: [0.01], positions: ['BTC_*'] },
        { kind: 'reduce', target: { kind: 'by', fraction: 1 }, slippageSteps: [0.01], positions: ['ETH_*'] },
      ],
    });
    const whole = new Account([byAccount]).positions(0, [near({ liquidationState })]);
    expect(whole.active.map(({ exemptFromLimits }) => exemptFromLimits)).toEqual([exempt, false]);
  });
});

test('data too old to decide lift no limit', () => {
  const spec = rule('position', NEAR, { actions: [{ kind: 'protect', at: 0.6, slippage: 0.01 }] });
  const account = new Account([spec]);
  const called = near({ liquidationState: { known: true, value: 'margin_call' } });
  expect(account.positions(0, [called]).active[0]?.exemptFromLimits).toBe(true);
  const stale = snapshot({ positions: read(list([called]), 10_001) }, at(1_000));
  expect(account.poll({ snapshot: stale, now: at(1_000) }).active[0]?.exemptFromLimits).toBe(false);
});

describe('a cadence that the request budget stretches', () => {
  test('timers run by the stretched interval: a planned minute counts as a minute', () => {
    const rules = compileRules([rule('position', NEAR, { forMs: 120_000 })], settings());
    let state = emptyAccountState('desk-1');
    const phases = [0, 60_000, 120_000].map((ms) => {
      const evaluation = evaluate(
        {
          snapshot: positionsSnapshot([near()], at(ms)),
          state,
          now: at(ms),
          options: {
            leastIntervalMs: 60_000,
          },
        },
        rules,
      );
      state = evaluation.state;
      return evaluation.decisions[0]?.phase;
    });
    expect(phases).toEqual(['pending', 'pending', 'firing']);
  });
});

describe('subjects that vanish', () => {
  const firing = (): Account => {
    const account = new Account([rule('position', NEAR, { keepFiringForMs: 60_000 })]);
    account.positions(0, [near(), near({ positionId: '43' })]);
    return account;
  };

  test('an empty but valid list for some seconds: the episodes stay, and go on when it is over', () => {
    const account = firing();
    for (let second = 1; second <= 20; second += 1) {
      const empty = account.positions(second * 1_000, []);
      expect(changes(empty)).toEqual([]);
      expect(empty.active.map(({ episode }) => episode)).toEqual([1, 2]);
      expect(empty.nextDue).toMatchObject({ reason: 'blind', isPressing: true });
    }
    const back = account.positions(21_000, [near(), near({ positionId: '43' })]);
    expect(changes(back)).toEqual([]);
    expect(back.active.map(({ episode }) => episode)).toEqual([1, 2]);
  });

  test('a position gone from complete lists is closed after three reads and 3 minutes, with a frozen rule until then', () => {
    const account = firing();
    for (let second = 1; second <= 180; second += 1) {
      const waiting = account.positions(second * 1_000, [near()]);
      expect(changes(waiting)).toEqual([]);
      expect(waiting.decisions).toContainEqual({
        ruleId: 'rule-1',
        subject: 'position:43',
        phase: 'firing',
        reason: 'frozenByUnknown',
        unknown: 'presumedClosed',
      });
    }
    const gone = account.positions(181_000, [near()]);
    expect(changes(gone)).toEqual(['position:43 firing>inactive subjectGone']);
    expect(gone.active.map(({ subject }) => subject)).toEqual(['position:42']);
  });

  test('two reads are too few, however much time lies between them', () => {
    const account = new Account([rule('position', NEAR)], { cadence: { calmMs: 600_000, alertMs: 600_000 } });
    account.positions(0, [near()]);
    account.positions(600_000, []);
    expect(changes(account.positions(1_200_000, []))).toEqual([]);
    expect(changes(account.positions(1_800_000, []))).toEqual(['position:42 firing>inactive subjectGone']);
  });

  test('a position is closed at once if another one has appeared in its market', () => {
    const other = near({ positionId: '50', market: 'ETH_PERP' });
    const account = firing();
    // A position in another market proves nothing, nor does one that was there all the time.
    expect(changes(account.positions(1_000, [near(), other]))).not.toContain(
      'position:43 firing>inactive subjectGone',
    );
    const gone = changes(account.positions(2_000, [near(), other, near({ positionId: '51' })]));
    expect(gone).toContain('position:43 firing>inactive subjectGone');
  });

  test.each([
    { name: 'at once by a list that shows others', others: [near()], gone: 1 },
    { name: 'not by an empty list', others: [], gone: 0 },
  ])('a position that our orders closed is closed $name', ({ others, gone }) => {
    const account = firing();
    const without = read(list(others));
    const after = account.poll({
      snapshot: { ...snapshot({ positions: without }, at(1_000)), closedByUs: ['43'] },
      now: at(1_000),
    });
    expect(changes(after)).toEqual(Array(gone).fill('position:43 firing>inactive subjectGone'));
  });

  test('a known position with null fields is never closed, for as long as they last', () => {
    const account = firing();
    const opening = [{ positionId: '43', market: 'BTC_PERP' }];
    for (let minute = 1; minute <= 6; minute += 1) {
      const now = at(minute * 60_000);
      const listed = read({ ...list([near()]), notOpenYet: opening });
      expect(changes(account.poll({ snapshot: snapshot({ positions: listed }, now), now }))).toEqual([]);
    }
  });

  test('a position gone from an incomplete list is frozen, and its actions stay active', () => {
    const account = firing();
    const incomplete = account.positions(1_000, [near()], false);
    expect(changes(incomplete)).toEqual([]);
    expect(incomplete.decisions).toContainEqual({
      ruleId: 'rule-1',
      subject: 'position:43',
      phase: 'firing',
      reason: 'frozenByUnknown',
      unknown: 'listIncomplete',
    });
    expect(incomplete.active.map(({ subject }) => subject)).toEqual(['position:42', 'position:43']);
  });

  test('a position that comes back under its old id starts a new episode', () => {
    const account = firing();
    for (let second = 1; second <= 181; second += 1) account.positions(second * 1_000, []);
    expect(account.positions(182_000, [near()]).active.map(({ episode }) => episode)).toEqual([3]);
  });

  test.each([
    ['below the threshold', '50', 0],
    ['above it', '82', 1],
  ])('of two credit lines with equal asset and time the worse is judged: %s', (_, second, fired) => {
    const account = new Account([rule('creditLine', above('currentLtv', 0.8))]);
    for (const ltvs of [
      ['0.4', second],
      [second, '0.4'],
    ]) {
      const lines = ltvs.map((ltv) => creditLine({ currentLtv: d(ltv) }));
      const { decisions, active } = account.poll({
        snapshot: snapshot({ creditLine: read(list(lines)) }, at(0)),
        now: at(0),
      });
      expect(active).toHaveLength(fired);
      expect(decisions).toHaveLength(1);
      expect(decisions[0]?.unknown).toBeUndefined();
    }
  });

  test('records that share an id are frozen: neither of them is judged', () => {
    const account = firing();
    const twice = account.positions(1_000, [near(), position(), near({ positionId: '43' })]);
    expect(twice.decisions.filter(({ unknown }) => unknown === 'duplicateRecord').length).toBe(1);
    expect(changes(twice)).toEqual([]);
  });

  test('a rule that selects by direction is not ended by records that share an id', () => {
    const account = new Account([rule('position', NEAR, { where: { direction: 'long' } })]);
    account.positions(0, [near()]);
    const flipped = short();
    expect(changes(account.positions(1_000, [flipped, near()]))).toEqual([]);
    expect(changes(account.positions(2_000, [flipped]))).toEqual(['position:42 firing>inactive notSelected']);
  });

  describe('a credit line that vanishes from complete lists', () => {
    const BTC_LOAN = creditLine({ asset: 'BTC' });
    const open = () => {
      const account = new Account([rule('creditLine', above('currentLtv', 0.5))]);
      const poll = (ms: number, records: readonly (typeof LOAN)[]): readonly string[] =>
        changes(
          account.poll({ snapshot: snapshot({ creditLine: read(list(records)) }, at(ms)), now: at(ms) }),
        );
      expect(poll(0, [LOAN, BTC_LOAN])).toEqual([
        'creditLine:USDT@1700000000 inactive>firing heldLongEnough',
        'creditLine:BTC@1700000000 inactive>firing heldLongEnough',
      ]);
      return { account, poll };
    };

    test('counts as repaid after three minutes and three lists', () => {
      const { account, poll } = open();
      for (let ms = 10_000; ms <= 180_000; ms += 10_000) expect(poll(ms, [LOAN])).toEqual([]);
      expect(account.state.creditLines).toHaveLength(2);
      expect(poll(200_000, [LOAN])).toEqual(['creditLine:BTC@1700000000 firing>inactive subjectGone']);
      expect(account.state.creditLines).toHaveLength(1);
    });

    test('goes on unchanged when a list shows it again: exchanges have shown empty lists for minutes', () => {
      const { account, poll } = open();
      const episodes = () => account.state.rules[0]?.entries.map(({ episode }) => episode);
      const before = episodes();
      for (let ms = 10_000; ms <= 170_000; ms += 10_000) expect(poll(ms, [])).toEqual([]);
      expect(poll(180_000, [LOAN, BTC_LOAN])).toEqual([]);
      expect(episodes()).toEqual(before);
      // Earlier misses do not count again.
      for (let ms = 190_000; ms <= 360_000; ms += 10_000) expect(poll(ms, [])).toEqual([]);
    });

    test('counts as repaid at once if another one has been opened in its asset', () => {
      const { poll } = open();
      const next = creditLine({ asset: 'BTC', createdAt: 1_700_000_999 });
      expect(poll(1_000, [LOAN, next])).toEqual([
        'creditLine:BTC@1700000999 inactive>firing heldLongEnough',
        'creditLine:BTC@1700000000 firing>inactive subjectGone',
      ]);
    });

    test('does not count as repaid because of another one in its asset that was there before and never had an LTV', () => {
      const { account, poll } = open();
      const silent = creditLine({ asset: 'BTC', createdAt: 1_700_000_999, currentLtv: undefined });
      expect(poll(1_000, [LOAN, BTC_LOAN, silent])).toEqual([]);
      expect(poll(2_000, [LOAN, silent])).toEqual([]);
      expect(poll(3_000, [LOAN])).toEqual([]);
      expect(account.state.creditLines).toMatchObject([
        { subject: 'creditLine:USDT@1700000000' },
        { subject: 'creditLine:BTC@1700000999', unseen: { reads: 1 } },
        { subject: 'creditLine:BTC@1700000000', unseen: { reads: 2 } },
      ]);
    });
  });
});

describe('selection', () => {
  test.each([
    [{ market: ['ETH_*', 'BTC_?ERP'] }, true],
    [{ market: ['btc_*'] }, false],
    [{ positionId: ['4*'] }, true],
    [{ direction: 'long' }, true],
    [{ direction: 'short' }, false],
    [{ market: ['*'], direction: 'short' }, false],
    [{ market: [] }, false],
  ] as const)('%j selects: %s', (where, selected) => {
    const account = new Account([rule('position', NEAR, { where })]);
    expect(account.positions(0, [near()]).decisions.length).toBe(selected ? 1 : 0);
  });

  test('an unknown direction freezes a rule that selects by direction', () => {
    const account = new Account([rule('position', above('size', 0), { where: { direction: 'long' } })]);
    account.positions(0, [position()]);
    const contradicted = account.positions(1_000, [
      position({ amount: d('-2'), positionSide: { known: true, value: 'LONG' } }),
    ]);
    expect(reasons(contradicted)).toEqual(['position:42 firing frozenByUnknown']);
  });
});

describe('rules that share a filter and rules that do not', () => {
  test('each judges what its own `where` selects, in any order of the rules', () => {
    const btc = { market: ['BTC_PERP'] };
    const eth = { market: ['ETH_PERP'] };
    const wheres = [btc, eth, {}, btc, {}, eth, eth, btc];
    const account = new Account(
      wheres.map((where, index) => rule('position', NEAR, { id: `r${index}`, where })),
    );
    const { decisions } = account.positions(0, [near(), near({ positionId: '43', market: 'ETH_PERP' })]);
    const judged = (subject: string): string[] =>
      decisions.filter((one) => one.subject === subject).map(({ ruleId }) => ruleId);
    expect(judged('position:42')).toEqual(['r0', 'r2', 'r3', 'r4', 'r7']);
    expect(judged('position:43')).toEqual(['r1', 'r2', 'r4', 'r5', 'r6']);
  });
});

describe('changes of the config', () => {
  const spec = rule('position', NEAR);
  const firing = (mode: 'observe' | 'enforce'): Account => {
    const account = new Account([spec], { mode });
    account.positions(0, [near()]);
    return account;
  };

  test('a changed rule starts fresh; the others keep their state', () => {
    const account = new Account([spec, { ...spec, id: 'rule-2', keepFiringForMs: 60_000 }]);
    account.positions(0, [near()]);
    const target = { kind: 'by', fraction: 0.25 } as const;
    const actions = [{ kind: 'reduce', target, slippageSteps: [0.01] } as const];
    account.rules = [{ ...spec, checksum: 'c2', actions }, account.rules[1] ?? spec];
    // 6 % is above the threshold but within the hysteresis: only the rule that kept its state still fires.
    const after = account.positions(1_000, [position({ unrealizedPnl: d('-27.60') })]);
    expect(changes(after)).toEqual(['position:42 firing>inactive ruleChanged']);
    expect(reasons(after)).toEqual([
      'position:42 inactive conditionNotMet',
      'position:42 firing stillFiring',
    ]);
  });

  test('a rule of which neither condition nor target changed goes on under the checksum of its episode', () => {
    const account = firing('enforce');
    account.rules = [{ ...spec, checksum: 'c2', forMs: 1_000, limits: { perHour: 1 } }];
    const after = account.positions(1_000, [near()]);
    expect(changes(after)).toEqual([]);
    expect(after.active.map(({ ruleChecksum, episode }) => [ruleChecksum, episode])).toEqual([['c1', 1]]);
    account.positions(2_000, [position()]);
    expect(account.state.rules).toMatchObject([{ checksum: 'c2', entries: [] }]);
  });

  test('a removed rule ends', () => {
    const account = firing('enforce');
    account.rules = [];
    expect(changes(account.positions(1_000, [near()]))).toEqual(['position:42 firing>inactive ruleRemoved']);
    expect(account.state.rules).toEqual([]);
  });

  test('a change from observe to enforce starts new episodes, a change back does not', () => {
    const account = firing('observe');
    account.settings = settings({ mode: 'enforce' });
    const enforced = account.positions(1_000, [near()]);
    expect(changes(enforced)).toEqual([
      'position:42 firing>inactive modeChanged',
      'position:42 inactive>firing heldLongEnough',
    ]);
    expect(enforced.active.map(({ episode, mode }) => [episode, mode])).toEqual([[2, 'enforce']]);
    account.settings = settings({ mode: 'observe' });
    expect(account.positions(2_000, [near()]).active.map(({ episode, mode }) => [episode, mode])).toEqual([
      [2, 'observe'],
    ]);
  });

  test("a rule's own mode wins over the account's", () => {
    const account = new Account([{ ...spec, mode: 'observe' }], { mode: 'enforce' });
    expect(account.positions(0, [near()]).active[0]?.mode).toBe('observe');
  });

  test('two rules with the same id, or parts of different accounts, are refused', () => {
    expect(() => compileRules([spec, spec], settings())).toThrow('same id');
    const rules = compileRules([spec], settings({ accountId: 'desk-2' }));
    expect(() =>
      evaluate({ snapshot: positionsSnapshot([]), state: emptyAccountState('desk-1'), now: at(0) }, rules),
    ).toThrow('one account');
  });
});

describe('active windows', () => {
  // The exchange's clock in the snapshots is Tuesday 2023-11-14 22:30 UTC.
  const open = { days: [2], fromMinute: 22 * 60, toMinute: 6 * 60, timeZone: 'UTC' };

  test('outside the window nothing is judged, and a firing rule ends', () => {
    const account = new Account([rule('position', NEAR, { activeWindow: open })]);
    expect(reasons(account.positions(0, [near()]))).toEqual(['position:42 firing heldLongEnough']);
    const later = { ...at(1_000) };
    const morning = { ...read(list([near()])), serverDateMs: Date.UTC(2023, 10, 15, 6, 0, 0) };
    const after = account.poll({
      snapshot: snapshot({ positions: morning }, later),
      now: later,
    });
    expect(changes(after)).toEqual(['position:42 firing>inactive outsideActiveWindow']);
    expect(reasons(after)).toEqual(['position:42 inactive outsideActiveWindow']);
  });
});

describe('time without cover', () => {
  test('counts while the position is known to be uncovered, and restarts when it is covered', () => {
    const account = new Account([rule('position', above('unprotectedSeconds', 5))]);
    const at1 = (ms: number, tpsl: PositionRecord['tpsl']): string[] =>
      reasons(account.positions(ms, [position({ tpsl })]));
    expect(at1(0, null)).toEqual(['position:42 inactive conditionNotMet']);
    expect(at1(5_000, null)).toEqual(['position:42 inactive conditionNotMet']);
    expect(at1(5_001, null)).toEqual(['position:42 firing heldLongEnough']);
    expect(at1(6_000, undefined)).toEqual(['position:42 firing frozenByUnknown']);
    expect(at1(7_000, { stopLoss: d('85') })).toEqual(['position:42 inactive conditionCleared']);
    expect(at1(8_000, null)).toEqual(['position:42 inactive conditionNotMet']);
  });

  test('an interval that begins or ends with unknown cover does not count', () => {
    const account = new Account([]);
    const openFor = (ms: number, tpsl: PositionRecord['tpsl']): number | undefined => {
      account.positions(ms, [position({ tpsl })]);
      return account.state.positions[0]?.unprotectedMs;
    };
    expect(openFor(0, null)).toBe(0);
    expect(openFor(1_000, null)).toBe(1_000);
    expect(openFor(3_000, undefined)).toBe(1_000);
    expect(openFor(7_000, null)).toBe(1_000);
    expect(openFor(8_000, null)).toBe(2_000);
    account.positions(9_000, [], false);
    const unknown = { positionId: '42', unprotectedMs: 2_000, cover: 'unknown' };
    expect(account.state.positions).toMatchObject([unknown]);
    account.positions(10_000, []);
    expect(account.state.positions).toMatchObject([{ ...unknown, unseen: { reads: 1, forMs: 0 } }]);
  });
});

describe('a main balance that is shown as 0', () => {
  const low = rule('account', {
    ...below('mainBalance', 100),
    parameter: { asset: 'USDT' },
  } as ConditionSpec);
  const shown = (account: Account, second: number, balance: Record<string, string>): Evaluation => {
    const now = at(second * 1_000);
    const value = balance as unknown as MainBalance;
    return account.poll({ snapshot: snapshot({ mainBalance: read(value) }, now), now });
  };

  test('after a positive one fires nothing for a minute', () => {
    const account = new Account([low]);
    shown(account, 0, { USDT: '5000' });
    for (let second = 1; second <= 60; second += 1) {
      expect(reasons(shown(account, second, second % 2 === 0 ? {} : { USDT: '0' }))).toEqual([
        'account inactive frozenByUnknown',
      ]);
    }
    expect(reasons(shown(account, 61, { USDT: '5000' }))).toEqual(['account inactive conditionNotMet']);
  });

  test('counts after three reads and 3 minutes', () => {
    const account = new Account([low]);
    shown(account, 0, { USDT: '5000' });
    for (let second = 1; second <= 180; second += 1) shown(account, second, {});
    expect(account.last?.active).toEqual([]);
    expect(reasons(shown(account, 181, {}))).toEqual(['account firing heldLongEnough']);
  });

  test('counts at once if nothing else was ever seen; a lower balance counts at once, too', () => {
    expect(reasons(shown(new Account([low]), 0, {}))).toEqual(['account firing heldLongEnough']);
    const account = new Account([low]);
    shown(account, 0, { USDT: '5000' });
    expect(reasons(shown(account, 1, { USDT: '1' }))).toEqual(['account firing heldLongEnough']);
  });
});

describe('forecasts', () => {
  test('are fed once per read, by the time between the reads', () => {
    const account = new Account([]);
    const price = (i: number): PositionRecord =>
      position({ unrealizedPnl: d((-20 + Math.sin(i) / 5).toFixed(4)) });
    for (let i = 0; i <= 40; i++) {
      account.positions(i * 1_000, [price(i)]);
      // A second poll of the same read, and a read without a price, add nothing.
      const again = at(i * 1_000 + 500);
      account.poll({ snapshot: snapshot({ positions: read(list([price(i)]), 500) }, again), now: again });
    }
    const memory = account.state.markets.find(({ market }) => market === 'BTC_PERP');
    expect(memory?.forecast.returns).toBe(40);
    expect(account.last?.forecasts).toMatchObject([{ market: 'BTC_PERP', motion: { kind: 'value' } }]);
  });

  test('a price after a gap, or too coarse to be a sample, adds no return', () => {
    const account = new Account([]);
    const returns = (): number | undefined => account.state.markets[0]?.forecast.returns;
    account.positions(0, [position()]);
    account.positions(1_000, [position({ unrealizedPnl: d('-20.10') })]);
    expect(returns()).toBe(1);
    account.positions(2_000, [position({ unrealizedPnl: undefined })]);
    account.positions(3_000, [position({ unrealizedPnl: d('-24.00') })]);
    expect(returns()).toBe(1);
    account.positions(4_000, [position({ unrealizedPnl: d('-24') })]);
    account.positions(5_000, [position({ unrealizedPnl: d('-24.10') })]);
    expect(returns()).toBe(1);
    account.positions(6_000, [position({ unrealizedPnl: d('-24.20') })]);
    expect(returns()).toBe(2);
  });

  test('a market without positions is forgotten after an hour', () => {
    const account = new Account([]);
    account.positions(0, [position()]);
    for (let i = 1; i <= 120; i++) account.positions(i * 30_000, []);
    expect(account.state.markets.length).toBe(1);
    account.positions(121 * 30_000, []);
    expect(account.state.markets).toEqual([]);
  });

  test('an LTV after a read without one adds no return', () => {
    const account = new Account([]);
    const poll = (ms: number, ltv: string | undefined, complete = true): number | undefined => {
      const records =
        ltv === 'gone' ? [] : [creditLine({ currentLtv: ltv === undefined ? undefined : d(ltv) })];
      account.poll({
        snapshot: snapshot({ creditLine: read(list(records, complete)) }, at(ms)),
        now: at(ms),
      });
      return account.state.creditLines[0]?.forecast?.returns;
    };
    expect(poll(0, '60')).toBe(0);
    expect(poll(1_000, '61')).toBe(1);
    expect(poll(2_000, undefined)).toBe(1);
    expect(poll(3_000, '62')).toBe(1);
    expect(poll(4_000, '63')).toBe(2);
    expect(poll(5_000, 'gone', false)).toBe(2);
    expect(poll(6_000, '64')).toBe(2);
    expect(poll(7_000, 'gone')).toBe(2);
    expect(poll(8_000, '66')).toBe(2);
  });

  test('a process that takes over after a gap adds no return', () => {
    const account = new Account([]);
    account.positions(0, [position()]);
    const later: Instant = { clockId: 'process-2', monotonicMs: 5, wallMs: at(3_600_000).wallMs };
    account.poll({ snapshot: positionsSnapshot([near()], later), now: later });
    expect(account.state.markets[0]?.forecast.returns).toBe(0);
  });
});

describe('explaining', () => {
  test('transitions carry words with figures', () => {
    const { transitions } = new Account([rule('position', NEAR, { labels: { desk: 'arb' } })]).positions(0, [
      near(),
    ]);
    expect(transitions).toMatchObject([
      {
        words: 'the condition has held long enough: distance to liquidation is 4.706 %, below 5 %',
        labels: { desk: 'arb' },
      },
    ]);
  });
});

/** Polls of one account: prices wander, fields and records are missing, reads fail or lag. */
const anyRecord = fc
  .record({
    positionId: fc.constantFrom('41', '42', '43'),
    pnl: fc.constantFrom('-10.00', '-26.00', '-28.00', '-30.00', '-37.00', '-40.00', undefined),
    liquidationPrice: fc.constantFrom('81', '81', null, undefined),
    state: fc.constantFrom(
      null,
      null,
      undefined,
      { known: true, value: 'margin_call' } as const,
      { known: false, raw: 'x' } as const,
    ),
    tpsl: fc.constantFrom(null, undefined, { stopLoss: d('85') }),
  })
  .map(({ positionId, pnl, liquidationPrice, state, tpsl }) =>
    position({
      positionId,
      unrealizedPnl: pnl === undefined ? undefined : d(pnl),
      liquidationPrice: typeof liquidationPrice === 'string' ? d(liquidationPrice) : liquidationPrice,
      liquidationState: state,
      tpsl,
    }),
  );
const anyPoll = fc.record({
  stepMs: fc.constantFrom(0, 500, 1_000, 2_500, 10_000, 45_000),
  records: fc.array(anyRecord, { maxLength: 4 }),
  complete: fc.boolean(),
  ageMs: fc.constantFrom(0, 0, 0, 400, 9_999, 10_001),
  ltv: fc.constantFrom('60', '74', undefined),
  read: fc.constantFrom(true, true, true, false),
});
type AnyPoll = typeof anyPoll extends fc.Arbitrary<infer T> ? T : never;

const RULES: readonly RuleSpec[] = [
  rule('position', NEAR, {
    id: 'near',
    forMs: 2_000,
    keepFiringForMs: 3_000,
    escalate: [{ afterMs: 3_000, actions: [{ kind: 'notify', channels: ['boss'], cure: [] }] }],
  }),
  rule(
    'position',
    { kind: 'any', conditions: [above('unprotectedSeconds', 2), below('liquidationDistance', 0)] },
    { id: 'open' },
  ),
  rule('creditLine', above('ltvToMarginCall', 0.9, 0.85), { id: 'ltv', forMs: 1_000 }),
  rule('account', above('dataAge', 5), { id: 'blind' }),
  rule('account', above('positionCount', 2), { id: 'many', keepFiringForMs: 1_000 }),
];

const build = (poll: AnyPoll, now: Instant): Snapshot =>
  snapshot(
    {
      positions: poll.read
        ? read(list(poll.records, poll.complete), poll.ageMs)
        : { kind: 'notRead', ageMs: 1_000 },
      creditLine: read(list([creditLine({ currentLtv: poll.ltv === undefined ? undefined : d(poll.ltv) })])),
    },
    now,
  );

/** Evaluates all polls, at the instants that `clock` gives for their monotonic times. */
function history(
  polls: readonly AnyPoll[],
  clock: (ms: number, index: number) => Instant,
): readonly Evaluation[] {
  const account = new Account(RULES);
  let ms = 0;
  return polls.map((poll, index) => {
    ms += poll.stepMs;
    const now = clock(ms, index);
    return account.poll({ snapshot: build(poll, now), now });
  });
}

/** The decisions, without labels that show the wall clock. */
const decided = (evaluations: readonly Evaluation[]): unknown =>
  evaluations.map(({ decisions, transitions, active, nextDue }) => ({
    decisions,
    nextDue,
    transitions: transitions.map((one) => Object.assign({}, one, { atMs: 0 })),
    active: active.map((one) => Object.assign({}, one, { atMs: 0 })),
  }));

describe('properties', () => {
  test('an evaluation replayed from its serialised inputs gives identical bytes', () => {
    fc.assert(
      fc.property(fc.array(anyPoll, { minLength: 1, maxLength: 12 }), (polls) => {
        let state = emptyAccountState('desk-1');
        let ms = 0;
        for (const poll of polls) {
          ms += poll.stepMs;
          const now = at(ms);
          const taken = build(poll, now);
          const inputs = JSON.stringify({ taken, state, now });
          const evaluation = evaluate({ snapshot: taken, state, now }, compileRules(RULES, settings()));
          const replayed = JSON.parse(inputs) as { taken: Snapshot; state: AccountState; now: Instant };
          const again = evaluate(
            { snapshot: replayed.taken, state: replayed.state, now: replayed.now },
            compileRules(RULES, settings()),
          );
          expect(JSON.stringify(again)).toBe(JSON.stringify(evaluation));
          expect(JSON.parse(JSON.stringify(evaluation))).toEqual(evaluation);
          expect(JSON.stringify({ taken, state, now })).toBe(inputs);
          ({ state } = evaluation);
        }
      }),
      { numRuns: runsOf(200) },
    );
  });

  test('every reason has words', () => {
    fc.assert(
      fc.property(fc.array(anyPoll, { maxLength: 12 }), (polls) => {
        for (const { decisions, transitions } of history(polls, (ms) => at(ms))) {
          for (const { reason } of [...decisions, ...transitions]) expect(reasonWords(reason)).not.toBe('');
          for (const { words } of transitions) expect(words).not.toBe('');
        }
      }),
      { numRuns: runsOf(100) },
    );
  });

  test('invariant 2: stale, unread or partial lists decide nothing about positions they do not show', () => {
    fc.assert(
      fc.property(fc.array(anyPoll, { maxLength: 20 }), (polls) => {
        history(polls, (ms) => at(ms)).forEach(({ transitions, decisions }, index) => {
          const poll = polls[index];
          if (poll === undefined) return;
          const mayDecide = poll.read && poll.ageMs <= 10_000;
          const aboutPositions = transitions.filter(({ subject }) => subject.startsWith('position:'));
          if (!mayDecide) expect(aboutPositions).toEqual([]);
          if (!poll.complete)
            expect(aboutPositions.filter(({ reason }) => reason === 'subjectGone')).toEqual([]);
          if (!mayDecide) {
            for (const { subject, reason } of decisions) {
              if (subject.startsWith('position:')) expect(reason).toBe('frozenByUnknown');
            }
          }
        });
      }),
      { numRuns: runsOf(300) },
    );
  });

  test('invariant 2: a record set aside, or one that cannot be judged, changes nothing for the others', () => {
    fc.assert(
      fc.property(fc.array(anyPoll, { maxLength: 12 }), (polls) => {
        const about41 = (evaluations: readonly Evaluation[]): unknown =>
          evaluations.map(({ decisions }) => decisions.filter(({ subject }) => subject === 'position:41'));
        const only = (poll: AnyPoll): AnyPoll => {
          const one =
            poll.records.find(({ positionId }) => positionId === '41') ?? position({ positionId: '41' });
          return { ...poll, records: [one] };
        };
        const bad = position({
          positionId: '99',
          unrealizedPnl: undefined,
          tpsl: undefined,
          liquidationPrice: undefined,
        });
        const alone = history(
          polls.map((poll) => ({ ...only(poll), complete: true })),
          (ms) => at(ms),
        );
        const beside = history(
          polls.map((poll) => ({ ...only(poll), records: [bad, ...only(poll).records], complete: false })),
          (ms) => at(ms),
        );
        expect(about41(beside)).toEqual(about41(alone));
      }),
      { numRuns: runsOf(200) },
    );
  });

  test('invariant 3: unknown data resolve nothing, clear nothing, and stop all timers', () => {
    fc.assert(
      fc.property(
        fc.array(anyPoll, { minLength: 1, maxLength: 12 }),
        fc.array(anyPoll, { minLength: 1, maxLength: 4 }),
        (polls, blind) => {
          const account = new Account(RULES);
          let ms = 0;
          for (const poll of polls) {
            ms += poll.stepMs;
            account.poll({ snapshot: build(poll, at(ms)), now: at(ms) });
          }
          const before = account.state;
          const askedBefore = account.last?.active.filter(({ subjectKind }) => subjectKind !== 'account');
          for (const poll of blind) {
            ms += poll.stepMs;
            const unread = { kind: 'notRead' as const, ageMs: 1_000 };
            const taken = snapshot({ positions: unread, creditLine: unread }, at(ms));
            const evaluation = account.poll({ snapshot: taken, now: at(ms) });
            expect(evaluation.transitions.filter(({ subject }) => subject !== 'account')).toEqual([]);
            // Old data do not exempt from limits; otherwise the requests are the same.
            expect(evaluation.active.filter(({ subjectKind }) => subjectKind !== 'account')).toEqual(
              (askedBefore ?? []).map((request) => Object.assign({}, request, { exemptFromLimits: false })),
            );
          }
          const timers = (state: AccountState): unknown =>
            state.rules
              .filter(({ ruleId }) => ['near', 'open', 'ltv'].includes(ruleId))
              .map(({ entries }) => entries.map((entry) => Object.assign({}, entry, { frozen: true })));
          expect(timers(account.state)).toEqual(timers(before));
          expect(account.state.positions.map(({ unprotectedMs }) => unprotectedMs)).toEqual(
            before.positions.map(({ unprotectedMs }) => unprotectedMs),
          );
        },
      ),
      { numRuns: runsOf(300) },
    );
  });

  test('invariant 11: the wall clock fires and resolves nothing', () => {
    fc.assert(
      fc.property(
        fc.array(anyPoll, { maxLength: 15 }),
        fc.array(fc.integer({ min: -1e12, max: 1e12 }), { minLength: 15, maxLength: 15 }),
        (polls, jumps) => {
          const steady = history(polls, (ms) => at(ms));
          const jumping = history(polls, (ms, index) => at(ms, 'process-1', jumps[index]));
          expect(decided(jumping)).toEqual(decided(steady));
        },
      ),
      { numRuns: runsOf(200) },
    );
  });

  test('invariant 11: a clock jump while another process takes over advances timers by at most the planned interval', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), (jumpMs) => {
        const account = new Account([rule('position', NEAR, { forMs: 3_000 })]);
        const { nextDue } = account.positions(0, [near()]);
        expect(nextDue).toMatchObject({ inMs: 1_000, reason: 'ruleActive' });
        const other: Instant = { clockId: 'process-2', monotonicMs: 77, wallMs: at(0).wallMs + jumpMs };
        account.poll({ snapshot: positionsSnapshot([near()], other), now: other });
        const heldMs = account.state.rules[0]?.entries[0]?.heldMs ?? Number.NaN;
        expect(heldMs).toBeGreaterThanOrEqual(0);
        expect(heldMs).toBeLessThanOrEqual(1_000);
        expect(account.state.rules[0]?.entries[0]?.phase).toBe('pending');
      }),
    );
  });

  test('a gap in the same process counts as at most three calm intervals', () => {
    const account = new Account([rule('position', NEAR, { forMs: 60_000 })]);
    account.positions(0, [near()]);
    account.positions(3_600_000, [near()]);
    expect(account.state.rules[0]?.entries[0]?.heldMs).toBe(30_000);
  });
});

test('compiled rules, which live on, keep nothing of the account they judged', () => {
  const rules = compileRules(
    [
      rule('position', below('liquidationDistance', 0.05)),
      rule('creditLine', above('currentLtv', 0.7), { id: 'r2' }),
    ],
    settings(),
  );
  const taken = snapshot({ positions: read(list([position()])), creditLine: read(list([creditLine()])) });
  evaluate({ snapshot: taken, state: emptyAccountState('desk-1'), now: at(0) }, rules);
  for (const { fieldCache } of [rules.position, rules.creditLine]) {
    expect(() => fieldCache.read(0)).toThrow('no subject loaded');
  }
});
