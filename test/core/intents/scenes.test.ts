import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import {
  admittedOf,
  askGate,
  boundChange,
  failExhausted,
  mayRemove,
} from '../../../src/core/intents/admission.ts';
import type { GateContext } from '../../../src/core/intents/gate.ts';
import { slippageOf } from '../../../src/core/intents/intent.ts';
import { expireIntents } from '../../../src/core/intents/renew.ts';
import { settleIntents } from '../../../src/core/intents/settle-intents.ts';
import type { Intent, IntentBasis, LaneState } from '../../../src/core/lanes/lane-state.ts';
import type { SetScene } from '../../../src/core/orders/want.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { Mode, ReduceTarget } from '../../../src/core/rules/rule.ts';
import { Dice } from '../../support/dice.ts';
import { NOW_MS, sceneOf } from '../orders/scenes.ts';

/**
 * Intents of any kind, in any state, on a market that is read: what settling, expiring and asking the gate make of them
 * is kept for review. `npm test -- test/core/intents/scenes.test.ts --update` writes it anew.
 */

const size = (dice: Dice): DecimalString => dice.of('1', '2', '3', '4', '6') as DecimalString;

const TARGETS: readonly [ReduceTarget, ...ReduceTarget[]] = [
  { kind: 'to', fraction: 0 },
  { kind: 'to', fraction: 0.5 },
  { kind: 'by', fraction: 0.5 },
  { kind: 'toNotional', notional: '2000' },
  { kind: 'untilDistance', distance: 0.1 },
  { kind: 'untilDistance', distance: 0.25 },
  { kind: 'untilJointDistance', distance: 0.1 },
  { kind: 'untilMarginUsage', asset: 'USDT', usage: 0.5 },
];

const ENDS: readonly [Intent['end'], ...Intent['end'][]] = [
  null,
  null,
  null,
  null,
  { how: 'reached', why: 'target' },
  { how: 'reached', why: 'nothingToReduce' },
  { how: 'reached', why: 'positionGone' },
  { how: 'failed', why: 'attempts' },
  { how: 'failed', why: 'hedged' },
  { how: 'failed', why: 'marketNotConfigured' },
  { how: 'failed', why: 'refused:paused' },
  { how: 'failed', why: 'refused:vetoed' },
];

function basisOf(dice: Dice): IntentBasis {
  const sizeBase = size(dice);
  return {
    sizeBase,
    markPrice: dice.of('1000' as DecimalString, '1010' as DecimalString, null),
    distance: dice.of(0.02, 0.04, 0.08, null),
    positionSide: 'BOTH',
    openDate: dice.of(1, 1, 1, null),
    direction: dice.of('long', 'short', null),
    growthBoundBase: dice.of(sizeBase, sizeBase, size(dice)),
  };
}

function intentOf(dice: Dice, intent: Intent, stage: number): Intent {
  const target = dice.of(...TARGETS);
  const isPlanned = target.kind === 'untilJointDistance' || target.kind === 'untilMarginUsage';
  const end = dice.of(...ENDS);
  return {
    ...intent,
    target,
    stage,
    episodeKey: dice.of('rule', 'other'),
    mode: dice.of<Mode>('enforce', 'enforce', 'observe', 'approve'),
    targetBase: dice.of<DecimalString | null>(null, null, '0' as DecimalString, size(dice)),
    basis: dice.hits(0.7) ? basisOf(dice) : null,
    end,
    endedMs: end === null ? null : NOW_MS - dice.of(0, 500, 10_000),
    endDistance: dice.of(0.02, 0.04, 0.08, null),
    stageAtMs: NOW_MS - dice.of(0, 500, 10_000),
    openedMs: NOW_MS - dice.of(0, 500, 10_000),
    deadlineMs: NOW_MS + dice.of(-500, 0, 1, 10_000),
    failures: dice.of(0, 1, 4, 5, 6),
    renewals: dice.of(0, 1, 2, 3),
    ...(isPlanned
      ? { plannedBase: dice.of<DecimalString | null>(null, '0' as DecimalString, size(dice)) }
      : {}),
    ...(dice.hits(0.2) ? { approvedBase: size(dice) } : {}),
  };
}

