import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import { NO_CONTROLS, type OperatorOrder } from '../../../src/core/controls/controls.ts';
import { operatorIntent } from '../../../src/core/intents/intent.ts';
import { newAccountLane } from '../../../src/core/lanes/account-lane.ts';
import { observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import { type LaneState, newLane, type RequestStep } from '../../../src/core/lanes/lane-state.ts';
import type { AccountDocuments, StoredAccount } from '../../../src/core/ports/state-store.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { type Evaluation, evaluate } from '../../../src/core/rules/evaluate.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { type ActingInputs, hasNothingToRoute } from '../../../src/pipeline/act/lane-at-rest.ts';
import { actOn, NOTHING_ACTED, routeDecisions } from '../../../src/pipeline/act/route-decisions.ts';
import type { WatchedAccount } from '../../../src/pipeline/pipeline-context.ts';
import { type Observation, snapshotOf } from '../../../src/pipeline/poll/observe-account.ts';
import { action, half, settings as laneSettings, protect } from '../../core/lanes/fixtures.ts';
import { at, below, list, position, read, rule, settings } from '../../core/rules/fixtures.ts';
import { storedWith } from '../../core/view/fixtures.ts';
import { runsOf } from '../../support/slice.ts';

const NOW_MS = 1_700_001_000_000;
const LIFE = 'life1';
const MARKETS = ['BTC_PERP', 'ETH_PERP'] as const;

const notifying = rule('position', below('liquidationDistance', 0.01));
const acting = rule('position', below('liquidationDistance', 0.01), { id: 'acts', actions: [half] });

function accountWith(rules: readonly (typeof acting)[]): WatchedAccount {
  return {
    id: 'desk-1',
    rules: compileRules(rules, settings()),
    orderFault: () => undefined,
  } as unknown as WatchedAccount;
}

const quiet = (market: string, epoch = LIFE): LaneState => newLane('desk-1', market, epoch, NOW_MS - 5_000);
const asked = (spec: ActionRequest['action'], changed: Partial<ActionRequest> = {}): ActionRequest =>
  action(spec, { accountId: 'desk-1', ruleId: 'acts', ...changed });

const order: OperatorOrder = {
  id: 'op1',
  author: 'ann',
  reason: 'because',
  atMs: NOW_MS,
  kind: 'reduce',
  markets: ['*'],
  target: { kind: 'to', fraction: 0 },
  slippageSteps: [0.01],
  flatten: false,
  expiresAtMs: NOW_MS + 60_000,
};

const withdrawal: OperatorOrder = { ...order, kind: 'withdraw', orderId: 'op0' };

/** Everything that may be going on, each absent more often than not. */
const lanes = fc.array(
  fc.record({
    market: fc.constantFrom(...MARKETS, 'SOL_PERP'),
    epoch: fc.constantFrom(LIFE, LIFE, LIFE, LIFE, LIFE, 'life0'),
    busy: fc.constantFrom('no', 'no', 'no', 'no', 'no', 'no', 'intent', 'operator', 'held', 'inProgress'),
  }),
  { maxLength: 3 },
);
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const scenes = fc.record({
  lanes,
  positions: fc.option(fc.subarray([...MARKETS]), { nil: undefined }),
  complete: fc.boolean(),
  conclusive: fc.boolean(),
  canAct: fc.boolean(),
  active: seldom(fc.constantFrom('notify', 'reduce', 'protect')),
  requests: seldom(fc.record({ active: fc.constantFrom('none', 'none', 'half'), conclusive: fc.boolean() })),
  limits: seldom(fc.constantFrom('empty', 'open', 'old')),
  routes: seldom(fc.constantFrom('empty', 'route', 'waiting')),
  inbox: seldom(fc.constantFrom('empty', 'order', 'withdraw')),
  accountLane: seldom(fc.constantFrom('new', 'cancel')),
});
type Scene = typeof scenes extends fc.Arbitrary<infer S> ? S : never;

test('routing the decisions of an account at rest changes nothing', () => {
  const seen = { atRest: 0, busy: 0 };
  fc.assert(
    fc.property(scenes, (scene) => {
      const decisions = built(scene);
      if (!hasNothingToRoute(decisions)) {
        seen.busy += 1;
        expect(routeDecisions(decisions)).toEqual(actOn(decisions));
        return;
      }
      seen.atRest += 1;
      expect(actOn(decisions)).toEqual(NOTHING_ACTED);
    }),
    { numRuns: runsOf(5_000) },
  );
  expect(seen.atRest).toBeGreaterThan(25);
  expect(seen.busy).toBeGreaterThan(25);
});

test('an ordinary calm account is at rest', () => {
  const ordinary: Scene = {
    lanes: MARKETS.map((market) => ({ market, epoch: LIFE, busy: 'no' })),
    positions: [...MARKETS],
    complete: true,
    conclusive: true,
    canAct: true,
    active: 'notify',
    requests: { active: 'none', conclusive: true },
    limits: 'empty',
    routes: 'empty',
    inbox: 'empty',
    accountLane: 'new',
  };
  expect(hasNothingToRoute(built(ordinary))).toBe(true);
});

function built(scene: Scene) {
  const records = (scene.positions ?? []).map((market, index) =>
    position({ market, positionId: String(42 + index) }),
  );
  const value = list(records, scene.complete);
  const now = at(0);
  const observation = {
    sources: scene.positions === undefined ? {} : { positions: read(value) },
    at: now,
    positions:
      scene.positions === undefined
        ? undefined
        : { list: value, sentAtMs: NOW_MS - 20, receivedAtMs: NOW_MS - 10, earlier: () => [] },
    readings: undefined,
    kept: {},
  } as Observation;
  const account = accountWith(scene.canAct ? [acting, notifying] : [notifying]);
  const stored = storedWith(documentsOf(scene), {
    lanes: lanesOf(scene),
    epoch: { id: LIFE, why: 'empty', sinceMs: 0 },
  });
  const moment = { nowMs: NOW_MS, step: null };
  const inputs: ActingInputs = { account, stored, controls: NO_CONTROLS, observation, now, moment };
  const snapshot = snapshotOf(observation, stored);
  const calm = evaluate({ snapshot, state: emptyAccountState('desk-1'), now }, account.rules);
  const evaluation: Evaluation = { ...calm, active: activeOf(scene) };
  return { ...inputs, snapshot, evaluation, conclusive: scene.conclusive };
}

function activeOf({ active }: Scene): readonly ActionRequest[] {
  switch (active) {
    case undefined:
      return [];
    case 'notify':
      return [asked({ kind: 'notify', channels: [], cure: [] })];
    case 'reduce':
      return [asked(half)];
    case 'protect':
      return [asked(protect)];
  }
}

function lanesOf({ lanes: wanted }: Scene): StoredAccount['lanes'] {
  return new Map(
    wanted.map(({ market, epoch, busy }): [string, LaneState] => {
      const lane = quiet(market, epoch);
      switch (busy) {
        case 'no':
          return [market, lane];
        case 'held':
          return [market, { ...lane, heldBy: 'account' }];
        case 'inProgress':
          return [
            market,
            { ...lane, inProgress: { step: { kind: 'readPositions' } as RequestStep, startedMs: NOW_MS } },
          ];
        case 'operator': {
          const target = { kind: 'to', fraction: 0 } as const;
          const request = {
            id: 'op',
            positionId: '42',
            target,
            slippageSteps: [0.01],
            flatten: false,
            because: 'x',
          };
          const audit = recorder('desk-1', market, NOW_MS);
          return [market, operatorIntent(lane, request, { settings: laneSettings, nowMs: NOW_MS, audit })];
        }
        case 'intent': {
          const order = [{ request: asked(half), positionId: '42' }];
          return [market, observeRequests(lane, order, true, laneSettings, NOW_MS).state];
        }
      }
    }),
  );
}

function documentsOf(scene: Scene): AccountDocuments {
  const { requests, limits, routes, inbox, accountLane } = scene;
  const episode = { ruleId: 'acts', ruleChecksum: 'abc', subject: 'position:42', episode: 1 };
  const ref = { positionId: '42', market: MARKETS[0] };
  return {
    ...(requests && {
      requests: {
        version: 1,
        active: requests.active === 'none' ? [] : [asked(half)],
        conclusive: requests.conclusive,
        atMs: NOW_MS,
      },
    }),
    ...(limits && {
      limits: {
        version: 1,
        admitted:
          limits === 'empty'
            ? []
            : [{ ...episode, atMs: NOW_MS - 1_000, endedMs: limits === 'open' ? null : NOW_MS - 7_200_000 }],
      },
    }),
    ...(routes && {
      routes: {
        version: 1,
        routes: routes === 'route' ? { key: [ref] } : {},
        ...(routes === 'waiting' ? { waiting: { key: { sinceMs: NOW_MS, failed: false } } } : {}),
      },
    }),
    ...(inbox && {
      inbox: {
        version: 1,
        orders: inbox === 'empty' ? [] : [inbox === 'order' ? order : withdrawal],
      },
    }),
    ...(accountLane && {
      accountLane:
        accountLane === 'new'
          ? newAccountLane('desk-1')
          : { ...newAccountLane('desk-1'), inProgress: { key: 'k', types: [], startedMs: NOW_MS } },
    }),
  };
}

test('the same exchange account under two keys: one acts, the other is held at the gate with one alarm', () => {
  const decisions = built({
    lanes: [],
    positions: ['BTC_PERP'],
    complete: true,
    conclusive: true,
    canAct: true,
    active: 'reduce',
    requests: undefined,
    limits: undefined,
    routes: undefined,
    inbox: undefined,
    accountLane: undefined,
  });
  const alone = routeDecisions(decisions);
  expect(alone.toRun).toHaveLength(1);
  const twin = routeDecisions({ ...decisions, sharedWith: 'desk-0' });
  expect(twin.toRun).toEqual([]);
  expect(twin.lanes.get('BTC_PERP')?.intents.map(({ refusedBy }) => refusedBy)).toEqual(['sharedAccount']);
  expect(twin.events.filter(({ alarm }) => alarm)).toMatchObject([{ kind: 'sharedAccount' }]);
  const stored = { ...decisions.stored, documents: { ...decisions.stored.documents, ...twin.documents } };
  const next = routeDecisions({ ...decisions, stored, sharedWith: 'desk-0' });
  expect(next.events.filter(({ kind }) => kind === 'sharedAccount')).toEqual([]);
});

const CALM: Scene = {
  lanes: [],
  positions: [...MARKETS],
  complete: true,
  conclusive: true,
  canAct: true,
  active: undefined,
  requests: undefined,
  limits: undefined,
  routes: undefined,
  inbox: undefined,
  accountLane: undefined,
};

/** The decisions of an account rule on all positions, of which a list shows only these; both have been seen before. */
function accountRuleOver(shown: readonly (typeof MARKETS)[number][], documents: AccountDocuments = {}) {
  const [whole, decisions] = [built(CALM), built({ ...CALM, positions: [...shown] })];
  const atMs = NOW_MS;
  const { positions } = decisions.observation;
  const hidden = whole.observation.positions?.list.records.filter(
    ({ market }) => !shown.includes(market as never),
  );
  const { positions: known } = whole.evaluation.state;
  return {
    ...decisions,
    stored: { ...decisions.stored, documents },
    evaluation: {
      ...decisions.evaluation,
      active: [asked(half, { subjectKind: 'account', subject: 'account', atMs })],
      state: { ...decisions.evaluation.state, positions: known },
    },
    hidden: hidden?.map(({ positionId, market }) => ({ positionId, market })),
    observation: { ...decisions.observation, positions: positions && { ...positions, isNew: true } },
  };
}

test.each([
  { what: 'nulls for', isListed: true },
  { what: 'nothing of', isListed: false },
])(
  'an account rule that fires on a list with $what a position reduces it once it is shown',
  ({ isListed }) => {
    const { hidden, ...decisions } = accountRuleOver(['BTC_PERP']);
    const { positions } = decisions.observation;
    const listed = positions && {
      ...positions,
      list: { ...positions.list, ...(isListed && { notOpenYet: hidden }) },
    };
    const first = routeDecisions({
      ...decisions,
      observation: { ...decisions.observation, positions: listed } as Observation,
    });
    expect(
      [...first.lanes].filter(([, lane]) => (lane?.intents.length ?? 0) > 0).map(([market]) => market),
    ).toEqual(['BTC_PERP']);
    const { hidden: none, ...later } = accountRuleOver([...MARKETS], first.documents);
    expect(none).toEqual([]);
    const second = routeDecisions(later);
    expect(second.lanes.get('ETH_PERP')?.intents).toHaveLength(1);
    expect(second.documents.routes?.partial).toBeUndefined();
  },
);

test('an account rule that fires on an empty list waits for the positions that were there', () => {
  const { hidden: _, ...decisions } = accountRuleOver([]);
  const first = routeDecisions(decisions);
  expect(Object.keys(first.documents.routes?.waiting ?? {})).toHaveLength(1);
  const { hidden: __, ...later } = accountRuleOver([...MARKETS], first.documents);
  expect([...routeDecisions(later).lanes.keys()].toSorted()).toEqual(['BTC_PERP', 'ETH_PERP']);
});

test.each([
  { what: 'that nothing explains', isByOurs: false, waits: 1 },
  { what: 'once orders of ours have closed all', isByOurs: true, waits: 0 },
])('an operator order on an empty list $what: $waits wait', ({ isByOurs, waits }) => {
  const { hidden = [], ...decisions } = accountRuleOver([], { inbox: { version: 1, orders: [order] } });
  const { snapshot } = decisions;
  const closedByUs = isByOurs ? hidden.map(({ positionId }) => positionId) : [];
  const calm = { ...decisions, evaluation: { ...decisions.evaluation, active: [] } };
  const { documents } = routeDecisions({ ...calm, snapshot: { ...snapshot, closedByUs } });
  expect((documents.inbox ?? { orders: [order] }).orders).toHaveLength(waits);
});
