import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { closeAfterTest, openExchange } from '../contract/support/world.ts';
import {
  BOT_TOKEN,
  type SentMessage,
  startTelegram,
  type TelegramService,
} from '../notify/telegram-service.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { inTurn } from '../support/slice.ts';
import type { ConfigParts } from './config.ts';
import { hasFilled, move, ours, polls, sizeOf } from './scene.ts';
import { type DaemonWorld, type DaemonWorldOptions, eventually, openDaemonWorld, troubles } from './world.ts';

const plays = inTurn(
  ['approved', 'vetoed', 'late', 'two processes', 'without Redis'],
  2,
  'presses and processes',
);
const playsToo = inTurn(['chats', 'the key'], 2, 'reloads of chats');

/** Commands in chats; checked by Telegram's requests, the controls, and the exchange's ledger. */

const GROUP = -1001;
const ANN = 77;
const READER = 88;
const STRANGER = 99;

const RULES = `  - id: halve
    on: position
    severity: critical
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10m
    do: [{ notify: { channels: [chat] } }, { reduce: { by: 50%, slippage: 1% } }]
`;

interface Setup {
  readonly mode?: 'approve' | 'enforce';
  readonly within?: string;
  /** Config lines of the channel. */
  readonly commands?: string;
  readonly world?: DaemonWorldOptions;
}

const COMMANDS = `[{ chat: "${GROUP}", scopes: [control] }, { chat: "${ANN}", name: ann, scopes: [read, control] }, { chat: "${READER}" }]`;

async function open({ mode = 'enforce', within = '30s', commands = COMMANDS, world: options }: Setup = {}) {
  const telegram = await startTelegram();
  closeAfterTest(() => telegram.close());
  const partsWith = (listed: string): ConfigParts => ({
    mode,
    accounts: { long: { rules: ['halve'] } },
    rules: RULES,
    more: `approval: { within: ${within} }
notify: { remindEvery: 1h }
channels:
  chat: { type: telegram, api: "${telegram.url}", token: { env: BOT_TOKEN }, chat: "${GROUP}"${listed === '' ? '' : `, commands: ${listed}`} }
`,
  });
  const simulator = await openExchange({ speed: 1 });
  const world = await openDaemonWorld(simulator, partsWith(commands), options);
  Object.assign(world.env, { BOT_TOKEN });
  const wait = (holds: () => boolean | Promise<boolean>, what: string) =>
    eventually(holds, what, () => [telegram.sent.map(({ text }) => text), troubles(world.events)]);
  return { telegram, world, wait, partsWith };
}

/** Waits until the daemon has listened once: later messages count as new. */
async function listens(telegram: TelegramService, wait: Awaited<ReturnType<typeof open>>['wait']) {
  await wait(
    () => telegram.calls.some(({ method, body }) => method === 'getUpdates' && Number(body['timeout']) > 0),
    'a bot that listens',
  );
}

const buttonsOf = (message: SentMessage | undefined) => (message?.reply_markup?.inline_keyboard ?? []).flat();
const buttonIn = (telegram: TelegramService, title: string): string =>
  telegram.sent.flatMap(buttonsOf).findLast(({ text }) => text === title)?.callback_data ??
  expect.fail(`no ${title}`);
const told = ({ events }: DaemonWorld) =>
  events.flatMap((event) => (event.kind === 'botTold' ? [[event.what, event.outcome, event.author]] : []));
const repliesTo = ({ sent }: TelegramService, chat: number) =>
  sent.filter(({ chat_id: id }) => id === chat).map(({ text }) => text);

test('listed chats read and pause, audited by name; a read-only chat cannot pause, and strangers hear nothing', async () => {
  const { telegram, world, wait } = await open();
  const daemon = await world.start();
  await listens(telegram, wait);
  telegram.say(STRANGER, STRANGER, '/pause');
  telegram.say(READER, READER, '/pause long 30m');
  telegram.say(READER, READER, '/status');
  await wait(() => repliesTo(telegram, READER).length === 2, 'two replies');
  const [refused, status] = repliesTo(telegram, READER);
  expect(refused).toContain('may only look');
  expect(status).toMatch(/^long: /m);
  expect(await daemon.state.controls.list()).toEqual([]);
  telegram.say(GROUP, ANN, '/pause@another_bot');
  telegram.say(GROUP, ANN, '/pause@our_bot long 30m');
  telegram.say(ANN, ANN, '/pause');
  telegram.say(ANN, ANN, '/pause nobody 1h');
  telegram.say(ANN, ANN, '/pause long 1y');
  await wait(() => repliesTo(telegram, ANN).length === 3, 'three replies');
  const controls = await daemon.state.controls.list();
  const shown = controls.map(({ kind, accountId, author, reason }) => [kind, accountId, author, reason]);
  expect(shown).toHaveLength(2);
  expect(shown).toContainEqual(['pause', null, `ann (telegram:${ANN})`, 'by Telegram']);
  expect(shown).toContainEqual(['pause', 'long', `telegram:${GROUP}/${ANN}`, 'by Telegram']);
  for (const { expiresAtMs } of controls) expect((expiresAtMs ?? 0) - Date.now()).toBeLessThan(3_600_001);
  const trail = await daemon.state.audit.tail('long', 500);
  const records = trail.map(({ record }) => record.content).filter(({ kind }) => kind === 'control');
  expect(records).toMatchObject([{ control: { author: `telegram:${GROUP}/${ANN}` } }]);
  expect(repliesTo(telegram, STRANGER)).toEqual([]);
  expect(told(world)).toContainEqual(['command', 'unknownChat', undefined]);
  expect(await (await fetch(`${daemon.webUrl()}/metrics`)).text()).toMatch(
    /breakwater_bot_updates_total\{channel="chat",what="command",outcome="unknownChat"[^}]*\} 1/,
  );
  await wait(() => telegram.pending() === 0, 'all confirmed');
});

