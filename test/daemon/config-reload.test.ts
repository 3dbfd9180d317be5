import { expect, test } from 'vitest';
import type { PageOverview } from '../../src/web/page/contract.d.ts';
import { verdictOf } from '../../src/web/page/danger.js';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
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

test('a changed file is loaded automatically', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(10) });
  await world.start();
  await polls(world, 'long', 4);
  expect(ours(simulator, 'long')).toEqual([]);
  // The watchdog has seen the file at least once before it changes.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await world.write({ accounts: ACCOUNTS, rules: rule(0.3) });
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('a broken file never replaces a working one, and its error is reported', async () => {
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
  // The daemon also checks the file itself, and may have found one of the errors.
  expect(world.events.filter(({ kind }) => kind === 'configRefused').length).toBeGreaterThanOrEqual(3);
});

test('a refused reload shows on the page and in the metric until a file is accepted', async () => {
  const simulator = await openScene();
  const parts = { accounts: ACCOUNTS, rules: rule(10) };
  const world = await openDaemonWorld(simulator, parts);
  const daemon = await world.start();
  const seen = async () => {
    const [page, metrics] = await Promise.all(
      ['/api/v1/overview', '/metrics'].map(
        async (path) => await (await fetch(`${daemon.webUrl()}${path}`)).text(),
      ),
    );
    const { sentence } = verdictOf(JSON.parse(page ?? '') as PageOverview);
    return [
      /config file is refused/.test(sentence),
      /degraded\{reason="config"\} (\d)/.exec(metrics ?? '')?.[1],
    ];
  };
  expect(await seen()).toEqual([false, '0']);
  await world.write('mode: [');
  await daemon.reload();
  expect(await seen()).toEqual([true, '1']);
  await world.write(parts);
  await daemon.reload();
  expect(await seen()).toEqual([false, '0']);
});

test('an unchanged rule keeps its state over a reload; a changed one starts fresh', async () => {
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
  expect((await daemon.reload()).kind).not.toBe('refused');
  await polls(world, 'long', 3);
  const after = await episodes();
  expect(after['kept']).toBe(before['kept']);
  expect(after['edited']).toBeGreaterThan(before['edited'] ?? 0);
});

test('keys are read again: an account continues with its rotated key', async () => {
  const simulator = await openScene();
  const env: Record<string, string> = { ...environment(simulator), SECRET_long: 'not-the-secret' };
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(0.3) });
  const daemon = await world.start({ env });
  const refused = () => world.events.some((event) => event.kind === 'read' && event.outcome === 'failed');
  await eventually(refused, 'a refused read', () => troubles(world.events));
  expect(ours(simulator, 'long')).toEqual([]);
  env['SECRET_long'] = environment(simulator)['SECRET_long'] ?? '';
  expect((await daemon.reload()).kind).not.toBe('refused');
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('an added account is polled at once, a removed one no more', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(10) });
  const daemon = await world.start();
  await polls(world, 'long', 2);
  await world.write({ accounts: { short: { rules: ['rule'] } }, rules: rule(10) });
  expect((await daemon.reload()).kind).not.toBe('refused');
  await polls(world, 'short', 3);
  const from = world.events.length;
  await polls(world, 'short', 3);
  const since = world.events
    .slice(from)
    .filter((event) => event.kind === 'evaluated' && event.accountId === 'long');
  expect(since).toEqual([]);
});

test('a process without the web server opens the probe listener that its config sets', async () => {
  const simulator = await openScene();
  const parts = { accounts: ACCOUNTS, rules: rule(10) };
  const world = await openDaemonWorld(simulator, { ...parts, web: '{ port: 0, health: { port: 0 } }' });
  const daemon = await world.start({ roles: ['poll', 'act'] });
  const url = daemon.healthUrl() ?? '';
  expect(daemon.webUrl()).toBeUndefined();
  await polls(world, 'long', 2);
  expect(await (await fetch(`${url}/healthz`)).text()).toBe('ok\n');
  await eventually(async () => (await fetch(`${url}/readyz`)).ok, 'ready');
  // It closes the listener once the config has none.
  await world.write(parts);
  expect((await daemon.reload()).kind).not.toBe('refused');
  expect(daemon.healthUrl()).toBeUndefined();
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  // A listener that cannot open makes the new config refused.
  await world.write({ ...parts, web: `{ port: 0, health: { port: ${new URL(simulator.baseUrl).port} } }` });
  expect(await daemon.reload()).toMatchObject({ kind: 'refused' });
  const other = await world.start({ roles: ['poll'], ordinal: 1, healthPort: 0 });
  expect((await fetch(`${other.healthUrl()}/healthz`)).status).toBe(200);
});

test('a reload in progress when the daemon stops leaves no web server behind', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rule(10) });
  const daemon = await world.start();
  const url = daemon.webUrl() ?? '';
  await world.write({ accounts: ACCOUNTS, rules: rule(10), web: '{ port: 0, names: [watch.example] }' });
  const reloading = daemon.reload();
  expect(await daemon.stop('enough', 30_000)).toBe(true);
  await reloading;
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  expect((await daemon.reload()).kind).toBe('refused');
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

test.runIf(hasRedisServer())(
  'a config read while Redis is lost is in force, says so, and gets its schedules when Redis is back',
  async () => {
    const server = await startRedisServer({ persistent: true });
    const simulator = await openScene();
    closeAfterTest(() => server.stop());
    const parts = { accounts: ACCOUNTS, rules: rule(10) };
    const world = await openDaemonWorld(simulator, parts, { redis: { url: server.url, prefix: 'bw' } });
    const daemon = await world.start();
    await polls(world, 'long', 2);
    await server.kill();
    await eventually(() => daemon.shared!.redis.status !== 'ready', 'the loss noticed');
    await world.write({ ...parts, rules: rule(0.3), cadence: '{ calm: 600ms, alert: 200ms }' });
    expect((await daemon.reload()).kind).not.toBe('refused');
    expect(daemon.config().accounts[0]?.settings.cadence).toEqual({ calmMs: 600, alertMs: 200 });
    await server.start();
    const paces = async () =>
      (await daemon.shared!.queues.poll.getJobSchedulers()).map(({ every }) => Number(every));
    await eventually(
      async () => (await paces().catch(() => [])).join() === '200',
      'the new pace of the ticks',
      () => troubles(world.events),
    );
    await eventually(
      () => ours(simulator, 'long').length > 0,
      'an order by the new rule',
      () => troubles(world.events),
    );
  },
);
