import type { Message } from '../core/ports/delivery.ts';
import { type CureFigures, type NoticeDoing, RESOLVED } from '../core/ports/notifier.ts';
import type { LinkPlaceholder } from '../core/text/link-placeholders.ts';
import { timeWords } from '../core/text/time-words.ts';
import { figure } from '../core/view/alert-words.ts';
import { causeWords, STATE_CAUSES } from '../core/view/state-line.ts';
import type { Outgoing } from './channel.ts';
import {
  acknowledgeCommand,
  answerCommands,
  commandsOf,
  distanceWords,
  figureLines,
  modeOf,
} from './figure-words.ts';

/** A message in words, before any receiver's escaping. */
export interface Wording {
  /** One line: what, where, how bad. */
  readonly title: string;
  /** Whole sentences. */
  readonly lines: readonly string[];
  readonly facts: readonly { readonly name: string; readonly text: string }[];
  /** Complete links, without placeholders. */
  readonly links: readonly LinkTemplate[];
}

/** `url` has the placeholders of `LINK_PLACEHOLDERS`. */
export interface LinkTemplate {
  readonly title: string;
  readonly url: string;
}

const STATE_WORDS: Readonly<Record<Message['kind'], string>> = {
  firing: 'firing',
  reminder: 'still firing',
  resolved: 'resolved',
  alarm: 'alarm',
  approval: 'asks for approval',
  test: 'test message',
  digest: 'daily digest',
};

export function wordingOf(outgoing: Outgoing, templates: readonly LinkTemplate[]): Wording {
  const { message } = outgoing;
  if (outgoing.along.length > 0) return groupWording(outgoing, templates);
  return {
    title: titleOf(message),
    lines: [...linesOf(outgoing), ...commandLines(message, templates)],
    facts: factsOf(message),
    links: linksOf(message, templates),
  };
}

/**
 * `CRITICAL firing: desk-1 BTC_PERP long, 4.1 % from liquidation (near-liquidation)`; without figures
 * `CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42`.
 */
export function titleOf(message: Message): string {
  if (message.kind === 'digest') return `Daily digest, ${inert(message.words)}`;
  const state = stateWords(message);
  const severity =
    message.kind === 'resolved' || message.kind === 'test' ? '' : `${message.severity.toUpperCase()} `;
  const what = `${severity}${state}`;
  if (message.figures !== undefined) {
    const rule = message.ruleId === '' ? '' : ` (${message.ruleId})`;
    return `${capital(what)}: ${message.accountId} ${inert(distanceWords(message.figures))}${rule}`;
  }
  const shown = message.kind === 'test' ? [] : [message.ruleId, message.accountId, subjectWords(message)];
  const where = shown.filter((part) => part !== '').join(', ');
  return where === '' ? `Breakwater ${what}` : `${capital(what)}: ${where}`;
}

function stateWords({ kind, approval, ending }: Message): string {
  if (ending !== undefined) return ending === 'gone' ? 'gone' : 'ended';
  return kind === 'approval' && approval === undefined ? 'approval settled' : STATE_WORDS[kind];
}

/** Wording for many accounts in one state with one cause; one line per account. */
function groupWording({ message, along, insteadOf }: Outgoing, templates: readonly LinkTemplate[]): Wording {
  const all = [message, ...along].toSorted((a, b) => a.accountId.localeCompare(b.accountId));
  const count = `${new Set(all.map(({ accountId }) => accountId)).size} accounts`;
  const severity = message.kind === 'resolved' ? '' : `${message.severity.toUpperCase()} `;
  const what = capital(`${severity}${STATE_WORDS[message.kind]}`);
  const cause =
    message.kind === 'resolved' || message.doing === undefined ? '' : ` ${commonWords(message.doing)}`;
  const rule = message.ruleId === '' ? '' : ` (${message.ruleId})`;
  const shown = all
    .slice(0, MOST_ACCOUNTS)
    .map((one) => `${one.accountId}: ${sentence(inert(ownWords(one)))}`);
  const lines = [
    ...shown,
    ...(all.length > shown.length ? [`And ${all.length - shown.length} more.`] : []),
    ...standInLines(insteadOf),
    ...(message.kind === 'resolved' ? [] : [`To acknowledge: ${acknowledgeCommand(message.ruleId)}`]),
    ...(templates.some(({ url }) => url.includes('{page}')) ? [] : ['To see them: breakwater status']),
  ];
  const same: Message = { ...message, accountId: '', subject: '', labels: {} };
  return {
    title: `${what}: ${count}${inert(cause)}${rule}`,
    lines,
    facts: factsOf(same),
    // `{page}` becomes the page of all accounts; custom links that name an account do not apply.
    links: linksOf(
      { ...same, kind: 'test' },
      templates.filter(({ url }) => !/\{(?!page|rule|severity)\w+\}/.test(url)),
    ),
  };
}

