import type { Kinds } from '../core/schema/parts.ts';
import type { FailedAttempt } from './channel.ts';
import { isSuccess } from './http-channel.ts';
import {
  createHttpSender,
  failed,
  type HttpReply,
  type HttpSender,
  httpFailure,
  type JsonObject,
  jsonObject,
  safeWords,
} from './http-sender.ts';

/** An update of a bot. All of it is untrusted: anybody can write to a bot. */
export type BotUpdate = { readonly updateId: number } & Kinds<{
  command: {
    chatId: string;
    userId: string;
    atMs: number;
    /** Without the slash, in lower case. */
    name: string;
    /** The bot that the command is for; absent: every bot in the chat. */
    addressee?: string;
    words: readonly string[];
  };
  press: { chatId: string; userId: string; pressId: string; data: string };
  /** Something else, or not as documented. */
  other: object;
}>;

export type BotResult<T> = { readonly kind: 'ok'; readonly value: T } | FailedAttempt;

export const MOST_UPDATES = 10;
/** Limit for a reply with all of them: anybody can write to a bot, 4,096 characters per message, and quote as many. */
const MAX_REPLY_BYTES = 4_194_304;
const TIMEOUT_MS = 10_000;
const ANSWER_TIMEOUT_MS = 5_000;
const MAX_TEXT = 4_000;
const MAX_PRESS_TEXT = 200;
const MAX_WORDS = 6;
const MAX_WORD = 64;

export interface BotOptions {
  readonly apiUrl: string;
  readonly token: string;
  readonly proxy?: string | undefined;
  readonly nowMs: () => number;
}

export function createTelegramBot(options: BotOptions, http = sendersOf(options)) {
  const { apiUrl, token } = options;
  const ask = async (
    sender: HttpSender,
    method: string,
    body: object,
    signal?: AbortSignal,
  ): Promise<BotResult<unknown>> => {
    const url = `${apiUrl}/bot${token}/${method}`;
    const result = await sender.post({ url, body: JSON.stringify(body) }, signal);
    return result.kind === 'failed' ? result : judge(result.reply, token);
  };
  const call = (method: string, body: object, signal: AbortSignal) =>
    ask(http.listening, method, body, signal);
  const answer = (method: string, body: object) => ask(http.answering, method, body);
  return {
    /** Returns the user name of the bot, in lower case; commands are addressed to it. */
    async name(signal: AbortSignal): Promise<BotResult<string>> {
      const result = await call('getMe', {}, signal);
      if (result.kind === 'failed') return result;
      const name = objectOf(result.value)['username'];
      return typeof name === 'string' ? { kind: 'ok', value: name.toLowerCase() } : NO_JSON;
    },
    /** Returns the updates from `offset` on, and confirms all before it. Waits for one up to `waitSeconds`. */
    async updates(
      offset: number,
      waitSeconds: number,
      signal: AbortSignal,
    ): Promise<BotResult<readonly BotUpdate[]>> {
      const asked = {
        offset,
        timeout: waitSeconds,
        limit: MOST_UPDATES,
        allowed_updates: ['message', 'callback_query'],
      };
      const result = await call('getUpdates', asked, signal);
      if (result.kind === 'failed') return result;
      return Array.isArray(result.value)
        ? { kind: 'ok', value: result.value.slice(0, MOST_UPDATES).flatMap(updateOf) }
        : NO_JSON;
    },
    /** Sends a text within a few seconds, even during shutdown: the author of an executed command must get the answer. */
    async say(chatId: string, text: string) {
      const body = {
        chat_id: Number(chatId),
        text: text.slice(0, MAX_TEXT),
        link_preview_options: { is_disabled: true },
      };
      return await answer('sendMessage', body);
    },
    /** Shows a text to the person who pressed a button; `asAlert`: until they close it. Bounded like `say`. */
    async answerPress(pressId: string, text: string, asAlert: boolean) {
      const body = { callback_query_id: pressId, text: text.slice(0, MAX_PRESS_TEXT), show_alert: asAlert };
      return await answer('answerCallbackQuery', body);
    },
    async close() {
      await Promise.all([http.listening.close(), http.answering.close()]);
    },
  };
}

export type TelegramBot = ReturnType<typeof createTelegramBot>;

/** Maximum of `waitSeconds`. */
export const LONGEST_WAIT_SECONDS = 25;

