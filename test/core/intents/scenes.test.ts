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
import { operatorIntent, slippageOf, withdrawOperatorIntent } from '../../../src/core/intents/intent.ts';
import { expireIntents } from '../../../src/core/intents/renew.ts';
import { settleIntents } from '../../../src/core/intents/settle-intents.ts';
import { changeLane, type LaneScene } from '../../../src/core/lanes/lane-change.ts';
import type { LaneState } from '../../../src/core/lanes/lane-state.ts';
import { Dice } from '../../support/dice.ts';
import { KeptHash } from '../../support/kept-hash.ts';
import { NOW_MS, sceneOf } from '../orders/scenes.ts';
import { gateOf, laneOf, TARGETS } from './scenes.ts';

/**
 * Random intents in any state on a market: keeps for review how they are settled, expired and judged by the gate.
 * `npm test -- test/core/intents/scenes.test.ts --update` rewrites the transcript.
 */

type Make = (state: LaneState, change: LaneScene) => LaneState;

function stepsOf(gate: GateContext): readonly (readonly [what: string, make: Make])[] {
  return [
    ['settled', (state, change) => settleIntents(state, true, change)],
    ['settled later', (state, change) => settleIntents(state, false, change)],
    ['expired', expireIntents],
    ['exhausted', failExhausted],
    ['bounded', boundChange],
    ['asked', (state, change) => askGate(state, gate, change)],
  ];
}

function linesOf(dice: Dice): readonly string[] {
  const scene = sceneOf(dice);
  const lane = laneOf(dice, scene);
  const gate = gateOf(dice, lane);
  const lines: string[] = [];
  const step = (what: string, make: Make): void => {
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
  for (const [what, make] of stepsOf(gate)) step(what, make);
  lines.push(lane.orders.map((order) => mayRemove(order, lane, gate)).join());
  return lines;
}

test('intents, and what becomes of them', async () => {
  const dice = new Dice(5);
  const scenes = Array.from({ length: 30 }, (_, index) => [`-- ${index}`, ...linesOf(dice)].join('\n'));
  const file = path.join(import.meta.dirname, 'transcripts', 'scenes.txt');
  await expect(`${scenes.join('\n')}\n`).toMatchFileSnapshot(file);
});

/** Rare cases need more scenes than anybody reads: of these only a hash of the whole lanes is kept. */
test.for([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('a hundred scenes by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const kept = new KeptHash();
  for (let index = 0; index < 100; index++) {
    const scene = sceneOf(dice);
    const lane = laneOf(dice, scene);
    const gate = gateOf(dice, lane);
    const { settings } = scene;
    for (const [name, make] of stepsOf(gate)) {
      const after = changeLane(lane, settings, NOW_MS, (change) => make(lane, change));
      kept.add(name, [after.events, after.state.intents, after.state.change, admittedOf(after.state)]);
      kept.add('asked of others', [after.state.covers, after.state.cancels]);
    }
    kept.add('slippage', lane.intents.map(slippageOf));
    kept.add(
      'may go',
      lane.orders.map((order) => mayRemove(order, lane, gate)),
    );
    const asked = {
      id: 'hand',
      positionId: dice.of('41', '42'),
      target: dice.of(...TARGETS),
      slippageSteps: [0.01],
      flatten: dice.hits(0.5),
      ...(dice.hits(0.3) ? { urgent: true as const } : {}),
      because: 'by hand',
    };
    const opened = changeLane(lane, settings, NOW_MS, (change) => operatorIntent(lane, asked, change));
    kept.add('by hand', [opened.events, opened.state.intents.at(-1)]);
    const id = dice.of('hand', 'other');
    const { events, state } = changeLane(opened.state, settings, NOW_MS, (change) =>
      withdrawOperatorIntent(operatorIntent(opened.state, asked, change), id, change),
    );
    kept.add('withdrawn', [events, state.intents]);
  }
  expect(kept.text).toMatchSnapshot();
});
