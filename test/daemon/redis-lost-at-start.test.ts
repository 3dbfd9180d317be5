import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { within } from '../../src/core/ports/within.ts';
import { systemTimers } from '../../src/exchange/system-clock.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { openScene, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const RULES = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

type Fault = 'dies' | 'hangs';

/** A proxy that dies or hangs after it has forwarded that many chunks, until `comeBack`. */
async function startDyingRedis(url: string, pieces: number, fault: Fault = 'dies') {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let left = pieces;
  const server = createServer((near) => {
    // Hanging: the system accepts connections, and nobody reads them.
    if (left < 0 && fault === 'dies') return void near.destroy();
    const far = connect({ host: target.hostname, port: Number(target.port) });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
      from.on('data', (chunk: Buffer) => {
        if (from === near) left -= 1;
        if (left >= 0) to.write(chunk);
        else if (fault === 'dies') stop();
      });
    }
  });
  const stop = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.close();
    stop();
  });
  const near = new URL(url);
  near.port = String((server.address() as AddressInfo).port);
  return {
    url: near.href,
    comeBack() {
      left = Number.POSITIVE_INFINITY;
      stop();
    },
  };
}

test('losing Redis during the start is not called a defect of Breakwater', async () => {
  const redis = await startPrivateRedis();
  closeAfterTest(() => redis.stop());
  const simulator = await openScene();
  const ends: string[] = [];
  for (const pieces of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const dying = await startDyingRedis(redis.url, pieces);
    const world = await openDaemonWorld(
      simulator,
      { accounts: { long: { rules: ['rule'] } }, rules: RULES },
      { redis: { url: dying.url, prefix: `${redis.prefix.replace(':', '')}-${pieces}`, required: true } },
    );
    await world.start().then(
      () => ends.push(`${pieces}: started`),
      (error: Error & { code?: string }) => ends.push(error.code ?? `${pieces}: ${error.message}`),
    );
  }
  expect(new Set(ends)).toEqual(new Set(['redis-unusable']));
});

/** A start takes about this many. */
const PIECES = Array.from({ length: 48 }, (_, index) => 1 + index);

test.each(['dies', 'hangs'] as const)(
  'Redis %s within the first moments of a start: the daemon watches, and shares its work when it is back',
  async (fault) => {
    const redis = await startPrivateRedis();
    closeAfterTest(() => redis.stop());
    const simulator = await openScene();
    const play = async (pieces: number): Promise<string> => {
      const dying = await startDyingRedis(redis.url, pieces, fault);
      const prefix = `${redis.prefix.replace(':', '')}-${pieces}`;
      const world = await openDaemonWorld(
        simulator,
        { accounts: { long: { rules: ['rule'], more: '    mode: observe\n' } }, rules: RULES },
        { redis: { url: dying.url, prefix } },
      );
      try {
        await within(systemTimers, 40_000, world.start());
        await polls(world, 'long', 3);
        dying.comeBack();
        const said = (state: string) => world.events.some((e) => e.kind === 'standby' && e.state === state);
        await eventually(
          () => !said('alone') || said('shared'),
          'its work shared',
          () => troubles(world.events),
        );
        const from = world.events.length;
        const ticks = () => world.events.slice(from).filter(({ kind }) => kind === 'ticked').length;
        await eventually(
          () => ticks() > 3,
          'ticks of the queue',
          () => troubles(world.events),
        );
        return 'watches';
      } catch (error) {
        return `${pieces}: ${String(error)}`;
      }
    };
    const ends = await Promise.all(sliceOf(PIECES, 6, `moments at which Redis ${fault}`).map(play));
    expect(ends.filter((end) => end !== 'watches')).toEqual([]);
  },
);

test('a user of Redis without INFO: the daemon watches and says what is missing, until it is granted', async () => {
  const redis = await startPrivateRedis();
  closeAfterTest(() => redis.stop());
  const simulator = await openScene();
  const admin = new Redis(redis.url);
  closeAfterTest(async () => (await admin.call('ACL', 'DELUSER', 'narrow'), admin.disconnect()));
  await admin.call('ACL', 'SETUSER', 'narrow', 'on', '>pass', '~*', '&*', '+@all', '-info');
  const url = new URL(redis.url);
  Object.assign(url, { username: 'narrow', password: 'pass' });
  const world = await openDaemonWorld(
    simulator,
    { accounts: { long: { rules: ['rule'], more: '    mode: observe\n' } }, rules: RULES },
    { redis: { url: redis.url, prefix: redis.prefix.replace(':', '') } },
  );
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace(`url: "${redis.url}"`, 'url: { env: NARROW }'));
  await world.start({ env: { ...world.env, NARROW: url.href } });
  await polls(world, 'long', 3);
  const alone = world.events.find((event) => event.kind === 'standby');
  expect(alone).toMatchObject({ state: 'alone', error: { message: expect.stringMatching(/NOPERM.*info/i) } });
  await admin.call('ACL', 'SETUSER', 'narrow', '+info');
  await eventually(
    () => world.events.some((event) => event.kind === 'standby' && event.state === 'shared'),
    'its work shared',
    () => troubles(world.events),
  );
  await polls(world, 'long', 3);
});
