import type { CostTotal, KnownSum } from '../costs/cost-report.ts';
import { moneyText } from '../costs/cost-words.ts';
import { figure } from '../fields/field-words.ts';
import { MS_PER_DAY } from '../quantities/units.ts';
import { orderWords } from '../view/state-of.ts';
import {
  type AccountDigest,
  type AnswerDigest,
  type Digest,
  type GoneDigest,
  NEAR,
  type ObservedDigest,
  type RuleDigest,
  type TroubleDigest,
  type TroubleKind,
  type UnreadDigest,
} from './digest.ts';
import { fitLines, type ListedSection, leastOf } from './fit-lines.ts';
import { compareRules } from './rules-fired.ts';
import { compareSightings, type Sighting } from './sighting.ts';
import { compareTroubles } from './troubles.ts';

export interface DigestText {
  /** Summary in one sentence. */
  readonly headline: string;
  readonly lines: readonly string[];
}

export interface DigestForm {
  /** For all lines together, line ends included; omitted items are counted. */
  readonly maxChars: number;
  /** Formats Unix milliseconds to the minute, in UTC. */
  readonly timeOf: TimeWords;
}

type TimeWords = (atMs: number) => string;

export function digestWords(digest: Digest, { maxChars, timeOf }: DigestForm): DigestText {
  const sections = sectionsOf(digest, timeOf).filter(({ items }) => items.length > 0);
  const versions = `Breakwater ${digest.versions.breakwater}, Node ${digest.versions.node}.`;
  const around = [...digest.notes, ...(sections.length === 0 ? [QUIET] : []), versions];
  const aroundChars = around.reduce((sum, line) => sum + line.length + 1, 0);
  const heads = headsOf(digest);
  const room = maxChars - aroundChars;
  const listed = fitLines(sections, room - leastOf(heads));
  const left = room - listed.reduce((sum, line) => sum + line.length + 1, 0);
  const lines = [...around.slice(0, -1), ...listed, ...fitLines(heads, left), versions];
  return { headline: headlineOf(digest, timeOf), lines };
}

/**
 * Chain heads in the form that `audit verify --head` takes. If a message has no room for all, each day starts with
 * another chain, so that each gets its turn.
 */
function headsOf({ heads, toMs }: Digest): readonly ListedSection[] {
  if (heads.length === 0) return [];
  const first = Math.floor(toMs / MS_PER_DAY) % heads.length;
  const inTurn = [...heads.slice(first), ...heads.slice(0, first)];
  const items = inTurn.map(({ chain, head: { seq, hash } }) => `${chain} ${seq}:${hash}`);
  return [{ title: 'Audit chains ended with (for audit verify --head):', items }];
}

const QUIET = `Nothing that was recorded came within ${figure(NEAR, 'ratio')} of liquidation or a margin call, no rule fired, and nothing was sent.`;

function headlineOf({ accounts, fromMs, toMs }: Digest, timeOf: TimeWords): string {
  const sum = (of: (account: AccountDigest) => number): number =>
    accounts.reduce((total, account) => total + of(account), 0);
  const near = accounts.filter(({ cameNear }) => cameNear).length;
  const fired = sum(({ rules }) => rules.reduce((total, rule) => total + rule.fired, 0));
  const closed = sum(({ costs }) => costs.reduce((total, row) => total + row.orders, 0));
  const refused = sum(({ troubles }) => troubles.reduce((total, one) => total + one.times, 0));
  const gone = sum((account) => account.gone.length);
  const parts = [
    `${near} of ${counted(accounts.length, 'account')} came near`,
    fired === 0 ? 'no rule fired' : `rules fired ${timesWords(fired)}`,
    closed === 0 ? 'nothing was closed' : `${counted(closed, 'order')} closed something`,
    ...(gone === 0 ? [] : [`${gone} gone while a rule fired`]),
    ...(refused === 0 ? [] : [`${refused} refused or failed`]),
  ];
  return `${timeOf(fromMs)} to ${timeOf(toMs)} UTC: ${parts.join(', ')}`;
}

