import { describe, expect, test } from 'vitest';
import {
  ACCOUNT_HOLDER,
  type AccountLane,
  type AccountStep,
  advanceAccount,
  beginAccountCancel,
  finishAccountCancel,
  newAccountLane,
  observeAccountRequests,
  recoverAccount,
} from '../../../src/core/lanes/account-lane.ts';
import { advance } from '../../../src/core/lanes/lane.ts';
import { observeRead, observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import { type LaneState, newLane } from '../../../src/core/lanes/lane-state.ts';
import { begin, finish } from '../../../src/core/lanes/lane-step.ts';
import { hold, release } from '../../../src/core/lanes/recover-lane.ts';
import {
  NO_ROUTES,
  type RouteInputs,
  type RouteState,
  routeRequests,
} from '../../../src/core/lanes/route-requests.ts';
import type { CommandOutcome } from '../../../src/core/ports/exchange.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { position } from '../rules/fixtures.ts';
import { failure, placed } from './driver.ts';
import {
  acknowledgeNoPriorOrders,
  action,
  contextOf,
  half,
  inMarket,
  protect,
  readAt,
  readPositionOf,
  settings,
} from './fixtures.ts';

const everything: ActionSpec = { kind: 'cancelAll', types: ['spot', 'margin', 'futures'], scope: 'account' };
const wide = action(everything, { ruleId: 'ltv', subjectKind: 'creditLine', subject: 'creditLine:BTC@1' });
const accepted: CommandOutcome<null> = {
  kind: 'accepted',
  value: null,
  timing: { sentAtMs: 0, receivedAtMs: 0, attempts: 1 },
};

/** An account with two markets, each with a position and a standing stop. */
class Account {
  account: AccountLane = newAccountLane('desk');
  lanes: LaneState[];
  nowMs = 100_000;
  readonly context = contextOf();

  constructor() {
    this.lanes = ['BTC_PERP', 'ETH_PERP'].map((market) => {
      const lane = acknowledgeNoPriorOrders(newLane('desk', market, 'epoch', this.nowMs));
      return this.settle(lane);
    });
    this.account = observeAccountRequests(this.account, [wide], true, settings, this.nowMs);
  }

  /** Reads, asks for a stop, and places the lane's orders until it has nothing to place. */
  settle(lane: LaneState): LaneState {
    this.nowMs += 10;
    const read = {
      ...readAt(this.nowMs),
      byMarket: inMarket([readPositionOf()], lane.market),
    };
    let state = observeRead(lane, read, settings, this.nowMs).state;
    const entry = { request: action(protect), positionId: '42' };
    state = observeRequests(state, [entry], true, settings, this.nowMs).state;
    for (;;) {
      const advanced = advance(state, this.context, this.nowMs);
      if (advanced.step.kind !== 'place') return advanced.state;
      const outcome = { ...accepted, value: placed(advanced.step, {}) };
      state = begin(advanced.state, advanced.step, this.nowMs).state;
      this.nowMs += 10;
      state = finish(state, { kind: 'place', outcome }, settings, this.nowMs).state;
    }
  }

  next(paused = false): AccountStep {
    const context = contextOf({}, { paused });
    const advanced = advanceAccount(this.account, this.lanes, context, this.nowMs);
    this.account = advanced.state;
    return advanced.step;
  }

  take(): void {
    this.lanes = this.lanes.map((lane) => hold(lane, ACCOUNT_HOLDER) ?? lane);
  }

  start(): void {
    this.take();
    const step = this.next();
    if (step.kind !== 'cancelAll') throw new Error(`expected cancelAll, got ${step.kind}`);
    const begun = beginAccountCancel(this.account, this.lanes, step.cancel, this.nowMs);
    this.account = begun.state;
    this.lanes = [...begun.lanes];
  }

  end(outcome: CommandOutcome<null>): void {
    this.nowMs += 10;
    const ended = finishAccountCancel(this.account, this.lanes, outcome, settings, this.nowMs);
    this.account = ended.state;
    this.lanes = [...ended.lanes];
  }
}

describe('an account-wide cancel', () => {
  test('takes all lanes and cancels once, then every lane places its orders again', () => {
    const account = new Account();
    expect(account.next()).toEqual({ kind: 'takeLanes', markets: ['BTC_PERP', 'ETH_PERP'] });
    account.start();
    expect(account.lanes.map((lane) => lane.generation)).toEqual([1, 1]);
    expect(advance(account.lanes[0] as LaneState, account.context, account.nowMs).step).toMatchObject({
      why: 'held',
    });
    account.end(accepted);
    expect(account.lanes.map((lane) => lane.orders)).toEqual([[], []]);
    expect(account.next()).toEqual({ kind: 'releaseLanes', markets: ['BTC_PERP', 'ETH_PERP'] });
    account.lanes = account.lanes.map((lane) => account.settle(release(lane, ACCOUNT_HOLDER)));
    expect(account.lanes.map((lane) => lane.orders.length)).toEqual([1, 1]);
    expect(account.next()).toEqual({ kind: 'idle' });
  });

  test('waits for a lane that has a request in progress', () => {
    const account = new Account();
    const [first, second] = account.lanes;
    if (first === undefined || second === undefined) throw new Error('two lanes');
    const step = { kind: 'readPositions', market: first.market } as const;
    account.lanes = [begin(first, step, account.nowMs).state, second];
    account.take();
    expect(account.next()).toEqual({ kind: 'takeLanes', markets: ['BTC_PERP'] });
  });

  test('with an unknown outcome puts every lane in doubt and is tried again', () => {
    const account = new Account();
    account.start();
    account.end({ kind: 'unknown', error: failure({ effect: 'possible' }) });
    expect(account.lanes.map(({ orders }) => orders.map(({ status }) => status))).toEqual([
      ['unsure'],
      ['unsure'],
    ]);
    expect(account.next().kind).toBe('releaseLanes');
    account.lanes = account.lanes.map((lane) => release(lane, ACCOUNT_HOLDER));
    // Not sent again before the first request can no longer arrive.
    expect(account.next().kind).toBe('idle');
    account.nowMs += 6_000;
    expect(account.next().kind).toBe('takeLanes');
    account.take();
    expect(account.next().kind).toBe('cancelAll');
  });

  test('put off by the exchange releases the lanes, and is no failed attempt', () => {
    const account = new Account();
    const changes = () => account.lanes.map(({ change }) => change);
    account.start();
    expect(changes()).not.toContain(null);
    account.end({ kind: 'rejected', error: failure({ name: 'rateLimited', retryAfterMs: 3_600_000 }) });
    expect(account.account.cancels).toMatchObject([{ state: 'open', failures: 0 }]);
    // No order was taken down, so nothing has to be completed while the gate is closed.
    expect(changes()).toEqual([null, null]);
    expect(account.next()).toEqual({ kind: 'releaseLanes', markets: ['BTC_PERP', 'ETH_PERP'] });
    account.lanes = account.lanes.map((lane) => release(lane, ACCOUNT_HOLDER));
    // Protection is retried once a second at first, even if the reply asks for a longer wait.
    expect(account.next()).toEqual({ kind: 'wait', untilMs: account.nowMs + 1_000 });
  });

  test('reported a second time changes nothing', () => {
    const account = new Account();
    account.start();
    account.end(accepted);
    const before = JSON.stringify([account.account, account.lanes]);
    account.end({ kind: 'unknown', error: failure({ effect: 'possible' }) });
    expect(JSON.stringify([account.account, account.lanes])).toBe(before);
  });

  test('in progress when the process died has an unknown outcome', () => {
    const account = new Account();
    account.start();
    const recovered = recoverAccount(account.account, account.lanes, settings, account.nowMs);
    expect(recovered.state.inProgress).toBeNull();
    expect(recovered.lanes.map(({ orders }) => orders.map(({ status }) => status))).toEqual([
      ['unsure'],
      ['unsure'],
    ]);
  });

  test('is held back by the gate, and fails when the gate stays closed', () => {
    const account = new Account();
    expect(account.next(true)).toEqual({ kind: 'idle' });
    account.nowMs += settings.intentTtlMs;
    account.next(true);
    expect(account.account.cancels.map((task) => task.state)).toEqual(['failed']);
  });

  test('raises no alarm in observe mode', () => {
    const account = new Account();
    const watched = { ...wide, mode: 'observe' } as const;
    account.account = observeAccountRequests(account.account, [watched], true, settings, account.nowMs);
    const said = [0, settings.intentTtlMs].flatMap((ms) => {
      account.nowMs += ms;
      const advanced = advanceAccount(account.account, account.lanes, account.context, account.nowMs);
      account.account = advanced.state;
      return advanced.events;
    });
    expect(said.map(({ kind, alarm }) => [kind, alarm])).toEqual([
      ['refused', false],
      ['wouldCancel', false],
      ['intentEnded', false],
    ]);
  });

  test('is done once per episode, and forgotten when its rule has resolved', () => {
    const account = new Account();
    account.start();
    account.end(accepted);
    account.account = observeAccountRequests(account.account, [wide], true, settings, account.nowMs);
    expect(account.account.cancels.map((task) => task.state)).toEqual(['done']);
    account.account = observeAccountRequests(account.account, [], false, settings, account.nowMs);
    expect(account.account.cancels).toHaveLength(1);
    account.account = observeAccountRequests(account.account, [], true, settings, account.nowMs);
    expect(account.account.cancels).toEqual([]);
  });
});

describe('routing', () => {
  const btc = position({ positionId: '1', market: 'BTC_PERP' });
  const eth = position({ positionId: '2', market: 'ETH_USDT' });
  const perps: ActionSpec = { ...half, positions: ['*_PERP'] } as ActionSpec;
  const ofLoan = (spec: ActionSpec) =>
    action(spec, { subjectKind: 'creditLine', subject: 'creditLine:BTC@1' });
  const inputs = {
    conclusive: true,
    complete: true,
    positions: [btc, eth],
    accountId: 'desk-1',
    intentTtlMs: 60_000,
    nowMs: 1_000,
    plan: () => undefined,
  };

  test("takes a position rule's actions to its market", () => {
    const request = action(half, { subject: 'position:2' });
    const routed = routeRequests(NO_ROUTES, { ...inputs, active: [request] });
    expect([...routed.byMarket]).toEqual([['ETH_USDT', [{ request, positionId: '2' }]]]);
  });

  test('takes the actions of an account or credit-line rule to the matching positions, or to all', () => {
    const some = routeRequests(NO_ROUTES, { ...inputs, active: [ofLoan(perps)] });
    expect([...some.byMarket.keys()]).toEqual(['BTC_PERP']);
    const every = routeRequests(NO_ROUTES, { ...inputs, active: [ofLoan(half)] });
    expect([...every.byMarket.keys()]).toEqual(['BTC_PERP', 'ETH_USDT']);
  });

  test('leaves out positions opened after the action appeared', () => {
    const request = ofLoan(half);
    const first = routeRequests(NO_ROUTES, { ...inputs, positions: [btc], active: [request] });
    const second = routeRequests(first.state, { ...inputs, active: [request] });
    expect([...second.byMarket.keys()]).toEqual(['BTC_PERP']);
  });

  test('with one bad record in the list takes account and credit-line rules to the good positions', () => {
    const request = ofLoan(half);
    const positions = [position({ ...btc, openDate: 1 })];
    const active = [{ ...request, atMs: 5_000 }];
    const first = routeRequests(NO_ROUTES, { ...inputs, complete: false, positions, active });
    expect([...first.byMarket.keys()]).toEqual(['BTC_PERP']);
    expect(first.waiting).toEqual([]);
    // A position that the bad record hid joins when it is shown; one opened later does not.
    const hidden = position({ ...eth, openDate: 2 });
    const opened = position({ positionId: '3', market: 'SOL_PERP', openDate: 6 });
    const whole = { ...inputs, positions: [...positions, hidden, opened], active };
    const second = routeRequests(first.state, whole);
    expect([...second.byMarket.keys()]).toEqual(['BTC_PERP', 'ETH_USDT']);
    // The first complete list settles the positions.
    const late = position({ positionId: '4', market: 'XRP_PERP', openDate: 3 });
    const third = routeRequests(second.state, { ...whole, positions: [...whole.positions, late] });
    expect([...third.byMarket.keys()]).toEqual(['BTC_PERP', 'ETH_USDT']);
    expect(third.state.partial).toBeUndefined();
  });

  test('waits for a list that shows a position, and keeps routes over inconclusive evaluations', () => {
    const request = ofLoan(half);
    const hidden = { ...inputs, complete: false, positions: [] };
    const waiting = routeRequests(NO_ROUTES, { ...hidden, active: [request] });
    expect(waiting.waiting).toEqual([request]);
    const known = routeRequests(NO_ROUTES, { ...inputs, active: [request] });
    const blind = { ...inputs, active: [], conclusive: false, complete: false, positions: [] };
    expect(routeRequests(known.state, blind).state).toEqual(known.state);
    expect(routeRequests(known.state, { ...blind, conclusive: true }).state.routes).toEqual({});
  });

  describe('waiting for a list that never comes', () => {
    const half1 = ofLoan(half);
    const cancel = { ...ofLoan({ kind: 'cancelAll', types: ['futures'], scope: 'market' }), actionIndex: 1 };
    const blind = { ...inputs, complete: false, positions: [], active: [half1, cancel] };
    const shown = { complete: true, positions: inputs.positions };
    const run = (state: RouteState, nowMs: number, changes: Partial<RouteInputs> = {}) =>
      routeRequests(state, { ...blind, nowMs, ...changes });
    const patient = run(NO_ROUTES, 1_000);

    test('fails the episode once, with an alarm, after the time to live of an intent', () => {
      expect(run(patient.state, 60_999).events).toEqual([]);
      const vain = run(patient.state, 61_000);
      expect(vain.events).toMatchObject([
        { kind: 'intentEnded', reason: 'failed:positionsUnknown', alarm: true, ruleId: half1.ruleId },
      ]);
      expect(vain.waiting).toHaveLength(2);
      expect(run(vain.state, 999_999).events).toEqual([]);
    });

    test('still acts once the list is there, and starts a new wait afterwards', () => {
      const vain = run(patient.state, 61_000);
      const known = run(vain.state, 62_000, shown);
      expect([...known.byMarket.keys()]).toEqual(['BTC_PERP', 'ETH_USDT']);
      expect(known.state.waiting).toBeUndefined();
      const escalated = { ...half1, stage: 1 };
      const later = run(known.state, 63_000, { active: [half1, cancel, escalated] });
      expect(later.waiting).toEqual([escalated]);
      expect(run(later.state, 122_999, { active: [half1, cancel, escalated] }).events).toEqual([]);
      expect(run(later.state, 123_000, { active: [half1, cancel, escalated] }).events).toHaveLength(1);
    });

    test('counts each episode separately, and forgets episodes that have ended', () => {
      const next = { ...half1, episode: half1.episode + 1 };
      const both = run(patient.state, 31_000, { active: [half1, next] });
      expect(run(both.state, 61_000, { active: [half1, next] }).events).toHaveLength(1);
      const over = run(both.state, 61_000, { active: [next] });
      expect(over.events).toEqual([]);
      expect(Object.keys(over.state.waiting ?? {})).toHaveLength(1);
    });

    test('keeps counting over inconclusive evaluations and over a clock that was set back', () => {
      const unseen = run(patient.state, 30_000, { active: [], conclusive: false });
      expect(unseen.state).toEqual(patient.state);
      const before = run(unseen.state, 500);
      expect(run(before.state, 60_500).events).toHaveLength(1);
    });

    test('raises no alarm if the rule only observes', () => {
      const active = [{ ...half1, mode: 'observe' as const }];
      const watched = run(NO_ROUTES, 1_000, { active });
      expect(run(watched.state, 61_000, { active }).events).toMatchObject([{ alarm: false }]);
    });

    test('applies to a rule of one position until a read shows the position', () => {
      const active = [action(half, { subject: 'position:9' })];
      const blindToOne = run(NO_ROUTES, 1_000, { active, complete: true });
      expect(run(blindToOne.state, 61_000, { active, complete: true }).events).toMatchObject([
        { reason: 'failed:positionsUnknown', words: expect.stringContaining('position:9') as string },
      ]);
    });
  });

  test('sends a cancel of market scope to each market once, one of account scope to the account', () => {
    const market = ofLoan({ kind: 'cancelAll', types: ['futures'], scope: 'market' });
    const routed = routeRequests(NO_ROUTES, {
      ...inputs,
      positions: [btc, btc, eth],
      active: [market, wide],
    });
    expect([...routed.byMarket].map(([name, entries]) => [name, entries.length])).toEqual([
      ['BTC_PERP', 1],
      ['ETH_USDT', 1],
    ]);
    expect(routed.accountWide).toEqual([wide]);
  });
});
