import { parseDuration } from '../../config/shape/units.ts';
import { acknowledgeAll, isMeant, type OpenEpisode } from '../../core/controls/acknowledge.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { ControlError, type OperatorControls } from '../../core/ports/operator-controls.ts';
import { timeWords } from '../../core/text/time-words.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { headlineOf, worseFirst } from '../../core/view/state-line.ts';
import { type ButtonTarget, readButton } from '../../notify/telegram-buttons.ts';

export interface BotDeskParts {
  readonly controls: Pick<OperatorControls, 'put' | 'answer'>;
  /** Accounts by id, without unknown ones; all accounts if `ids` is absent. */
  readonly views: (ids?: readonly string[]) => Promise<readonly AccountView[]>;
  readonly clock: Pick<Clock, 'nowMs'>;
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

type Open = OpenEpisode & { readonly accountId: string; readonly sinceMs: number };

function openIn({ accountId, notices }: AccountView): readonly Open[] {
  return notices.map((notice) => ({ ...notice, accountId }));
}

const GONE: BotReply = { outcome: 'nothing', text: 'It is over: there is nothing to do.' };

async function press(parts: BotDeskParts, data: string, speaker: Speaker): Promise<BotReply> {
  if (!speaker.mayControl) return NO_CONTROL;
  const open = (await parts.views()).flatMap(openIn);
  const target = readButton(data, { accountIds: parts.accountIds(), open });
  if (target === undefined) return { outcome: 'refused', text: 'This button is not known.' };
  if (target === 'gone') return GONE;
  if (target.kind === 'answer') return await answer(parts, target, speaker);
  // The read of all accounts may be older than another press.
  const now = target.kind === 'acknowledge' ? (await parts.views([target.accountId])).flatMap(openIn) : open;
  const covered = now.filter((one) => isCovered(one, target));
  return await acknowledgeThese(parts, covered, speaker);
}

/** A button of one account covers that episode up to the stage of its message; a higher stage has its own message. */
function isCovered(open: Open, target: Exclude<ButtonTarget, { readonly kind: 'answer' }>): boolean {
  if (!isMeant(open, target)) return false;
  if (target.kind === 'acknowledgeAll') return open.sinceMs <= target.saidAtMs;
  const { accountId, episode, stage } = target;
  return open.accountId === accountId && open.episode === episode && open.stage <= stage;
}

async function acknowledgeThese(
  { controls, clock }: BotDeskParts,
  open: readonly Open[],
  { author }: Speaker,
): Promise<BotReply> {
  if (open.length === 0) {
    const over = 'It is over, or it has got worse since this message: a newer one has a newer button.';
    return { outcome: 'nothing', text: `There is nothing to acknowledge. ${over}` };
  }
  const by = { author, reason: 'acknowledged' };
  const done = await acknowledgeAll(controls, open, { by, nowMs: clock.nowMs() });
  const others = done
    .filter(({ isOlder }) => isOlder)
    .map(({ acknowledgement: { author: who, atMs } }) => `Acknowledged by ${who} at ${timeWords(atMs)}.`);
  const seen = [...new Set(others)].slice(0, MOST_ACCOUNTS);
  return done.every(({ isOlder }) => isOlder)
    ? { outcome: 'nothing', text: ['Somebody has acknowledged it before.', ...seen].join(' ') }
    : { outcome: 'done', text: ['Acknowledged.', ...seen, MEANING].join(' ') };
}

const MEANING =
  'It is not told again, and to nobody else, until it is over or gets worse. Breakwater goes on acting by its rules.';

type Answer = Extract<ButtonTarget, { readonly kind: 'answer' }>;

const ANSWERED: Readonly<Record<Answer['decision'], string>> = {
  approve: 'Approved. The target is approved, not the prices: it is priced anew when it is sent.',
  veto: 'Vetoed. It does not act then. A later stage, or liquidation clearly nearer, asks again; a margin call acts.',
};

async function answer(
  { controls }: BotDeskParts,
  { accountId, decision, questionId, revision }: Answer,
  { author }: Speaker,
): Promise<BotReply> {
  const draft = { decision, questionId, revision, author, reason: 'by Telegram' };
  const reply = await controls.answer(accountId, draft);
  if (reply.kind === 'taken') return { outcome: 'done', text: ANSWERED[decision] };
  if (reply.kind !== 'answered') return NOT_WAITED_FOR;
  const did = reply.decision === 'approve' ? 'approved' : 'vetoed';
  return { outcome: 'nothing', text: `It was ${did} before. By ${reply.author}.` };
}

const NOT_WAITED_FOR: BotReply = {
  outcome: 'nothing',
  text:
    'It is not waited for any longer. It was answered, it acts already, or something else is asked now: a newer ' +
    'message has newer buttons.',
};