function laneOf(dice: Dice, { state }: SetScene): LaneState {
  const intents = state.intents.flatMap((intent, index) => [
    { ...intentOf(dice, intent, 0), key: `rule-${index}` },
    ...(dice.hits(0.3) ? [{ ...intentOf(dice, intent, 1), key: `rule-${index}-1` }] : []),
  ]);
  return {
    ...state,
    intents,
    ...(dice.hits(0.3)
      ? {
          margins: [
            {
              positionId: '41',
              openDate: 1,
              direction: dice.of('long', 'short'),
              margin: dice.of('own', 'shared'),
              from: 'list',
            },
          ],
        }
      : {}),
    change: dice.hits(0.3)
      ? {
          why: 'needGrew',
          phase: dice.of('cancel', 'place'),
          startedMs: NOW_MS - dice.of(500, 59_999, 60_000),
          rounds: dice.of(0, 4, 5),
          admitted: ['rule-0'],
        }
      : null,
  };
}

function gateOf(dice: Dice, { intents }: LaneState): GateContext {
  const [intent] = intents;
  return {
    paused: dice.hits(0.2),
    ...(dice.hits(0.1) ? { isShared: true } : {}),
    silencedRules: dice.hits(0.2) ? ['rule-0', 'stop-0'] : [],
    limited:
      intent !== undefined && dice.hits(0.2)
        ? { [intent.episodeKey]: dice.of('cooldown' as const, 'perHour' as const) }
        : {},
    modeOf: () => dice.of<Mode>('enforce', 'observe'),
  };
}

function linesOf(dice: Dice): readonly string[] {
  const scene = sceneOf(dice);
  const lane = laneOf(dice, scene);
  const gate = gateOf(dice, lane);
  const lines: string[] = [];
  const step = (
    what: string,
    make: (state: LaneState, change: Parameters<typeof boundChange>[1]) => LaneState,
  ): void => {
    const audit = recorder('desk', lane.market, NOW_MS);
    const { settings } = scene;
    const after = make(lane, { settings, nowMs: NOW_MS, audit });
    const said = audit.events.map(({ kind, reason, ruleId, targetBase, alarm, words }) =>
      [kind, reason, ruleId, targetBase, alarm ? 'ALARM' : '', words]
        .filter((one) => one !== undefined)
        .join(' '),
    );
    const { covers, cancels, change } = after;
    const held = after.intents.map(({ key, target, targetBase, basis, end, ...intent }) =>
      JSON.stringify([
        key,
        target.kind,
        targetBase,
        basis,
        end,
        intent.endDistance,
        intent.failures,
        intent.renewals,
        intent.deadlineMs,
        intent.refusedBy,
        intent.blockedBy,
        slippageOf({ key, target, targetBase, basis, end, ...intent }),
      ]),
    );
    const others = [...covers, ...cancels].map(({ key, refusedBy }) => `${key} ${refusedBy}`);
    const { intents, covers: stops } = admittedOf(after);
    const admitted = [...intents, ...stops].map(({ key }) => key).join();
    lines.push(`${what}: ${said.join('; ')}`, ...held, `${others.join()} | ${admitted} | ${change?.phase}`);
  };
  step('settled', (state, change) => settleIntents(state, true, change));
  step('settled later', (state, change) => settleIntents(state, false, change));
  step('expired', expireIntents);
  step('exhausted', failExhausted);
  step('bounded', boundChange);
  step('asked', (state, change) => askGate(state, gate, change));
  lines.push(lane.orders.map((order) => mayRemove(order, lane, gate)).join());
  return lines;
}

test('intents, and what becomes of them', async () => {
  const dice = new Dice(5);
  const scenes = Array.from({ length: 30 }, (_, index) => [`-- ${index}`, ...linesOf(dice)].join('\n'));
  const file = path.join(import.meta.dirname, 'transcripts', 'scenes.txt');
  await expect(`${scenes.join('\n')}\n`).toMatchFileSnapshot(file);
});

/** What is rare needs more of them than anybody reads: of these only the hash is kept, of a hundred each. */
test.for([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('a hundred scenes by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 100; index++) hash.update(linesOf(dice).join('\n'));
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});
