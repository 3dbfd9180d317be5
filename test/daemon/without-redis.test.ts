import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { drift, openScene, ours, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

/** What a daemon does while Redis is lost: by the ledger of the simulated exchange. */

const HALVE = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 9% } }
    keepFiringFor: 10s
    do: [{ notify: { channels: [own] } }, { reduce: { by: 50%, slippage: 1% } }]
`;
const ACCOUNTS = { long: { rules: ['rule'] } };

/** A receiver of notices. */
async function openHook(): Promise<{ readonly url: string; readonly bodies: readonly string[] }> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      bodies.push(body);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, bodies };
}

describe.runIf(hasRedisServer())('while Redis is lost', () => {
  async function open() {
    const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'everysec'] });
    closeAfterTest(() => server.stop());
    const simulator = await openScene();
    const hook = await openHook();
    const world = await openDaemonWorld(
      simulator,
      {
        accounts: ACCOUNTS,
        rules: HALVE,
        more: `channels: { own: { type: webhook, url: "${hook.url}" } }\n`,
      },
      { redis: { url: server.url, prefix: 'bw' } },
    );
    return { server, simulator, world, said: hook.bodies };
  }

  test('a breach is acted on within seconds, and when it is back nothing is sent twice', {
    timeout: 120_000,
  }, async () => {
    const { server, simulator, world, said } = await open();
    const daemon = await world.start();
    await polls(world, 'long', 3);
    await server.kill();
    const isAlone = (): boolean =>
      world.events.some((event) => event.kind === 'standby' && event.state === 'alone');
    await eventually(isAlone, 'the loss noticed', () => troubles(world.events));
    await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
    await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.5, 'a fill', world);
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
    expect((await daemon.state.audit.verify('long')).kind).toBe('intact');
    const records = await daemon.state.audit.tail('long', 1_000);
    const kinds = records.flatMap(({ record: { content } }) =>
      content.kind === 'action' ? [content.event.kind] : [],
    );
    expect(kinds.filter((kind) => kind === 'intentOpened')).toHaveLength(1);
    expect(kinds).toContain('filled');
    expect(said.filter((body) => body.includes('"firing"'))).toHaveLength(1);
  });
});
