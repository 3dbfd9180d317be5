import { expect, test } from 'vitest';
import { openExchange } from '../../contract/support/world.ts';
import { eventually, openWorld, type World } from '../world.ts';

const RULE = `  - id: many
    on: account
    when: { recordsSetAside: { above: 0 } }
    keepFiringFor: 60s
    do: [{ reduce: { by: 50%, slippage: 1%, positions: "*" } }]
`;

const vain = ({ events }: World) =>
  events.flatMap((event) =>
    event.kind === 'audited' && event.event.reason === 'failed:positionsUnknown' ? [event.event] : [],
  );

test('a rule whose positions are unknown, as the only record is always broken, fails with an alarm, and acts once the record is whole', async () => {
  const simulator = await openExchange({ speed: 1 });
  const fault = simulator.injectFault({
    effect: { kind: 'badRecord' },
    target: { account: 'long', endpoint: 'openPositions' },
  });
  const world = openWorld(simulator, {
    accounts: { long: { rules: ['many'] } },
    rules: RULE,
    // Longer than the fence of a market that is seen for the first time.
    acting: '{ fillWithin: 1s, intentTtl: 8s }',
  });
  world.start();
  await eventually(
    () => vain(world).length > 0,
    'the failure',
    () => [world.events.slice(-20), world.errors],
  );
  expect(vain(world)).toMatchObject([{ ruleId: 'many', alarm: true, accountId: 'long' }]);
  const alarm = world.notices.find(({ kind }) => kind === 'alarm');
  expect(alarm).toMatchObject({ ruleId: 'many', subject: 'account' });
  expect(alarm?.words).toMatch(/positions/);
  const polled = () => world.events.filter(({ kind }) => kind === 'evaluated').length;
  const after = polled() + 5;
  await eventually(() => polled() >= after, 'further polls');
  expect(vain(world)).toHaveLength(1);
  const orders = () => simulator.ledger({ accountId: 'long', kinds: ['order_placed'] });
  expect(orders()).toEqual([]);
  expect(JSON.stringify(await world.state.audit.tail('long', 20))).toContain('failed:positionsUnknown');
  simulator.clearFaults(fault);
  await eventually(
    () => orders().length > 0,
    'an order',
    () => world.errors,
  );
});
