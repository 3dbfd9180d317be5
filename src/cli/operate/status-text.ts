import type { Control } from '../../core/controls/controls.ts';
import { creditLineWords, jointWords, positionWords } from '../../core/lines/position-words.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { moneyUnit } from '../../core/quantities/units.ts';
import type { AccountView, IntentLine, RuleLine } from '../../core/view/account-view.ts';
import { headlineOf, worseFirst } from '../../core/view/state-line.ts';
import { type CliIo, paint, type Style } from '../io.ts';
import { printable, type Table, tableLines, wrapped } from '../table.ts';
import { controlWords } from './controls.ts';
import { timeOf } from './values.ts';

/** Contents of `status`; `--json` prints one report per line. */
export interface StatusReport {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Why it is what is stored; null: a daemon says so. */
  readonly stored: string | null;
  readonly controls: readonly Control[];
  /** Number of running daemons that poll. */
  readonly watchers: number;
  /** Pauses, silences and acknowledgements that are not obeyed, each with the reason. */
  readonly refusedControls: readonly string[];
  /** Queues that somebody has paused as a whole. */
  readonly pausedQueues: readonly string[];
  /** Failures that the daemon on this machine reports. */
  readonly troubles: readonly string[];
  readonly accounts: readonly StatusAccount[];
}

export interface StatusAccount extends AccountView {
  /** Longest time between polls that the config allows; null without one. */
  readonly calmMs: number | null;
  /** The newest actions and outcomes in the audit, oldest first. */
  readonly events: readonly StatusEvent[];
  /** Alarms of the last minutes among the newest records, oldest first. */
  readonly alarms: readonly StatusEvent[];
}

export interface StatusEvent {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: string;
  readonly market: string | null;
  readonly reason: string;
  readonly words: string;
  readonly alarm: boolean;
}

/** The report for people: a headline and a line per account, worst first; `everything` adds the details. */
export function statusLines(io: CliIo, report: StatusReport, everything: boolean): readonly string[] {
  const lines: string[] = [];
  const { accounts, controls, watchers, pausedQueues, troubles, refusedControls, atMs } = report;
  /** Texts of one kind, and a blank line behind them if there are any. */
  const section = (...texts: readonly (readonly [Style, string])[]): void => {
    for (const [style, text] of texts)
      lines.push(...wrapped(io, text).map((line) => paint(io, 'stdout', style, line)));
    if (texts.length > 0) lines.push('');
  };
  if (watchers === 0) section(['red', NOBODY_WATCHES]);
  if (pausedQueues.length > 0)
    section(['red', `Somebody paused ${pausedQueues.join(' and ')}: ${STANDS_STILL}`]);
  if (troubles.length > 0) section(['yellow', `Of the daemon not everything works: ${troubles.join('; ')}.`]);
  if (accounts.length > 1 || !everything) {
    const { severity, words } = headlineOf(accounts);
    const observe = accounts.every(isObserving) ? [['bold', ALL_OBSERVE] as const] : [];
    section([COLOURS[severity ?? 'calm'], words], ...observe);
  }
  section(...alarmLines(accounts, atMs).map((text) => ['red', text] as const));
  const others = refusedControls.length - MOST_REFUSED;
  const refused = [...refusedControls.slice(0, MOST_REFUSED), ...(others > 0 ? [`${others} more`] : [])];
  section(...refused.map((words) => ['yellow', `Not obeyed: ${words}.`] as const));
  const heldBack = controls.filter(({ kind }) => kind !== 'acknowledgement');
  section(...controlLines(heldBack, atMs, everything).map((text) => ['yellow', text] as const));
  if (accounts.length === 0) lines.push('No accounts.');
  else lines.push(...tableLines(io, accountTable(report)));
  if (everything) for (const account of accounts) lines.push(...accountLines(io, account, atMs));
  return lines;
}

