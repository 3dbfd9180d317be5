import {
  type BotUpdate,
  LONGEST_WAIT_SECONDS,
  MOST_UPDATES,
  type TelegramBot,
} from '../../notify/telegram-bot.ts';
import type { Cursor, UpdateCursors } from '../../state/bot/update-cursor.ts';
import type { Base } from '../open-base.ts';
import type { BotDesk, BotReply, Speaker } from './bot-desk.ts';

/** A chat whose commands are carried out; keyed by its number. */
export interface ListedChat {
  readonly name?: string | undefined;
  readonly mayControl: boolean;
}

export interface BotParts extends Pick<Base, 'clock' | 'telemetry'> {
  /** Identifies the bot among others; not a secret. */
  readonly id: string;
  /** The bot's channel, or the first of several. */
  readonly channel: string;
  readonly chats: ReadonlyMap<string, ListedChat>;
  readonly bot: TelegramBot;
  readonly desk: BotDesk;
  readonly cursors: UpdateCursors;
  /** Identifies this process among all. */
  readonly owner: string;
}

/** Longer than waiting for an update and carrying one out. */
const TURN_MS = 90_000;
/** How often a process without the turn asks for it. */
const OTHERS_MS = 5_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A new process may start listening while the last request of the old one is still open. */
const TROUBLE_AFTER_MS = 40_000;
/** Older messages are not carried out: their author may no longer want it. */
const TOO_OLD_MS = 300_000;

interface State {
  /** Name by which commands address the bot; undefined: not known yet. */
  botName: string | undefined;
  failedSinceMs: number | undefined;
  failures: number;
  isTold: boolean;
}

/** Listens until `signal` while it has the turn. Does not reject. */
export async function runBot(parts: BotParts, signal: AbortSignal): Promise<void> {
  const { cursors, id, owner, clock, telemetry, bot, channel } = parts;
  const state: State = { botName: undefined, failedSinceMs: undefined, failures: 0, isTold: false };
  while (!signal.aborted) {
    let pauseMs: number;
    try {
      const cursor = await cursors.take(id, owner, TURN_MS);
      if (cursor === undefined) hear(parts, state);
      pauseMs = cursor === undefined ? OTHERS_MS : await listen(parts, state, cursor, signal);
    } catch (error) {
      if (!signal.aborted) telemetry.emit({ kind: 'workerError', queue: 'notify', error });
      pauseMs = OTHERS_MS;
    }
    if (pauseMs > 0) await clock.sleep(pauseMs, signal).catch(() => undefined);
  }
  if (state.isTold) telemetry.emit({ kind: 'botListens', channel });
  await cursors.leave(id, owner).catch(() => undefined);
  await bot.close();
}

/** Fetches updates once and carries out all of them. Resolves to the pause before the next fetch, ms. */
async function listen(parts: BotParts, state: State, before: Cursor, signal: AbortSignal): Promise<number> {
  const { bot, cursors, id, owner, clock } = parts;
  if (state.botName === undefined) {
    const named = await bot.name(signal);
    if (named.kind === 'failed') return failedFor(parts, state, named);
    state.botName = named.value;
  }
  const { underWay, ...cursor } = before;
  if (underWay !== undefined) {
    await tellInterrupted(parts, underWay);
    if (!(await cursors.advance(id, owner, cursor))) return OTHERS_MS;
  }
  // Updates that waited since it last listened are not fresh.
  const isFresh = clock.nowMs() - cursor.caughtUpMs <= TOO_OLD_MS;
  const found = await bot.updates(cursor.offset, isFresh ? LONGEST_WAIT_SECONDS : 0, signal);
  if (found.kind === 'failed') return failedFor(parts, state, found);
  hear(parts, state);
  let { offset } = cursor;
  // A server other than Telegram's (`api`) may never forget updates: do not ask it without a pause.
  const isRepeated = found.value.length > 0 && found.value.every(({ updateId }) => updateId < cursor.offset);
  if (isRepeated) return FIRST_PAUSE_MS;
  for (const update of found.value.toSorted((a, b) => a.updateId - b.updateId)) {
    // Already begun: the server repeats updates that were not confirmed.
    if (update.updateId < offset) continue;
    // The next process carries it out: none of it has begun.
    if (signal.aborted) return 0;
    offset = update.updateId + 1;
    const heard = hearingOf(parts, update, { isFresh, botName: state.botName });
    if (heard === undefined) continue;
    if ((await cursors.take(id, owner, TURN_MS)) === undefined) return OTHERS_MS;
    // Marked as done, here and at the server, before it is carried out: even after a crash nobody repeats it.
    const begun = { ...cursor, offset, underWay: heard.update.chatId };
    if (!(await cursors.advance(id, owner, begun))) return OTHERS_MS;
    const confirmed = await bot.updates(offset, 0, signal);
    if (confirmed.kind === 'failed') return failedFor(parts, state, confirmed);
    await carryOut(parts, heard);
    if (!(await cursors.advance(id, owner, { ...cursor, offset }))) return OTHERS_MS;
  }
  const caughtUpMs = found.value.length < MOST_UPDATES ? clock.nowMs() : cursor.caughtUpMs;
  // After a week without updates Telegram may continue from a lower number. All updates so far are confirmed.
  await cursors.advance(id, owner, { offset: found.value.length === 0 ? 0 : offset, caughtUpMs });
  return 0;
}

