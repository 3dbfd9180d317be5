import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import type { Daemon } from '../../src/app/daemon.ts';
import { OPERATOR_CHAIN } from '../../src/core/audit/audit-record.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { API_ROUTES } from '../../src/web/api/openapi.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { configText, environment } from '../daemon/config.ts';
import { d, openScene, ours } from '../daemon/scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, storedIn, troubles } from '../daemon/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { ask } from '../web/fixture.ts';
import { type EventListener, listenTo } from '../web/listener.ts';
import { LogText, leaksIn, PLANTED, plantFiles, startReceiver } from './planted.ts';
import { commandTexts } from './planted-commands.ts';

/** A position near its liquidation and a credit line near its margin call; everything is told to every channel. */
const RULES = `  - id: near
    on: position
    when: { liquidationDistance: { below: 90% } }
    severity: critical
    do:
      - notify: {}
      - reduce: { by: 50%, slippage: 1% }
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 51% } }
    do: [{ notify: { cure: [50%] } }]
`;

function configOf(simulator: RunningSimulator, receiver: string, folder: string, prefix: string): string {
  const file = (name: string): string => `{ file: "${folder}/${name}" }`;
  const more = `redis: { url: { env: REDIS }, prefix: "${prefix}" }
channels:
  broken: { type: slack, url: { env: SLACK }, giveUpAfter: 1s }
  hook: { type: webhook, url: { env: HOOK }, secret: ${file('hookSecret')} }
  bot: { type: telegram, token: ${file('telegramToken')}, chat: "-100", api: "${receiver}" }
  alerts: { type: alertmanager, urls: ["${receiver}"], authorization: { env: ALERTS } }
depositLink:
  ticker: [USD, EUR]
  provider: VISAMASTER
  maxAmount: 4000
  customer:
    firstName: ${file('firstName')}
    lastName: ${file('lastName')}
    email: ${file('email')}
    birthDate: ${file('birthDate')}
    address:
      line1: ${file('line1')}
      line2: ${file('line2')}
      city: ${file('city')}
      zipCode: ${file('zipCode')}
      countryCode: ${file('country')}
`;
  return configText(simulator, {
    accounts: { long: { rules: ['near', 'ltv'] } },
    rules: RULES,
    more,
    web: `{ port: 0, token: ${file('readToken')}, controlToken: ${file('controlToken')}, publicUrl: "http://127.0.0.1:9" }`,
    acting: '{ fillWithin: 10m, intentTtl: 1h, maxSnapshotAge: 1s }',
  });
}

