import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { openQueues } from '../../src/queues/producers.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { d, polls } from '../daemon/scene.ts';
import { freePort, hasRedisServer, startRedisServer, targetOf } from '../support/redis.ts';
import { json, type OperatorWorld, openOperatorWorld } from './operator.ts';

interface Check {
  readonly name: string;
  readonly status: string;
  readonly about?: string;
  readonly why: string;
  readonly cure?: string;
}

async function examine(world: OperatorWorld, more: readonly string[] = [], env = world.env) {
  const run = await world.cli(['doctor', '--json', ...more], { env });
  const report = json(run);
  const checks = report['checks'] as Check[];
  return {
    run,
    ok: report['ok'],
    checks,
    failed: checks.filter(({ status }) => status === 'failed').map(({ name }) => name),
    of: (name: string) => checks.filter((check) => check.name === name),
  };
}

test('passes when everything is right, names every check, and changes nothing at the exchange', async () => {
  const world = await openOperatorWorld();
  const { run, ok, failed, checks, of } = await examine(world);
  expect(failed).toEqual([]);
  expect(ok).toBe(true);
  expect(run.exitCode).toBe(EXIT.ok);
  const names = new Set(checks.map(({ name }) => name));
  expect([...names].sort()).toEqual(
    [
      'config',
      'secrets',
      'channels',
      'redis',
      'redis.access',
      'redis.version',
      'redis.role',
      'redis.eviction',
      'redis.persistence',
      'redis.timers',
      'queues',
      'operators',
      'state',
      'exchange',
      'clock',
      'credentials',
      'nonce',
      'markets',
      'budget',
      'key.limits',
      'key.orders',
      'key.idle',
    ].sort(),
  );
  for (const { why } of checks) expect(why).not.toBe('');
  expect(of('credentials').map(({ about }) => about)).toEqual(['long', 'hedged']);
  expect(of('clock')).toMatchObject([{ status: 'passed' }]);
  // The tests' Redis keeps no append-only file: a warning, not a failure.
  expect(of('redis.persistence')).toMatchObject([{ status: 'warning', cure: 'set appendonly to yes.' }]);
  expect(of('redis.eviction')).toMatchObject([{ status: 'passed' }]);
  const asked = new Set(world.simulator.requestLog().map(({ endpoint }) => endpoint));
  expect([...asked].sort()).toEqual(['futures', 'openPositions', 'ping']);
  const shown = run.stdout + run.stderr;
  for (const secret of Object.values(world.env)) expect(shown).not.toContain(secret);
  const text = (await world.cli(['doctor'])).stdout;
  expect(text).toMatch(/^passed +credentials +long: open positions can be read \(1\)$/m);
  expect(text).toMatch(/^note +key\.idle .*14 days\n +-> /m);
  expect(text).toMatch(/: \d+ passed, \d+ warnings?, 0 failed\n$/);
});

test('judges each key separately: a wrong secret, and a credit line that is not enabled', async () => {
  const world = await openOperatorWorld({
    accounts: {
      long: { rules: ['far'], more: '    watch: { creditLine: true }' },
      hedged: { rules: ['far'] },
    },
  });
  world.simulator.exchange.accounts.change('long', { permissions: { creditLine: false } });
  const env = { ...world.env, SECRET_hedged: 'not-the-secret-of-this-key' };
  const { run, failed, of } = await examine(world, [], env);
  expect(run.exitCode).toBe(EXIT.failed);
  expect(failed.sort()).toEqual(['credentials', 'read.creditLine']);
  expect(of('credentials')).toMatchObject([
    { about: 'long', status: 'passed' },
    { about: 'hedged', status: 'failed', cure: expect.stringMatching(/^Check key and secret/) as string },
  ]);
  expect(of('read.creditLine')).toMatchObject([
    { about: 'long', why: expect.stringMatching(/permission|enabled/i) as string },
  ]);
  expect(run.stdout).not.toContain('not-the-secret');
});

