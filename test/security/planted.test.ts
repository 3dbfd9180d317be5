import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema } from '../../scripts/documents/json-schema.ts';
import type { Daemon } from '../../src/app/daemon.ts';
import { OPERATOR_CHAIN } from '../../src/core/audit/audit-record.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { API_ROUTES } from '../../src/web/api/openapi.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { d, openScene, ours } from '../daemon/scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, storedIn, troubles } from '../daemon/world.ts';
import { type Certificate, hasOpenssl, openAuthority } from '../support/certificates.ts';
import { freePort, hasRedisServer, startRedisServer } from '../support/redis.ts';
import { ask } from '../web/fixture.ts';
import { type EventListener, listenTo } from '../web/listener.ts';
import { LogText, leaksIn, PLANTED, plantFiles } from './planted.ts';
import { commandTexts } from './planted-commands.ts';
import { keyLines, PUBLIC_URL, plantedConfig } from './planted-config.ts';
import { type Received, startMailServer, startReceiver } from './planted-servers.ts';
import { secretPlaces, writtenAt } from './secret-places.ts';

interface Scene {
  readonly world: DaemonWorld;
  readonly daemon: Daemon;
  readonly server: { readonly port: number };
  readonly log: LogText;
  readonly received: readonly Received[];
  readonly mails: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
  readonly simulator: RunningSimulator;
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** The configs: the daemon's, and one with Sentinels. */
  readonly texts: { readonly text: string; readonly sentinels: string };
}

/** One server, with and without TLS; both require the password. */
async function startRedis(tls: Certificate & { readonly ca: string }) {
  const port = await freePort();
  const files = ['--tls-cert-file', tls.cert, '--tls-key-file', tls.key, '--tls-ca-cert-file', tls.ca];
  const server = await startRedisServer({ args: ['--tls-port', String(port), ...files] });
  closeAfterTest(() => server.stop());
  const plain = new Redis(server.url);
  await plain.config('SET', 'requirepass', PLANTED.redisPassword);
  plain.disconnect();
  return {
    plain: server.url.replace('redis://', `redis://:${PLANTED.redisPassword}@`),
    encrypted: `rediss://:${PLANTED.redisPassword}@127.0.0.1:${port}`,
  };
}

async function openPlanted(): Promise<Scene> {
  const simulator = await openScene();
  const creditLine = { asset: 'USDT', amount: d('30000'), collateralAsset: 'BTC', collateralAmount: d('1') };
  expect(simulator.model.openLoan('long', creditLine).ok).toBe(true);
  const authority = await openAuthority();
  const own = { ...(await authority.sign('client')), ca: authority.cert };
  const urls = await startRedis({ ...(await authority.sign('server')), ca: authority.cert });
  const receiver = await startReceiver();
  const mail = await startMailServer();
  const folder = await plantFiles();
  const redis = { url: urls.plain, prefix: 'planted:' };
  const world = await openDaemonWorld(simulator, { accounts: {}, rules: '' }, { redis });
  const planted = await plantedConfig({
    simulator,
    folder,
    prefix: 'planted',
    receiverUrl: receiver.url,
    mailPort: mail.port,
    redisUrl: urls.encrypted,
    tls: own,
  });
  await world.write(planted.text);
  const log = new LogText();
  const env = { ...planted.env, PLAIN_REDIS: urls.plain };
  const output = {
    stream: log.stream,
    isTerminal: false,
    colours: false,
    level: 'trace',
    format: 'json',
  } as const;
  const daemon = await world.start({ env, log: output });
  const account = simulator.accounts.find(({ id }) => id === 'long');
  const secrets = {
    ...PLANTED,
    ...(await keyLines(own.key)),
    apiKey: account?.apiKey ?? '',
    apiSecret: account?.apiSecret ?? '',
  };
  const port = Number(new URL(daemon.webUrl() ?? '').port);
  return {
    world,
    daemon,
    server: { port },
    log,
    received: receiver.received,
    mails: mail.mails,
    secrets,
    simulator,
    env,
    folder,
    texts: planted,
  };
}

const REPORTS = ['check', 'doctor', 'status', 'report', 'pause', 'audit', 'call', 'replay', 'stress'];

/** Its receiver fails, and its proxy refuses: both are given up. */
const FAILING: ReadonlySet<string> = new Set(['broken', 'refused']);

