import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';

/** A Bot API that behaves as Telegram documents it (core.telegram.org/bots/api), with one bot. */

export const BOT_TOKEN = '123456:AAE-secret_bot_token';

interface Button {
  readonly text: string;
  readonly callback_data: string;
}

export interface SentMessage {
  readonly chat_id: number;
  readonly text: string;
  readonly reply_markup?: { readonly inline_keyboard: readonly (readonly Button[])[] };
}

export interface TelegramService {
  readonly url: string;
  /** The methods called, with their bodies. */
  readonly calls: { readonly method: string; readonly body: Readonly<Record<string, unknown>> }[];
  /** The messages of the bot that Telegram accepted. */
  readonly sent: SentMessage[];
  /** The answers shown for presses, by press id. */
  readonly shown: ReadonlyMap<string, string>;
  /** Somebody writes to the bot. Resolves to the update id. */
  say(chat: number, user: number, text: string, atMs?: number): number;
  /** Somebody presses a button. Resolves to the press id. */
  press(chat: number, user: number, data: string): string;
  /** Hands out any update as given. */
  push(update: object): number;
  /** The number of updates that the bot has not confirmed. */
  pending(): number;
  /** Ends waiting requests for updates with an empty list. */
  tellNothing(): void;
  /** As after a week without updates: the next id is this number. */
  countFrom(updateId: number): void;
  /** Whether a request for updates is waiting. */
  isHeard(): boolean;
  /** How often a request for updates began while another one was waiting. */
  conflicts(): number;
  webhook: boolean;
  /** Confirmed updates are handed out again and again. */
  forgetful: boolean;
  /** Answers the next call of this method. */
  answer(method: string, status: number, body: object | string): void;
  close(): Promise<void>;
}

export async function startTelegram({ token = BOT_TOKEN } = {}): Promise<TelegramService> {
  let updates: { readonly update_id: number }[] = [];
  let nextUpdate = 1000;
  let nextMessage = 1;
  let conflicts = 0;
  const calls: TelegramService['calls'] = [];
  const sent: SentMessage[] = [];
  const shown = new Map<string, string>();
  const presses = new Set<string>();
  const planned = new Map<string, { readonly status: number; readonly body: object | string }[]>();
  let waiting: { readonly end: (conflict: boolean) => void } | undefined;

  const reply = (response: ServerResponse, status: number, body: object | string): void => {
    if (response.destroyed) return;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const fail = (response: ServerResponse, code: number, description: string): void =>
    reply(response, code, { ok: false, error_code: code, description });
  const fine = (response: ServerResponse, result: unknown): void =>
    reply(response, 200, { ok: true, result });

  const getUpdates = (response: ServerResponse, body: Readonly<Record<string, unknown>>): void => {
    if (service.webhook) {
      return fail(
        response,
        409,
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    if (waiting !== undefined) conflicts += 1;
    waiting?.end(true);
    const {
      offset = 0,
      limit = 100,
      timeout = 0,
      allowed_updates: allowed,
    } = body as Record<string, number> & {
      allowed_updates?: readonly string[];
    };
    if (!service.forgetful) updates = updates.filter(({ update_id: id }) => id >= offset);
    const found = (): readonly object[] =>
      updates.filter((update) => allowed?.some((kind) => kind in update) !== false).slice(0, limit);
    if (found().length > 0 || timeout === 0) return fine(response, found());
    let timer: NodeJS.Timeout | undefined;
    const own = {
      end(conflict: boolean) {
        clearTimeout(timer);
        if (waiting === own) waiting = undefined;
        if (conflict) {
          fail(
            response,
            409,
            'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
          );
        } else fine(response, found());
      },
    };
    timer = setTimeout(() => own.end(false), timeout * 1000);
    timer.unref();
    response.on('close', () => {
      clearTimeout(timer);
      if (waiting === own) waiting = undefined;
    });
    waiting = own;
  };

  const sendMessage = (response: ServerResponse, body: Readonly<Record<string, unknown>>): void => {
    const message = body as unknown as SentMessage;
    if (typeof message.chat_id !== 'number' || message.chat_id === 0)
      return fail(response, 400, 'Bad Request: chat not found');
    if (typeof message.text !== 'string' || message.text === '')
      return fail(response, 400, 'Bad Request: message text is empty');
    if (message.text.length > 4096) return fail(response, 400, 'Bad Request: message is too long');
    const buttons = (message.reply_markup?.inline_keyboard ?? []).flat();
    const isWrong = buttons.some(({ callback_data: data }) => data === '' || Buffer.byteLength(data) > 64);
    if (isWrong) return fail(response, 400, 'Bad Request: BUTTON_DATA_INVALID');
    sent.push(message);
    fine(response, {
      message_id: nextMessage++,
      date: Math.floor(Date.now() / 1000),
      chat: { id: message.chat_id },
      text: message.text,
    });
  };

  const answerCallbackQuery = (response: ServerResponse, body: Readonly<Record<string, unknown>>): void => {
    const { callback_query_id: id, text = '' } = body as Record<string, string>;
    if (id === undefined || !presses.delete(id))
      return fail(
        response,
        400,
        'Bad Request: query is too old and response timeout expired or query ID is invalid',
      );
    if (text.length > 200) return fail(response, 400, 'Bad Request: MESSAGE_TOO_LONG');
    shown.set(id, text);
    fine(response, true);
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [, given, method = ''] = /^\/bot([^/]*)\/(\w+)$/.exec(request.url ?? '') ?? [];
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as Record<string, unknown>;
      calls.push({ method, body });
      if (given !== token) return fail(response, 401, 'Unauthorized');
      const next = planned.get(method)?.shift();
      if (next !== undefined) return reply(response, next.status, next.body);
      if (method === 'getMe')
        return fine(response, { id: 123456, is_bot: true, first_name: 'Bw', username: 'Our_Bot' });
      if (method === 'getUpdates') return getUpdates(response, body);
      if (method === 'sendMessage') return sendMessage(response, body);
      if (method === 'answerCallbackQuery') return answerCallbackQuery(response, body);
      fail(response, 404, 'Not Found: method not found');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const push = (update: object): number => {
    const id = nextUpdate++;
    updates.push({ update_id: id, ...update });
    waiting?.end(false);
    return id;
  };
  const service: TelegramService = {
    url: `http://127.0.0.1:${port}`,
    calls,
    sent,
    shown,
    webhook: false,
    forgetful: false,
    push,
    pending: () => updates.length,
    tellNothing: () => waiting?.end(false),
    countFrom(updateId) {
      nextUpdate = updateId;
    },
    isHeard: () => waiting !== undefined,
    conflicts: () => conflicts,
    say: (chat, user, text, atMs = Date.now()) =>
      push({
        message: {
          message_id: nextMessage++,
          from: { id: user, is_bot: false, first_name: 'A' },
          chat: { id: chat, type: chat < 0 ? 'group' : 'private' },
          date: Math.floor(atMs / 1000),
          text,
        },
      }),
    press(chat, user, data) {
      const id = `press-${nextUpdate}`;
      presses.add(id);
      push({
        callback_query: {
          id,
          from: { id: user, is_bot: false, first_name: 'A' },
          message: { message_id: 1, date: Math.floor(Date.now() / 1000), chat: { id: chat, type: 'group' } },
          chat_instance: 'x',
          data,
        },
      });
      return id;
    },
    answer(method, status, body) {
      planned.set(method, [...(planned.get(method) ?? []), { status, body }]);
    },
    async close() {
      waiting?.end(false);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return service;
}
