import { afterEach, describe, expect, test } from 'vitest';
import { createBotDesk } from '../../src/app/bot/bot-desk.ts';
import { runBot } from '../../src/app/bot/run-bot.ts';
import type { ControlDraft } from '../../src/core/ports/operator-controls.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createTelegramBot } from '../../src/notify/telegram-bot.ts';
import { buttonData } from '../../src/notify/telegram-buttons.ts';
import { createMemoryUpdateCursors, type UpdateCursors } from '../../src/state/bot/update-cursor.ts';
import { eventually } from '../pipeline/world.ts';
import { BOT_TOKEN, startTelegram, type TelegramService } from './telegram-service.ts';

/** A bot at a Bot API that refuses, conflicts and answers nonsense; waits take no time, but are recorded. */

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Setup {
  readonly token?: string;
  readonly lost?: boolean;
  /** An earlier process, whose service and cursors are used. */
  readonly after?: { readonly telegram: TelegramService; readonly cursors: UpdateCursors };
  /** The process ends in order when it puts a pause. */
  readonly endsAtPause?: boolean;
  /** Wraps the cursors. */
  readonly keeping?: (cursors: UpdateCursors, die: () => void) => UpdateCursors;
}

async function start(setup: Setup = {}) {
  const { token = BOT_TOKEN, lost = false, after, endsAtPause = false, keeping = (kept) => kept } = setup;
  const telegram = after?.telegram ?? (await startTelegram());
  const cursors = after?.cursors ?? createMemoryUpdateCursors();
  const events: DaemonEvent[] = [];
  const waits: number[] = [];
  const put: ControlDraft[] = [];
  let skippedMs = 0;
  const clock = {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs() + skippedMs,
    async sleep(ms: number, signal?: AbortSignal) {
      waits.push(ms);
      await systemClock.sleep(Math.min(ms, 2), signal);
      skippedMs += ms;
    },
  };
  const fail = async (): Promise<never> => {
    throw new Error('the store is lost');
  };
  const over = new AbortController();
  const parts = {
    controls: {
      answer: fail,
      async put(draft: ControlDraft) {
        if (lost) await fail();
        put.push(draft);
        if (endsAtPause) die();
        return { ...draft, id: 'c', atMs: clock.nowMs() };
      },
    },
    views: async () => (lost ? await fail() : []),
    accountIds: () => ['long'],
    troubles: () => [],
    clock,
  };
  const die = () => over.abort(new Error('killed'));
  const running = runBot(
    {
      id: 'b',
      channel: 'chat',
      chats: new Map([['77', { mayControl: true }]]),
      bot: createTelegramBot({ apiUrl: telegram.url, token, nowMs: () => clock.nowMs() }),
      desk: createBotDesk(parts),
      cursors: keeping(cursors, die),
      owner: 'i',
      clock,
      telemetry: { emit: (event) => events.push(event) },
    },
    over.signal,
  );
  if (after === undefined) closers.push(() => telegram.close());
  closers.push(async () => {
    over.abort(new Error('the test has ended'));
    await running;
    expect(JSON.stringify(events)).not.toContain(BOT_TOKEN.slice(7));
  });
  const listening = () =>
    events.flatMap((event) => (event.kind === 'botListens' ? [event.trouble ?? 'again'] : []));
  const told = () => events.flatMap((event) => (event.kind === 'botTold' ? [event.outcome] : []));
  const until = (holds: () => boolean, what: string) =>
    eventually(holds, what, () => [events, telegram.calls.slice(-3)]);
  return { telegram, cursors, waits, put, listening, told, until, ended: () => running };
}

test('a webhook that is set is reported as a trouble once, and once when it is over', async () => {
  const { telegram, listening, until } = await start();
  telegram.webhook = true;
  await until(() => listening().length > 0, 'a trouble');
  expect(listening()).toEqual([
    expect.stringMatching(
      /^HTTP 409: Conflict: can't use getUpdates .*; another program .* or a webhook is set: end it/,
    ),
  ]);
  telegram.webhook = false;
  await until(() => listening().length > 1, 'its end');
  telegram.say(77, 77, '/help');
  await until(() => telegram.sent.length > 0, 'an answer');
  expect(listening()).toHaveLength(2);
});

test('one conflict, as when a process takes over from another, is no trouble', async () => {
  const { telegram, listening, until } = await start();
  telegram.answer('getUpdates', 409, {
    ok: false,
    error_code: 409,
    description: 'Conflict: terminated by other',
  });
  await until(
    () => telegram.calls.filter(({ method }) => method === 'getUpdates').length > 2,
    'further requests',
  );
  telegram.say(77, 77, '/help');
  await until(() => telegram.sent.length > 0, 'an answer');
  expect(listening()).toEqual([]);
});

test('a refused token is reported at once, without any of it', async () => {
  const { listening, until } = await start({ token: `${BOT_TOKEN}-old` });
  await until(() => listening().length > 0, 'a trouble');
  expect(listening()).toEqual(['HTTP 401: Unauthorized; set the token that @BotFather shows']);
});