/** Channels of the config, and the log. Services may answer differently, so retries vary. */
function notYetAnswered({ world, texts }: Scene): readonly string[] {
  const { channels } = parse(texts.text) as { readonly channels: object };
  const answered = new Set(
    world.events.flatMap((event) => {
      if (event.kind === 'deliveryRetried') return event.reason === 'badReply' ? [event.channel] : [];
      if (event.kind !== 'delivered') return [];
      const { channel, delivery } = event.report;
      return delivery.kind === 'delivered' || FAILING.has(channel) ? [channel] : [];
    }),
  );
  return [...Object.keys(channels), 'log'].filter((name) => !answered.has(name));
}

const TOP_UPS = '/api/v1/accounts/long/top-ups';

/**
 * Actions of people and the exchange during the run, including refused and failed ones; returns the links that were
 * made.
 */
async function live(scene: Scene, subject: string): Promise<readonly string[]> {
  const { simulator, server, world, received } = scene;
  simulator.setPrice('BTC_USDT', '57000');
  const isAlive = () => received.some(({ url }) => url.startsWith('/ping/'));
  await eventually(
    () => ours(simulator, 'long').length > 0 && notYetAnswered(scene).length === 0 && isAlive(),
    'an order, messages through all channels, and a heartbeat',
    () => [
      ours(simulator, 'long').length,
      notYetAnswered(scene),
      isAlive(),
      troubles(world.events).map((event) => JSON.stringify(event).slice(0, 200)),
    ],
  );
  const control = { method: 'POST', token: PLANTED.controlToken };
  // Typed text is stored without secrets pasted by mistake.
  const author = `ann ${PLANTED.hookSecret}`;
  const made = await ask(server, TOP_UPS, { ...control, body: { subject, amount: '500', author } });
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
    author,
    reason: `do not record ${PLANTED.readToken}`,
  };
  const paused = await ask(server, '/api/v1/pauses', { ...control, body: pause });
  expect(paused.status).toBe(201);
  const lift = { ...control, method: 'DELETE', body: { author, reason: pause.reason } };
  const { id } = paused.json as { id: string };
  expect((await ask(server, `/api/v1/pauses/${id}`, lift)).status).toBe(200);
  const flatten = { order: { kind: 'flatten', markets: ['ETH_PERP'] }, author, reason: pause.reason };
  const ordered = await ask(server, '/api/v1/accounts/long/orders', {
    ...control,
    body: { ...flatten, key: 'planted-1' },
  });
  expect([ordered.status, ordered.body]).toEqual([201, expect.stringContaining('[redacted]')]);
  const token = url.slice(url.lastIndexOf('/') + 1);
  expect(simulator.model.payFiatDeposit(token).ok).toBe(true);
  return [url, token];
}

function mailText(mail: string): string {
  return mail
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Files that a daemon writes; of those that it is just putting in place, what they replace is read. */
async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.new'))
    .map((entry) => path.join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      files.map(
        async (file) => [`file ${path.relative(folder, file)}`, await readFile(file, 'utf8')] as const,
      ),
    ),
  );
}

/** Two services take their key in the message itself. */
function messageText({ url, body }: Received): string {
  if (url === '/') return body.replaceAll(PLANTED.ntfyTopic, '(its topic)');
  return url === '/v2/enqueue' ? body.replaceAll(PLANTED.pagerdutyKey, '(its key)') : body;
}

