import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { examineRedis } from '../../src/queues/redis-sanity.ts';
import { json, openOperatorWorld, openState } from '../cli/operator.ts';
import { closeAfterTest, openExchange } from '../contract/support/world.ts';
import { configText } from '../daemon/config.ts';
import { drift, openScene, ours, polls, sizeOf } from '../daemon/scene.ts';
import { eventually, openDaemonWorld } from '../daemon/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { run } from '../support/programs.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { ROOT } from './files.ts';

const NOT_HERE = 'no redis-server here to start';

async function server(...args: readonly string[]) {
  const started = await startRedisServer({ args });
  closeAfterTest(() => started.stop());
  return started;
}

async function accessOf(url: string) {
  const redis = new Redis(url);
  closeAfterTest(async () => redis.disconnect());
  const { findings } = await examineRedis(redis, 'error');
  return findings.find(({ aspect }) => aspect === 'access');
}

test('a password sent to a Redis without one does not count', async ({ skip }) => {
  if (!hasRedisServer()) skip(NOT_HERE);
  const open = await server();
  expect(await accessOf(open.url)).toMatchObject({ level: 'error', cure: expect.any(String) as string });
  expect(await accessOf(open.url.replace('//', '//:sesame@'))).toMatchObject({ level: 'error' });
  const closed = await server('--requirepass', 'sesame');
  expect(await accessOf(closed.url.replace('//', '//:sesame@'))).toMatchObject({ level: 'ok' });
});

test('in enforce mode a Redis without a password stops the start and fails doctor', async () => {
  const world = await openOperatorWorld();
  const text = await readFile(world.configFile, 'utf8');
  // Its address has a password: only a probe reveals that none is required.
  const env = { ...world.env, REDIS: world.redisUrl.replace('//', '//:sesame@') };
  await world.write(text.replace('insecure: [redis]\n', '').replace(`"${world.redisUrl}"`, '{ env: REDIS }'));
  await expect(world.start({ env })).rejects.toThrow(/asks for no password.*insecure: \[redis\]/);
  const doctor = await world.cli(['doctor', '--json'], { env });
  const checks = json(doctor)['checks'] as { name: string; status: string }[];
  expect(checks.filter(({ status }) => status === 'failed')).toMatchObject([{ name: 'redis.access' }]);
});

/** A person without `operators.key`, and a Redis that requires a password or none. The address always has one. */
async function unsealed(isGuarded: boolean) {
  const { url } = await server(...(isGuarded ? ['--requirepass', 'sesame'] : []));
  const redis = { url: url.replace('//', '//:sesame@'), prefix: 'unsealed' };
  const simulator = await openExchange({ speed: 1 });
  const parts = { accounts: { long: { rules: ['near'] } }, rules: NEAR };
  const world = await openDaemonWorld(simulator, parts, { redis });
  const lines = configText(simulator, { ...parts, redis: { ...redis, url: 'URL' } }).split('\n');
  const unkeyed = lines.filter((line) => !line.startsWith('operators:')).join('\n');
  await world.write(unkeyed.replace('"URL"', '{ env: REDIS }'));
  const env = { ...world.env, REDIS: redis.url };
  const cli = (...args: readonly string[]) =>
    runCommandLine([...args, '--json', '--config', world.configFile], { env });
  return { world, env, cli };
}

test.skipIf(!hasRedisServer()).each([
  ['none', false, /Redis asks for no password/, /no order by hand is carried out/],
  ['one', true, /close every open position in every market/, /whoever knows the password of Redis can order/],
])(
  'order, doctor and daemon agree on a Redis that asks for %s, regardless of its address',
  async (_, isGuarded, toPerson, toDoctor) => {
    const { world, env, cli } = await unsealed(isGuarded);
    await world.start({ env });
    await polls(world, 'long', 1);
    const order = ['flatten', '--account', 'long', '--market', '*', '--reason', 'test', '--yes'];
    const { stderr, exitCode } = await cli(...order);
    expect(stderr).toMatch(toPerson);
    expect(exitCode).toBe(isGuarded ? EXIT.ok : EXIT.failed);
    const checks = json(await cli('doctor'))['checks'] as { name: string; why: string }[];
    expect(checks.find(({ name }) => name === 'operators')?.why).toMatch(toDoctor);
    const sent = () => world.simulator.requestLog().some(({ path: asked }) => asked.includes('order'));
    if (isGuarded) await eventually(sent, 'an order at the exchange');
    await polls(world, 'long', 5);
    expect(sent()).toBe(isGuarded);
  },
);

