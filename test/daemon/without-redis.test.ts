import { describe, expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { openReceiver } from '../support/receiver.ts';
import { freePort, hasRedisServer, startRedisServer } from '../support/redis.ts';
import { inTurn } from '../support/slice.ts';
import { drift, move, openScene, ours, polls, priceOf, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles, verdictOf } from './world.ts';

const plays = inTurn(['port', 'status', 'another daemon'], 3, 'what people ask without Redis');

/** A daemon while Redis is lost; checked by the simulated exchange's ledger. */

const HALVE = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 9% } }
    keepFiringFor: 10s
    do: [{ notify: { channels: [own] } }, { reduce: { by: 50%, slippage: 1% } }]
`;
const ACCOUNTS = { long: { rules: ['rule'] } };

describe.runIf(hasRedisServer())('while Redis is lost', () => {
  async function open(web?: string) {
    const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'everysec'] });
    closeAfterTest(() => server.stop());
    const simulator = await openScene();
    const hook = await openReceiver();
    const world = await openDaemonWorld(
      simulator,
      {
        accounts: ACCOUNTS,
        rules: HALVE,
        ...(web === undefined ? {} : { web }),
        more: `channels: { own: { type: webhook, url: "${hook.url}" } }\n`,
      },
      { redis: { url: server.url, prefix: 'bw' } },
    );
    return { server, simulator, world, said: hook.bodies };
  }

  test('the daemon acts on a breach within seconds, and when Redis is back nothing is sent twice', async () => {
    const { server, simulator, world, said } = await open();
    const daemon = await world.start();
    await polls(world, 'long', 3);
    await server.kill();
    const isAlone = (): boolean =>
      world.events.some((event) => event.kind === 'standby' && event.state === 'alone');
    await eventually(isAlone, 'the loss noticed', () => troubles(world.events));
    await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
    await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.251, 'a fill', world);
    const before = ours(simulator, 'long').length;
    await eventually(() => said.some((body) => body.includes('firing')), 'a notice without Redis');
    await server.start();
    await eventually(
      () => world.events.some((event) => event.kind === 'standby' && event.state === 'shared'),
      'all handed back',
      () => troubles(world.events),
    );
    await polls(world, 'long', 6);
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    expect(ours(simulator, 'long')).toHaveLength(before);
    expect(await verdictOf(world, 'long')).toMatchObject({ kind: 'intact' });
    const records = await daemon.state.audit.tail('long', 1_000);
    const kinds = records.flatMap(({ record: { content } }) =>
      content.kind === 'action' ? [content.event.kind] : [],
    );
    expect(kinds.filter((kind) => kind === 'intentOpened')).toHaveLength(1);
    expect(kinds).toContain('filled');
    const firing = said.filter((body) => body.includes('"firing"'));
    expect(firing.filter((body) => body.includes('"rule":"rule"'))).toHaveLength(1);
    expect(firing.filter((body) => body.includes('"rule":"built-in/without-redis"'))).toHaveLength(1);
  });

  test.runIf(plays('port'))('pause finds a daemon at another port than its config says', async () => {
    const [port, other] = [await freePort(), await freePort()];
    const { server, world } = await open(`{ port: ${port} }`);
    const pause = async (...args: readonly string[]) =>
      await runCommandLine(
        ['pause', '--account', 'long', '--reason', 'r', ...args, '--config', world.configFile],
        { env: world.env },
      );
    await world.start({ webPort: other });
    await polls(world, 'long', 3);
    await server.kill();
    const isAlone = (): boolean =>
      world.events.some((event) => event.kind === 'standby' && event.state === 'alone');
    await eventually(isAlone, 'the loss noticed', () => troubles(world.events));
    const elsewhere = await pause('--url', `http://127.0.0.1:${port}`);
    expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([
      5,
      expect.stringContaining(`no daemon answers at http://127.0.0.1:${port}`),
    ]);
    expect((await pause('--url', 'http://example.com')).exitCode).toBe(2);
    const found = await pause();
    expect([found.exitCode, found.stdout]).toEqual([0, expect.stringContaining('Paused: account long')]);
    await polls(world, 'long', 3);
    const status = await runCommandLine(
      ['status', '--url', `http://127.0.0.1:${other}`, '--config', world.configFile],
      { env: world.env },
    );
    expect(status.stdout).toContain('paused');
  });

  test.runIf(plays('status'))(
    'status, pause and resume ask the daemon itself; the changes are in force there and afterwards',
    async () => {
      const port = await freePort();
      const token = 'a-control-token-of-this-test';
      const { server, simulator, world } = await open(`{ port: ${port}, controlToken: { env: CONTROL } }`);
      const env = { ...world.env, CONTROL: token };
      const breakwater = async (...args: readonly string[]) =>
        await runCommandLine([...args, '--config', world.configFile], { env });
      await world.start({ env });
      await polls(world, 'long', 3);
      await server.kill();
      const isAlone = (): boolean =>
        world.events.some((event) => event.kind === 'standby' && event.state === 'alone');
      await eventually(isAlone, 'the loss noticed', () => troubles(world.events));
      expect(await breakwater('status')).toMatchObject({
        exitCode: 0,
        stderr: '',
        stdout: expect.stringMatching(
          /^Of the daemon not everything works: [^]*^long +enforce +31\.\d % .*(calm|watching)/m,
        ),
      });

      const paused = await breakwater('pause', '--account', 'long', '--reason', 'by hand', '--author', 'ann');
      expect([paused.exitCode, paused.stdout, paused.stderr]).toEqual([
        0,
        expect.stringContaining('Paused: account long'),
        expect.anything(),
      ]);
      await eventually(
        async () => {
          if ((await breakwater('status')).stdout.includes('by hand; rules fire')) return true;
          move(simulator, -0.004);
          return false;
        },
        'the rule fires',
        () => troubles(world.events),
      );
      await polls(world, 'long', 3);
      expect(ours(simulator, 'long')).toEqual([]);

      await server.start();
      await eventually(
        () => world.events.some((event) => event.kind === 'standby' && event.state === 'shared'),
        'all handed back',
        () => troubles(world.events),
      );
      const back = await breakwater('status');
      expect([back.stderr, back.stdout]).toEqual(['', expect.stringMatching(/paused by ann .*by hand/)]);
      await polls(world, 'long', 3);
      expect(ours(simulator, 'long')).toEqual([]);

      await server.kill();
      const losses = (): number =>
        world.events.filter((event) => event.kind === 'standby' && event.state === 'alone').length;
      await eventually(
        () => losses() === 2,
        'the second loss noticed',
        () => troubles(world.events),
      );
      await polls(world, 'long', 3);
      expect(ours(simulator, 'long')).toEqual([]);
      const resumed = await breakwater('resume', '--account', 'long', '--reason', 'seen', '--author', 'ann');
      expect(resumed.stdout).toContain('Lifted: pause of account long');
      await eventually(
        () => ours(simulator, 'long').length > 0,
        'an order',
        () => troubles(world.events),
      );
    },
  );

  test.runIf(plays('another daemon'))('pause warns of the other daemon that goes on acting', async () => {
    const [port, other] = [await freePort(), await freePort()];
    const { server, simulator, world } = await open(`{ port: ${port}, controlToken: { env: CONTROL } }`);
    const env = { ...world.env, CONTROL: 'a-control-token-of-this-test' };
    const said = async (command: string, ...args: readonly string[]) =>
      await runCommandLine(
        [command, '--account', 'long', '--reason', 'r', ...args, '--config', world.configFile],
        { env },
      );
    const daemons = [await world.start({ env }), await world.start({ env, ordinal: 1, webPort: other })];
    await eventually(
      () => daemons.every(({ state }) => state.standby?.hasCompany === true),
      'each sees the other',
    );
    await server.kill();
    await eventually(
      () => daemons.every(({ state }) => state.standby?.isAlone === true),
      'both alone',
      () => troubles(world.events),
    );
    const first = await said('pause');
    expect([first.exitCode, first.stdout]).toEqual([6, expect.stringContaining('Paused: account long')]);
    expect(first.stderr).toMatch(/Not confirmed within 2 s by i1-\w+ on .*\. Those that run GO ON ACTING/);
    const url = `http://127.0.0.1:${other}`;
    const second = await said('pause', '--url', url, '--json');
    expect([second.exitCode, JSON.parse(second.stdout)]).toMatchObject([
      6,
      { kind: 'pause', accountId: 'long' },
    ]);
    await drift(simulator, -0.004, () => priceOf(simulator) < 45_000, 'below where the rule fires');
    await polls(world, 'long', 6);
    expect(ours(simulator, 'long')).toEqual([]);
    const lifted = await said('resume');
    expect([lifted.exitCode, lifted.stderr]).toEqual([
      6,
      expect.stringMatching(/Not confirmed within 2 s by i1-/),
    ]);
    await eventually(
      () => ours(simulator, 'long').length > 0,
      'an order of the daemon that is not paused',
      () => troubles(world.events),
    );
  });

  test('without a daemon a pause says so, and status names the missing Redis', async () => {
    const port = await freePort();
    const { server, world } = await open(`{ port: ${port} }`);
    const breakwater = async (...args: readonly string[]) =>
      await runCommandLine([...args, '--config', world.configFile], { env: world.env });
    const daemon = await world.start();
    await polls(world, 'long', 2);
    await server.kill();
    await daemon.stop('the test goes on', 10_000);
    const pause = await breakwater('pause', '--account', 'long', '--reason', 'by hand');
    expect([pause.exitCode, pause.stderr]).toEqual([
      5,
      expect.stringContaining(
        'nothing was paused: no daemon with this config runs that this user can reach. What does not run',
      ),
    ]);
    const status = await breakwater('status');
    expect([status.exitCode, status.stderr]).toEqual([
      1,
      expect.stringMatching(/the Redis server cannot be used.* No daemon with this config runs/s),
    ]);
  });
});
