import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { connectRedis } from '../../src/app/connect-redis.ts';
import { connectRedisOnce } from '../../src/app/first-contact.ts';
import { prefixOf, type RedisPlace, redisTarget } from '../../src/app/redis-target.ts';
import { Secret } from '../../src/config/secret.ts';
import { examineRedis } from '../../src/queues/redis-sanity.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { ROOT } from '../deployment/files.ts';
import { hasOpenssl, openAuthority } from '../support/certificates.ts';
import { openClusterScene } from '../support/clusters.ts';
import { freePort, hasRedisServer, startRedisServer, targetOf } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { openScene, polls } from './scene.ts';
import { openDaemonWorld } from './world.ts';

/** How a Redis Cluster is found and examined, and the messages when that fails. */

const WATCH = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 9% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

async function daemonAt(url: string) {
  const simulator = await openScene();
  const parts = { accounts: { long: { rules: ['rule'] } }, rules: WATCH };
  return await openDaemonWorld(simulator, parts, { redis: { url, prefix: 'bw' } });
}

async function connect(url: string) {
  const redis = await connectRedisOnce(targetOf(url, 'bw'));
  closeAfterTest(async () => redis.disconnect());
  return redis;
}

describe.runIf(hasRedisServer())('the address of a cluster', () => {
  test('that is a single server is refused with the right setting, also where Redis may be lost', async () => {
    const server = await startRedisServer();
    closeAfterTest(() => server.stop());
    const world = await daemonAt(server.url.replace('redis:', 'redis+cluster:'));
    await expect(world.start()).rejects.toThrow(
      'it is no node of a Redis Cluster (a single server: redis://',
    );
  });

  const kinds = [
    ['cluster', '', 'ECONNREFUSED'],
    ['sentinel', '/main', 'no Sentinel names the primary'],
  ] as const;
  test.each(sliceOf(kinds, 2, 'addresses where nothing answers'))(
    'of a %s where nothing answers counts as a lost Redis',
    async (kind, path, why) => {
      const url = `redis+${kind}://127.0.0.1:${await freePort()},127.0.0.1:${await freePort()}${path}`;
      await expect(connect(url)).rejects.toThrow(`the Redis server cannot be used: ${why}`);
      const world = await daemonAt(url);
      await world.start();
      expect(world.events.some((event) => event.kind === 'standby' && event.state === 'alone')).toBe(true);
    },
  );

  test('is required for a node of a cluster, and the refusal shows no password', async () => {
    const scene = await openClusterScene({ closing: closeAfterTest, key: '{bw}', password: 'sesame' });
    const single = `redis://:sesame@127.0.0.1:${scene.primary.port}`;
    await expect(connect(single)).rejects.toThrow('a node of a Redis Cluster (then redis+cluster://');
    const error = await connect(`redis+cluster://:abracadabra@${scene.hosts}`).catch(String);
    expect(error).toContain('WRONGPASS');
    expect(error).not.toContain('abracadabra');
    await expect(connect(`redis+cluster://${scene.hosts}`)).rejects.toThrow('NOAUTH');
    const redis = await connect(`redis+cluster://:sesame@${scene.hosts}`);
    expect(await redis.set('{bw}:probe', '1', 'PX', 1)).toBe('OK');
    expect(await redis.call('CLUSTER', 'MYID')).toBe(scene.primary.id);
  });
});

