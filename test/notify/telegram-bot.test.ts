import { afterEach, expect, test } from 'vitest';
import { createBotDesk } from '../../src/app/bot/bot-desk.ts';
import { runBot } from '../../src/app/bot/run-bot.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createTelegramBot } from '../../src/notify/telegram-bot.ts';
import { buttonData } from '../../src/notify/telegram-buttons.ts';
import { createMemoryUpdateCursors } from '../../src/state/bot/update-cursor.ts';
import { eventually } from '../pipeline/world.ts';
import { BOT_TOKEN, startTelegram } from './telegram-service.ts';

/** A bot at a Bot API that refuses, conflicts and answers nonsense; waits take no time, but count. */

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function start({ token = BOT_TOKEN, lost = false } = {}) {
  const telegram = await startTelegram();
  const events: DaemonEvent[] = [];
  const waits: number[] = [];
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
  const put = async (): Promise<never> => {
    throw new Error('the store is lost');
  };
  const over = new AbortController();
  const parts = {
    controls: { put, answer: put },
    views: async () => (lost ? await put() : []),
    accountIds: () => ['long'],
    troubles: () => [],
    clock,
  };
  const running = runBot(
    {
      id: 'b',
      channel: 'chat',
      chats: new Map([['77', { mayControl: true }]]),
      bot: createTelegramBot({ apiUrl: telegram.url, token, nowMs: () => clock.nowMs() }),
      desk: createBotDesk(parts),
      cursors: createMemoryUpdateCursors(),
      owner: 'i',
      clock,
      telemetry: { emit: (event) => events.push(event) },
    },
    over.signal,
  );
  closers.push(
    () => telegram.close(),
    async () => {
      over.abort(new Error('the test has ended'));
      await running;
      expect(JSON.stringify(events)).not.toContain(BOT_TOKEN.slice(7));
    },
  );
  const listening = () =>
    events.flatMap((event) => (event.kind === 'botListens' ? [event.trouble ?? 'again'] : []));
  const told = () => events.flatMap((event) => (event.kind === 'botTold' ? [event.outcome] : []));
  const until = (holds: () => boolean, what: string) =>
    eventually(holds, what, () => [events, telegram.calls.slice(-3)]);
  return { telegram, waits, listening, told, until };
}

test('a webhook that is set is said as a trouble once, and that it is over', async () => {
  const { telegram, listening, until } = await start();
  telegram.webhook = true;
  await until(() => listening().length > 0, 'a trouble');
  expect(listening()).toEqual([expect.stringMatching(/^HTTP 409: Conflict: can't use getUpdates/)]);
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

test('a token that is refused is said at once, and nothing of it', async () => {
  const { listening, until } = await start({ token: `${BOT_TOKEN}-old` });
  await until(() => listening().length > 0, 'a trouble');
  expect(listening()).toEqual(['HTTP 401: Unauthorized']);
});

test('patience that is asked for is had, five minutes at most; nonsense is no end of it', async () => {
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

test('what is no command and no press is passed over, and what comes after it heard', async () => {
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

test('what a lost store keeps from being done is said so, and not done later', async () => {
  const { telegram, told, until } = await start({ lost: true });
  telegram.say(77, 77, '/pause long 5m');
  telegram.say(77, 77, '/status');
  await until(() => telegram.sent.length === 2, 'two answers');
  await until(() => telegram.pending() === 0, 'all confirmed');
  for (const { text } of telegram.sent) expect(text).toContain('Redis did not answer');
  expect(told()).toEqual(['failed', 'failed']);
});

test('no button has more bytes than Telegram takes, whatever accounts and rules are called', () => {
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