/** Everything that can be read from the daemon, by source. */
async function everything(
  scene: Scene,
  listener: EventListener,
  subject: string,
): Promise<Map<string, string>> {
  const { server, daemon, world, log, received, mails, folder } = scene;
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
  for (const token of ['wrong', PLANTED.readToken, PLANTED.controlToken, PLANTED.userToken]) {
    await get('/api/v1/pauses', { method: 'POST', token, body: { author: PLANTED.hookSecret } });
    await get('/api/v1/nothing', { token });
    await get('/api/v1/accounts?limit=x', { token, headers: { host: 'evil.example' } });
  }
  texts.set('events', JSON.stringify(listener.events));
  texts.set('log', log.text);
  texts.set('messages', [...received.map(messageText), ...mails.map(mailText)].join('\n'));
  for (const [where, text] of await filesIn(path.join(folder, 'mirror'))) texts.set(where, text);
  texts.set('heads', await readFile(path.join(folder, 'heads'), 'utf8'));
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

describe.runIf(hasRedisServer() && hasOpenssl)('a daemon with planted secrets', () => {
  test('tells none of them, whatever happens: log, metrics, answers, page, events, queues, audit, messages, store, reports of commands', async () => {
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

    // The credit line is restored: the notice of its end names the deposit.
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

    // The first check of the watchdog writes the heads, a second after the start.
    await eventually(() => existsSync(path.join(scene.folder, 'heads')), 'the heads');
    const mirror = path.join(scene.folder, 'mirror');
    await eventually(async () => (await filesIn(mirror)).size > 1, 'a mirror of the state');
    const texts = await everything(scene, listener, subject);
    const commands = await commandTexts({ ...scene, sentinels: scene.texts.sentinels });
    for (const [where, text] of commands) texts.set(where, text);
    await daemon.stop('the test has seen all of it', 30_000);
    texts.set('log', scene.log.text);
    // Rules compare addresses, so the config in memory keeps them in clear.
    const { withdrawalAddress: _address, ...ofConfig } = scene.secrets;
    const config = new Map([['config', texts.get('config') ?? '']]);
    texts.delete('config');
    expect(leaksIn(config, ofConfig)).toEqual([]);
    expect(leaksIn(texts, scene.secrets)).toEqual([]);
    const [url = '', token = ''] = link;
    expect(leaksIn(texts, { url, token })).toEqual([]);
    // The scan has seen its intended sources.
    expect(texts.get('log')).toContain('"event":"started"');
    // Wrong tokens are reported with their sender.
    expect(texts.get('log')).toMatch(/"event":"webRefused".*wrongToken.*127\.0\.0\.1/);
    expect(texts.get('messages')).toContain(`${PUBLIC_URL}/accounts/long/`);
    expect([...texts.keys()].filter((where) => where.startsWith('file instance-0/')).length).toBeGreaterThan(
      1,
    );
    expect([...texts.values()].join('').length).toBeGreaterThan(200_000);
    for (const [where, text] of texts) expect([where, text.length > 0]).toEqual([where, true]);
    const done = [...commands].filter(
      ([where, text]) => where.startsWith('breakwater') && text.startsWith('0\n'),
    );
    const kinds = new Set(done.map(([where]) => where.split(' ')[1]));
    for (const kind of REPORTS) expect([kind, kinds.has(kind)]).toEqual([kind, true]);
    for (const kind of ['replay', 'stress'])
      expect(commands.get(`what ${kind} --config wrote`)).toContain('</html>');
  });
});

/** `DE` occurs in every text. */
const TOO_SHORT = new Set(['countryCode']);

test('every secret that a config can have is planted', async () => {
  const simulator = await openScene();
  const folder = await plantFiles();
  const tls = { cert: 'client.crt', key: path.join(folder, 'own.key'), ca: 'ca.crt' };
  await writeFile(tls.key, Object.values(PLANTED).join('\n'));
  const planted = await plantedConfig({
    simulator,
    folder,
    prefix: 'planted',
    receiverUrl: 'http://127.0.0.1:9',
    mailPort: 9,
    redisUrl: `redis://:${PLANTED.redisPassword}@127.0.0.1:9`,
    tls,
  });
  const known = [
    ...Object.values(PLANTED),
    ...simulator.accounts.flatMap((one) => [one.apiKey, one.apiSecret]),
  ];
  const isPlanted = (written: unknown): boolean => {
    const { env, file } = written as { env?: string; file?: string };
    const text = env === undefined ? readFileSync(file ?? String(written), 'utf8') : (planted.env[env] ?? '');
    return known.some((secret) => text.includes(secret));
  };
  const configs: readonly unknown[] = [parse(planted.text), parse(planted.sentinels)];
  const missingOf = (schema: object): readonly string[] =>
    secretPlaces(schema)
      .filter((place) => !TOO_SHORT.has(place.at(-1) ?? ''))
      .filter((place) => !configs.flatMap((config) => writtenAt(config, place)).some(isPlanted))
      .map((place) => place.join('.'));
  // From the sources: config/schema.json may be outdated.
  const schema = configJsonSchema() as { readonly properties: Readonly<Record<string, object>> };
  expect(missingOf(schema)).toEqual([]);
  // A new secret anywhere is noticed.
  const { web } = schema.properties;
  const more = { properties: { ...schema.properties, vault: { anyOf: [{ items: web }] } } };
  expect(missingOf(more)).toEqual(['vault.*.token', 'vault.*.controlToken']);
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