describe.runIf(hasOpenssl)('with TLS a cluster', () => {
  const BOUNDS = { onError: () => undefined, mayBeLost: true, prefix: '{bw}' };

  /** How contact to a listener goes that is named as a node. */
  async function contact(server: Server, tls: RedisPlace['tls'] = {}) {
    server.listen(0, '127.0.0.1');
    closeAfterTest(async () => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = new Secret(`rediss+cluster://127.0.0.1:${port}`);
    const connected = await connectRedis(redisTarget({ url, prefix: 'bw', tls }), BOUNDS);
    connected.redis.disconnect();
    return connected.lost;
  }

  test('that wants a certificate was said to have one of an unknown authority', async () => {
    const authority = await openAuthority();
    const own = await authority.sign('node');
    const [ca = '', cert, key] = await Promise.all([authority.cert, own.cert, own.key].map(readText));
    const server = createTlsServer({ ca, cert, key, requestCert: true }, (socket) =>
      socket.on('error', ignore),
    );
    await expect(contact(server, { ca })).rejects.toThrow('does it want a certificate? then redis.cert');
  });

  test('behind a proxy that resets connections kept a daemon with a certificate from starting', async () => {
    const own = await (await openAuthority()).sign('daemon');
    const [cert = '', key = ''] = await Promise.all([own.cert, own.key].map(readText));
    const resetting = () => createServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await contact(resetting(), { cert, key: new Secret(key) })).toContain('ECONNRESET');
    // Without one it more likely wants one.
    await expect(contact(resetting())).rejects.toThrow('does it want a certificate? then redis.cert');
  });
});

const readText = (file: string) => readFile(file, 'utf8');
const ignore = () => undefined;

describe.runIf(hasRedisServer())('each node of a cluster', () => {
  test('is examined, including replicas', async () => {
    const scene = await openClusterScene({ closing: closeAfterTest, key: '{bw}' });
    const redis = await connect(`redis+cluster://${scene.hosts}`);
    const examine = () => examineRedis(redis, 'ok');
    expect(await examine()).toMatchObject({ errors: [], warnings: [], isGuarded: false });
    await scene.replica.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await scene.others[0].redis.config('SET', 'appendonly', 'no');
    const { errors, warnings } = await examine();
    expect(errors.join()).toMatch(new RegExp(`allkeys-lru.*node 127.0.0.1:${scene.replica.port}`));
    expect(warnings.join()).toMatch(new RegExp(`append-only.*node 127.0.0.1:${scene.others[0].port}`));
    await scene.others[0].kill();
    const { findings } = await examine();
    const words = `2 other nodes of the cluster answer, and not 127.0.0.1:${scene.others[0].port}`;
    expect(findings.find(({ aspect }) => aspect === 'nodes')).toMatchObject({ level: 'warning', words });
  });

  test.runIf(hasOpenssl)('accepts TLS and the user of docs/operations.md', async () => {
    const guide = await readFile(new URL('docs/operations.md', ROOT), 'utf8');
    const [, rights = ''] = /^user breakwater on >PASSWORD (.*~\{breakwater\}.*)$/m.exec(guide) ?? [];
    const authority = await openAuthority();
    const certificate = { ...(await authority.sign('node')), ca: authority.cert };
    const scene = await openClusterScene({
      closing: closeAfterTest,
      key: '{bw}',
      certificate,
      password: 'sesame',
      args: ['--user', 'breakwater', 'on', '>open', ...rights.replaceAll('breakwater', 'bw').split(' ')],
    });
    const place = {
      url: new Secret(`rediss+cluster://breakwater:open@${scene.tlsHosts}`),
      prefix: 'bw',
      tls: { ca: await readFile(authority.cert, 'utf8') },
    };
    expect(prefixOf(place)).toBe('{bw}');
    const redis = await connectRedisOnce(redisTarget(place));
    closeAfterTest(async () => redis.disconnect());
    expect(await redis.set('{bw}:probe', '1', 'PX', 1)).toBe('OK');
    await expect(redis.set('other', '1')).rejects.toThrow(/NOPERM|MOVED/);
    expect(await examineRedis(redis, 'error')).toMatchObject({ errors: [], warnings: [], isGuarded: true });
    const world = await daemonAt('redis://127.0.0.1');
    const text = await readFile(world.configFile, 'utf8');
    await world.write(text.replace('"redis://127.0.0.1"', `{ env: REDIS }, ca: "${authority.cert}"`));
    await world.start({ env: { ...world.env, REDIS: place.url.reveal() } });
    await polls(world, 'long', 3);
    expect(world.events.filter(({ kind }) => kind === 'standby' || kind === 'workerError')).toEqual([]);
  });
});
