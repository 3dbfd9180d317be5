import { describe, expect, test } from 'vitest';
import type { AccountView } from '../../src/core/view/account-view.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import type { PageOverview } from '../../src/web/page/contract.d.ts';
import { verdictOf } from '../../src/web/page/danger.js';
import { closeAfterTest } from '../contract/support/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { runCommandLine } from '../support/cli.ts';
import { freePort, hasRedisServer, startRedisServer } from '../support/redis.ts';
import { startWorkingTime } from '../support/working-time.ts';
import type { RedisPart } from './config.ts';
import { openScene, ours, polls, sizeOf } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles } from './world.ts';

/** During an outage page, `status`, API and metric agree within 5 s, and match the ledger. */

const RULES = `  - id: halve
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
  - id: far
    on: position
    when: { liquidationDistance: { below: 0.1% } }
    do: [{ notify: {} }]
`;
const WITHIN_MS = 5_000;

interface Seen {
  readonly api: AccountView;
  readonly page: string;
  readonly status: string;
  readonly metric: string;
}

async function look(world: DaemonWorld, url: string): Promise<Seen> {
  const reply = async (path: string) => await (await fetch(`${url}${path}`)).text();
  const status = await runCommandLine(['status', '--config', world.configFile], { env: world.env });
  const metrics = await reply('/metrics');
  return {
    api: JSON.parse(await reply('/api/v1/accounts/long')) as AccountView,
    page: verdictOf(JSON.parse(await reply('/api/v1/overview')) as PageOverview).sentence,
    status: status.stdout + status.stderr,
    metric: /^breakwater_account_state\{account="long",(.*)\} 1$/m.exec(metrics)?.[1] ?? '',
  };
}

/** The expected reports once the API has this cause; what holds this process up does not count. */
async function saysEverywhere(
  world: DaemonWorld,
  url: string,
  kind: string,
  cause: string,
  words: RegExp,
): Promise<Seen> {
  const workedMs = startWorkingTime();
  let seen = await look(world, url);
  const agrees = ({ api, page, status, metric }: Seen): boolean =>
    api.state?.cause === cause &&
    words.test(api.state.words) &&
    words.test(page) &&
    words.test(status) &&
    metric === `state="${kind}",cause="${cause}"`;
  await eventually(
    async () => {
      seen = await look(world, url);
      return agrees(seen);
    },
    `${cause} everywhere`,
    () => [seen.api.state, seen.page, seen.status, seen.metric, troubles(world.events)],
  );
  expect(workedMs()).toBeLessThan(WITHIN_MS);
  return seen;
}

async function open(
  rules: readonly string[],
  redis?: RedisPart,
): Promise<{ simulator: RunningSimulator; world: DaemonWorld; url: string }> {
  const simulator = await openScene();
  const parts = { accounts: { long: { rules } }, rules: RULES };
  const world = await openDaemonWorld(simulator, parts, redis === undefined ? {} : { redis });
  const daemon = await world.start();
  await polls(world, 'long', 2);
  return { simulator, world, url: daemon.webUrl() ?? '' };
}