test('without commands the bot does not listen, and its messages have no buttons', async () => {
  const { telegram, world, wait } = await open({ commands: '' });
  await world.start();
  telegram.say(GROUP, ANN, '/pause');
  await wait(() => telegram.sent.length > 0, 'a notice');
  await polls(world, 'long', 5);
  expect(new Set(telegram.calls.map(({ method }) => method))).toEqual(new Set(['sendMessage']));
  expect(telegram.sent.flatMap(buttonsOf)).toEqual([]);
});

test('messages sent while nobody listened are answered, but not carried out', async () => {
  const { telegram, world, wait } = await open();
  telegram.say(ANN, ANN, '/pause', Date.now() - 6 * 60_000);
  const press = telegram.press(GROUP, ANN, 'y:0123456789ab:0-1');
  const daemon = await world.start();
  await wait(() => telegram.shown.has(press) && repliesTo(telegram, ANN).length > 0, 'both answers');
  expect(telegram.shown.get(press)).toContain('Not done');
  expect(repliesTo(telegram, ANN)).toEqual([expect.stringContaining('Not done')]);
  expect(await daemon.state.controls.list()).toEqual([]);
  expect(told(world).map(([, outcome]) => outcome)).toEqual(['tooOld', 'tooOld']);
});

test('two people press Acknowledge, one twice, and a stranger: it is acknowledged once, and reminders end', async () => {
  const { telegram, world, wait } = await open();
  const daemon = await world.start();
  await listens(telegram, wait);
  await wait(() => telegram.sent.some((message) => buttonsOf(message).length > 0), 'a notice with a button');
  const data = buttonIn(telegram, 'Acknowledge');
  const stranger = telegram.press(STRANGER, STRANGER, data);
  const presses = [ANN, READER, ANN].map((user) => telegram.press(GROUP, user, data));
  const unlisted = telegram.press(READER, READER, data);
  await wait(() => [...presses, unlisted].every((id) => telegram.shown.has(id)), 'all answered');
  expect(presses.map((id) => telegram.shown.get(id)?.split('.')[0])).toEqual([
    'Acknowledged',
    'Somebody has acknowledged it before',
    'Somebody has acknowledged it before',
  ]);
  expect(telegram.shown.get(unlisted)).toContain('may only look');
  expect(told(world).map(([, outcome]) => outcome)).toEqual([
    'unknownChat',
    'done',
    'nothing',
    'nothing',
    'refused',
  ]);
  expect(telegram.shown.has(stranger)).toBe(false);
  const controls = await daemon.state.controls.list();
  expect(controls.map(({ kind, author }) => [kind, author])).toEqual([
    ['acknowledgement', `telegram:${GROUP}/${ANN}`],
  ]);
  const other = telegram.press(GROUP, ANN, 'k:nonsense');
  const none = telegram.press(GROUP, ANN, `k:000000000000:${'0'.repeat(20)}:0`);
  await wait(() => telegram.shown.has(other) && telegram.shown.has(none), 'both answers');
  expect([telegram.shown.get(other), telegram.shown.get(none)]).toEqual([
    'This button is not known.',
    'It is over: there is nothing to do.',
  ]);
});

test('/ack acknowledges everything open', async () => {
  const { telegram, world, wait } = await open();
  const daemon = await world.start();
  await listens(telegram, wait);
  await wait(() => telegram.sent.length > 0, 'a notice');
  telegram.say(READER, READER, '/ack');
  telegram.say(ANN, ANN, '/ack long');
  await wait(() => repliesTo(telegram, ANN).length > 0, 'a reply');
  expect(repliesTo(telegram, READER)).toEqual([expect.stringContaining('may only look')]);
  expect(repliesTo(telegram, ANN)[0]).toMatch(/^halve for position:\d+ of long: acknowledged$/);
  expect((await daemon.state.controls.list()).map(({ author }) => author)).toEqual([`ann (telegram:${ANN})`]);
});