/** Limited by Telegram's 4,096 characters. */
const MOST_ACCOUNTS = 25;

function commonWords({ state, cause }: NoticeDoing): string {
  // Another version of the program may know more causes.
  const known = STATE_CAUSES.find((one) => one === cause);
  return known === undefined ? state : `${state}: ${causeWords(known)}`;
}

function ownWords({ kind, words, doing }: Message): string {
  if (kind === 'resolved' && words === RESOLVED) return doing?.words ?? STATE_WORDS.resolved;
  return words;
}

export function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Writes `position:42` as `position 42`, with its market if known. */
export function subjectWords({ subject, market }: Pick<Message, 'subject' | 'market'>): string {
  return inert(inSubjectWords(subject, market));
}

/**
 * Makes text from outside (market names, error texts, operators' reasons) inert: no receiver reads a link, a mention or
 * a line break in it, nor sees it turned around, whether from Markdown, bare addresses, host names or names of people.
 */
export function inert(text: string): string {
  return (
    text
      // The space that is put in below stays, so that text may come here twice.
      .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}[\p{Cf}--\u200b]]/gv, ' ')
      .replaceAll(/:(?=\/\/)|\](?=[[(:])|@(?=\S)|\.(?=\p{L})/gu, '$&\u200b')
  );
}

function inSubjectWords(subject: string, market: string | undefined): string {
  const [kind, rest] = splitSubject(subject);
  if (kind === 'market') return `market ${rest}`;
  if (kind === 'creditLine') return `credit line in ${assetOf(subject) ?? rest}`;
  if (kind !== 'position') return kind === 'account' ? 'the account' : subject;
  return market === undefined ? `position ${rest}` : `${market} position ${rest}`;
}

function splitSubject(subject: string): readonly [kind: string, rest: string] {
  const at = subject.indexOf(':');
  return at === -1 ? [subject, ''] : [subject.slice(0, at), subject.slice(at + 1)];
}

/** Returns the asset of `creditLine:BTC@1700000000`; undefined for other subjects. */
export function assetOf(subject: string): string | undefined {
  const [kind, rest] = splitSubject(subject);
  if (kind !== 'creditLine') return undefined;
  const at = rest.lastIndexOf('@');
  return at <= 0 ? rest : rest.slice(0, at);
}

function linesOf({ message, insteadOf, beginningUntold }: Outgoing): readonly string[] {
  // The sentence of a digest is in its title.
  if (message.kind === 'digest') return [...(message.lines ?? []).map(inert), ...standInLines(insteadOf)];
  const lines = [
    ...(message.kind === 'resolved' && message.ending === undefined
      ? ['The rule does not fire any more.']
      : []),
    ...(message.kind === 'resolved' && message.words === RESOLVED
      ? []
      : [capital(sentence(inert(message.words)))]),
  ];
  if (message.kind === 'resolved' && beginningUntold) {
    lines.push(`It began at ${timeWords(message.sinceMs)}; that could not be told here.`);
  }
  if (message.figures !== undefined) {
    lines.push(...figureLines(message.figures).map((text) => capital(inert(text))));
  }
  lines.push(...approvalLines(message));
  if (message.kind !== 'resolved') lines.push(...cureLines(message.cures), ...doingLines(message));
  if (modeOf(message) === 'observe' && message.kind !== 'test') {
    lines.push('Observe mode: Breakwater records what it would do and sends no order.');
  }
  lines.push(...standInLines(insteadOf));
  return lines.filter((line) => line !== '');
}

