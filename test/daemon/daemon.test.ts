import { expect, test } from 'vitest';
import type { Daemon } from '../../src/app/daemon.ts';
import { openExchange } from '../contract/support/world.ts';
import { drift, priceOf } from './scene.ts';
import { eventually, keysOf, ledgerOf, openDaemonWorld, troubles, verdictOf } from './world.ts';

const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 8%, clearAbove: 12% } }
    keepFiringFor: 1s
    do:
      - notify: { channels: [log] }
      - cancelAll: { types: [margin, futures], scope: market }
      - reduce: { untilDistance: 25%, slippage: 1% }
`;

/** Far longer than a job arrives after the run of its lane. */
const QUIET_MS = 2_000;

test('queues, workers and schedules turn a breach into an order on the ledger, and leave no job behind', async () => {
  const simulator = await openExchange({ speed: 1 });
  const world = await openDaemonWorld(simulator, { accounts: { long: { rules: ['near'] } }, rules: NEAR });
  const daemon = await world.start();
  await eventually(
    () => world.events.some(({ kind }) => kind === 'evaluated'),
    'an evaluation',
    () => troubles(world.events),
  );
  const size = () => simulator.model.openPositions('long')[0]?.amount.toNumber() ?? 0;
  simulator.setPrice('BTC_PERP', '43000');
  await eventually(
    () => ledgerOf(simulator, 'long', 'order_placed').length > 0,
    'an order',
    () => troubles(world.events),
  );
  // The stop's distance matches the market's recent speed: it fills when the market goes on falling.
  simulator.setPrice('BTC_PERP', '42600');
  // It may fill in parts.
  await drift(simulator, -0.0005, () => size() < 0.13, 'a fill', world);
  // However far the market has moved: no more is closed than a distance of 25 % needs there.
  const mark = priceOf(simulator);
  const liquidation = simulator.model.openPositions('long')[0]?.liquidationPrice?.toNumber() ?? 0;
  expect((mark - liquidation) / mark).toBeLessThan(0.26);
  expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
  await eventually(() => world.events.some(({ kind }) => kind === 'said'), 'a notice');
  const jobs = async () =>
    (await keysOf(world)).filter((key) => /\{queues\}:act:(?!meta|events|id|stalled|pc|marker)/.test(key));
  // While an intent is open, every poll hands its lane over again.
  await eventually(
    async () => !(await hasOpenIntents(daemon)),
    'the end of every intent',
    () => troubles(world.events),
  );
  // A lane that began at once gets its job afterwards.
  let lastJobMs = performance.now();
  const isQuiet = async (): Promise<boolean> => {
    if ((await jobs()).length > 0) lastJobMs = performance.now();
    return performance.now() - lastJobMs > QUIET_MS;
  };
  await eventually(isQuiet, 'no job');
  await daemon.stop('done', 20_000);
  expect(await jobs()).toEqual([]);
});

async function hasOpenIntents({ state }: Daemon): Promise<boolean> {
  const { load } = await state.store.read('long');
  if (load.kind === 'refused') throw new Error(load.problem.message);
  return [...load.account.lanes.values()].some(({ intents }) => intents.some(({ end }) => end === null));
}