test('fails for a missing secret and for a world-readable file, and still runs the other checks', async () => {
  const world = await openOperatorWorld();
  const { SECRET_hedged: _secret, ...env } = world.env;
  const missing = await examine(world, [], env);
  expect(missing.failed).toEqual(['secrets']);
  expect(missing.of('secrets')[0]?.why).toMatch(/SECRET_hedged, got none/);
  expect(missing.of('credentials')).toMatchObject([
    { about: 'long', status: 'passed' },
    { about: 'hedged', status: 'skipped' },
  ]);
  const file = path.join(path.dirname(world.configFile), 'secret');
  await writeFile(file, world.env['SECRET_hedged'] ?? '');
  await chmod(file, 0o644);
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace('{ env: SECRET_hedged }', '{ file: secret }'));
  const open = await examine(world);
  expect(open.failed).toEqual(['secrets']);
  expect(open.of('secrets')[0]?.why).toMatch(/chmod 600 secret/);
  await chmod(file, 0o600);
  expect((await examine(world)).failed).toEqual([]);
});

test('reports the place of a config error, and skips what cannot be checked', async () => {
  const world = await openOperatorWorld();
  await world.write('mode: enfroce\naccounts: []\n');
  const { run, failed, of } = await examine(world);
  expect(run.exitCode).toBe(EXIT.failed);
  expect(failed).toContain('config');
  expect(of('config').map(({ why }) => why)).toContainEqual(
    expect.stringMatching(/breakwater\.yaml:1:7 mode: /),
  );
  expect(of('exchange')).toMatchObject([{ status: 'skipped' }]);
});

test('fails for a market without an entry, and for a budget that does not allow the cadence', async () => {
  const world = await openOperatorWorld({
    exchange: '  limits: { positions: { limit: 10, period: 100s } }',
  });
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace(/ {2}BTC_PERP: .*\n/, ''));
  const { failed, of } = await examine(world);
  expect([...new Set(failed)].sort()).toEqual(['budget', 'markets']);
  expect(of('markets')[0]?.why).toMatch(/without an entry in the config: BTC_PERP$/);
  expect(of('budget')[0]?.why).toMatch(/allows a poll every .* less often than the calm cadence of 300 ms/);
});

test('fails if the open position is not a multiple of the configured step: every order would be refused', async () => {
  const world = await openOperatorWorld();
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace(/(BTC_PERP: .*amountStep: )[^,]+/, (_, before: string) => `${before}"7"`));
  const { failed, of } = await examine(world);
  expect([...new Set(failed)]).toEqual(['markets']);
  expect(of('markets')[0]?.why).toMatch(
    /^a position of .* in BTC_PERP.* no multiple of its amountStep of 7$/,
  );
});

test('warns until somebody is notified', async () => {
  const world = await openOperatorWorld();
  const bare = await examine(world);
  expect(bare.of('channels')).toMatchObject([{ status: 'warning' }]);
  const text = await readFile(world.configFile, 'utf8');
  await world.write(`${text}channels: { ops: { type: webhook, url: "http://127.0.0.1:1/" } }\n`);
  const set = await examine(world);
  expect(set.of('channels')).toMatchObject([{ status: 'passed' }]);
});

test('one credit line in the reply: warns that the exchange may not show a second one', async () => {
  const world = await openOperatorWorld({
    accounts: { long: { rules: ['far'], more: '    watch: { creditLine: true }' } },
  });
  const loan = { asset: 'USDT', amount: d('5000'), collateralAsset: 'BTC', collateralAmount: d('0.2') };
  const words = async () => (await examine(world)).of('read.creditLine').map(({ why }) => why);
  expect(await words()).toEqual(['there is none']);
  expect(world.simulator.model.openLoan('long', loan).ok).toBe(true);
  expect(await words()).toEqual([
    expect.stringMatching(/^one is open; if you have more .* does not show them/),
  ]);
  expect(world.simulator.model.openLoan('long', loan).ok).toBe(true);
  world.simulator.setReadings({ loanReply: 'array' });
  expect(await words()).toEqual(['2 are open']);
});

test('checks each address separately: a dead one fails, and accounts are read over the other', async () => {
  const world = await openOperatorWorld();
  const text = await readFile(world.configFile, 'utf8');
  const dead = `http://127.0.0.1:${await freePort()}`;
  await world.write(
    text.replace(
      `baseUrls: ["${world.simulator.baseUrl}"]`,
      `baseUrls: ["${world.simulator.baseUrl}", "${dead}"]`,
    ),
  );
  const { failed, of } = await examine(world);
  expect(failed).toEqual(['exchange']);
  expect(of('exchange')).toMatchObject([
    { about: world.simulator.baseUrl, status: 'passed' },
    { about: dead, status: 'failed' },
  ]);
  expect(of('credentials').map(({ status }) => status)).toEqual(['passed', 'passed']);
});