function standInLines(insteadOf: Outgoing['insteadOf']): readonly string[] {
  return insteadOf.map(
    ({ channel, words }) =>
      `Told here because the channel ${channel} could not be reached (${inert(words)}).`,
  );
}

function approvalLines({ accountId, approval }: Message): readonly string[] {
  if (approval === undefined) return [];
  const { reference, untilMs, withoutAnswer, orders } = approval;
  const shown = orders.slice(0, MOST_ORDERS_ASKED).map((text) => `It would send: ${sentence(inert(text))}`);
  const more = orders.length - shown.length;
  const commands = answerCommands(accountId, reference);
  return [
    ...shown,
    ...(more > 0 ? [`And ${more} more orders.`] : []),
    'The target is approved, not the prices: it is priced anew when it is sent.',
    `Answer until ${deadlineWords(untilMs)}; without an answer ${withoutAnswer === 'act' ? 'it acts' : 'it does not act'}. If less time is left, it does not wait.`,
    `To approve: ${commands.approve}`,
    `To veto: ${commands.veto}`,
  ];
}

const MOST_ORDERS_ASKED = 10;

/** Writes a deadline in UTC, and in the time zone of the process if that differs. */
function deadlineWords(atMs: number): string {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone === 'UTC' || zone === 'Etc/UTC') return timeWords(atMs);
  const local = new Date(atMs).toLocaleTimeString('en-GB', { timeZoneName: 'short' });
  return `${local} (${timeWords(atMs)})`;
}

function doingLines({ doing }: Message): readonly string[] {
  if (doing === undefined) return [];
  const shown = doing.orders.slice(0, MOST_ORDERS).map((text) => sentence(inert(text)));
  const more = doing.orders.length - shown.length;
  // In these states the account's words add nothing to what fires, which is above.
  const isSaid = doing.state === 'watching' || doing.state === 'calm';
  const state = isSaid ? 'no order of Breakwater is in place' : doing.words;
  return [
    ...(isSaid && shown.length > 0 ? [] : [`Now: ${sentence(inert(state))}`]),
    ...shown,
    ...(more > 0 ? [`And ${more} more orders.`] : []),
    `Next: ${sentence(inert(doing.next))}`,
  ];
}

const MOST_ORDERS = 3;

/** Returns the commands that a person may type; a link to the status page replaces the one that shows. */
function commandLines(message: Message, templates: readonly LinkTemplate[]): readonly string[] {
  const commands = commandsOf(message);
  if (commands === undefined || message.doing === undefined) return [];
  const hasPage = templates.some(({ url }) => url.includes('{page}'));
  return [
    ...(commands.pause === undefined ? [] : [`To stop it: ${commands.pause}`]),
    ...(commands.acknowledge === undefined ? [] : [`To acknowledge: ${commands.acknowledge}`]),
    ...(hasPage ? [] : [`To see it: ${commands.status}`]),
  ];
}

export function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === '' || /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function cureLines(cures: readonly CureFigures[]): readonly string[] {
  const [first] = cures;
  if (first === undefined) return [];
  const options = cures.map(
    ({ asset, targetLtv, repay, addCollateral }) =>
      `To bring it to ${figure(targetLtv, 'ratio')}: repay ${repay} ${asset}, or add collateral worth ${addCollateral} ${asset}.`,
  );
  return [
    `The loan-to-value is ${figure(first.currentLtv, 'ratio')}.`,
    ...options,
    'The daemon cannot repay: somebody has to.',
  ];
}

