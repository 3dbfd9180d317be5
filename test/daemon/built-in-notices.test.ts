import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { decimal } from '../../src/core/quantities/decimal.ts';
import type { PageOverview } from '../../src/web/page/contract.d.ts';
import { closeAfterTest, holding } from '../contract/support/world.ts';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { runCommandLine } from '../support/cli.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { ask } from '../web/fixture.ts';
import { move, openScene, polls } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

/** Notices that need no rule, by a receiver's own count. */

const NO_RULE_THAT_FIRES = `  - id: calm
    on: position
    when: { liquidationDistance: { below: 0.1% } }
    do: [{ notify: {} }]
`;

async function openChat(): Promise<Receiver> {
  const chat = await startReceiver();
  closeAfterTest(() => chat.close());
  return chat;
}

const textsOf = ({ received }: Receiver): readonly string[] => received.map(({ raw }) => raw);

describe.runIf(hasRedisServer())('without a rule, people are notified', () => {
  async function open(accountIds: readonly string[]) {
    const server = await startRedisServer();
    closeAfterTest(() => server.stop());
    const accounts = accountIds.map((id) => holding(id, ['long', decimal('0.5')]));
    const simulator = await openScene({ accounts });
    const chat = await openChat();
    const world = await openDaemonWorld(
      simulator,
      {
        accounts: Object.fromEntries(accountIds.map((id) => [id, { rules: ['calm'] }])),
        rules: NO_RULE_THAT_FIRES,
        web: '{ port: 0, publicUrl: "http://127.0.0.1:1" }',
        more: 'notify: { groupWait: 8s }\nchannels: { chat: { type: slack, url: { env: CHAT } } }\n',
      },
      { redis: { url: server.url, prefix: 'bw' } },
    );
    const daemon = await world.start({ env: { ...world.env, CHAT: chat.url } });
    return { server, simulator, chat, world, daemon };
  }

  test('of an outage of the exchange: once for all 20 accounts, and once when it is over', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `desk${index + 1}`);
    const { simulator, chat, world, daemon } = await open(ids);
    await polls(world, 'desk20', 3);
    const fault = simulator.injectFault({ effect: { kind: 'status', status: 503 }, target: {} });
    await eventually(
      () => chat.received.length > 0,
      'a message',
      () => troubles(world.events),
    );
    const [text = ''] = textsOf(chat);
    expect(text).toContain('CRITICAL firing: 20 accounts blind: the exchange answers with errors');
    for (const id of ids) expect(text).toContain(`${id}: `);
    // One command covers all accounts of the message.
    expect(text).toContain("To acknowledge: breakwater acknowledge --rule 'built-in/blind'");
    const args = ['acknowledge', '--rule', 'built-in/blind', '--config', world.configFile];
    expect(await runCommandLine(args, { env: world.env })).toMatchObject({ exitCode: 0 });
    const acknowledged = (await daemon.state.controls.list()).map(({ accountId }) => accountId);
    expect(new Set(acknowledged)).toEqual(new Set(ids));
    simulator.clearFaults(fault);
    await eventually(
      () => chat.received.length > 1,
      'the end',
      () => troubles(world.events),
    );
    const [, end = '', ...more] = textsOf(chat);
    expect(end).toContain('Resolved: 20 accounts (built-in/blind)');
    expect(more).toEqual([]);
  });

  test('of a refused config, a paused queue, and of going on without Redis', async () => {
    const { server, chat, world, daemon } = await open(['desk1']);
    await polls(world, 'desk1', 3);
    const told = async (what: string): Promise<void> =>
      await eventually(
        () => textsOf(chat).some((text) => text.includes(what)),
        what,
        () => [...textsOf(chat), ...troubles(world.events)],
      );
    await writeFile(world.configFile, 'mode: everything\n');
    await told('built-in/config-refused');
    expect(textsOf(chat)).toEqual([
      expect.stringMatching(/built-in\/config-refused.*the one before stays in force.*mode/s),
    ]);
    await daemon.shared!.queues.poll.pause();
    await told('had paused or limited the queue poll');
    await server.kill();
    await told('built-in/without-redis');
    await server.start();
    await told('Resolved: built-in/without-redis');
  });
});

async function openTold(more: string) {
  const simulator = await openScene();
  const chat = await openChat();
  const parts = (channels: string) => ({
    mode: 'observe' as const,
    accounts: { long: { rules: ['falls'], more: '    mode: enforce\n' } },
    rules: `  - id: falls
    on: position
    when: { markPrice: { below: 59500 } }
    do: [{ notify: { ${channels.includes('chat') ? 'channels: [chat]' : ''} } }]
`,
    more: channels,
  });
  const world = await openDaemonWorld(simulator, parts(more.replace('CHAT', chat.url)));
  return { simulator, chat, world, parts };
}

const CHANNELS = 'channels: { chat: { type: webhook, url: "CHAT" } }\n';

test('the notice of a refused config names the mode in force, not the mode of the file', async () => {
  const { chat, world } = await openTold(CHANNELS);
  await world.start();
  await polls(world, 'long', 2);
  await writeFile(world.configFile, 'mode: everything\n');
  await eventually(
    () => chat.received.length > 0,
    'a message',
    () => troubles(world.events),
  );
  expect(chat.received.map(({ json }) => json)).toMatchObject([
    { rule: 'built-in/config-refused', mode: null },
  ]);
  const [text = ''] = textsOf(chat);
  expect(text).not.toMatch(/sends no order|; mode: /);
});

test('a channel removed from the config is not reported as failing', async () => {
  const { simulator, chat, world, parts } = await openTold(CHANNELS);
  const daemon = await world.start();
  await polls(world, 'long', 2);
  move(simulator, -0.02);
  await eventually(
    () => textsOf(chat).some((text) => text.includes('falls')),
    'a message',
    () => troubles(world.events),
  );
  await world.write(parts('channels: {}\n'));
  await daemon.reload();
  move(simulator, 0.04);
  const ends = () =>
    world.events.flatMap((event) =>
      event.kind === 'delivered' && event.message.kind === 'resolved' ? [event.report] : [],
    );
  await eventually(
    () => ends().length > 0,
    'its end',
    () => troubles(world.events),
  );
  expect(ends()).toMatchObject([{ channel: 'log', delivery: { kind: 'delivered' } }]);
  const overview = await ask({ port: Number(new URL(daemon.webUrl() ?? '').port) }, '/api/v1/overview');
  expect((JSON.parse(overview.body) as PageOverview).degraded).not.toContain('notify');
});