const asks = (telegram: TelegramService) =>
  telegram.sent.some((message) => buttonsOf(message).some(({ text }) => text === 'Approve'));

test.runIf(plays('approved'))(
  'approved by a button it acts, by the ledger; a second person comes too late',
  async () => {
    const { telegram, world, wait } = await open({ mode: 'approve' });
    await world.start();
    await listens(telegram, wait);
    await wait(() => asks(telegram), 'a question');
    expect(ours(world.simulator, 'long')).toEqual([]);
    const [stranger, approve] = [
      telegram.press(STRANGER, STRANGER, buttonIn(telegram, 'Approve')),
      telegram.press(GROUP, ANN, buttonIn(telegram, 'Approve')),
    ];
    const veto = telegram.press(GROUP, READER, buttonIn(telegram, 'Veto'));
    await wait(() => [approve, veto].every((id) => telegram.shown.has(id)), 'both answers');
    expect(telegram.shown.get(approve)).toMatch(/^Approved\./);
    expect(telegram.shown.get(veto)).toMatch(/^It was approved before\. By telegram:-1001\/77/);
    expect(telegram.shown.has(stranger)).toBe(false);
    await wait(() => ours(world.simulator, 'long').length > 0, 'an order');
    move(world.simulator, -0.01);
    await wait(() => hasFilled(world.simulator, 'long', 0.3), 'half of it closed');
    const again = telegram.press(GROUP, ANN, buttonIn(telegram, 'Approve'));
    await wait(() => telegram.shown.has(again), 'an answer');
    expect(telegram.shown.get(again)).not.toMatch(/^Approved\./);
  },
);

test.runIf(plays('vetoed'))('vetoed by a button it sends nothing, past its deadline', async () => {
  const { telegram, world, wait } = await open({ mode: 'approve', within: '15s' });
  await world.start();
  await listens(telegram, wait);
  await wait(() => asks(telegram), 'a question');
  const veto = telegram.press(GROUP, ANN, buttonIn(telegram, 'Veto'));
  await wait(() => telegram.shown.has(veto), 'an answer');
  expect(telegram.shown.get(veto)).toMatch(/^Vetoed\./);
  const startMs = Date.now();
  await wait(() => Date.now() - startMs > 16_000, 'the deadline');
  await polls(world, 'long', 3);
  expect(ours(world.simulator, 'long')).toEqual([]);
  expect(sizeOf(world.simulator, 'long')).toBe(0.5);
});

test.runIf(plays('late'))('a press after the deadline changes nothing: it has acted by then', async () => {
  const { telegram, world, wait } = await open({ mode: 'approve', within: '6s' });
  await world.start();
  await listens(telegram, wait);
  await wait(() => asks(telegram), 'a question');
  await wait(() => ours(world.simulator, 'long').length > 0, 'an order without an answer');
  const late = telegram.press(GROUP, ANN, buttonIn(telegram, 'Veto'));
  await wait(() => telegram.shown.has(late), 'an answer');
  expect(telegram.shown.get(late)).toContain('It is not waited for any longer');
  expect(told(world)).toEqual([['press', 'nothing', `telegram:${GROUP}/${ANN}`]]);
  move(world.simulator, -0.01);
  await wait(() => hasFilled(world.simulator, 'long', 0.3), 'half of it closed');
});

test.runIf(plays('two processes'))(
  'one of two processes listens, and the other continues where that one ended',
  async () => {
    const { telegram, world, wait } = await open();
    const first = await world.start();
    await listens(telegram, wait);
    const second = await world.start({ ordinal: 1 });
    telegram.say(ANN, ANN, '/status');
    await wait(() => repliesTo(telegram, ANN).length === 1, 'one reply');
    await first.stop('it moves', 30_000);
    telegram.say(ANN, ANN, '/pause long 5m');
    await wait(() => repliesTo(telegram, ANN).length === 2, 'a second reply');
    // Nothing was interrupted: it ended gracefully.
    expect(repliesTo(telegram, ANN)[1]).toMatch(/^Paused: long/);
    expect((await second.state.controls.list()).map(({ kind }) => kind)).toEqual(['pause']);
    expect(world.events.filter(({ kind }) => kind === 'botListens')).toEqual([]);
  },
);