interface Scene {
  readonly world: DaemonWorld;
  readonly daemon: Daemon;
  readonly server: { readonly port: number };
  readonly log: LogText;
  readonly received: readonly { readonly url: string; readonly body: string }[];
  readonly secrets: Readonly<Record<string, string>>;
  readonly simulator: RunningSimulator;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

async function openPlanted(): Promise<Scene> {
  const simulator = await openScene();
  const creditLine = { asset: 'USDT', amount: d('30000'), collateralAsset: 'BTC', collateralAmount: d('1') };
  expect(simulator.model.openLoan('long', creditLine).ok).toBe(true);
  const server = await startRedisServer();
  closeAfterTest(() => server.stop());
  const plain = new Redis(server.url);
  await plain.config('SET', 'requirepass', PLANTED.redisPassword);
  plain.disconnect();
  const redisUrl = server.url.replace('redis://', `redis://:${PLANTED.redisPassword}@`);
  const receiver = await startReceiver();
  const folder = await plantFiles();
  const redis = { url: redisUrl, prefix: 'planted:' };
  const world = await openDaemonWorld(simulator, { accounts: {}, rules: '' }, { redis });
  await world.write(configOf(simulator, receiver.url, folder, 'planted'));
  const log = new LogText();
  const env = {
    ...environment(simulator),
    REDIS: redisUrl,
    HOOK: `${receiver.url}/hooks/${PLANTED.hookAddress}`,
    SLACK: `${receiver.url}/services/${PLANTED.slackAddress}`,
    ALERTS: `Bearer ${PLANTED.alertmanager}`,
  };
  const output = {
    stream: log.stream,
    isTerminal: false,
    colours: false,
    level: 'trace',
    format: 'json',
  } as const;
  const daemon = await world.start({ env, log: output });
  const account = simulator.accounts.find(({ id }) => id === 'long');
  const secrets = { ...PLANTED, apiKey: account?.apiKey ?? '', apiSecret: account?.apiSecret ?? '' };
  const port = Number(new URL(daemon.webUrl() ?? '').port);
  return {
    world,
    daemon,
    server: { port },
    log,
    received: receiver.received,
    secrets,
    simulator,
    env,
    folder,
  };
}

/** That of `tune` is looked at as well, though it may end before its first round. */
const REPORTS = ['check', 'doctor', 'status', 'report', 'pause', 'audit', 'call', 'replay', 'stress'];

const TOP_UPS = '/api/v1/accounts/long/top-ups';

/** What people and the exchange do in the meantime, the refused and the failed included; the links that were made. */
async function live(
  { simulator, server, world, received }: Scene,
  subject: string,
): Promise<readonly string[]> {
  simulator.setPrice('BTC_USDT', '57000');
  await eventually(
    () => ours(simulator, 'long').length > 0 && new Set(received.map(({ url }) => url)).size >= 4,
    'an order, and messages to all channels',
    () => [
      ours(simulator, 'long').length,
      new Set(received.map(({ url }) => url)),
      troubles(world.events).map((event) => JSON.stringify(event).slice(0, 200)),
    ],
  );
  const control = { method: 'POST', token: PLANTED.controlToken };
  const made = await ask(server, TOP_UPS, { ...control, body: { subject, amount: '500', author: 'ann' } });
  expect(made).toMatchObject({ status: 201 });
  const { url } = made.json as { url: string };
  simulator.exchange.fiat.mode = 'failing';
  const failing = await ask(server, TOP_UPS, { ...control, body: { subject, amount: '600' } });
  expect([failing.status, failing.body]).toEqual([422, expect.stringContaining('could not make a link')]);
  simulator.exchange.fiat.mode = 'unavailable';
  expect((await ask(server, TOP_UPS, { ...control, body: { subject, amount: '700' } })).status).toBe(502);
  simulator.exchange.fiat.mode = 'up';
  const little = await ask(server, TOP_UPS, { ...control, body: { subject, amount: '0.01' } });
  expect([little.status, little.body]).toEqual([422, expect.stringMatching(/amount: .*too little/)]);
  const pause = {
    accountId: 'long',
    forMs: 60_000,
    author: 'ann',
    reason: `do not record ${PLANTED.readToken}`,
  };
  expect((await ask(server, '/api/v1/pauses', { ...control, body: pause })).status).toBe(201);
  const token = url.slice(url.lastIndexOf('/') + 1);
  expect(simulator.model.payFiatDeposit(token).ok).toBe(true);
  return [url, token];
}

/** Everything that can be had from the daemon, by where it is from. */
async function everything(
  scene: Scene,
  listener: EventListener,
  subject: string,
): Promise<Map<string, string>> {
  const { server, daemon, world, log, received } = scene;
  const texts = new Map<string, string>();
  const get = async (url: string, asking: Parameters<typeof ask>[2] = { token: PLANTED.readToken }) => {
    const answer = await ask(server, url, asking);
    texts.set(
      `${asking.method ?? 'GET'} ${url} ${Object.keys(asking).join(',')}`,
      `${JSON.stringify(answer.headers)}\n${answer.body}`,
    );
    return answer;
  };
  const records = await daemon.state.audit.tail('long', 10_000);
  const seqs = records.map(({ record }) => record.seq);
  for (const { method, path } of API_ROUTES) {
    if (method !== 'GET') continue;
    const url = path.replace(':id', 'long');
    if (!url.includes(':seq'))
      await get(`${url}${url.endsWith('history') ? `?subject=${encodeURIComponent(subject)}` : ''}`);
    else for (const seq of seqs) await get(url.replace(':seq', String(seq)));
  }
  for (const url of [
    '/',
    '/api/v1/openapi.json',
    '/metrics',
    '/healthz',
    '/readyz',
    '/queues/',
    '/assets/main.js',
  ])
    await get(url);
  for (const queue of ['poll', 'act', 'notify']) {
    const listed = await get(`/queues/api/queues?activeQueue=${queue}&status=latest&page=1&jobsPerPage=100`);
    expect(listed.status).toBe(200);
  }
  for (const token of ['wrong', PLANTED.readToken, PLANTED.controlToken]) {
    await get('/api/v1/pauses', { method: 'POST', token, body: { author: PLANTED.hookSecret } });
    await get('/api/v1/nothing', { token });
    await get('/api/v1/accounts?limit=x', { token, headers: { host: 'evil.example' } });
  }
  texts.set('events', JSON.stringify(listener.events));
  texts.set('log', log.text);
  texts.set('messages', received.map(({ body }) => body).join('\n'));
  texts.set(
    'config',
    inspect(daemon.config(), { depth: 20, showHidden: true }) + JSON.stringify(daemon.config()),
  );
  texts.set('redis', await storedIn(world));
  for (const chain of ['long', OPERATOR_CHAIN]) {
    const chained = await daemon.state.audit.tail(chain, 10_000);
    const inputs = await Promise.all(chained.map(({ record }) => daemon.state.audit.inputs(record)));
    texts.set(`audit of ${chain}`, JSON.stringify([chained, inputs]));
  }
  return texts;
}

function depositsSeen({ events }: DaemonWorld): number {
  return events.reduce((count, event) => {
    const transfers = event.kind === 'evaluated' ? event.snapshot.sources.transfers : undefined;
    return transfers?.kind === 'read' ? transfers.value.records.length : count;
  }, 0);
}

describe.skipIf(!hasRedisServer())('a daemon with planted secrets', () => {
  test('tells none of them, whatever happens: log, metrics, answers, page, events, queues, audit, messages, store, reports of commands', {
    timeout: 90_000,
  }, async () => {
    const scene = await openPlanted();
    const { server, world, daemon, simulator } = scene;
    const listener = await listenTo(server, '?accounts=long', {
      authorization: `Bearer ${PLANTED.readToken}`,
    });
    closeAfterTest(() => listener.close());
    let subject = '';
    await eventually(
      async () => {
        const { json } = await ask(server, '/api/v1/accounts/long', { token: PLANTED.readToken });
        subject = (json as { creditLines?: { subject: string }[] }).creditLines?.[0]?.subject ?? '';
        return subject !== '';
      },
      'the credit line',
      () => troubles(world.events),
    );
    const link = await live(scene, subject);

    // The credit line is brought back: the deposit is named where people are told that it is over.
    await eventually(
      () => depositsSeen(world) > 0,
      'the deposit',
      () => troubles(world.events),
    );
    const [creditLine] = simulator.model.creditLines('long');
    expect(simulator.model.repayLoan('long', creditLine?.loanId ?? 0, d('5000')).ok).toBe(true);
    await eventually(
      () => scene.received.some(({ body }) => body.includes('a deposit of 500 USD arrived at')),
      'the message that names the deposit',
      () => [scene.received.map(({ body }) => body.slice(0, 300)).slice(-6), troubles(world.events)],
    );
    const story = await ask(server, `/api/v1/accounts/long/story?subject=${encodeURIComponent(subject)}`, {
      token: PLANTED.readToken,
    });
    const { entries } = story.json as { entries: { reason?: string; words: string }[] };
    const told = entries.map(({ reason = '', words }) => `${reason} ${words}`).join('\n');
    for (const words of [
      'topUpAsked',
      'topUpLinkMade',
      'topUpFailed',
      'asked for by ann',
      /depositArrived.*500 USD.*loan-to-value is/,
    ]) {
      expect(told).toMatch(words);
    }

    const texts = await everything(scene, listener, subject);
    const commands = await commandTexts(scene);
    for (const [where, text] of commands) texts.set(where, text);
    await daemon.stop('the test has seen all of it', 10_000);
    texts.set('log', scene.log.text);
    expect(leaksIn(texts, scene.secrets)).toEqual([]);
    const [url = '', token = ''] = link;
    expect(leaksIn(texts, { url, token })).toEqual([]);
    // The scan has seen what it is meant to see.
    expect(texts.get('log')).toContain('"event":"started"');
    expect(texts.get('messages')).toContain('http://127.0.0.1:9/accounts/long/');
    expect([...texts.values()].join('').length).toBeGreaterThan(200_000);
    for (const [where, text] of texts) expect([where, text.length > 0]).toEqual([where, true]);
    const done = [...commands].filter(
      ([where, text]) => where.startsWith('breakwater') && text.startsWith('0\n'),
    );
    const kinds = new Set(done.map(([where]) => where.split(' ')[1]));
    for (const kind of REPORTS) expect([kind, kinds.has(kind)]).toEqual([kind, true]);
    for (const kind of ['replay', 'stress', 'tune'])
      expect(commands.get(`what ${kind} --config wrote`)).toContain('</html>');
  });
});

test.each([
  ['as it is', (secret: string) => `x${secret}y`],
  ['in an address', (secret: string) => `https://a.example/?q=${encodeURIComponent(secret)}`],
  ['in a header', (secret: string) => `Basic ${Buffer.from(secret).toString('base64')}`],
  ['in hexadecimal digits', (secret: string) => Buffer.from(secret).toString('hex')],
  ['in capitals', (secret: string) => secret.toUpperCase()],
  ['inside of JSON', (secret: string) => JSON.stringify({ text: JSON.stringify({ secret }) })],
])('the scan finds a secret %s', (_how, write) => {
  for (const [what, secret] of Object.entries(PLANTED)) {
    const texts = new Map([
      ['somewhere', `before ${write(secret)} after`],
      ['elsewhere', 'nothing'],
    ]);
    const found = leaksIn(texts, PLANTED).filter((leak) => leak.what === what);
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]?.where).toBe('somewhere');
  }
});
