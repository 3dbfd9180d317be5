import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NO_CONTROLS } from '../../../src/core/controls/controls.ts';
import { actionKey } from '../../../src/core/intents/intent.ts';
import { readPositions } from '../../../src/core/lanes/market-read.ts';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import type { StoredAccount } from '../../../src/core/ports/state-store.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../../src/core/rules/evaluate.ts';
import { type ActingInputs, isAllAtRest } from '../../../src/pipeline/act/lane-at-rest.ts';
import { actOn, NOTHING_ACTED } from '../../../src/pipeline/act/route-decisions.ts';
import type { WatchedAccount } from '../../../src/pipeline/pipeline-context.ts';
import { type Observation, snapshotOf } from '../../../src/pipeline/poll/observe-account.ts';
import { Driver } from '../../core/lanes/driver.ts';
import { action, MARKET, protect } from '../../core/lanes/fixtures.ts';
import {
  at,
  below,
  d,
  list,
  position,
  positionsSnapshot,
  read,
  rule,
  settings,
} from '../../core/rules/fixtures.ts';
import { storedWith } from '../../core/view/fixtures.ts';

/** Mark 90, liquidation at 81: the stop stands 6 % away. */
const shown = position({ market: MARKET, positionId: '42' });
const request = action(protect);
const rules = compileRules(
  [rule('position', below('liquidationDistance', 0.5), { id: request.ruleId, actions: [protect] })],
  settings({ accountId: 'desk' }),
);
const account = { id: 'desk', rules } as unknown as WatchedAccount;
const readOf = (record: PositionRecord) =>
  readPositions({ ...positionsSnapshot([record]), accountId: 'desk' }, emptyAccountState('desk'), rules).get(
    MARKET,
  ) ?? [];

function resting(): Driver {
  const driver = new Driver().read(...readOf(shown)).ask(request);
  driver.place();
  driver.later(1_000).read(...readOf(shown));
  expect(driver.next()).toMatchObject({ kind: 'idle', why: 'setInPlace' });
  return driver;
}

const OTHERS = [
  'left',
  'gone',
  'order',
  'market',
  'epoch',
  'shared',
  'waiting',
  'inconclusive',
  'step',
] as const;
type Other = 'none' | (typeof OTHERS)[number];

interface Change {
  readonly pnl: string;
  readonly amount: string;
  readonly liquidation: string;
  readonly isComplete: boolean;
  readonly isNew: boolean;
  readonly isAsked: boolean;
  /** `left`: the lane was left out of the commit that asked for its stop; `gone`: and there was none before. */
  readonly other: Other;
}

const usual: Change = {
  pnl: '-20',
  amount: '2',
  liquidation: '81',
  isComplete: true,
  isNew: true,
  isAsked: true,
  other: 'none',
};

function built({ pnl, amount, liquidation, isComplete, isNew, isAsked, other }: Change) {
  const driver = resting();
  const record = position({
    market: MARKET,
    positionId: '42',
    unrealizedPnl: d(pnl),
    amount: d(amount),
    liquidationPrice: d(liquidation),
  });
  const beside = other === 'market' ? [position({ market: 'ETH_PERP', positionId: '43' })] : [];
  const value = list([record, ...beside], isComplete);
  const nowMs = driver.nowMs + 1_000;
  const observation = {
    sources: { positions: read(value) },
    at: at(0),
    positions: {
      isNew,
      list: value,
      sentAtMs: nowMs - 20,
      receivedAtMs: nowMs - 10,
      earlier: () => [],
      sizesBefore: new Map(),
    },
    readings: undefined,
    failures: [],
    kept: {},
  } as Observation;
  const key = actionKey(request, null);
  const waiting = other === 'waiting' ? { waiting: { key: { sinceMs: nowMs, failed: false } } } : {};
  const order = { id: 'op0', author: 'ann', reason: 'r', atMs: 0, kind: 'withdraw', orderId: 'op1' } as const;
  const stored = storedWith(
    {
      requests: { version: 1, atMs: 0, conclusive: true, active: [request] },
      routes: { version: 1, routes: { [key]: [{ positionId: '42', market: MARKET }] }, ...waiting },
      ...(other === 'order' ? { inbox: { version: 1, orders: [order as never] } } : {}),
    },
    {
      accountId: 'desk',
      lanes: lanesOf(driver, other),
      epoch: { id: other === 'epoch' ? 'another' : 'epoch', why: 'empty', sinceMs: 0 },
    },
  );
  const step = other === 'step' ? { byMs: 60_000, untilMs: nowMs + 1_000 } : null;
  const inputs: ActingInputs = {
    account,
    stored,
    controls: NO_CONTROLS,
    observation,
    now: at(0),
    moment: { nowMs, step },
    ...(other === 'shared' ? { sharedWith: 'desk-2' } : {}),
  };
  const snapshot = snapshotOf(observation, stored);
  const calm = evaluate({ snapshot, state: emptyAccountState('desk'), now: at(0) }, rules);
  const evaluation = { ...calm, active: isAsked ? [request] : [] };
  return { inputs, snapshot, evaluation, conclusive: other !== 'inconclusive' };
}