test.runIf(playsToo('chats'))(
  'a reload that lists chats, other chats or none takes effect without a restart',
  async () => {
    const { telegram, world, wait, partsWith } = await open({ commands: '' });
    const daemon = await world.start();
    const reloadWith = async (commands: string) => {
      await world.write(partsWith(commands));
      expect((await daemon.reload()).kind).toBe('adopted');
    };
    await reloadWith(`[{ chat: "${ANN}", scopes: [control] }]`);
    await listens(telegram, wait);
    telegram.say(READER, READER, '/status');
    telegram.say(ANN, ANN, '/pause 5m');
    await wait(() => repliesTo(telegram, ANN).length === 1, 'a reply');
    await reloadWith(`[{ chat: "${READER}" }]`);
    await wait(() => {
      telegram.say(READER, READER, '/status');
      return repliesTo(telegram, READER).length > 0;
    }, 'a reply to the other chat');
    telegram.say(ANN, ANN, '/pause long 5m');
    await wait(() => telegram.pending() === 0, 'all confirmed');
    expect(repliesTo(telegram, ANN)).toHaveLength(1);
    expect((await daemon.state.controls.list()).map(({ accountId }) => accountId)).toEqual([null]);
    await reloadWith('');
    await wait(() => !telegram.isHeard(), 'nobody who listens');
    const before = telegram.pending();
    telegram.say(READER, READER, '/status');
    await polls(world, 'long', 3);
    expect(telegram.pending()).toBe(before + 1);
  },
);

test.runIf(playsToo('the key'))(
  'commands that a reload adds together with operators.key wait for the required restart',
  async () => {
    const { telegram, world, wait, partsWith } = await open({ commands: '' });
    const text = await readFile(world.configFile, 'utf8');
    await world.write(text.replace(/^operators:.*\n/m, ''));
    const daemon = await world.start();
    await world.write(partsWith(COMMANDS));
    expect(await daemon.reload()).toMatchObject({ kind: 'adopted', change: { needsRestart: ['operators'] } });
    // Longer than a reload takes to be seen.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(telegram.calls.filter(({ method }) => method === 'getUpdates')).toEqual([]);
    await daemon.stop('restart', 30_000);
    await world.start();
    await listens(telegram, wait);
  },
);

test('a configured webhook shows in log, metric and API, with the cure, until it is removed', async () => {
  const { telegram, world, wait } = await open();
  telegram.webhook = true;
  const daemon = await world.start();
  const seen = async () => {
    const [page = '', metrics = ''] = await Promise.all(
      ['/api/v1/overview', '/metrics'].map(async (path) => (await fetch(`${daemon.webUrl()}${path}`)).text()),
    );
    const { degradedWords } = JSON.parse(page) as { degradedWords: Record<string, string> };
    return [degradedWords['commands'], /degraded\{reason="commands"\} (\d)/.exec(metrics)?.[1]];
  };
  await wait(async () => (await seen())[1] === '1', 'the trouble');
  expect(await seen()).toEqual([
    expect.stringContaining('commands and buttons of a chat are not heard'),
    '1',
  ]);
  expect(world.events).toContainEqual({
    kind: 'botListens',
    channel: 'chat',
    trouble: expect.stringMatching(
      /^HTTP 409: .*; another program listens with this token, or a webhook is set: end it/,
    ),
  });
  telegram.webhook = false;
  await wait(async () => (await seen())[1] === '0', 'its end');
  expect((await seen())[0]).toBeUndefined();
  telegram.say(ANN, ANN, '/help');
  await wait(() => repliesTo(telegram, ANN).length > 0, 'a reply');
});

test.runIf(hasRedisServer() && plays('without Redis'))(
  'while Redis is lost one of two processes listens, and its work is not repeated when Redis is back',
  async () => {
    const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'everysec'] });
    closeAfterTest(() => server.stop());
    const { telegram, world, wait } = await open({ world: { redis: { url: server.url, prefix: 'bw' } } });
    const daemon = await world.start();
    await listens(telegram, wait);
    await polls(world, 'long', 3);
    await server.kill();
    const is = (state: string) =>
      world.events.some((event) => event.kind === 'standby' && event.state === state);
    await wait(() => is('alone'), 'the loss noticed');
    telegram.say(ANN, ANN, '/pause long 30m');
    await wait(
      () => repliesTo(telegram, ANN).some((text) => text.startsWith('Paused: long')),
      'it done alone',
    );
    telegram.say(ANN, ANN, '/status');
    await wait(() => repliesTo(telegram, ANN).some((text) => /Redis is lost/.test(text)), 'a status');
    await server.start();
    await wait(() => is('shared'), 'Redis back');
    const second = await world.start({ ordinal: 1 });
    await wait(async () => (await second.state.controls.list()).length === 1, 'the pause handed back');
    const before = repliesTo(telegram, ANN).length;
    telegram.say(ANN, ANN, '/help');
    await wait(() => repliesTo(telegram, ANN).length > before, 'a reply');
    expect(await daemon.state.controls.list()).toMatchObject([{ kind: 'pause', accountId: 'long' }]);
    expect(told(world).filter(([, outcome]) => outcome === 'done')).toHaveLength(2);
  },
);