test('a retry_after is obeyed, up to five minutes; nonsense does not end the bot', async () => {
  const { telegram, waits, until } = await start();
  telegram.answer('getUpdates', 429, {
    ok: false,
    error_code: 429,
    description: 'Too Many Requests',
    parameters: { retry_after: 17 },
  });
  telegram.answer('getUpdates', 429, { ok: false, error_code: 429, parameters: { retry_after: 1e12 } });
  telegram.answer('getUpdates', 200, '<html>');
  telegram.answer('getUpdates', 200, { ok: true, result: 'no list' });
  telegram.answer('getUpdates', 502, 'Bad gateway');
  telegram.say(77, 77, '/help');
  await until(() => telegram.sent.length > 0, 'an answer');
  expect(waits.slice(0, 5)).toEqual([17_000, 300_000, 4_000, 8_000, 16_000]);
});

test('updates that are no command and no press are skipped, and later ones are handled', async () => {
  const { telegram, told, until } = await start();
  const from = { id: 77, is_bot: false, first_name: 'A' };
  for (const update of [
    { message: null },
    { message: { chat: { id: '77' }, from, date: 1, text: '/pause' } },
    { message: { chat: { id: 77 }, from, date: 'now', text: '/pause' } },
    { message: { chat: { id: 77, type: 'private' }, from, date: 1, photo: [] } },
    { callback_query: { id: 'x', from, data: 'y:' } },
    { callback_query: { id: 7, from, message: { chat: { id: 77 } }, data: 'y' } },
  ])
    telegram.push(update);
  telegram.say(77, 77, 'hello');
  telegram.say(77, 77, '/nonsense');
  await until(() => telegram.sent.length > 0, 'an answer');
  await until(() => telegram.pending() === 0, 'all confirmed');
  expect(telegram.sent.map(({ text }) => text)).toEqual([expect.stringMatching(/^\/status/)]);
  expect(told()).toEqual([...Array.from({ length: 7 }, () => 'ignored'), 'nothing']);
});

test('only what a person typed in the chat is carried out', async () => {
  const { telegram, put, told, until } = await start();
  const person = { id: 77, is_bot: false };
  const message = (changes: object) => ({
    message: {
      chat: { id: 77, type: 'group' },
      from: person,
      date: Math.floor(Date.now() / 1000),
      text: '/pause long 5m',
      ...changes,
    },
  });
  const foreign = [
    message({ forward_origin: { type: 'user', sender_user: { id: 5 } } }),
    message({ forward_date: 1 }),
    message({ is_automatic_forward: true, sender_chat: { id: -100, type: 'channel' } }),
    message({ sender_chat: { id: 77, type: 'group' } }),
    message({ via_bot: { id: 9, is_bot: true } }),
    message({ sender_business_bot: { id: 9, is_bot: true } }),
    message({ from: { id: 9, is_bot: true } }),
    {
      callback_query: {
        id: '1',
        from: { id: 9, is_bot: true },
        message: { chat: { id: 77 } },
        data: 'y',
      },
    },
  ];
  for (const update of foreign) telegram.push(update);
  telegram.push(message({}));
  await until(() => telegram.pending() === 0, 'all confirmed');
  await until(() => put.length > 0, 'the pause of the person');
  expect(put).toHaveLength(1);
  expect(told()).toEqual([...foreign.map(() => 'ignored'), 'done']);
});

test('an action that a lost store prevents is reported, and not done later', async () => {
  const { telegram, told, until } = await start({ lost: true });
  telegram.say(77, 77, '/pause long 5m');
  telegram.say(77, 77, '/status');
  await until(() => telegram.sent.length === 2, 'two answers');
  await until(() => telegram.pending() === 0, 'all confirmed');
  for (const { text } of telegram.sent) expect(text).toContain('Redis did not answer');
  expect(told()).toEqual(['failed', 'failed']);
});

/** Cursors of a process that stops as if killed, between two steps of one update. */
const killedAt =
  (step: 'begun' | 'done') =>
  (cursors: UpdateCursors, die: () => void): UpdateCursors => {
    let begun = false;
    let isDead = false;
    const alive = () => {
      if (isDead) throw new Error('killed');
    };
    return {
      async take(...args) {
        alive();
        return await cursors.take(...args);
      },
      async advance(bot, owner, cursor) {
        alive();
        if (step === 'done' && begun) isDead = true;
        begun ||= cursor.underWay !== undefined;
        if (!isDead) await cursors.advance(bot, owner, cursor);
        if (step === 'begun' && begun) isDead = true;
        if (isDead) die();
        alive();
        return true;
      },
      leave: async () => undefined,
    };
  };

