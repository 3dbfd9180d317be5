import { readReference, referenceOf } from '../core/approvals/question.ts';
import { type EpisodeStage, episodeOf } from '../core/controls/controls.ts';
import type { Message } from '../core/ports/delivery.ts';
import { shortId } from './short-id.ts';

/** The Bot API's limit of `callback_data`, in bytes. */
const MOST_BYTES = 64;
const ACCOUNT_DIGITS = 12;
const EPISODE_DIGITS = 20;

/** What a button does. To add a kind: give it to a message below, encode and read it, and let the bot's desk do it. */
export type ButtonTarget =
  | ({ readonly kind: 'acknowledge'; readonly accountId: string } & EpisodeStage)
  /** Every account that the notice covered: episodes of the rule that had begun by then. */
  | ({ readonly kind: 'acknowledgeAll'; readonly saidAtMs: number } & Pick<
      EpisodeStage,
      'ruleId' | 'subject'
    >)
  /** Approves or vetoes the question of a notice, in that revision. */
  | {
      readonly kind: 'answer';
      readonly accountId: string;
      readonly decision: 'approve' | 'veto';
      readonly questionId: string;
      readonly revision: number;
    };

interface TitledTarget {
  readonly title: string;
  readonly target: ButtonTarget;
}

/** Returns what a message offers to do. */
export function buttonTargets(message: Message, along: readonly Message[]): readonly TitledTarget[] {
  const { kind, accountId, ruleId, subject, stage } = message;
  // The author of a forged message would choose what is approved.
  if ([message, ...along].some(({ isUnproven }) => isUnproven)) return [];
  if (message.approval !== undefined && along.length === 0) return answersTo(message, message.approval);
  if (kind !== 'firing' && kind !== 'reminder') return [];
  if (accountId === '') return [];
  if (along.length > 0) {
    const saidAtMs = Math.max(...[message, ...along].map(({ atMs }) => atMs));
    return [{ title: 'Acknowledge', target: { kind: 'acknowledgeAll', ruleId, subject, saidAtMs } }];
  }
  const episode = episodeOf(message);
  return [
    { title: 'Acknowledge', target: { kind: 'acknowledge', accountId, ruleId, subject, episode, stage } },
  ];
}

function answersTo(
  { accountId }: Message,
  { reference }: NonNullable<Message['approval']>,
): readonly TitledTarget[] {
  const named = readReference(reference);
  if (named === undefined) return [];
  const target = { kind: 'answer', accountId, ...named } as const;
  return [
    { title: 'Approve', target: { ...target, decision: 'approve' } },
    { title: 'Veto', target: { ...target, decision: 'veto' } },
  ];
}

/**
 * Encodes the target of a button; undefined if it does not fit. Accounts, rules and subjects are hashed, because their
 * names can be too long. The data proves nothing, since a client can send any: authority comes from the chat, which may
 * do the same by a command.
 */
export function buttonData(target: ButtonTarget): string | undefined {
  const data = textOf(target);
  return data.length <= MOST_BYTES ? data : undefined;
}

function textOf(target: ButtonTarget): string {
  switch (target.kind) {
    case 'acknowledge':
      return `k:${accountMark(target.accountId)}:${episodeMark(target)}:${target.stage}`;
    case 'acknowledgeAll':
      return `g:${ruleMark(target)}:${Math.floor(target.saidAtMs)}`;
    default: {
      const reference = referenceOf({ id: target.questionId }, target.revision);
      return `${target.decision === 'approve' ? 'y' : 'n'}:${accountMark(target.accountId)}:${reference}`;
    }
  }
}

/** An open notice, with what a button needs to find it. */
export type OpenNotice = EpisodeStage & { readonly accountId: string; readonly sinceMs: number };

/**
 * Decodes button data against the existing accounts and open notices. `gone`: the target no longer exists. undefined:
 * not the data of a button.
 */
export function readButton(
  data: string,
  { accountIds, open }: { readonly accountIds: readonly string[]; readonly open: readonly OpenNotice[] },
): ButtonTarget | 'gone' | undefined {
  const [, kind = '', mark = '', rest = ''] =
    /^([kgyn]):([0-9a-f]{1,20}):([0-9a-z:-]{1,50})$/.exec(data) ?? [];
  if (kind === 'g' && /^\d{1,15}$/.test(rest)) {
    const found = open.find((one) => ruleMark(one) === mark);
    if (found === undefined) return 'gone';
    const { ruleId, subject } = found;
    return { kind: 'acknowledgeAll', ruleId, subject, saidAtMs: Number(rest) };
  }
  const accountId = accountIds.find((id) => accountMark(id) === mark);
  if (kind === 'k' && /^[0-9a-f]{20}:\d{1,6}$/.test(rest)) {
    const [own, stage] = rest.split(':');
    const found = open.find((one) => one.accountId === accountId && episodeMark(one) === own);
    if (accountId === undefined || found === undefined) return 'gone';
    const { ruleId, subject, episode } = found;
    return { kind: 'acknowledge', accountId, ruleId, subject, episode, stage: Number(stage) };
  }
  const named = kind === 'y' || kind === 'n' ? readReference(rest) : undefined;
  if (named === undefined) return undefined;
  if (accountId === undefined) return 'gone';
  return { kind: 'answer', accountId, decision: kind === 'y' ? 'approve' : 'veto', ...named };
}

function accountMark(accountId: string): string {
  return shortId(accountId).slice(0, ACCOUNT_DIGITS);
}

function ruleMark({ ruleId, subject }: Pick<EpisodeStage, 'ruleId' | 'subject'>): string {
  return shortId(JSON.stringify([ruleId, subject])).slice(0, EPISODE_DIGITS);
}

function episodeMark({ ruleId, subject, episode }: Omit<EpisodeStage, 'stage'>): string {
  return shortId(JSON.stringify([ruleId, subject, episode])).slice(0, EPISODE_DIGITS);
}
