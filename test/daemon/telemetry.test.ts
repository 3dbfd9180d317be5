import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Daemon } from '../../src/app/daemon.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { checkMetrics } from '../support/programs.ts';
import { freePort, hasRedisServer, startRedisServer } from '../support/redis.ts';
import { valueOf } from '../telemetry/parts.ts';
import { startChild } from './child.ts';
import { openScene, ours, polls } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles } from './world.ts';

/** Reduces at once, with an order that the price must reach: the intent stays open until then. */
const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 8%, clearAbove: 12% } }
    keepFiringFor: 1m
    severity: critical
    do:
      - notify: { channels: [log] }
      - reduce: { untilDistance: 25%, slippage: 1% }
`;
const PATIENT = '{ fillWithin: 10m, intentTtl: 1h }';
const RULES = { accounts: { long: { rules: ['near'] }, short: { rules: ['near'] } }, rules: NEAR };

interface Got {
  readonly status: number;
  readonly body: string;
}

async function get(url: string | undefined, target: string, token?: string): Promise<Got> {
  const headers = {
    connection: 'close',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const reply = await fetch(`${url}${target}`, { headers });
  return { status: reply.status, body: await reply.text() };
}

interface Health {
  readonly ready: boolean;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly why: string }[];
}

async function health(daemon: Daemon): Promise<Health & { readonly status: number }> {
  const { status, body } = await get(daemon.webUrl(), '/readyz');
  return { status, ...(JSON.parse(body) as Health) };
}

async function scraped(daemon: Daemon): Promise<(series: string) => number | undefined> {
  const { body } = await get(daemon.webUrl(), '/metrics');
  return (series) => valueOf(body, `breakwater_${series}`);
}

/** Waits until a scrape has the value. */
async function told(daemon: Daemon, series: string, value: number | undefined): Promise<void> {
  let last: number | undefined;
  await eventually(
    async () => {
      last = (await scraped(daemon))(series);
      return last === value;
    },
    `${series} ${value}`,
    () => last,
  );
}

interface LogLine {
  readonly [key: string]: unknown;
  readonly level: string;
  readonly event: string;
  readonly words: string;
}

class Log {
  readonly stream = new PassThrough();
  #text = '';

  get text(): string {
    this.#text += String((this.stream.read() as Buffer | null) ?? '');
    return this.#text;
  }

  get lines(): readonly LogLine[] {
    return this.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as LogLine);
  }
}

async function openNear(
  parts: Partial<Parameters<typeof openDaemonWorld>[1]> = {},
): Promise<{ simulator: RunningSimulator; world: DaemonWorld }> {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { ...RULES, acting: PATIENT, ...parts });
  return { simulator, world };
}

test('a scrape shows current intents, pauses and queues, in every process alike, and promtool finds no fault', async ({
  annotate,
}) => {
  const { simulator, world } = await openNear();
  const daemon = await world.start({ roles: ['poll', 'act', 'notify', 'web'] });
  const other = await world.start({ roles: ['web'], ordinal: 1 });
  await polls(world, 'long', 2);
  for (const each of [daemon, other]) {
    await told(each, 'intents_open{account="long",mode="enforce"}', 0);
    await told(each, 'account_paused{account="long"}', 0);
  }
  simulator.setPrice('BTC_PERP', '43000');
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  for (const each of [daemon, other]) {
    await told(each, 'intents_open{account="long",mode="enforce"}', 1);
    const value = await scraped(each);
    expect(value('intents_open{account="short",mode="enforce"}')).toBe(0);
    expect(value('oldest_intent_age_seconds{account="long",mode="enforce"}')).toBeGreaterThan(0);
    expect(value('oldest_intent_age_seconds{account="long",mode="enforce"}')).toBeLessThan(600);
    expect(value('shared_state_available')).toBe(1);
    for (const queue of ['poll', 'act', 'notify']) {
      for (const state of ['waiting', 'active', 'delayed', 'failed']) {
        expect([queue, state, value(`queue_jobs{queue="${queue}",state="${state}"}`)]).not.toContain(
          undefined,
        );
      }
      expect(value(`queue_oldest_job_seconds{queue="${queue}"}`)).toBeLessThan(60);
    }
  }
  await daemon.state.controls.put({
    kind: 'pause',
    accountId: 'long',
    author: 'alice',
    reason: 'a test',
    expiresAtMs: null,
  });
  await told(other, 'account_paused{account="long"}', 1);
  expect((await scraped(other))('account_paused{account="short"}')).toBe(0);
  const text = (await get(daemon.webUrl(), '/metrics')).body;
  expect(valueOf(text, 'breakwater_redis_available')).toBe(1);
  expect(valueOf(text, 'breakwater_rules_firing{account="long"}')).toBe(1);
  expect(valueOf(text, 'breakwater_breach_to_order_seconds_count')).toBe(1);
  for (const each of [daemon, other]) {
    const verdict = await checkMetrics((await get(each.webUrl(), '/metrics')).body);
    if (verdict === undefined) await annotate('promtool is not installed: the scrape was not checked by it');
    else expect(verdict).toEqual({ code: 0, output: '' });
  }
});

test('a web-only process sends the exchange no request, and is ready when others watch', async () => {
  const { simulator, world } = await openNear();
  const web = await world.start({ roles: ['web'] });
  const before = await health(web);
  expect(before).toMatchObject({ status: 503, ready: false });
  expect(before.checks).toEqual([
    { name: 'redis', ok: true, why: 'it answers' },
    { name: 'firstEvaluation', ok: false, why: 'long has not been judged; short has not been judged' },
    { name: 'dataFresh', ok: false, why: 'long has no data; short has no data' },
  ]);
  await sleep(300);
  expect(simulator.exchange.log.total).toBe(0);
  expect(world.events.some(({ kind }) => kind === 'schedulesAsserted')).toBe(false);
  const poller = await world.start({ roles: ['poll'], ordinal: 1 });
  expect(poller.webUrl()).toBeUndefined();
  await eventually(
    async () => (await health(web)).status === 200,
    'ready',
    async () => health(web),
  );
  expect((await health(web)).checks.map(({ ok }) => ok)).toEqual([true, true, true]);
});

test('an account judged without a reply of the exchange is not ready; with the first reply it is', async () => {
  const { world, simulator } = await openNear();
  const fault = simulator.injectFault({
    effect: { kind: 'status', status: 503 },
    target: { account: 'short' },
  });
  const daemon = await world.start();
  await polls(world, 'short', 2);
  await polls(world, 'long', 2);
  await eventually(
    async () => (await health(daemon)).checks[1]?.ok === true,
    'both are judged',
    async () => health(daemon),
  );
  expect(await health(daemon)).toMatchObject({
    status: 503,
    checks: [{}, {}, { ok: false, why: 'short: positions have not been read' }],
  });
  simulator.clearFaults(fault);
  await eventually(
    async () => (await health(daemon)).status === 200,
    'ready',
    async () => health(daemon),
  );
  expect(simulator.internalErrors).toEqual([]);
});

test('a start on a port in use says what to change, and has done nothing', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  closeAfterTest(() => new Promise((resolve) => taken.close(() => resolve())));
  const { port } = taken.address() as { port: number };
  const { simulator, world } = await openNear({ web: `{ port: ${port} }` });
  await expect(world.start()).rejects.toMatchObject({
    code: 'WEB_ADDRESS_IN_USE',
    message: `port ${port} of 127.0.0.1 is in use: set another web.port, or stop what uses it`,
  });
  expect(simulator.exchange.log.total).toBe(0);
  const elsewhere = await world.start({ webPort: 0 });
  expect((await get(elsewhere.webUrl(), '/healthz')).status).toBe(200);
});

test('a taken --port or --health-port is reported as that option, not as the config key that it overrides', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  closeAfterTest(() => new Promise((resolve) => taken.close(() => resolve())));
  const { port } = taken.address() as { port: number };
  const { world } = await openNear();
  const inUse = `port ${port} of 127.0.0.1 is in use`;
  await expect(world.start({ webPort: port })).rejects.toThrow(
    `${inUse}: choose another --port, or stop what uses it`,
  );
  await expect(world.start({ webPort: 0, healthPort: port })).rejects.toThrow(
    `${inUse}: choose another --health-port, or stop what uses it`,
  );
});

test('a reload moves the web server, changes who may read, and keeps the old server when it cannot', async () => {
  const TOKEN = 'a-token-for-readers-1';
  const [first, second] = [await freePort(), await freePort()];
  const { simulator, world } = await openNear({ web: `{ port: ${first} }` });
  const env: Record<string, string> = { ...world.env, WEB_TOKEN: TOKEN };
  const daemon = await world.start({ env });
  const at = (port: number) => `http://127.0.0.1:${port}`;
  const write = (web: string) => world.write({ ...RULES, acting: PATIENT, web });
  expect(daemon.webUrl()).toBe(at(first));

  await write(`{ port: ${second}, names: [breakwater.internal] }`);
  // The watchdog may have been first: then there is nothing left to change.
  const moved = await daemon.reload();
  expect(moved.kind).not.toBe('refused');
  if (moved.kind === 'adopted') expect(moved.change.needsRestart).toEqual([]);
  expect(daemon.webUrl()).toBe(at(second));
  await expect(get(at(first), '/healthz')).rejects.toThrow();
  expect((await get(at(second), '/metrics')).status).toBe(200);

  await write(`{ port: ${second}, token: { env: WEB_TOKEN } }`);
  expect((await daemon.reload()).kind).not.toBe('refused');
  expect((await get(at(second), '/metrics')).status).toBe(401);
  expect((await get(at(second), '/metrics', TOKEN)).status).toBe(200);

  const taken = createServer().listen(first, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  closeAfterTest(() => new Promise((resolve) => taken.close(() => resolve())));
  await write(`{ port: ${first} }`);
  const refused = await daemon.reload();
  expect(refused.kind === 'refused' && refused.problems.join()).toContain(
    `port ${first} of 127.0.0.1 is in use`,
  );
  expect((await get(at(second), '/metrics', TOKEN)).status).toBe(200);
  expect(daemon.config().web.port).toBe(second);
  await polls(world, 'long', 2);
  expect(simulator.internalErrors).toEqual([]);
});