test('reports clock skew with its direction and size', async () => {
  const world = await openOperatorWorld();
  const late = createServer((_request, response) => {
    response.setHeader('date', new Date(Date.now() + 90_000).toUTCString());
    response.setHeader('content-type', 'application/json');
    response.end('["pong"]');
  });
  await new Promise<void>((resolve) => void late.listen(0, '127.0.0.1', resolve));
  closeAfterTest(
    () =>
      new Promise((resolve) => {
        late.closeAllConnections();
        late.close(() => resolve());
      }),
  );
  const address = late.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const text = await readFile(world.configFile, 'utf8');
  const url = `http://127.0.0.1:${address.port}`;
  await world.write(
    text.replace(
      `baseUrls: ["${world.simulator.baseUrl}"]`,
      `baseUrls: ["${world.simulator.baseUrl}", "${url}"]`,
    ),
  );
  const { of } = await examine(world);
  expect(of('clock')).toMatchObject([
    { about: world.simulator.baseUrl, status: 'passed' },
    {
      about: url,
      status: 'warning',
      why: expect.stringMatching(/^this clock is 1 min (2\d|30) s.* behind/) as string,
    },
  ]);
});

test('fails for a paused queue', async () => {
  const world = await openOperatorWorld();
  const queues = openQueues({
    target: targetOf(world.redisUrl),
    prefix: world.prefix,
    onError: () => undefined,
  });
  closeAfterTest(() => queues.close());
  await queues.poll.waitUntilReady();
  await queues.poll.pause();
  const { failed, of } = await examine(world);
  expect(failed).toEqual(['queues']);
  expect(of('queues')).toMatchObject([{ why: expect.stringContaining('paused poll') as string }]);
});

test.runIf(hasRedisServer())(
  'fails for a Redis that evicts, and ends in time for one that does not answer',
  async () => {
    const server = await startRedisServer({ args: ['--maxmemory-policy', 'allkeys-lru', '--hz', '10'] });
    closeAfterTest(() => server.stop());
    const world = await openOperatorWorld();
    const text = await readFile(world.configFile, 'utf8');
    await world.write(text.replace(world.redisUrl, server.url));
    const evicting = await examine(world);
    expect(evicting.failed).toEqual(['redis.eviction']);
    expect(evicting.of('redis.eviction')).toMatchObject([
      { why: expect.stringMatching(/allkeys-lru/) as string, cure: 'set it to noeviction.' },
    ]);
    expect(evicting.of('redis.timers')).toMatchObject([{ status: 'warning', cure: 'set hz to 100.' }]);
    server.pause();
    const silent = await examine(world, ['--timeout-ms', '800']);
    server.resume();
    expect(silent.failed).toContain('redis');
    expect(silent.of('redis')).toMatchObject([{ why: 'no answer in time' }]);
  },
);

test('fails without Redis, and still checks the exchange', async () => {
  const world = await openOperatorWorld();
  const text = await readFile(world.configFile, 'utf8');
  const gone = `redis://127.0.0.1:${await freePort()}`;
  await world.write(text.replace(world.redisUrl, gone));
  const { failed, of } = await examine(world);
  expect(failed).toEqual(['redis']);
  expect(of('redis')).toMatchObject([{ about: gone, why: expect.stringMatching(/ECONNREFUSED/) as string }]);
  expect(of('credentials').map(({ status }) => status)).toEqual(['passed', 'passed']);
});

test("counts stored state, and continues the daemon's nonces", async () => {
  const world = await openOperatorWorld({ exchange: '  nonce: increasing' });
  await world.start();
  await polls(world, 'long');
  world.simulator.exchange.accounts.change('long', { nonceRule: 'increasing' });
  world.simulator.exchange.accounts.change('hedged', { nonceRule: 'increasing' });
  const { failed, of } = await examine(world);
  expect(failed).toEqual([]);
  expect(of('nonce')).toMatchObject([
    { about: 'long', status: 'passed', why: 'mode increasing is accepted' },
    { about: 'hedged', status: 'passed' },
  ]);
  expect(of('state')).toMatchObject([{ why: 'readable; 2 of 2 accounts have been watched before' }]);
  await polls(world, 'long', 5);
  const refused = world.events.filter((event) => event.kind === 'call' && event.call.noncesRefused > 0);
  expect(refused).toEqual([]);
});
