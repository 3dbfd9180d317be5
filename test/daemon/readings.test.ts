import { expect, test } from 'vitest';
import type { Readings } from '../../src/simulator/model/readings.ts';
import { sliceOf } from '../support/slice.ts';
import { drift, hasFilled, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const HALVE = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: [1%, 2%] } }]
  - id: short
    on: position
    where: { direction: short }
    when: { notional: { above: 28000 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: [1%, 2%] } }]
`;

interface Case {
  readonly name: string;
  readonly readings: Partial<Readings>;
  readonly exchange?: string;
  readonly account?: 'long' | 'short';
}

/** Every reading that affects orders, each with one lost reply, through the same core. */
const CASES: readonly Case[] = [
  { name: 'ids unique among open orders', readings: { clientOrderIdUniqueness: 'openOrders' } },
  {
    name: 'cancel-all does not reach stops',
    readings: { cancelCoversStops: 'no' },
    exchange: '  cancelCoversStops: no',
  },
  { name: 'stops trigger on the mark price', readings: { stopTriggerSource: 'mark' } },
  { name: 'equality does not trigger', readings: { stopTriggersAtEquality: 'no' } },
  { name: 'requests arrive late', readings: { lateArrivalMs: 150 } },
  { name: 'shorts are signed', readings: { shortAmount: 'signed' }, account: 'short' },
  {
    name: 'shorts are not signed',
    readings: { shortAmount: 'unsigned' },
    exchange: '  bothSign: unsigned',
    account: 'short',
  },
  { name: 'camel case', readings: { orderFieldSpelling: 'camel' } },
  { name: 'reads lag', readings: { readLagMs: 300 }, exchange: '  readLag: 300ms' },
  { name: 'nonces increase', readings: { nonceRule: 'increasing' }, exchange: '  nonce: increasing' },
  { name: 'reduce-only orders outlive their position', readings: { reduceOnlyAfterClose: 'kept' } },
  { name: 'validation is 422 with code 0', readings: { validationStatus: '422', validationCode: '0' } },
  { name: 'success has no body', readings: { successBody: 'nothing' } },
];

test.each(sliceOf(CASES, 4, 'readings with a lost reply'))(
  'a lost reply where $name: the target is reached, not passed',
  async ({ readings, exchange, account = 'long' }) => {
    const simulator = await openScene({ readings });
    simulator.injectFault({ effect: { kind: 'lostReply' }, target: { endpoint: 'stopLimit' }, count: 1 });
    const rules = {
      accounts: { [account]: { rules: [account === 'long' ? 'rule' : 'short'] } },
      rules: HALVE,
    };
    const world = await openDaemonWorld(simulator, exchange === undefined ? rules : { ...rules, exchange });
    await world.start();
    await eventually(
      () => ours(simulator, account).length > 0,
      'an order',
      () => troubles(world.events),
    );
    await polls(world, account, 3);
    const step = account === 'long' ? -0.0005 : 0.0005;
    await drift(simulator, step, () => hasFilled(simulator, account, 0.5), 'a fill', world);
    await polls(world, account, 8);
    await drift(simulator, step, () => sizeOf(simulator, account) <= 0.2501, 'the target', world);
    await polls(world, account, 8);
    expect(sizeOf(simulator, account)).toBeCloseTo(0.25, 3);
  },
);
