import { expect, test } from 'vitest';
import { type ApprovalQuestion, type Approvals, stageKeyOf } from '../../../src/core/approvals/question.ts';
import { admitEpisodes, type LimitLedger } from '../../../src/core/intents/gate.ts';
import { actionKey } from '../../../src/core/intents/intent.ts';
import { approvalsOnClock, inEpoch, ledgerOnClock } from '../../../src/core/lanes/lane-clock.ts';
import { newLane } from '../../../src/core/lanes/lane-state.ts';
import { NO_ROUTES, type RouteState, routeRequests } from '../../../src/core/lanes/route-requests.ts';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec, Mode, SubjectKind } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { Dice } from '../../support/dice.ts';
import { KeptHash } from '../../support/kept-hash.ts';
import { position } from '../rules/fixtures.ts';
import { action, settings } from './fixtures.ts';

/**
 * Polls of an account with random rules and lists that lack positions. A hash covers where each action goes, which
 * wait, which episodes the limits admit, and how steps of the clock change all that.
 */

const START_MS = 10_000_000;
const TTL_MS = 10_000;

const SPECS: readonly [ActionSpec, ...ActionSpec[]] = [
  { kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.01] },
  { kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.01], positions: ['ETH_*'] },
  { kind: 'reduce', target: { kind: 'untilJointDistance', distance: 0.1 }, slippageSteps: [0.01] },
  {
    kind: 'reduce',
    target: { kind: 'untilMarginUsage', asset: 'USDT', usage: 0.5 },
    slippageSteps: [0.01],
    positions: ['*_PERP', 'B*'],
  },
  { kind: 'protect', at: 0.5, slippage: 0.01, positions: ['BTC_PERP'] },
  { kind: 'protect', at: 0.5, slippage: 0.01 },
  { kind: 'cancelAll', types: ['futures'], scope: 'market' },
  { kind: 'cancelAll', types: ['spot'], scope: 'account' },
  { kind: 'notify', channels: ['ops'], cure: [] },
];

function requestOf(dice: Dice, nowMs: number, index: number): ActionRequest {
  const subjectKind = dice.of<SubjectKind>('position', 'account', 'creditLine');
  const subject = subjectKind === 'position' ? `position:${dice.of('41', '42', '43')}` : subjectKind;
  return action(dice.of(...SPECS), {
    ruleId: dice.of('near', 'ltv'),
    subjectKind,
    subject,
    episode: dice.of(1, 2, 3),
    stage: dice.of(0, 0, 1),
    actionIndex: index,
    mode: dice.of<Mode>('enforce', 'enforce', 'observe', 'approve'),
    atMs: nowMs - dice.of(0, 1_000, 5_000),
    exemptFromLimits: dice.hits(0.1),
  });
}

const MARKETS = ['BTC_PERP', 'ETH_PERP', 'ETH_USDT', 'BTC_USDT'] as const;

function positionsOf(dice: Dice, nowMs: number): readonly PositionRecord[] {
  const isEmpty = dice.hits(0.4);
  const ids = ['41', '42', '43', '44'].filter(() => !isEmpty && dice.hits(0.6));
  return ids.map((positionId, index) => positionOf(dice, positionId, MARKETS[index] ?? 'BTC_PERP', nowMs));
}

function positionOf(dice: Dice, positionId: string, usual: string, nowMs: number): PositionRecord {
  return position({
    positionId,
    market: dice.hits(0.9) ? usual : dice.of(...MARKETS),
    openDate: dice.of(undefined, 1, 2, nowMs / 1_000, nowMs / 1_000 - 1),
  });
}

function approvalsOf(dice: Dice, requests: readonly ActionRequest[], nowMs: number): Approvals {
  const asked = requests.filter(({ mode }) => mode === 'approve');
  return {
    version: 1,
    questions: asked.map((request, index) => questionOf(dice, request, `q${index}`, nowMs)),
    ...(dice.hits(0.3) ? { rebasedMs: nowMs + dice.of(-500, 0, 500) } : {}),
  };
}