describe('a process that is killed while it carries out /pause', () => {
  test.each([
    ['after it was done', 'done', 1],
    ['before it was done', 'begun', 0],
  ] as const)(
    '%s: the next one does not repeat it, and reports that the outcome is unknown',
    async (_when, step, times) => {
      const first = await start({ keeping: killedAt(step) });
      const { telegram, cursors } = first;
      telegram.say(77, 77, '/pause long 5m');
      await first.ended();
      expect(first.put).toHaveLength(times);
      telegram.sent.length = 0;
      const second = await start({ after: { telegram, cursors } });
      telegram.say(77, 77, '/help');
      await second.until(() => telegram.sent.length === 2, 'two messages');
      expect(second.put).toEqual([]);
      expect(telegram.sent.map(({ text }) => text)).toEqual([
        expect.stringMatching(/^Not known whether the last thing said here was done/),
        expect.stringMatching(/^\/status/),
      ]);
      expect(second.told()).toEqual(['failed', 'nothing']);
    },
  );

  test('is not repeated by a process that does not know how far it came', async () => {
    const first = await start({ keeping: killedAt('done') });
    first.telegram.say(77, 77, '/pause long 5m');
    await first.ended();
    const { telegram } = first;
    const second = await start({ after: { telegram, cursors: createMemoryUpdateCursors() } });
    telegram.say(77, 77, '/help');
    await second.until(() => second.told().length > 0, 'an answer');
    expect(second.put).toEqual([]);
    expect(first.put).toHaveLength(1);
  });
});

test('a process that ends in order answers what it has done, and leaves the rest to the next one', async () => {
  const telegram = await startTelegram();
  closers.push(() => telegram.close());
  telegram.say(77, 77, '/pause long 5m');
  telegram.say(77, 77, '/pause 5m');
  const first = await start({ endsAtPause: true, after: { telegram, cursors: createMemoryUpdateCursors() } });
  await first.ended();
  expect(telegram.sent.map(({ text }) => text.split(',')[0])).toEqual(['Paused: long']);
  const second = await start({ after: first });
  await second.until(() => telegram.sent.length > 1, 'another answer');
  expect([...first.put, ...second.put].map(({ accountId }) => accountId)).toEqual(['long', null]);
  expect(telegram.sent.map(({ text }) => text.split(',')[0])).toEqual([
    'Paused: long',
    'Paused: all accounts',
  ]);
});

test('after a quiet week Telegram counts from a lower number, and the bot still hears', async () => {
  const { telegram, until } = await start();
  telegram.say(77, 77, '/help');
  await until(() => telegram.sent.length === 1 && telegram.isHeard(), 'an answer');
  telegram.tellNothing();
  await until(() => telegram.isHeard(), 'a bot that listens');
  telegram.countFrom(5);
  telegram.say(77, 77, '/help');
  await until(() => telegram.sent.length === 2, 'another answer');
});

test('an update that Telegram does not confirm is not carried out, now or later', async () => {
  const { telegram, put, told, until } = await start();
  await until(() => telegram.calls.some(({ body }) => Number(body['timeout']) > 0), 'a bot that listens');
  // It comes in the reply to the confirmation.
  telegram.say(77, 77, '/pause long 5m');
  telegram.answer('getUpdates', 502, 'Bad gateway');
  await until(() => telegram.sent.length > 0, 'a message');
  telegram.say(77, 77, '/pause 5m');
  await until(() => put.length > 0, 'another pause');
  expect(put.map(({ accountId }) => accountId)).toEqual([null]);
  expect(told()).toEqual(['failed', 'done']);
  expect(telegram.sent[0]?.text).toMatch(/^Not known whether the last thing/);
});

test('an update that is handed out again is not carried out again, and polled with a pause', async () => {
  const { telegram, put, waits, until } = await start();
  telegram.forgetful = true;
  telegram.say(77, 77, '/pause long 5m');
  const asked = () => telegram.calls.filter(({ method }) => method === 'getUpdates').length;
  await until(() => put.length > 0 && asked() > 10, 'the same again and again');
  expect(put).toHaveLength(1);
  expect(waits.slice(-3)).toEqual([1_000, 1_000, 1_000]);
  telegram.say(77, 77, '/pause 5m');
  await until(() => put.some(({ accountId }) => accountId === null), 'what is new');
  expect(put.map(({ accountId }) => accountId)).toEqual(['long', null]);
});

test('a chat that cannot be reached does not keep the bot from hearing others', async () => {
  const { telegram, put, until } = await start();
  telegram.answer('sendMessage', 403, {
    ok: false,
    error_code: 403,
    description: 'Forbidden: bot was blocked',
  });
  telegram.say(77, 77, '/pause 5m');
  telegram.say(77, 77, '/pause long 5m');
  await until(() => telegram.sent.length > 0, 'an answer');
  expect(put).toHaveLength(2);
});

test("no button exceeds Telegram's size, for any account and rule ids", () => {
  const long = 'é'.repeat(200);
  const about = { accountId: long, ruleId: long, subject: 'account', episode: 9e15, stage: 999_999 } as const;
  for (const data of [
    buttonData({ kind: 'acknowledge', ...about }),
    buttonData({ kind: 'acknowledgeAll', ruleId: long, subject: 'account', saidAtMs: 8.64e15 }),
    buttonData({
      kind: 'answer',
      accountId: long,
      decision: 'veto',
      questionId: 'z'.repeat(40),
      revision: 999_999,
    }),
  ])
    expect(Buffer.byteLength(data ?? expect.fail('no button'))).toBeLessThanOrEqual(64);
});
