import { type BotDesk, createBotDesk } from '../../src/app/bot/bot-desk.ts';
import { ControlError } from '../../src/core/ports/operator-controls.ts';
import { createAlertmanager } from '../../src/notify/alertmanager.ts';
import type { DeliveryAttempt, Outgoing } from '../../src/notify/channel.ts';
import { createDiscord } from '../../src/notify/discord.ts';
import type { HttpReply, HttpSender } from '../../src/notify/http-sender.ts';
import { createNtfy } from '../../src/notify/ntfy.ts';
import { createOpsgenie } from '../../src/notify/opsgenie.ts';
import { createPagerduty } from '../../src/notify/pagerduty.ts';
import { createSlack } from '../../src/notify/slack.ts';
import { createTeams } from '../../src/notify/teams.ts';
import { createTelegram } from '../../src/notify/telegram.ts';
import { createTelegramBot, type TelegramBot } from '../../src/notify/telegram-bot.ts';
import { createWebhook } from '../../src/notify/webhook.ts';
import { message } from '../notify/receiver.ts';
import { mutatedJson, mutatedText, oneOf } from './mutate.ts';
import type { Boundary } from './target.ts';

const REPLIES = [
  { ok: true, result: { message_id: 77 } },
  {
    ok: false,
    error_code: 429,
    description: 'Too Many Requests: retry after 5',
    parameters: { retry_after: 5 },
  },
  { ok: false, error_code: 400, description: 'group migrated', parameters: { migrate_to_chat_id: -1001 } },
  { message: 'You are being rate limited.', retry_after: 64.57, global: false },
  { id: '1', code: 50_035, message: 'Invalid Form Body' },
  { status: 'success', message: 'Event processed', dedup_key: 'k' },
  { status: 'invalid event', message: 'Event object is invalid', errors: ['bad routing_key'] },
  { error: { code: 'WorkflowNotFound', message: 'The workflow could not be found.' } },
  { result: 'Request will be processed', took: 0.302, requestId: '43a29c5c' },
  { message: 'Request body is not processable', errors: { message: 'too long' } },
  { code: 40_301, http: 403, error: 'forbidden', link: 'https://ntfy.example/docs/publish/#authentication' },
];
const CHAT = { id: -1001, type: 'group' };
const FROM = { id: 77, is_bot: false, first_name: 'A' };
const UPDATES = [
  {
    ok: true,
    result: [
      {
        update_id: 5,
        message: { message_id: 1, date: 1_700_000_000, chat: CHAT, from: FROM, text: '/pause desk-1 30m' },
      },
    ],
  },
  {
    ok: true,
    result: [
      {
        update_id: 6,
        callback_query: {
          id: '9',
          from: FROM,
          message: { message_id: 1, chat: CHAT },
          data: 'k:0123456789ab:0123456789abcdef0123:0',
        },
      },
    ],
  },
  {
    ok: true,
    result: [
      {
        update_id: 7,
        callback_query: { id: '9', from: FROM, message: { chat: CHAT }, data: 'y:0123456789ab:4c604367-1' },
      },
    ],
  },
  { ok: false, error_code: 409, description: 'Conflict: terminated by other getUpdates request' },
  { ok: true, result: { username: 'Our_Bot' } },
];
const WORDS = [
  'ok',
  'no_service',
  'invalid_token',
  '',
  '<html>Bad gateway</html>',
  'a'.repeat(16_384),
  'a:'.repeat(8_000),
  '://'.repeat(5_000),
];

export const OUTGOING: Outgoing = {
  message: message(),
  along: [],
  receipts: {},
  insteadOf: [],
  beginningUntold: false,
};

/** A receiver may ask for a delay, but not silence a channel. */
const LONGEST_PAUSE_MS = 300_000;

export function judgeAttempt(attempt: DeliveryAttempt): void {
  if (attempt.kind === 'delivered') return;
  const { words, retryAfterMs = 0 } = attempt;
  if (words === '' || words.length > 300) throw new Error(`words of ${words.length} characters`);
  if (words.includes('SECRETSECRET')) throw new Error(`a secret in its words: ${words}`);
  if (!(retryAfterMs >= 0 && retryAfterMs <= LONGEST_PAUSE_MS))
    throw new Error(`a pause of ${retryAfterMs} ms`);
}

