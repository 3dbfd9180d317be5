import { describe, expect, test } from 'vitest';
import { json } from '../cli/operator.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { configText } from '../daemon/config.ts';
import { drift, openScene, ours, polls, sizeOf } from '../daemon/scene.ts';
import { openDaemonWorld } from '../daemon/world.ts';
import { type Authority, hasOpenssl, openAuthority } from '../support/certificates.ts';
import { runCommandLine } from '../support/cli.ts';
import { freePort, hasRedisServer, startRedisServer } from '../support/redis.ts';
import { inTurn } from '../support/slice.ts';

const plays = inTurn(['right', 'wrong'], 2, 'certificates of Redis');

const HALVE = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 9% } }
    keepFiringFor: 1m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** A Redis that accepts only TLS, with a certificate of its authority and the password. */
async function startTlsServer(authority: Authority): Promise<string> {
  const { cert, key } = await authority.sign('server');
  const port = await freePort();
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', authority.cert];
  const args = ['--port', '0', '--tls-port', String(port), ...files, '--requirepass', 'sesame'];
  const server = await startRedisServer({ args });
  closeAfterTest(() => server.stop());
  return `rediss://:sesame@127.0.0.1:${port}`;
}

async function openTlsWorld(authority: Authority, tls: string) {
  const url = await startTlsServer(authority);
  const simulator = await openScene();
  const parts = { accounts: { long: { rules: ['rule'] } }, rules: HALVE };
  const world = await openDaemonWorld(simulator, parts, {
    redis: { url: 'redis://127.0.0.1', prefix: 'bw' },
  });
  const written = configText(simulator, { ...parts, redis: { url: 'URL', prefix: 'bw' } });
  const text = written.replace('insecure: [redis]\n', '').replace('"URL"', `{ env: REDIS }, ${tls}`);
  await world.write(text);
  const env = { ...world.env, REDIS: url };
  const cli = (...args: readonly string[]) =>
    runCommandLine([...args, '--json', '--config', world.configFile], { env });
  return { simulator, world, env, cli, url, text };
}

describe.runIf(hasRedisServer() && hasOpenssl)('a Redis that requires TLS and a client certificate', () => {
  test.runIf(plays('right'))(
    'the daemon, its queues and the commands use it with redis.ca, redis.cert and redis.key',
    async () => {
      const authority = await openAuthority();
      const own = await authority.sign('client');
      const tls = `ca: "${authority.cert}", cert: "${own.cert}", key: "${own.key}"`;
      const { simulator, world, env, cli } = await openTlsWorld(authority, tls);
      await world.start({ env });
      await polls(world, 'long', 3);
      await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
      await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.251, 'a fill', world);
      expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
      expect(world.events.filter(({ kind }) => kind === 'workerError' || kind === 'standby')).toEqual([]);
      expect(await cli('pause', '--reason', 'test')).toMatchObject({ exitCode: 0 });
      const checks = json(await cli('doctor'))['checks'] as {
        name: string;
        about?: string;
        status: string;
      }[];
      expect(checks.filter(({ name }) => name === 'redis' || name === 'redis.access')).toEqual([
        {
          name: 'redis',
          status: 'passed',
          about: expect.stringMatching(/^rediss:\/\/127\.0\.0\.1:\d+$/),
          why: expect.anything(),
        },
        { name: 'redis.access', status: 'passed', why: 'Redis asks for a password' },
      ]);
    },
  );

  test.runIf(plays('wrong'))(
    'without the certificate, or with a wrong authority, the daemon does not start and says why',
    async () => {
      const authority = await openAuthority();
      const stranger = await openAuthority();
      const own = await authority.sign('client');
      const { world, env, cli, text } = await openTlsWorld(authority, 'TLS');
      const words = async (tls: string): Promise<string> => {
        await world.write(text.replace('TLS', tls));
        const doctor = json(await cli('doctor'))['checks'] as { name: string; why: string }[];
        const why = doctor.find(({ name }) => name === 'redis')?.why ?? '';
        const refused = await world.start({ env }).then(
          () => expect.fail('it started'),
          (error: Error) => error.message,
        );
        expect(refused).toContain('the Redis server cannot be used');
        return `${refused}\n${why}`;
      };
      expect(await words(`ca: "${authority.cert}"`)).toMatch(/redis\.cert[\s\S]*redis\.cert/);
      const pair = `cert: "${own.cert}", key: "${own.key}"`;
      expect(await words(`ca: "${stranger.cert}", ${pair}`)).toMatch(/redis\.ca[\s\S]*redis\.ca/);
    },
  );
});