const STATES = ['waiting', 'approved', 'vetoed', 'unanswered', 'released'] as const;

function questionOf(dice: Dice, request: ActionRequest, id: string, nowMs: number): ApprovalQuestion {
  return {
    id,
    stageKey: stageKeyOf(request),
    openedMs: nowMs + dice.of(-5_000, 0, 1_000, 1_500),
    untilMs: nowMs + 60_000,
    state: dice.of(...STATES),
    asked: [{ revision: 1, atMs: nowMs - 1_000, targets: [] }],
    ...(dice.hits(0.5) ? { askedMs: nowMs + dice.of(-500, 1_500) } : {}),
  };
}

test.for([1, 2, 3, 4, 5, 6])('routes, limits and clocks by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const kept = new KeptHash();
  let routes: RouteState = NO_ROUTES;
  let ledger: LimitLedger = { version: 1, admitted: [] };
  let nowMs = START_MS;
  let active: readonly ActionRequest[] = [];
  for (let poll = 0; poll < 120; poll += 1) {
    nowMs += dice.of(500, 1_000, 1_000, 5_000, 10_000, 600_000, -2_000);
    active = [
      ...active.filter(() => dice.hits(0.8)),
      ...(dice.hits(0.6) ? [requestOf(dice, nowMs, poll)] : []),
    ];
    const conclusive = dice.hits(0.7);
    const complete = dice.hits(0.6);
    const sizes = new Map([dice.of('41', '42'), '43'].map((id) => [id, dice.of('0', '1') as DecimalString]));
    const planned = dice.hits(0.7) ? sizes : undefined;
    const routed = routeRequests(routes, {
      active,
      conclusive,
      positions: positionsOf(dice, nowMs),
      complete,
      accountId: 'desk',
      intentTtlMs: TTL_MS,
      nowMs,
      plan: (request, target, refs) => {
        kept.add('plan', [request.ruleId, target, refs]);
        return planned;
      },
    });
    kept.add('routed', routed);
    routes = dice.hits(0.5) ? routed.state : (JSON.parse(JSON.stringify(routed.state)) as RouteState);
    const approvals = approvalsOf(dice, active, nowMs);
    const questions = new Map(approvals.questions.map((question) => [question.stageKey, question]));
    const admitted = admitEpisodes(
      ledger,
      {
        active,
        conclusive,
        limitsOf: (ruleId) => (ruleId === 'near' ? { cooldownMs: 600_000, perHour: 2 } : { perHour: 1 }),
        gate: {
          paused: dice.hits(0.1),
          silencedRules: dice.hits(0.1) ? ['ltv'] : [],
          silencedSubjects: dice.hits(0.1) ? [{ ruleId: 'near', subject: 'position:41' }] : [],
          questions,
        },
      },
      nowMs,
    );
    kept.add('admitted', admitted);
    ledger = admitted.ledger;
    const step = dice.of(null, { byMs: 5_000, untilMs: nowMs + dice.of(-500, 0, 500) });
    const moment = { nowMs: nowMs + dice.of(0, -1_000, -1_500), step };
    const aged = dice.hits(0.3) ? { ...ledger, rebasedMs: nowMs + dice.of(-500, 0, 500) } : ledger;
    kept.add('on clock', [ledgerOnClock(aged, moment), approvalsOnClock(approvals, moment)]);
    const lane = { ...newLane('desk', 'BTC_PERP', dice.of('epoch', 'earlier'), nowMs), doubt: null };
    const stored = {
      accountId: 'desk',
      epoch: { id: 'epoch' },
      lanes: new Map(dice.hits(0.7) ? [['BTC_PERP', lane]] : []),
    } as unknown as Parameters<typeof inEpoch>[0];
    kept.add('in epoch', inEpoch(stored, 'BTC_PERP', settings, moment));
    kept.add(
      'keys',
      active.map((request) => actionKey(request, null)),
    );
  }
  expect(kept.text).toMatchSnapshot();
});