function factsOf(message: Message): Wording['facts'] {
  const { kind } = message;
  if (kind === 'test' || kind === 'digest') return [{ name: 'time', text: timeWords(message.atMs) }];
  const labels = Object.entries(message.labels).map(([name, value]) => `${name}=${value}`);
  return [
    { name: 'account', text: message.accountId },
    { name: 'rule', text: message.ruleId },
    { name: 'subject', text: subjectWords(message) },
    { name: 'severity', text: message.severity },
    { name: 'mode', text: modeOf(message) ?? '' },
    { name: 'since', text: isMoment(kind) ? '' : timeWords(message.sinceMs) },
    { name: kind === 'resolved' ? 'resolved' : 'time', text: timeWords(message.atMs) },
    { name: 'lasted', text: kind === 'firing' || isMoment(kind) ? '' : lastedWords(message) },
    { name: 'stage', text: message.stage > 0 && kind === 'firing' ? String(message.stage) : '' },
    { name: 'labels', text: labels.join(', ') },
  ].filter(({ text }) => text !== '');
}

function isMoment(kind: Message['kind']): boolean {
  return kind === 'alarm' || kind === 'approval';
}

function lastedWords({ sinceMs, atMs }: Message): string {
  const seconds = Math.max(0, Math.round((atMs - sinceMs) / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

type LinkValues = Readonly<Record<Exclude<LinkPlaceholder, 'page'>, string | number>>;

function linksOf(message: Message, templates: readonly LinkTemplate[]): readonly LinkTemplate[] {
  const { accountId: account, ruleId: rule, subject, market = '', episode, severity, key } = message;
  const values: LinkValues = { account, rule, subject, market, episode, severity, key };
  const texts = new Map(Object.entries(values).map(([name, value]) => [name, encodeURIComponent(value)]));
  texts.set('page', pageOf(message));
  return templates.map(({ title, url }) => ({
    title,
    url: url.replaceAll(/\{(\w+)\}/g, (whole, name: string) => texts.get(name) ?? whole),
  }));
}

/** Returns the path of the status page for the subject of a message. */
function pageOf(message: Message): string {
  const { kind, accountId, subject } = message;
  if (kind === 'test' || kind === 'digest' || accountId === '') return '/';
  const account = `/accounts/${encodeURIComponent(accountId)}`;
  const [of, rest] = splitSubject(subject);
  if (of === 'position') return `${account}/positions/${encodeURIComponent(rest)}`;
  return of === 'creditLine' ? `${account}/credit-lines/${encodeURIComponent(subject)}` : account;
}

export function plainText(wording: Wording): string {
  return [
    wording.title,
    ...wording.lines,
    wording.facts.map(({ name, text }) => `${name}: ${text}`).join('; '),
    ...wording.links.map(({ title, url }) => `${title}: ${url}`),
  ].join('\n');
}

/** Defuses HTML tags with a zero-width space, for receivers that may parse HTML or show text verbatim. */
export function withoutTags(text: string): string {
  return text.replaceAll(/<(?=[a-z/!?])/gi, '<\u200b');
}

const COLOURS = { critical: '#d1242f', warning: '#d4a72c', info: '#57606a' } as const;
const RESOLVED_COLOUR = '#2da44e';

export function colourOf({ kind, severity }: Pick<Message, 'kind' | 'severity'>): string {
  return kind === 'resolved' ? RESOLVED_COLOUR : COLOURS[severity];
}

/** Reports whether a message closes what receivers hold open: a resolved rule or a settled question. */
export function isOver({ kind, approval }: Pick<Message, 'kind' | 'approval'>): boolean {
  return kind === 'resolved' || (kind === 'approval' && approval === undefined);
}

/** Reports whether a message can be delivered without a sound. */
export function isCalm({ kind, severity }: Pick<Message, 'kind' | 'severity'>): boolean {
  return kind === 'resolved' || kind === 'test' || severity === 'info';
}

/** Cuts a text to at most `max` UTF-16 units, with `…` at the end; surrogate pairs stay whole. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = text.charCodeAt(max - 2);
  return `${text.slice(0, end >= 0xd800 && end <= 0xdbff ? max - 2 : max - 1)}…`;
}
