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
import { slippageOf } from '../../../src/core/intents/intent.ts';
import { expireIntents } from '../../../src/core/intents/renew.ts';
import { settleIntents } from '../../../src/core/intents/settle-intents.ts';
import type { LaneState } from '../../../src/core/lanes/lane-state.ts';
import { Dice } from '../../support/dice.ts';
import { NOW_MS, sceneOf } from '../orders/scenes.ts';
import { gateOf, laneOf } from './scenes.ts';

/**
 * Intents of any kind, in any state, on a market that is read: what settling, expiring and asking the gate make of them
 * is kept for review. `npm test -- test/core/intents/scenes.test.ts --update` writes it anew.
 */

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
