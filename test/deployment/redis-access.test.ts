import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { examineRedis } from '../../src/queues/redis-sanity.ts';
import { json, openOperatorWorld } from '../cli/operator.ts';
import { closeAfterTest, openExchange } from '../contract/support/world.ts';
import { configText } from '../daemon/config.ts';
import { polls } from '../daemon/scene.ts';
import { openDaemonWorld } from '../daemon/world.ts';
import { run } from '../prometheus/promtool.ts';
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

test('a password that is sent to a Redis without one does not count', async ({ skip }) => {
  if (!hasRedisServer()) skip(NOT_HERE);
  const open = await server();
  expect(await accessOf(open.url)).toMatchObject({ level: 'error', cure: expect.any(String) as string });
  expect(await accessOf(open.url.replace('//', '//:sesame@'))).toMatchObject({ level: 'error' });
  const closed = await server('--requirepass', 'sesame');
  expect(await accessOf(closed.url.replace('//', '//:sesame@'))).toMatchObject({ level: 'ok' });
});

test('in enforce mode a Redis without a password stops the start and fails doctor, and nobody is kept from a pause', async () => {
  const world = await openOperatorWorld();
  const text = await readFile(world.configFile, 'utf8');
  // Its address says it has one: only asking tells.
  const env = { ...world.env, REDIS: world.redisUrl.replace('//', '//:sesame@') };
  await world.write(text.replace('insecure: [redis]\n', '').replace(`"${world.redisUrl}"`, '{ env: REDIS }'));
  await expect(world.start({ env })).rejects.toThrow(/asks for no password.*insecure: \[redis\]/);
  const doctor = await world.cli(['doctor', '--json'], { env });
  const checks = json(doctor)['checks'] as { name: string; status: string }[];
  expect(checks.filter(({ status }) => status === 'failed')).toMatchObject([{ name: 'redis.access' }]);
  expect(await world.cli(['pause', '--reason', 'test', '--json'], { env })).toMatchObject({ exitCode: 0 });
});

test('the users of Compose: the daemon does its work with its own keys alone, and nobody else comes in', async ({
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

const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 0.1% } }
    do: [{ reduce: { by: 10%, slippage: 1% } }]
`;