test('the log level follows the config, also after a reload, unless the command line set it', async () => {
  const { world } = await openNear({ more: 'log: { level: warn }' });
  const [log, fixed] = [new Log(), new Log()];
  const output = { isTerminal: false, colours: false };
  const daemon = await world.start({ log: { ...output, stream: log.stream } });
  const other = await world.start({
    ordinal: 1,
    log: { ...output, stream: fixed.stream, level: 'debug', format: 'json' },
  });
  await polls(world, 'long', 2);
  expect(log.text).not.toContain('"event":"started"');
  await expect.poll(() => fixed.lines.map(({ event }) => event)).toContain('started');
  await world.write({ ...RULES, acting: PATIENT, more: 'log: { level: info, format: pretty }' });
  // Each process may have seen the change already.
  for (const each of [daemon, other]) expect((await each.reload()).kind).not.toBe('refused');
  await expect.poll(() => log.text).toMatch(/INFO +a changed config is in force: 2 accounts/);
  const reloaded = () => fixed.lines.filter(({ event }) => event === 'configReloaded');
  const words = 'a changed config is in force: 2 accounts';
  await expect.poll(reloaded).toContainEqual(expect.objectContaining({ level: 'info', words }));
});

test('each line of the log is one object; one of a rule has account, subject, rule, reason and duration', async () => {
  const { simulator, world } = await openNear();
  const log = new Log();
  await world.start({ log: { stream: log.stream, isTerminal: false, colours: false } });
  await polls(world, 'long', 2);
  simulator.setPrice('BTC_PERP', '43000');
  await eventually(
    () => log.lines.some(({ event }) => event === 'place'),
    'an order in the log',
    () => log.text,
  );
  const changed = log.lines.find(({ event, words }) => event === 'ruleChanged' && /-> firing/.test(words));
  expect(changed).toMatchObject({
    level: 'warn',
    account: 'long',
    subject: expect.stringMatching(/^position:/) as string,
    rule: 'near',
    reason: expect.stringMatching(/^\w+$/) as string,
    durationMs: expect.any(Number) as number,
    severity: 'critical',
  });
  expect(log.lines.find(({ event }) => event === 'place')).toMatchObject({
    level: 'info',
    words: 'place: accepted',
    account: 'long',
    market: 'BTC_PERP',
  });
});