/** Two senders: waiting for updates takes long, an answer must be quick. */
function sendersOf({ proxy, nowMs }: BotOptions) {
  const options = { nowMs, ...(proxy === undefined ? {} : { proxy }) };
  const timeoutMs = LONGEST_WAIT_SECONDS * 1000 + TIMEOUT_MS;
  return {
    listening: createHttpSender({ ...options, timeoutMs, maxReplyBytes: MAX_REPLY_BYTES }),
    answering: createHttpSender({ ...options, timeoutMs: ANSWER_TIMEOUT_MS }),
  };
}

const NO_JSON = failed('badReply', 'a reply without what the Bot API documents', false);

const CURES: Readonly<Record<number, string>> = {
  401: 'set the token that @BotFather shows',
  404: 'set the token that @BotFather shows',
  409: 'another program listens with this token, or a webhook is set: end it, remove that, or use a bot of its own',
};

function judge(reply: HttpReply, token: string): BotResult<unknown> {
  const body = jsonObject(reply.body);
  if (body?.['ok'] === true) return { kind: 'ok', value: body['result'] };
  if (body === undefined && isSuccess(reply)) return NO_JSON;
  const { description } = body ?? {};
  const said = typeof description === 'string' ? safeWords(description, [token]) : '';
  const { retry_after: seconds } = objectOf(body?.['parameters']);
  const waitMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : reply.retryAfterMs;
  const failure = httpFailure({ ...reply, retryAfterMs: waitMs }, said);
  const cure = CURES[reply.status];
  return cure === undefined ? failure : { ...failure, words: `${failure.words}; ${cure}` };
}

function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
}

/** Reads an update. One without a number is left out, because it cannot be confirmed. */
function updateOf(value: unknown): readonly BotUpdate[] {
  const { update_id: updateId, message, callback_query: press } = objectOf(value);
  if (!isNumber(updateId) || updateId < 0) return [];
  if (message !== undefined) return [{ updateId, ...commandOf(objectOf(message)) }];
  return [{ updateId, ...(press === undefined ? OTHER : pressOf(objectOf(press))) }];
}

type Read<K extends BotUpdate['kind']> = Omit<Extract<BotUpdate, { kind: K }>, 'updateId'>;
const OTHER: Read<'other'> = { kind: 'other' };

/** Fields of a message whose text is not its sender's: forwarded, made by a bot, or posted for a channel or a group. */
const NOT_OWN_WORDS = [
  'forward_origin',
  'forward_date',
  'is_automatic_forward',
  'via_bot',
  'sender_chat',
  'sender_business_bot',
];

/** Only what a person typed in the chat is a command. */
function isTyped(message: JsonObject): boolean {
  return objectOf(message['from'])['is_bot'] !== true && NOT_OWN_WORDS.every((field) => !message[field]);
}

function commandOf(message: JsonObject): Read<'command'> | Read<'other'> {
  const { chat, from, date, text } = message;
  if (!isTyped(message)) return OTHER;
  const [chatId, userId] = [objectOf(chat)['id'], objectOf(from)['id']];
  if (!isNumber(chatId) || !isNumber(userId) || !isNumber(date) || typeof text !== 'string') return OTHER;
  const [head = '', ...words] = text.slice(0, MAX_TEXT).trim().split(/\s+/, MAX_WORDS);
  const [, name = '', addressee] = /^\/([A-Za-z0-9_]{1,32})(?:@(\w{1,40}))?$/.exec(head) ?? [];
  if (name === '') return OTHER;
  return {
    kind: 'command',
    chatId: String(chatId),
    userId: String(userId),
    atMs: date * 1000,
    name: name.toLowerCase(),
    ...(addressee === undefined ? {} : { addressee: addressee.toLowerCase() }),
    words: words.map((word) => word.slice(0, MAX_WORD)),
  };
}

function pressOf({ id, from, message, data }: JsonObject): Read<'press'> | Read<'other'> {
  const [chatId, userId] = [objectOf(objectOf(message)['chat'])['id'], objectOf(from)['id']];
  const isBot = objectOf(from)['is_bot'] === true;
  if (isBot || !isNumber(chatId) || !isNumber(userId) || typeof id !== 'string' || typeof data !== 'string')
    return OTHER;
  const [pressId, own] = [id.slice(0, MAX_WORD), data.slice(0, MAX_WORD)];
  return { kind: 'press', chatId: String(chatId), userId: String(userId), pressId, data: own };
}

/** Chat ids have at most 52 significant bits. */
function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
