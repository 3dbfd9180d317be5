import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { shareRedis } from '../support/redis.ts';
import { move, openScene, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const FALLS = `  - id: falls
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ notify: {} }]
`;

/** A proxy of whose connections one alone can hang. */
async function startProxy(port: number) {
  const pairs: { readonly near: Socket; readonly far: Socket; said: string }[] = [];
  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port });
    const pair = { near, far, said: '' };
    pairs.push(pair);
    near.on('data', (chunk: Buffer) => {
      pair.said = (pair.said + chunk.toString('latin1')).slice(-20_000);
    });
    for (const socket of [near, far]) {
      socket.on('error', () => undefined);
      socket.on('close', () => void [near, far].map((one) => one.destroy()));
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.close();
    for (const { near, far } of pairs) for (const socket of [near, far]) socket.destroy();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => pairs.filter(({ near }) => !near.destroyed),
  };
}

test('each connection of a process hangs in turn: polls go on, and notices are delivered', async () => {
  const redis = await shareRedis();
  closeAfterTest(() => redis.stop());
  const proxy = await startProxy(Number(new URL(redis.url).port));
  const simulator = await openScene();
  move(simulator, 0.02);
  const world = await openDaemonWorld(
    simulator,
    { accounts: { long: { rules: ['falls'] } }, rules: FALLS },
    { redis: { url: proxy.url, prefix: redis.prefix.replace(/:$/, '') } },
  );
  await world.start();
  await polls(world, 'long', 3);
  const hung = new Set<unknown>();
  let isDown = false;
  const took: string[] = [];
  // Workers first: while the one that answers at once hangs, the process is alone, and needs no other.
  for (const [index, pair] of proxy.open().reverse().entries()) {
    hung.add(pair);
    pair.near.unpipe(pair.far);
    pair.far.unpipe(pair.near);
    pair.near.pause();
    pair.far.pause();
    const startedMs = performance.now();
    const from = world.events.length;
    isDown = !isDown;
    move(simulator, isDown ? -0.05 : 0.0527);
    const told = () =>
      world.events
        .slice(from)
        .some((event) => event.kind === 'delivered' && event.message.ruleId === 'falls');
    await eventually(told, `a notice although connection ${index} hangs`, () => troubles(world.events));
    await polls(world, 'long', 3);
    took.push(`${index}: ${Math.round(performance.now() - startedMs)} ms`);
    if (performance.now() - startedMs > 40_000) throw new Error(took.join(', '));
  }
  expect(hung.size).toBeGreaterThan(8);
});
