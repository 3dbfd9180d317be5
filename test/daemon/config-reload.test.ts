import { expect, test } from 'vitest';
import { environment } from './config.ts';
import { openScene, ours, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const rule = (above: number, id = 'rule') => `  - id: ${id}
    on: position
    when: { amount: { above: ${above} } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const ACCOUNTS = { long: { rules: ['rule'] } };

test('a file that was changed is taken over by itself', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(10) });
  await world.start();
  await polls(world, 'long', 4);
  expect(ours(simulator, 'long')).toEqual([]);
  // The watchdog has looked at the file at least once before it is another one.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await world.write({ accounts: ACCOUNTS, rules: rule(0.3) });
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('a broken file never replaces a working one, and says what is wrong', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(10) });
  const daemon = await world.start();
  const before = daemon.config();
  for (const text of ['', 'mode: [', 'mode: enforce\naccounts: 7\n']) {
    await world.write(text);
    const result = await daemon.reload();
    expect(result.kind).toBe('refused');
  }
  expect(daemon.config()).toBe(before);
  await polls(world, 'long', 3);
  expect(world.events.filter(({ kind }) => kind === 'configRefused')).toHaveLength(3);
});

test('a rule that did not change keeps its state over a reload; one that changed starts fresh', async () => {
  const simulator = await openScene();
  const both = (above: number) => `${rule(0.3, 'kept')}${rule(above, 'edited')}`;
  const accounts = { long: { rules: ['kept', 'edited'] } };
  const world = await openDaemonWorld(simulator, { mode: 'observe', accounts, rules: both(0.35) });
  const daemon = await world.start();
  await polls(world, 'long', 3);
  const episodes = async () => {
    const { load } = await daemon.state.store.read('long');
    if (load.kind !== 'loaded') throw new Error(load.problem.message);
    const slots = load.account.documents.evaluation?.rules ?? [];
    return Object.fromEntries(slots.map(({ ruleId, entries }) => [ruleId, entries[0]?.episode]));
  };
  const before = await episodes();
  await world.write({ mode: 'observe', accounts, rules: both(0.36) });
  expect((await daemon.reload()).kind).toBe('adopted');
  await polls(world, 'long', 3);
  const after = await episodes();
  expect(after['kept']).toBe(before['kept']);
  expect(after['edited']).toBeGreaterThan(before['edited'] ?? 0);
});

test('keys are read again: an account whose key was rotated goes on with the new one', async () => {
  const simulator = await openScene();
  const env: Record<string, string> = { ...environment(simulator), SECRET_long: 'not-the-secret' };
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(0.3) });
  const daemon = await world.start({ env });
  const refused = () => world.events.some((event) => event.kind === 'read' && event.outcome === 'failed');
  await eventually(refused, 'a refused read', () => troubles(world.events));
  expect(ours(simulator, 'long')).toEqual([]);
  env['SECRET_long'] = environment(simulator)['SECRET_long'] ?? '';
  expect((await daemon.reload()).kind).toBe('adopted');
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('an account that is added is polled at once, one that is removed no more', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(10) });
  const daemon = await world.start();
  await polls(world, 'long', 2);
  await world.write({ accounts: { short: { rules: ['rule'] } }, rules: rule(10) });
  expect((await daemon.reload()).kind).toBe('adopted');
  await polls(world, 'short', 3);
  const from = world.events.length;
  await polls(world, 'short', 3);
  const since = world.events
    .slice(from)
    .filter((event) => event.kind === 'evaluated' && event.accountId === 'long');
  expect(since).toEqual([]);
});