test('the exchange refuses the key: every place says blind and 401, not "acting", and nothing was sent', async () => {
  const { simulator, world, url } = await open(['far']);
  await saysEverywhere(world, url, 'calm', 'nothing', /calm: .* from liquidation/);
  const fault = simulator.injectFault({
    effect: { kind: 'status', status: 401, code: 4, message: 'Unauthorized' },
    target: {},
  });
  await saysEverywhere(world, url, 'blind', 'keyRefused', /blind: the exchange refuses the key \(401/);
  expect(ours(simulator, 'long')).toEqual([]);
  simulator.clearFaults(fault);
  await saysEverywhere(world, url, 'calm', 'nothing', /calm: .* from liquidation/);
});

test('the exchange is unreachable: every place says so, not "last poll under 1 s ago"', async () => {
  const { simulator, world, url } = await open(['far']);
  simulator.injectFault({ effect: { kind: 'hang' }, target: {} });
  await saysEverywhere(world, url, 'blind', 'unreachable', /blind: the exchange is unreachable/);
  expect(ours(simulator, 'long')).toEqual([]);
});

test('the market takes no orders: every place says blocked, not "acting", and the ledger has no order', async () => {
  const simulator = await openScene({ conditions: [{ kind: 'halt', market: 'BTC_PERP' }] });
  const world = await openDaemonWorld(simulator, { accounts: { long: { rules: ['halve'] } }, rules: RULES });
  const url = (await world.start()).webUrl() ?? '';
  await saysEverywhere(world, url, 'blocked', 'orderRefused', /blocked: the exchange refuses the order/);
  expect(simulator.model.openOrders('long')).toEqual([]);
  expect(sizeOf(simulator, 'long')).toBe(0.5);
});

test('one notification channel fails: page, API, `status`, metric and the other channel say so', async () => {
  const [chat, pager] = [await startReceiver({ status: 404, body: 'no_service' }), await startReceiver()];
  closeAfterTest(async () => {
    await Promise.all([chat.close(), pager.close()]);
  });
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['falls', 'falls-more'] } },
    rules: `  - { id: falls, on: position, when: { markPrice: { below: 59500 } }, do: [{ notify: { channels: [chat] } }] }
  - { id: falls-more, on: position, when: { markPrice: { below: 58500 } }, do: [{ notify: { channels: [chat] } }] }
`,
    web: `{ port: ${await freePort()} }`,
    more: 'channels: { chat: { type: slack, url: { env: CHAT } }, pager: { type: slack, url: { env: PAGER } } }\n',
  });
  const env = { ...world.env, CHAT: chat.url, PAGER: pager.url };
  const url = (await world.start({ env })).webUrl() ?? '';
  const truth = async () => {
    const overview = JSON.parse(await (await fetch(`${url}/api/v1/overview`)).text()) as PageOverview;
    const status = await runCommandLine(['status', '--config', world.configFile], { env });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return {
      api: overview.degraded.includes('notify'),
      page: verdictOf(overview).sentence.includes('notifications are not delivered'),
      status: status.stdout.startsWith(
        'Of the daemon not everything works: notifications are not delivered.',
      ),
      metric: metrics.includes('breakwater_degraded{reason="notify"} 1'),
    };
  };
  const says = async (isFailing: boolean): Promise<void> => {
    const workedMs = startWorkingTime();
    const expected = { api: isFailing, page: isFailing, status: isFailing, metric: isFailing };
    await eventually(
      async () => JSON.stringify(await truth()) === JSON.stringify(expected),
      `every place says ${isFailing ? 'that it fails' : 'nothing'}`,
      () => troubles(world.events),
    );
    expect(workedMs()).toBeLessThan(WITHIN_MS);
  };
  const pages = (): readonly string[] => pager.received.map(({ raw }) => raw);
  await polls(world, 'long', 2);
  await says(false);
  simulator.setPrice('BTC_PERP', '59000');
  await eventually(() => chat.received.length > 0, 'the message that is refused');
  await says(true);
  const words = 'he channel chat does not deliver (notFound)';
  await eventually(
    () => pages().some((text) => text.includes(words)),
    'the other channel told',
    () => [...pages(), troubles(world.events)],
  );
  expect(chat.received.some(({ raw }) => raw.includes(words))).toBe(false);
  chat.answer({ body: 'ok' });
  simulator.setPrice('BTC_PERP', '58000');
  await eventually(
    () => pages().some((text) => /Resolved/i.test(text) && text.includes('built-in/channel-failed')),
    'that it is over',
    () => [...pages(), troubles(world.events)],
  );
  await says(false);
  expect(pages().filter((text) => text.includes(words))).toHaveLength(1);
});

test('"waiting" is shown only after an order was accepted, with its price, and the ledger has it', async () => {
  const { simulator, world, url } = await open(['halve']);
  const { page } = await saysEverywhere(
    world,
    url,
    'waiting',
    'orderWaits',
    /waiting for its trigger: sell 0\.25/,
  );
  const [order] = simulator.model.openOrders('long');
  expect(order?.amount.toString()).toBe('0.25');
  expect(page).toContain(`once the price is ${order?.activationPrice?.toString() ?? ''} or less`);
});

describe.runIf(hasRedisServer())('while Redis is down', () => {
  test('where Redis is required, every place says that it is down, not "acting"', async () => {
    const server = await startRedisServer();
    closeAfterTest(() => server.stop());
    const { world, url } = await open(['far'], { url: server.url, prefix: 'bw', required: true });
    await saysEverywhere(world, url, 'calm', 'nothing', /calm: .* from liquidation/);
    await server.kill();
    await saysEverywhere(world, url, 'blind', 'storeLost', /blind: Redis is down/);
  });

  test('where the daemon goes on without Redis, the page says calm, not "blind", and that Redis is lost', async () => {
    const server = await startRedisServer();
    closeAfterTest(() => server.stop());
    const { world, url } = await open(['far'], { url: server.url, prefix: 'bw' });
    await saysEverywhere(world, url, 'calm', 'nothing', /calm: .* from liquidation/);
    await server.kill();
    await eventually(
      () => world.events.some((event) => event.kind === 'standby'),
      'the loss noticed',
      () => troubles(world.events),
    );
    await polls(world, 'long', 3);
    const overview = await fetch(`${url}/api/v1/overview`).then(async (reply) => await reply.json());
    const degraded: unknown = expect.arrayContaining(['redis']);
    expect(overview).toMatchObject({ headline: { kind: 'calm' }, degraded });
  });
});