/** The newest alarms of all accounts: an account's state shows the present, not what went wrong a minute ago. */
function alarmLines(accounts: readonly StatusAccount[], nowMs: number): readonly string[] {
  const all = accounts
    .flatMap(({ accountId, alarms }) => alarms.map((alarm) => ({ ...alarm, accountId })))
    .toSorted((a, b) => b.atMs - a.atMs);
  const lines = all.slice(0, MOST_ALARMS).map(({ accountId, atMs, kind, market, reason, words }) => {
    const where = market === null ? '' : ` ${market}`;
    return `ALARM ${roughly(nowMs - atMs)} ago, ${accountId}${where}: ${kind} (${reason}): ${words}`;
  });
  const others = all.length - lines.length;
  return others > 0 ? [...lines, `ALARM: ${others} more in the last minutes; see audit tail.`] : lines;
}

const MOST_ALARMS = 3;

const NOBODY_WATCHES =
  'No daemon says that it runs: nobody watches these accounts. Below is what the last one saw.';
const STANDS_STILL = 'what goes through a paused queue stands still until a daemon with the role poll runs.';

const ALL_OBSERVE = 'All accounts are in observe mode: orders are recorded, not sent.';

/** A rule may have its own mode. */
function isObserving({ mode, rules }: StatusAccount): boolean {
  return mode === 'observe' && !rules.some((rule) => rule.mode === 'approve' || rule.mode === 'enforce');
}

const COLOURS = { critical: 'red', warning: 'yellow', info: 'bold', calm: 'bold' } as const;
const MOST_CONTROLS = 2;
const MOST_REFUSED = 3;
const INDENT = '  ';

/** Only counts many controls: each is in the line of its account. */
function controlLines(controls: readonly Control[], atMs: number, everything: boolean): readonly string[] {
  if (!everything && controls.length > MOST_CONTROLS) {
    const pauses = controls.filter(({ kind }) => kind === 'pause').length;
    return [`in force: pauses ${pauses}, silences ${controls.length - pauses}; see status --account ID`];
  }
  return controls.map((control) => {
    const what = control.kind === 'pause' ? 'paused' : 'silenced';
    return `${what}: ${controlWords(control, atMs)}`;
  });
}

/** The worst state first, then the nearest to harm. */
export function worstFirst(accounts: readonly StatusAccount[]): readonly StatusAccount[] {
  const distance = ({ nearest }: StatusAccount): number =>
    typeof nearest === 'number' ? nearest : nearest === null ? 0 : Number.POSITIVE_INFINITY;
  return accounts.toSorted((a, b) => worseFirst(a.state, b.state) || byNumber(distance(a), distance(b)));
}