/** With the read that the lane has taken, so that only what it knows differs. */
function lanesOf({ state }: Driver, other: Other): StoredAccount['lanes'] {
  if (other === 'gone') return new Map();
  return new Map([[MARKET, other === 'left' ? { ...state, covers: [], orders: [] } : state]]);
}

function rests(change: Change): boolean {
  const { inputs, snapshot, evaluation, conclusive } = built(change);
  return isAllAtRest({ ...inputs, snapshot, evaluation, conclusive });
}

test('an account whose stops stand far from the market is at rest', () => {
  expect(rests(usual)).toBe(true);
  expect(rests({ ...usual, isNew: false })).toBe(true);
});

test.each<[string, Partial<Change>]>([
  ['the market moves', { pnl: '-22' }],
  ['the position is smaller', { amount: '1.9' }],
  ['liquidation comes nearer', { liquidation: '82' }],
  ['the list is not complete', { isComplete: false }],
  ['the stop is not asked for any more', { isAsked: false }],
  ['an operator orders something', { other: 'order' }],
  ['a position is opened in a market without a lane', { other: 'market' }],
  ['the store begins a new epoch', { other: 'epoch' }],
  ['another account acts in its place', { other: 'shared' }],
  ['an action still waits for its positions', { other: 'waiting' }],
  ['the evaluation proves less than the one before', { other: 'inconclusive' }],
  ['the clock is set ahead', { other: 'step' }],
  ['the lane was left out of the commit that asked for the stop', { other: 'left' }],
  ['the lane was left out, and there was none', { other: 'gone' }],
])('an account is not at rest when %s', (_, change) => {
  expect(rests({ ...usual, ...change })).toBe(false);
});

test('acting on an account at rest changes nothing', () => {
  const often = <T>(value: T, ...others: readonly T[]) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(value) },
      { weight: 1, arbitrary: fc.constantFrom(...others) },
    );
  const changes = fc.record({
    pnl: often('-20', '-20.4', '-19.7', '-25', '-10'),
    amount: often('2', '1.9', '3'),
    liquidation: often('81', '81.1', '70'),
    isComplete: often(true, false),
    isNew: often(true, false),
    isAsked: often(true, false),
    other: often<Other>('none', ...OTHERS),
  });
  const seen = { resting: 0, busy: 0 };
  fc.assert(
    fc.property(changes, (change) => {
      const { inputs, snapshot, evaluation, conclusive } = built(change);
      if (!isAllAtRest({ ...inputs, snapshot, evaluation, conclusive })) {
        seen.busy += 1;
        return;
      }
      seen.resting += 1;
      const { documents, ...acted } = actOn({ ...inputs, snapshot, evaluation, conclusive });
      const { limits: _, ...others } = documents;
      expect({ ...acted, documents: others }).toEqual(NOTHING_ACTED);
    }),
    { numRuns: 500 },
  );
  expect(seen.resting).toBeGreaterThan(50);
  expect(seen.busy).toBeGreaterThan(50);
});