/** Reports an update that counted as done when a process ended, or lost Redis or Telegram, and may not have been. */
async function tellInterrupted({ bot, chats, channel, telemetry }: BotParts, chatId: string): Promise<void> {
  const words = 'the last thing that was said may not have been done: it was interrupted';
  telemetry.emit({ kind: 'botTold', channel, what: 'other', outcome: 'failed', words });
  if (chats.has(chatId)) await bot.say(chatId, INTERRUPTED);
}

const INTERRUPTED =
  'Not known whether the last thing said here was done: Breakwater was interrupted. Look with /status, and say it again if it was not.';

function hear({ channel, telemetry }: BotParts, state: State): void {
  if (state.isTold) telemetry.emit({ kind: 'botListens', channel });
  Object.assign(state, { failedSinceMs: undefined, failures: 0, isTold: false });
}

type Failure = Extract<Awaited<ReturnType<TelegramBot['updates']>>, { readonly kind: 'failed' }>;

function failedFor(
  { channel, clock, telemetry }: BotParts,
  state: State,
  { words, retryAfterMs = 0, reason }: Failure,
): number {
  const nowMs = clock.monotonicMs();
  state.failedSinceMs ??= nowMs;
  state.failures += 1;
  // Waiting cures none of these reasons. Telegram's message for a configured webhook has these words.
  const isLasting =
    nowMs - state.failedSinceMs >= TROUBLE_AFTER_MS ||
    reason === 'unauthorized' ||
    reason === 'notFound' ||
    words.includes('webhook is active');
  if (isLasting && !state.isTold) {
    state.isTold = true;
    telemetry.emit({ kind: 'botListens', channel, trouble: words });
  }
  return Math.max(
    retryAfterMs,
    Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(10, state.failures - 1)),
  );
}

type Said = Exclude<BotUpdate, { readonly kind: 'other' }>;

interface Heard {
  readonly update: Said;
  readonly speaker: Speaker;
  /** It listened without a long gap. Presses carry no time, so they count as new only then. */
  readonly isFresh: boolean;
}

/** Returns an update from a listed chat that is for this bot; only counts any other. */
function hearingOf(
  { channel, telemetry, chats }: BotParts,
  update: BotUpdate,
  { isFresh, botName }: Pick<Heard, 'isFresh'> & { readonly botName: string },
): Heard | undefined {
  const ignore = (outcome: 'unknownChat' | 'ignored', words: string): undefined => {
    telemetry.emit({ kind: 'botTold', channel, what: update.kind, outcome, words });
  };
  if (update.kind === 'other') return ignore('ignored', 'something that is no command');
  const chat = chats.get(update.chatId);
  if (chat === undefined) return ignore('unknownChat', 'a chat that is not listed');
  if (update.kind === 'command' && (update.addressee ?? botName) !== botName)
    return ignore('ignored', 'a command for another bot');
  return { update, speaker: speakerOf(update, chat), isFresh };
}

/** Does not reject: a failure is reported in the chat and not retried. */
async function carryOut(parts: BotParts, heard: Heard): Promise<void> {
  const { channel, telemetry, bot } = parts;
  const { update, speaker } = heard;
  const reply = await replyTo(parts, heard).catch((): Reply => NOT_DONE);
  const words =
    update.kind === 'command'
      ? ['/', update.name, ...update.words.map((word) => ` ${word}`)].join('')
      : 'a button';
  const { outcome, text } = reply;
  telemetry.emit({ kind: 'botTold', channel, what: update.kind, outcome, words, author: speaker.author });
  if (update.kind === 'command') await bot.say(update.chatId, text);
  else await bot.answerPress(update.pressId, text, outcome !== 'done');
}

type Reply = Omit<BotReply, 'outcome'> & { readonly outcome: BotReply['outcome'] | 'tooOld' | 'failed' };

const NOT_DONE: Reply = {
  outcome: 'failed',
  text: 'Not known whether it was done: Redis did not answer. Look with /status, and repeat it.',
};
const TOO_OLD: Reply = {
  outcome: 'tooOld',
  text: 'Not done: nobody listened for more than 5 min, and this may have been said before that. Say it again.',
};

async function replyTo({ desk, clock }: BotParts, { update, speaker, isFresh }: Heard): Promise<Reply> {
  if (update.kind === 'press') return isFresh ? await desk.press(update.data, speaker) : TOO_OLD;
  if (clock.nowMs() - update.atMs > TOO_OLD_MS) return TOO_OLD;
  return await desk.command(update.name, update.words, speaker);
}

function speakerOf(
  { chatId, userId }: { readonly chatId: string; readonly userId: string },
  { name, mayControl }: ListedChat,
): Speaker {
  const place = `telegram:${chatId === userId ? chatId : `${chatId}/${userId}`}`;
  return { author: name === undefined ? place : `${name} (${place})`, mayControl };
}