function byNumber(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function accountTable({ accounts, atMs }: StatusReport): Table {
  const isMixed = accounts.length === 1 || new Set(accounts.map(modeWords)).size > 1;
  return {
    columns: [
      { title: 'ACCOUNT', leastWidth: 20 },
      { title: 'MODE' },
      { title: 'NEAREST', align: 'right' },
      { title: 'AT RISK', align: 'right' },
      { title: 'STATE', leastWidth: 24 },
    ],
    rows: worstFirst(accounts).map((account) => [
      account.accountId,
      isMixed ? modeWords(account) : '',
      nearestWords(account),
      atRiskWords(account),
      stateWords(account, atMs),
    ]),
  };
}

/** `observe, 1 rule approve`: a rule may have its own mode. */
function modeWords({ mode, rules }: StatusAccount): string {
  const others = new Map(rules.filter((rule) => rule.mode !== mode).map((rule) => [rule.ruleId, rule.mode]));
  const counted = Map.groupBy(others.values(), (own) => own);
  return [
    mode ?? 'unknown',
    ...[...counted].map(([own, { length }]) => `${length} ${length === 1 ? 'rule' : 'rules'} ${own}`),
  ].join(', ');
}

function nearestWords({ nearest }: StatusAccount): string {
  if (typeof nearest === 'number') return `${(nearest * 100).toFixed(1)} %`;
  return nearest === null ? '?' : '-';
}

const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** `32.1K USDT`; one figure for each of several currencies. */
function atRiskWords({ atRisk, nearest }: StatusAccount): string {
  if (atRisk.length === 0) return nearest === null ? '?' : '-';
  return atRisk
    .map(({ money, worth }) => `${worth === null ? '?' : SHORT.format(worth)}${moneyUnit(money)}`)
    .join(' + ');
}

function stateWords({ state, silences, notices }: StatusAccount, atMs: number): string {
  const since = state.sinceMs === null ? '' : `, for ${roughly(atMs - state.sinceMs)}`;
  const silenced = silences.length === 0 ? '' : `, ${silences.length} silenced`;
  const seenTo = notices.filter(({ acknowledged }) => acknowledged !== null).length;
  const known =
    seenTo === 0 ? '' : `, ${seenTo === notices.length ? '' : `${seenTo} of ${notices.length} `}acknowledged`;
  return `${state.words}${since}${silenced}${known}`;
}

function pollWords({ mode, judgedAtMs }: StatusAccount, nowMs: number): string {
  const polled = judgedAtMs === null ? 'never' : `${roughly(nowMs - judgedAtMs)} ago`;
  return `mode ${mode ?? 'unknown'}, last poll ${polled}`;
}

function accountLines(io: CliIo, account: StatusAccount, nowMs: number): readonly string[] {
  const lines: string[] = [];
  const { accountId, refused, positions, creditLines, intents, doubts, orders, inbox, events } = account;
  const rules = account.rules.filter(isNews);
  lines.push('');
  lines.push(paint(io, 'stdout', 'bold', printable(`account ${accountId}`)));
  const say = (text: string): void => {
    for (const line of wrapped(io, text, INDENT)) lines.push(`${INDENT}${line}`);
  };
  say(account.state.words);
  say(pollWords(account, nowMs));
  if (refused !== null) {
    say(`its state is left alone: ${refused.message}`);
    return lines;
  }
  const joint = jointWords(account);
  if (joint !== undefined) say(joint);
  for (const line of positions) say(`position ${line.positionId} ${positionWords(line, account)}`);
  for (const line of creditLines) say(`credit line ${creditLineWords(line, account)}`);
  for (const rule of rules) {
    const stage = rule.stage === null || rule.stage === 0 ? '' : `, stage ${rule.stage}`;
    const since = rule.sinceMs === null ? '' : ` since ${timeOf(rule.sinceMs)}`;
    const phase = rule.frozen ? `${rule.phase}, frozen` : rule.phase;
    say(`rule ${rule.ruleId} (${rule.mode}) ${phase} for ${rule.subject}${stage}${since}: ${rule.reason}`);
  }
  for (const { ruleId, subject, sinceMs, acknowledged } of account.notices) {
    const who =
      acknowledged === null
        ? 'nobody has acknowledged it'
        : `acknowledged by ${acknowledged.author} at ${timeOf(acknowledged.atMs)}: ${acknowledged.reason}`;
    say(`notice of ${ruleId} for ${subject} since ${timeOf(sinceMs)}: ${who}`);
  }
  for (const order of inbox)
    say(`by hand, not begun: ${order.kind} ${order.id} (${order.author}: ${order.reason})`);
  for (const intent of intents) say(intentText(intent, nowMs));
  for (const { market, why, sinceMs } of doubts) {
    say(`${market}: ${doubtWords(why)}, for ${roughly(nowMs - sinceMs)}`);
  }
  for (const order of orders) {
    const { role, market, side, amount, activationPrice, price, status } = order;
    const what = status === 'observed' ? 'would send' : `order ${status}`;
    say(`${what}: ${role} ${market} ${side} ${amount}, activates at ${activationPrice}, limit ${price}`);
  }
  for (const event of events) {
    const where = event.market === null ? '' : ` ${event.market}`;
    say(`${timeOf(event.atMs)} ${event.kind}${where} (${event.reason}): ${event.words}`);
  }
  return lines;
}

function doubtWords(why: string): string {
  const cleared = 'they are cleared before the first action there';
  return why === 'newStore'
    ? `just started, orders are not confirmed yet; ${cleared}`
    : `orders are not confirmed (${why}); ${cleared}`;
}

/** Inactive rules are in `--json`, too, with the reason. */
function isNews({ phase, frozen }: RuleLine): boolean {
  return phase !== 'inactive' || frozen;
}

function intentText(intent: IntentLine, nowMs: number): string {
  const { ruleId, market, positionId, target, state, failures, openedMs } = intent;
  const failed = failures === 0 ? '' : `, ${failures} failed`;
  return `intent of ${ruleId}: position ${positionId} ${market} ${target}: ${state}${failed}, opened ${roughly(nowMs - openedMs)} ago`;
}