function sectionsOf({ accounts, costs, toMs }: Digest, timeOf: TimeWords): readonly ListedSection[] {
  const each = (of: (account: AccountDigest) => readonly string[]): readonly string[] =>
    accounts.flatMap((account) => of(account).map((words) => `${account.accountId}: ${words}`));
  const troubles = ranked(accounts, ({ troubles: own }) => own, compareTroubles);
  const rules = ranked(accounts, ({ rules: own }) => own, compareRules);
  return [
    { title: 'Nearest calls:', items: nearestItems(accounts, timeOf) },
    {
      title: 'Gone while a rule fired:',
      items: each(({ gone }) => gone.map((one) => goneWords(one, timeOf))),
    },
    { title: 'Not read now:', items: each((account) => unreadItems(account, toMs, timeOf)) },
    { title: 'Refused or failed:', items: troubles.map(([id, one]) => `${id}: ${troubleWords(one)}`) },
    { title: 'Rules that fired:', items: rules.map(([id, one]) => `${id}: ${ruleWords(one)}`) },
    { title: 'People were asked:', items: each(({ answers }) => answers.map(answerWords)) },
    { title: 'Done:', items: [...totalItems(accounts, costs), ...each(doneItems)] },
    {
      title: 'Only observed; in enforce mode there would have been:',
      items: each(({ observed }) => observed.map(observedWords)),
    },
    { title: 'Not known:', items: each((account) => unknownItems(account, timeOf)) },
  ];
}

/** The items of all accounts in the order of `compare`, each with its account. */
function ranked<T>(
  accounts: readonly AccountDigest[],
  of: (account: AccountDigest) => readonly T[],
  compare: (a: T, b: T) => number,
): readonly (readonly [accountId: string, one: T])[] {
  return accounts
    .flatMap((account) => of(account).map((one) => [account.accountId, one] as const))
    .toSorted(([, a], [, b]) => compare(a, b));
}

function nearestItems(accounts: readonly AccountDigest[], timeOf: TimeWords): readonly string[] {
  return accounts
    .flatMap(({ accountId, nearest, cameNear }) =>
      cameNear && nearest !== null ? [{ accountId, nearest }] : [],
    )
    .toSorted((a, b) => compareSightings(a.nearest, b.nearest))
    .map(({ accountId, nearest }) => `${accountId}: ${sightingWords(nearest, timeOf)}`);
}

/** `BTC_PERP was 4.1 % from liquidation at 2026-01-31 03:12`. */
function sightingWords({ of, name, distance, called, atMs }: Sighting, timeOf: TimeWords): string {
  const at = `at ${timeOf(atMs)}`;
  const near = distance === null ? '' : `${figure(Math.max(0, distance), 'ratio')} from`;
  if (of === 'creditLine') {
    return called === null
      ? `credit line in ${name} was ${near} its margin call ${at}`
      : `credit line in ${name} had a margin call ${at}`;
  }
  if (of === 'allMarkets') return `all markets together were ${near} liquidation ${at}`;
  if (called === 'liquidation') return `${name} was being liquidated ${at}`;
  const call = called === null ? '' : 'had a margin call';
  const distanceWords = near === '' ? '' : `${call === '' ? 'was ' : ', '}${near} liquidation`;
  return `${name} ${call}${distanceWords} ${at}`;
}

/** `near-liquidation (critical) 3 times, fires still: BTC_PERP`. */
function ruleWords({ ruleId, severity, mode, fired, escalated, subjects, isFiring }: RuleDigest): string {
  const observe = mode === 'observe' ? ', observed only' : '';
  const how = [
    ...(fired === 0 ? [] : [timesWords(fired)]),
    ...(escalated === 0 ? [] : [`escalated ${timesWords(escalated)}`]),
    ...(isFiring ? [fired === 0 ? 'fires since before' : 'fires still'] : []),
  ];
  return `${ruleId} (${severity}${observe}) ${how.join(', ')}: ${namesWords(subjects)}`;
}

/** `BTC_PERP is not listed any more since 2026-01-31 03:12, closed or liquidated (near)`. */
function goneWords({ name, ruleIds, atMs }: GoneDigest, timeOf: TimeWords): string {
  return `${name} is not listed any more since ${timeOf(atMs)}, closed or liquidated (${namesWords(ruleIds)})`;
}

function answerWords({ ruleId, times, words }: AnswerDigest): string {
  return `${ruleId}${times === 1 ? '' : ` (${timesWords(times)})`}: ${words}`;
}

const MOST_SUBJECTS = 4;

