import { parseDuration } from '../../config/shape/units.ts';
import { acknowledgeAll } from '../../core/controls/acknowledge.ts';
import { ControlError } from '../../core/ports/operator-controls.ts';
import { timeWords } from '../../core/text/time-words.ts';
import { headlineOf, worseFirst } from '../../core/view/state-line.ts';
import { readButton } from '../../notify/telegram-buttons.ts';
import { type LinkParts, linkActions, openIn } from '../web/link-actions.ts';

export interface BotDeskParts extends Omit<LinkParts, 'reason'> {
  readonly accountIds: () => readonly string[];
  /** Failures of this process, in words. */
  readonly troubles: () => readonly string[];
}

/** The author of a message in a listed chat. */
export interface Speaker {
  /** For the audit. */
  readonly author: string;
  readonly mayControl: boolean;
}

/** Closed list, also a metric label. `nothing`: there was nothing to do. */
export type BotOutcome = 'done' | 'nothing' | 'refused';

export interface BotReply {
  readonly outcome: BotOutcome;
  /** Short enough for a message. */
  readonly text: string;
}

export type BotDesk = ReturnType<typeof createBotDesk>;

const HELP = `/status [account]
/pause [account] [duration]: holds back all orders and cancels; for 1h unless said otherwise
/ack [account]: somebody sees to what fires`;

const NO_CONTROL: BotReply = { outcome: 'refused', text: 'This chat may only look (commands: scopes).' };
const MOST_ACCOUNTS = 20;
const MOST_LINE = 160;
const DEFAULT_PAUSE_MS = 3_600_000;
const LONGEST_PAUSE_MS = 7 * 86_400_000;

/** Answers and carries out what people ask for in a chat. Rejects if the store is lost. */
export function createBotDesk(parts: BotDeskParts) {
  const commands: Readonly<
    Record<string, (words: readonly string[], speaker: Speaker) => Promise<BotReply>>
  > = {
    status: (words) => status(parts, words),
    pause: (words, speaker) => pause(parts, words, speaker),
    ack: (words, speaker) => acknowledge(parts, words, speaker),
  };
  return {
    async command(name: string, words: readonly string[], speaker: Speaker): Promise<BotReply> {
      const run = Object.hasOwn(commands, name) ? commands[name] : undefined;
      if (run === undefined) return { outcome: 'nothing', text: HELP };
      return await unlessRefused(() => run(words, speaker));
    },
    press: (data: string, speaker: Speaker) => unlessRefused(() => press(parts, data, speaker)),
  };
}

async function unlessRefused(act: () => Promise<BotReply>): Promise<BotReply> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ControlError) return { outcome: 'refused', text: `Not done: ${error.message}` };
    throw error;
  }
}

async function status(parts: BotDeskParts, [named]: readonly string[]): Promise<BotReply> {
  if (named !== undefined && !parts.accountIds().includes(named)) return noAccount(named);
  const views = await parts.views(named === undefined ? undefined : [named]);
  const shown = views.toSorted((a, b) => worseFirst(a.state, b.state)).slice(0, MOST_ACCOUNTS);
  const lines = [
    ...parts.troubles(),
    ...(views.length === 1 ? [] : [headlineOf(views).words]),
    ...shown.map(({ accountId, state }) => `${accountId}: ${state.words}`),
    ...(views.length > shown.length ? [`and ${views.length - shown.length} more accounts`] : []),
  ];
  return { outcome: 'done', text: lines.map(cutLine).join('\n') };
}

function cutLine(line: string): string {
  return line.length <= MOST_LINE ? line : `${line.slice(0, MOST_LINE - 1)}…`;
}

function noAccount(named: string): BotReply {
  return { outcome: 'refused', text: `There is no account ${cutLine(named)}. /status lists them.` };
}

async function pause(parts: BotDeskParts, words: readonly string[], speaker: Speaker): Promise<BotReply> {
  if (!speaker.mayControl) return NO_CONTROL;
  const [first] = words;
  const named = first !== undefined && parts.accountIds().includes(first) ? first : undefined;
  const [duration, ...more] = named === undefined ? words : words.slice(1);
  const forMs = duration === undefined ? DEFAULT_PAUSE_MS : parseDuration(duration);
  if (more.length > 0 || forMs === undefined) {
    const isUnknown = named === undefined && forMs === undefined;
    const why = isUnknown ? `${cutLine(duration ?? '')} is no account and no duration such as 30m.\n` : '';
    return { outcome: 'refused', text: `${why}${HELP}` };
  }
  if (forMs < 1000 || forMs > LONGEST_PAUSE_MS)
    return { outcome: 'refused', text: 'A pause lasts from 1s to 7d.' };
  const expiresAtMs = parts.clock.nowMs() + forMs;
  const accountId = named ?? null;
  const { author } = speaker;
  await parts.controls.put({ kind: 'pause', accountId, expiresAtMs, author, reason: 'by Telegram' });
  const where = named ?? 'all accounts';
  const end = `breakwater resume${named === undefined ? '' : ` --account ${named}`} --reason TEXT`;
  return {
    outcome: 'done',
    text: `Paused: ${where}, until ${timeWords(expiresAtMs)}.\nTo end it before: ${end}`,
  };
}

async function acknowledge(
  parts: BotDeskParts,
  [named]: readonly string[],
  speaker: Speaker,
): Promise<BotReply> {
  if (!speaker.mayControl) return NO_CONTROL;
  if (named !== undefined && !parts.accountIds().includes(named)) return noAccount(named);
  const open = (await parts.views(named === undefined ? undefined : [named])).flatMap(openIn);
  const by = { author: speaker.author, reason: 'by Telegram' };
  const done = await acknowledgeAll(parts.controls, open, { by, nowMs: parts.clock.nowMs() });
  if (done.length === 0) return { outcome: 'nothing', text: 'Nothing is open.' };
  const lines = done
    .slice(0, MOST_ACCOUNTS)
    .map(({ acknowledgement: { ruleId, subject, accountId, author }, isOlder }) => {
      const what = `${ruleId} for ${subject} of ${accountId ?? 'no account'}`;
      return isOlder ? `${what}: before, by ${author}` : `${what}: acknowledged`;
    });
  if (done.length > lines.length) lines.push(`and ${done.length - lines.length} more`);
  return { outcome: 'done', text: lines.map(cutLine).join('\n') };
}

const GONE: BotReply = { outcome: 'nothing', text: 'It is over: there is nothing to do.' };

async function press(parts: BotDeskParts, data: string, speaker: Speaker): Promise<BotReply> {
  if (!speaker.mayControl) return NO_CONTROL;
  const open = (await parts.views()).flatMap(openIn);
  const target = readButton(data, { accountIds: parts.accountIds(), open });
  if (target === undefined) return { outcome: 'refused', text: 'This button is not known.' };
  if (target === 'gone') return GONE;
  const action = linkActions({ ...parts, reason: 'by Telegram' })(target);
  const { changed, title, lines } = await action.use(target, speaker.author);
  return { outcome: changed ? 'done' : 'nothing', text: [title, ...lines].join('. ') };
}
