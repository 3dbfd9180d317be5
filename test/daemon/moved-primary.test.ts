import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { StoreLostError } from '../../src/core/ports/state-store.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { move, openScene, ours, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const RULES = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** One address that leads new connections to another server from `move` on; those that are open stay. */
async function startAddress(first: number) {
  let port = first;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => void [near, far].map((one) => one.destroy()));
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    move: (next: number) => void (port = next),
  };
}

test.runIf(hasRedisServer())(
  'a failover behind one address, the old primary alive as a replica: the daemon follows, and a pause holds',
  async () => {
    const old = await startRedisServer();
    closeAfterTest(() => old.stop());
    const next = await startRedisServer();
    closeAfterTest(() => next.stop());
    const [admins, nexts] = [new Redis(old.url), new Redis(next.url)];
    closeAfterTest(async () => void [admins, nexts].map((redis) => redis.disconnect()));
    await nexts.replicaof('127.0.0.1', old.port);
    const address = await startAddress(old.port);
    const simulator = await openScene();
    move(simulator, 0.02);
    const world = await openDaemonWorld(
      simulator,
      { accounts: { long: { rules: ['rule'] } }, rules: RULES },
      { redis: { url: address.url, prefix: 'bw' } },
    );
    const daemon = await world.start();
    await polls(world, 'long', 3);
    await eventually(
      async () => (await nexts.info('replication')).includes('master_link_status:up'),
      'a copy',
    );
    address.move(next.port);
    await nexts.replicaof('NO', 'ONE');
    await admins.replicaof('127.0.0.1', next.port);
    // It may be so quick that it never was alone.
    const clients = async () => Number(/connected_clients:(\d+)/.exec(await nexts.info('clients'))?.[1]);
    await eventually(
      async () => (await clients()) > 5 && daemon.state.standby?.isAlone === false,
      'its work shared with the new primary',
      () => troubles(world.events),
    );
    const pause = {
      kind: 'pause',
      accountId: null,
      author: 'ann',
      reason: 'exams',
      expiresAtMs: null,
    } as const;
    // Until the connection that this goes over has noticed, the daemon says that Redis is lost.
    const put = async () => {
      try {
        return await daemon.state.controls.put(pause);
      } catch (error) {
        expect(error).toBeInstanceOf(StoreLostError);
        return undefined;
      }
    };
    await eventually(async () => (await put()) !== undefined, 'a pause');
    expect(await nexts.keys('bw*controls*')).not.toEqual([]);
    const ticks = () => world.events.filter(({ kind }) => kind === 'ticked').length;
    const before = ticks();
    await eventually(
      () => ticks() > before + 3,
      'ticks of the queue',
      () => troubles(world.events),
    );
    move(simulator, -0.05);
    await polls(world, 'long', 4);
    expect(ours(simulator, 'long')).toEqual([]);
  },
);
