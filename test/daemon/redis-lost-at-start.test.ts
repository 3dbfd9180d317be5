import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { openScene } from './scene.ts';
import { openDaemonWorld } from './world.ts';

const RULES = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** A proxy that disappears for good after forwarding that many chunks. */
async function startDyingRedis(url: string, pieces: number) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let left = pieces;
  const server = createServer((near) => {
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
        else stop();
      });
    }
  });
  const stop = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const near = new URL(url);
  near.port = String((server.address() as AddressInfo).port);
  return { url: near.href, stop };
}

test('losing Redis during the start is not called a defect of Breakwater', async () => {
  const redis = await startPrivateRedis();
  closeAfterTest(() => redis.stop());
  const simulator = await openScene();
  const ends: string[] = [];
  for (const pieces of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const dying = await startDyingRedis(redis.url, pieces);
    closeAfterTest(async () => dying.stop());
    const world = await openDaemonWorld(
      simulator,
      { accounts: { long: { rules: ['rule'] } }, rules: RULES },
      { redis: { url: dying.url, prefix: `${redis.prefix.replace(':', '')}-${pieces}`, required: true } },
    );
    await world.start().then(
      () => ends.push(`${pieces}: started`),
      (error: Error & { code?: string }) => ends.push(error.code ?? `${pieces}: ${error.message}`),
    );
    dying.stop();
  }
  expect(new Set(ends)).toEqual(new Set(['redis-unusable']));
});
