import { escapeHtml } from '../core/text/escape-html.ts';
import { type Channel, type DeliveryAttempt, firstReference, type Outgoing } from './channel.ts';
import { wholeParts } from './fitting.ts';
import { isSuccess } from './http-channel.ts';
import {
  type ChannelParts,
  failed,
  type HttpReply,
  httpFailure,
  type JsonObject,
  jsonObject,
  safeWords,
} from './http-sender.ts';
import { cut, isCalm, type LinkTemplate, wordingOf } from './message-layout.ts';
import { buttonData, buttonTargets } from './telegram-buttons.ts';

export interface TelegramOptions {
  /** Telegram's Bot API or a local Bot API server, without a trailing slash. */
  readonly apiUrl: string;
  readonly token?: string;
  /** Id of a chat, or `@name` of a public channel. */
  readonly chat: string;
  /** Topic of a forum. */
  readonly topic?: number;
  /** Chats that may send commands to the bot. */
  readonly commands?: readonly { readonly chat: string; readonly scopes: readonly string[] }[];
}

/** Telegram's Bot API, method `sendMessage`. Later messages of an episode reply to its first one. */
export function createTelegram(
  { token = '', apiUrl, topic, commands, ...options }: TelegramOptions,
  { name, links, http }: ChannelParts,
): Channel {
  const url = `${apiUrl}/bot${token}/sendMessage`;
  let { chat } = options;
  // A group that moved is not listed until the config has its new id: nobody there is obeyed, so it gets no buttons.
  const mayControl = (to: string): boolean =>
    commands?.some((one) => one.chat === to && one.scopes.includes('control')) === true;
  const post = async (outgoing: Outgoing, signal?: AbortSignal): Promise<Verdict> => {
    const payload = telegramPayload(outgoing, { chat, topic, links, hasButtons: mayControl(chat) });
    const result = await http.post({ url, body: JSON.stringify(payload) }, signal);
    return result.kind === 'failed' ? { attempt: result } : judge(result.reply, token);
  };
  return {
    name,
    type: 'telegram',
    audience: 'people',
    async send(outgoing, signal) {
      const first = await post(outgoing, signal);
      if (first.movedTo === undefined) return first.attempt;
      // The group became a supergroup with another id; the config still has the old one.
      chat = first.movedTo;
      return (await post(outgoing, signal)).attempt;
    },
    close: () => http.close(),
  };
}

const MAX_LINE = 600;
/** Length of the text without its marks (Bot API: 1 to 4096 characters after entities parsing). */
const MAX_TEXT = 4000;

interface Place {
  readonly chat: string;
  readonly topic: number | undefined;
  readonly links: readonly LinkTemplate[];
  /** The bot listens to buttons in this chat and executes them. */
  readonly hasButtons?: boolean;
}

export function telegramPayload(outgoing: Outgoing, place: Place): JsonObject {
  const { message, receipts } = outgoing;
  const first = Number(firstReference(receipts));
  const buttons = place.hasButtons === true ? buttonsOf(outgoing) : [];
  return {
    chat_id: /^-?\d+$/.test(place.chat) ? Number(place.chat) : place.chat,
    ...(place.topic === undefined ? {} : { message_thread_id: place.topic }),
    text: htmlText(outgoing, place.links),
    parse_mode: 'HTML',
    link_preview_options: { is_disabled: true },
    disable_notification: isCalm(message),
    ...(Number.isSafeInteger(first) && first > 0
      ? { reply_parameters: { message_id: first, allow_sending_without_reply: true } }
      : {}),
    ...(buttons.length === 0 ? {} : { reply_markup: { inline_keyboard: [buttons] } }),
  };
}

function buttonsOf({ message, along }: Outgoing): readonly object[] {
  return buttonTargets(message, along).flatMap(({ title, target }) => {
    const data = buttonData(target);
    return data === undefined ? [] : [{ text: title, callback_data: data }];
  });
}

/** Keeps whole lines, so that no mark is cut in half, and every link: text can be dropped, actions cannot. */
function htmlText(outgoing: Outgoing, templates: readonly LinkTemplate[]): string {
  const wording = wordingOf(outgoing, templates);
  const links = wording.links.map(({ title, url }): readonly [string, string] => [
    title,
    `<a href="${escapeHtml(url)}">${escapeHtml(title)}</a>`,
  ]);
  const parts: readonly (readonly [plain: string, html: string])[] = [
    line(wording.title, (text) => `<b>${text}</b>`),
    ...wording.lines.map((text) => line(text)),
    ...wording.facts.map(({ name, text }) => line(`${name}: ${text}`)),
  ];
  const spaceOf = ([plain]: readonly [string, string]): number => plain.length + 1;
  const left = links.reduce((space, link) => space - spaceOf(link), MAX_TEXT);
  const kept = wholeParts(parts, left, spaceOf);
  return [...kept, ...links].map(([, html]) => html).join('\n');
}

function line(text: string, mark = (html: string): string => html): readonly [plain: string, html: string] {
  const shown = cut(text, MAX_LINE);
  return [shown, mark(escapeHtml(shown))];
}

interface Verdict {
  readonly attempt: DeliveryAttempt;
  readonly movedTo?: string;
}

interface BotReply {
  readonly ok?: unknown;
  readonly result?: { readonly message_id?: unknown };
  readonly description?: unknown;
  readonly parameters?: { readonly retry_after?: unknown; readonly migrate_to_chat_id?: unknown };
}

/** Replies: `{ ok, result | error_code, description, parameters }`; only `ok: true` is a success. */
function judge(reply: HttpReply, token: string): Verdict {
  const body: BotReply | undefined = jsonObject(reply.body);
  if (body === undefined || !('ok' in body)) {
    return isSuccess(reply)
      ? { attempt: failed('badReply', `HTTP ${reply.status} without the JSON of the Bot API`, false) }
      : { attempt: httpFailure(reply) };
  }
  if (body.ok === true) {
    const id = body.result?.message_id;
    return {
      attempt: typeof id === 'number' ? { kind: 'delivered', reference: String(id) } : { kind: 'delivered' },
    };
  }
  const described = typeof body.description === 'string' ? safeWords(body.description, [token]) : '';
  const said = described === '' ? 'it does not say why' : described;
  const { retry_after: seconds, migrate_to_chat_id: movedTo } = body.parameters ?? {};
  if (typeof movedTo === 'number' || typeof movedTo === 'string') {
    return { attempt: failed('notFound', said, true), movedTo: String(movedTo) };
  }
  if (reply.status === 400 && /not found/i.test(said))
    return { attempt: failed('notFound', `HTTP 400: ${said}`, true) };
  // Telegram replies 404 to a token it never knew, and 401 to one that it once knew.
  if (reply.status === 404) return { attempt: failed('unauthorized', `HTTP 404: ${said}`, true) };
  const isAsked = reply.status === 429 && typeof seconds === 'number' && seconds > 0;
  return { attempt: httpFailure(isAsked ? { ...reply, retryAfterMs: seconds * 1000 } : reply, said) };
}