function namesWords(names: readonly string[]): string {
  const more = names.length - MOST_SUBJECTS;
  const shown = names.slice(0, MOST_SUBJECTS).join(', ');
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function totalItems(accounts: readonly AccountDigest[], costs: readonly CostTotal[]): readonly string[] {
  const acting = accounts.filter((account) => account.costs.length > 0);
  return acting.length < 2 ? [] : costs.map((total) => `all accounts together: ${costTotalWords(total)}`);
}

function doneItems({ costs, requests: { orders, cancels } }: AccountDigest): readonly string[] {
  const sent = [...sentWords('order', 'placed', orders), ...sentWords('cancel', 'made', cancels)];
  return [
    ...costs.map((row) => `${row.ruleId} in ${row.market}: ${costTotalWords(row)}`),
    ...(sent.length === 0 ? [] : [sent.join(', ')]),
  ];
}

function sentWords(
  what: string,
  done: string,
  { accepted, rejected, unknown }: AccountDigest['requests']['orders'],
): readonly string[] {
  return [
    ...(accepted === 0 ? [] : [`${counted(accepted, what)} ${done}`]),
    ...(rejected === 0 ? [] : [`${counted(rejected, what)} refused`]),
    ...(unknown === 0 ? [] : [`${counted(unknown, what)} without an answer`]),
  ];
}

/** `2 orders closed something: slippage 12.3 USDT (1 not known), fees 4.1 USDT`. */
function costTotalWords({ orders, money, slippage, fees }: CostTotal): string {
  const [lost, paid] = [sumText(slippage, orders, money), sumText(fees, orders, money)];
  return `${counted(orders, 'order')} closed something: slippage ${lost}, fees ${paid}`;
}

function sumText({ known, unknown }: KnownSum, orders: number, money: string): string {
  if (unknown === orders) return 'not known';
  return `${moneyText(known, money)}${unknown === 0 ? '' : ` (${unknown} not known)`}`;
}

function observedWords({ ruleId, market, orders, cancels, largest }: ObservedDigest): string {
  const what = [
    ...(orders === 0 ? [] : [counted(orders, 'order')]),
    ...(cancels === 0 ? [] : [counted(cancels, 'cancel')]),
  ];
  const order = largest === null ? '' : `; the largest: ${orderWords(largest)}`;
  return `${ruleId} in ${market ?? 'all markets'}: ${what.join(', ')}${order}`;
}

const TROUBLES: Readonly<Record<TroubleKind, string>> = {
  heldBack: 'held back',
  orderRefused: 'the exchange refused an order',
  cancelRefused: 'the exchange refused a cancel',
  blocked: 'no order could be made',
  failed: 'given up',
  alarm: 'alarm',
};

/** `near-liquidation in BTC_PERP, held back (3 times): actions are paused`. */
function troubleWords({ kind, ruleId, market, times, words }: TroubleDigest): string {
  const who = [...(ruleId === null ? [] : [ruleId]), ...(market === null ? [] : [`in ${market}`])].join(' ');
  const often = times === 1 ? '' : ` (${timesWords(times)})`;
  return `${who === '' ? '' : `${who}, `}${TROUBLES[kind]}${often}: ${words}`;
}

/** The exchange disables keys that were idle for 14 days; this warns a week before. */
const IDLE_SOON_MS = 7 * MS_PER_DAY;

function unreadItems({ unread }: AccountDigest, nowMs: number, timeOf: TimeWords): readonly string[] {
  if (unread === null) return [];
  const { source, sinceMs, why } = unread;
  const since = sinceMs === null ? 'never read yet' : `last read ${timeOf(sinceMs)}`;
  return [`${source} ${since}${why === null ? '' : ` (${why})`}${idleWords(unread, nowMs)}`];
}

function idleWords({ sinceMs }: UnreadDigest, nowMs: number): string {
  return sinceMs !== null && nowMs - sinceMs >= IDLE_SOON_MS
    ? '; the exchange switches off keys that are idle for 14 days'
    : '';
}

function unknownItems({ recordsFromMs, unreadable }: AccountDigest, timeOf: TimeWords): readonly string[] {
  return [
    ...(unreadable === null ? [] : [`what is stored cannot be read (${unreadable})`]),
    ...(recordsFromMs === null ? [] : [`records before ${timeOf(recordsFromMs)} are pruned`]),
  ];
}

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

function timesWords(times: number): string {
  return times === 1 ? 'once' : times === 2 ? 'twice' : `${times} times`;
}