test('no secret is in the log, the metrics or the answers, however it gets there: refused, failing, rotated', async ({
  skip,
}) => {
  if (!hasRedisServer()) skip('a Redis server of its own, with a password, is needed, and none is installed');
  const PLANTED = {
    redis: 'planted/redis+password',
    slack: 'planted-slack-token-33',
    webhook: 'planted-webhook-secret',
    hook: 'planted-hook-path-77',
    web: 'planted-web-token-99',
    rotated: 'planted-rotated-secret',
    bad: 'planted-refused-secret',
  };
  const server = await startRedisServer({ args: ['--requirepass', PLANTED.redis] });
  closeAfterTest(() => server.stop());
  const url = `redis://:${encodeURIComponent(PLANTED.redis)}@127.0.0.1:${server.port}`;
  const simulator = await openScene();
  const nobody = await freePort();
  const parts = {
    ...RULES,
    rules: NEAR.replace('[log]', '[own, chat]'),
    acting: PATIENT,
    web: '{ port: 0, token: { env: WEB_TOKEN } }',
    more: `channels:
  own: { type: webhook, url: { env: HOOK_URL }, secret: { env: HOOK_SECRET }, timeout: 1s, giveUpAfter: 1s }
  chat: { type: slack, url: { env: SLACK_URL }, timeout: 1s, giveUpAfter: 1s }
`,
  };
  const world = await openDaemonWorld(simulator, parts, { redis: { url, prefix: 'planted' } });
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace(`url: "${url}"`, 'url: { env: REDIS_ADDRESS }'));
  const env: Record<string, string> = {
    ...world.env,
    REDIS_ADDRESS: url,
    WEB_TOKEN: PLANTED.web,
    HOOK_URL: `http://127.0.0.1:${nobody}/${PLANTED.hook}`,
    HOOK_SECRET: PLANTED.webhook,
    SLACK_URL: `http://127.0.0.1:${nobody}/services/T0/B0/${PLANTED.slack}`,
    SECRET_short: PLANTED.bad,
  };
  const log = new Log();
  const daemon = await world.start({
    env,
    log: { stream: log.stream, isTerminal: false, colours: false, level: 'trace' },
  });
  const base = daemon.webUrl();
  await polls(world, 'long', 2);
  simulator.setPrice('BTC_PERP', '43000');
  await eventually(
    () => log.lines.some(({ event }) => event === 'notificationFailed'),
    'a channel that failed',
    () => troubles(world.events),
  );
  expect((await get(base, '/metrics')).status).toBe(401);
  const answers = [await get(base, '/metrics', PLANTED.web), await get(base, '/readyz', PLANTED.web)];
  expect(answers[0]?.status).toBe(200);
  answers.push(await get(base, '/readyz'), await get(base, `/${PLANTED.web}`, 'a-wrong-token-to-read'));
  env['SECRET_short'] = PLANTED.rotated;
  expect((await daemon.reload()).kind).not.toBe('refused');
  // A line that carries all of them: an invalid job under an id that somebody chose.
  const jobId = `seen-${Object.values(PLANTED).join('-')}-seen`;
  await daemon.shared!.queues.all.find(({ name }) => name === 'act')?.add('run', {}, { jobId });
  await eventually(() => log.lines.some(({ event }) => event === 'jobRefused'), 'a refused job in the log');
  expect(log.lines.find(({ event }) => event === 'jobRefused')?.['job']).toMatch(/^seen-.*-seen$/);
  await server.kill();
  await eventually(
    () => log.lines.some(({ event, level }) => event === 'redis' && level === 'error'),
    'the loss of Redis in the log',
    () => log.text,
  );
  answers.push(await get(base, '/readyz', PLANTED.web));
  // Before the process goes on alone, and after.
  expect(answers.at(-1)?.body).toMatch(/"name":"redis","ok":(false|true,"why":"it is lost)/);
  await eventually(async () => {
    const scrape = await get(base, '/metrics', PLANTED.web);
    answers.push(scrape);
    return valueOf(scrape.body, 'breakwater_shared_state_available') === 0;
  }, 'a scrape without the shared state');
  await server.start();
  await polls(world, 'long', 2);
  const secrets = [...Object.values(PLANTED), encodeURIComponent(PLANTED.redis), ...Object.values(world.env)];
  const everything = [log.text, ...answers.map(({ body }) => body)].join('\n');
  expect(log.lines.length).toBeGreaterThan(20);
  expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
});

test('a stop closes the web server within its bound, even if somebody holds a connection open', async () => {
  const { world } = await openNear();
  const daemon = await world.start();
  const { port } = new URL(daemon.webUrl() ?? '');
  const idle = connect(Number(port), '127.0.0.1');
  idle.on('error', () => undefined);
  await new Promise((resolve) => idle.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n', resolve));
  closeAfterTest(async () => void idle.destroy());
  expect(await daemon.stop('enough', 30_000)).toBe(true);
  await expect(get(`http://127.0.0.1:${port}`, '/healthz')).rejects.toThrow();
});

test('as a process it logs JSON to standard error, or with --json to standard output, and answers until it is stopped', async () => {
  const { world } = await openNear();
  const child = startChild(world, { args: ['--json', '--log-level', 'info'] });
  await child.watching;
  const lines = () =>
    child
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as LogLine);
  const url = lines().find(({ event }) => event === 'listening')?.['url'];
  expect((await get(String(url), '/healthz')).body).toBe('ok\n');
  expect(await child.stop()).toBe(0);
  expect(lines().map(({ event }) => event)).toEqual(
    expect.arrayContaining(['listening', 'started', 'stopping', 'stopped']),
  );
  const wrong = startChild(world, { args: ['--log-level', 'loud'] });
  expect(await wrong.ended).toBe(2);
});