/** Messages to a bot, or from an impostor of Telegram, up to the point where they take effect. */
async function listenTo(bot: TelegramBot, desk: BotDesk): Promise<void> {
  const { signal } = new AbortController();
  const named = await bot.name(signal);
  if (named.kind === 'failed') judgeAttempt(named);
  const told = await bot.say('1', 'text');
  if (told.kind === 'failed') judgeAttempt(told);
  const heard = await bot.updates(0, 0, signal);
  if (heard.kind === 'failed') return judgeAttempt(heard);
  for (const update of heard.value) {
    if (!(Number.isSafeInteger(update.updateId) && update.updateId >= 0))
      throw new Error('an update without a number');
    if (update.kind === 'other') continue;
    const speaker = { author: `telegram:${update.chatId}`, mayControl: true };
    if (speaker.author.length > 30) throw new Error('a long author');
    const { text } =
      update.kind === 'press'
        ? await desk.press(update.data, speaker)
        : await desk.command(update.name, update.words, speaker);
    if (text === '' || text.length > 4_000) throw new Error(`an answer of ${text.length} characters`);
  }
}

function deskForNobody(): BotDesk {
  const no = async (): Promise<never> => {
    throw new ControlError('CONTROL_INVALID', 'not here');
  };
  return createBotDesk({
    controls: { put: no, answer: no },
    views: async () => [],
    accountIds: () => ['desk-1'],
    troubles: () => [],
    clock: { nowMs: () => 1_700_000_000_000 },
  });
}

/** Receivers may answer anything: the attempt ends with a short error, and a bounded pause. */
export const RECEIVERS: Boundary = {
  name: 'receivers',
  async open() {
    let reply: HttpReply = { status: 200, body: '', retryAfterMs: undefined };
    const http: HttpSender = { post: async () => ({ kind: 'reply', reply }), close: async () => undefined };
    const parts = { name: 'ops', links: [], http, nowMs: () => 1_700_000_000_000 };
    const channels = [
      createSlack({ url: 'https://hooks.example/services/T0/B0/SECRETSECRET' }, parts),
      createTelegram({ apiUrl: 'https://api.example', token: '1:AAE', chat: '-1001' }, parts),
      createAlertmanager({ urls: ['https://am.example'], expireAfterMs: 90_000 }, parts),
      createWebhook({ url: 'https://hook.example' }, parts),
      createDiscord({ url: 'https://discord.example/api/webhooks/1/SECRETSECRET' }, parts),
      createPagerduty({ apiUrl: 'https://events.example', routingKey: 'k'.repeat(32) }, parts),
      createOpsgenie({ apiUrl: 'https://api.example', apiKey: 'k'.repeat(32) }, parts),
      createNtfy({ serverUrl: 'https://ntfy.example', topic: 'desk', token: 'SECRETSECRET' }, parts),
      createTeams({ url: 'https://flow.example/workflows/1/paths/invoke?sig=SECRETSECRET' }, parts),
    ];
    const bot = createTelegramBot(
      { apiUrl: 'https://api.example', token: '1:SECRETSECRET', nowMs: () => 1_700_000_000_000 },
      { listening: http, answering: http },
    );
    const desk = deskForNobody();
    return {
      make(draw) {
        if (draw() < 0.2) {
          const body = mutatedJson(draw, oneOf(draw, UPDATES)).slice(0, 16_384);
          const status = oneOf(draw, [200, 200, 200, 401, 409, 429, 502]);
          return {
            text: `bot ${status} ${body.slice(0, 2_000)}`,
            async run() {
              reply = { status, body, retryAfterMs: undefined };
              await listenTo(bot, desk);
            },
          };
        }
        const channel = oneOf(draw, channels);
        const body =
          draw() < 0.5
            ? mutatedJson(draw, oneOf(draw, REPLIES))
            : mutatedText(draw, oneOf(draw, WORDS), 'ab:/+=-_.@<>|\u0000\u202e 1');
        const status = oneOf(draw, [200, 204, 301, 400, 401, 403, 404, 410, 429, 500, 503]);
        const next = {
          status,
          body: body.slice(0, 16_384),
          retryAfterMs: oneOf(draw, [undefined, 0, 5_000, 3_600_000]),
        };
        return {
          text: `${channel.type} ${status} ${body.slice(0, 2_000)}`,
          async run() {
            reply = next;
            judgeAttempt(await channel.send(OUTGOING));
          },
        };
      },
      close: async () => undefined,
    };
  },
};