test('the password of Redis alone does not make a daemon sell at any price', async ({ skip }) => {
  if (!hasRedisServer()) skip(NOT_HERE);
  const { world, env } = await unsealed(true);
  await world.start({ env });
  await polls(world, 'long', 1);
  await openState(world).controls.submit('long', {
    kind: 'reduce',
    markets: ['*'],
    target: { kind: 'to', fraction: 0 },
    slippageSteps: [0.5],
    flatten: true,
    author: 'ann',
    reason: 'sell everything at any price',
    expiresAtMs: Date.now() + 60_000,
  });
  await eventually(
    () =>
      world.events.some(
        (event) =>
          event.kind === 'audited' &&
          event.event.kind === 'operatorOrderRefused' &&
          event.event.words.includes('operators.maxSlippage'),
      ),
    'a refusal',
  );
  await polls(world, 'long', 2);
  expect(world.simulator.requestLog().filter(({ path: asked }) => asked.includes('order'))).toEqual([]);
});

test('a Redis that does not reveal whether it requires a password counts as unguarded', async ({ skip }) => {
  if (!hasRedisServer()) skip(NOT_HERE);
  const { url } = await server();
  const redis = new Redis(url.replace('//', '//:sesame@'));
  closeAfterTest(async () => redis.disconnect());
  await redis.config('SET', 'maxclients', '1');
  const { isGuarded, findings } = await examineRedis(redis, 'error');
  expect([isGuarded, findings[0]]).toMatchObject([
    false,
    {
      aspect: 'access',
      level: 'warning',
      words: expect.stringContaining('could not be found out') as string,
    },
  ]);
});

test('the users of Compose: the daemon works with its own keys alone, and nobody else gets in', async ({
  skip,
}) => {
  if (!hasRedisServer()) skip(NOT_HERE);
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-acl-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const folders = ['daemon', 'prometheus', 'grafana', 'redis'].map((name) => path.join(folder, name));
  for (const each of folders) await mkdir(each);
  const script = new URL('config/compose/make-secrets.sh', ROOT).pathname;
  const make = () => run('sh', [script, ...folders]);
  expect(await make()).toMatchObject({ code: 0 });
  const [daemon = '', , , redisFolder = ''] = folders;
  const written = await readFile(path.join(daemon, 'redis-url'), 'utf8');
  expect(await make()).toMatchObject({ code: 0 });
  expect(await readFile(path.join(daemon, 'redis-url'), 'utf8')).toBe(written);
  expect((await stat(path.join(redisFolder, 'users.acl'))).mode & 0o007).toBe(0);

  const { port } = await server('--aclfile', path.join(redisFolder, 'users.acl'));
  const url = written.replace('redis:6379', `127.0.0.1:${port}`);
  expect(await accessOf(url)).toMatchObject({ level: 'ok' });
  const simulator = await openExchange({ speed: 1 });
  const parts = { accounts: { long: { rules: ['near'] } }, rules: NEAR };
  const world = await openDaemonWorld(simulator, parts, {
    redis: { url: 'redis://127.0.0.1', prefix: 'breakwater' },
  });
  const text = configText(simulator, { ...parts, redis: { url: 'URL', prefix: 'breakwater' } });
  await world.write(text.replace('insecure: [redis]\n', '').replace('"URL"', '{ env: REDIS }'));
  await world.start({ env: { ...world.env, REDIS: url } });
  await polls(world, 'long', 3);
  expect(world.events.filter(({ kind }) => kind === 'workerError')).toEqual([]);

  const user = new Redis(url);
  closeAfterTest(async () => user.disconnect());
  for (const [command, ...args] of [
    ['flushall'],
    ['set', 'other', '1'],
    ['config', 'set', 'dir', '/'],
    ['acl', 'list'],
  ]) {
    await expect(user.call(command ?? '', ...args)).rejects.toThrow(/NOPERM/);
  }
});

/** The user that the documentation gives to the daemon. */
async function documentedUser(password: string): Promise<string> {
  const page = await readFile(new URL('docs/operations.md', ROOT), 'utf8');
  const [, rules = ''] = /```text\n(user default [^`]*)```/.exec(page) ?? [];
  const [rights] = /(?<=>PASSWORD ).*/.exec(rules) ?? expect.fail('no rights');
  const compose = await readFile(new URL('config/compose/make-secrets.sh', ROOT), 'utf8');
  expect(compose).toContain(`>$password ${rights}"`);
  return rules.replace('>PASSWORD ', `>${password} `);
}

test('the documented user: the daemon reduces, people work and read, and no command is refused', async ({
  skip,
}) => {
  if (!hasRedisServer()) skip(NOT_HERE);
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-acl-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'users.acl');
  await writeFile(file, `${await documentedUser('sesame')}user admin on >master allkeys allchannels +@all\n`);
  const { port } = await server('--aclfile', file);
  const simulator = await openScene();
  const rules = HALVE;
  const accounts = { long: { rules: ['rule'] } };
  const redis = { url: 'redis://127.0.0.1', prefix: 'breakwater' };
  const world = await openDaemonWorld(simulator, { accounts, rules }, { redis });
  const web = '{ port: 0 }';
  // In this mode nonces also need the mutex and its channel.
  const exchange = '  nonce: increasing';
  const text = configText(simulator, { accounts, rules, web, exchange, redis: { ...redis, url: 'URL' } });
  await world.write(text.replace('insecure: [redis]\n', '').replace('"URL"', '{ env: REDIS }'));
  const env = { ...world.env, REDIS: `redis://breakwater:sesame@127.0.0.1:${port}/0` };
  const daemon = await world.start({ env });
  await polls(world, 'long', 3);
  await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.251, 'a fill', world);

  const cli = async (...args: readonly string[]) =>
    await runCommandLine([...args, '--config', world.configFile], { env });
  const by = ['--reason', 'test', '--author', 'ann'];
  const of = ['--account', 'long'];
  for (const args of [
    ['doctor'],
    ['status'],
    ['pause', ...of, ...by],
    ['resume', ...of, ...by],
    ['silence', '--rule', 'rule', ...of, '--for', '1h', ...by],
    ['flatten', ...of, '--market', 'BTC_PERP', '--yes', ...by],
    ['audit', 'tail', ...of],
    ['audit', 'verify', ...of],
    ['audit', 'export', ...of],
    ['audit', 'prune', ...of, '--keep', '5', '--out', path.join(folder, 'pruned'), '--yes', ...by],
    ['digest'],
  ]) {
    const { exitCode, stderr, stdout } = await cli(...args);
    expect({ args, exitCode, said: exitCode === 0 ? '' : stderr + stdout }).toEqual({
      args,
      exitCode: 0,
      said: '',
    });
  }
  for (const page of ['/', '/metrics', '/api/v1/accounts', '/queues/api/queues']) {
    expect([page, (await fetch(`${daemon.webUrl() ?? ''}${page}`)).status]).toEqual([page, 200]);
  }
  await polls(world, 'long', 3);
  expect(world.events.filter(({ kind }) => kind === 'workerError' || kind === 'standby')).toEqual([]);

  const admin = new Redis(`redis://admin:master@127.0.0.1:${port}`);
  closeAfterTest(async () => admin.disconnect());
  const log = (await admin.call('ACL', 'LOG')) as unknown[][];
  // The queues' page would list the workers, and works without that.
  const refused = log.filter((entry) => !entry.includes('default') && !entry.includes('client|list'));
  expect(refused).toEqual([]);

  const user = new Redis(`redis://breakwater:sesame@127.0.0.1:${port}`);
  closeAfterTest(async () => user.disconnect());
  await user.set('breakwater:ours', '1', 'PX', 1);
  for (const [command, ...args] of [
    ['get', 'other'],
    ['set', 'other', '1'],
    ['publish', 'other', '1'],
    ['eval', "return redis.call('GET', 'other')", '0'],
    ['keys', '*'],
    ['flushall'],
    ['config', 'set', 'dir', '/'],
    ['config', 'rewrite'],
    ['script', 'flush'],
    ['function', 'list'],
    ['acl', 'list'],
    ['client', 'kill', 'id', '1'],
    ['replicaof', 'no', 'one'],
    ['module', 'list'],
    ['shutdown'],
  ]) {
    await expect(user.call(command ?? '', ...args)).rejects.toThrow(/NOPERM|can't access/);
  }
});

const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 0.1% } }
    do: [{ reduce: { by: 10%, slippage: 1% } }]
`;

const HALVE = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 9% } }
    keepFiringFor: 1m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
