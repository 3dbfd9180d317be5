import type { Control } from '../../core/controls/controls.ts';
import type { AccountView, IntentLine, RuleLine } from '../../core/view/account-view.ts';
import { type CliIo, paint, printLine } from '../io.ts';
import { printable, type Table, tableLines } from '../table.ts';
import { controlWords } from './controls.ts';
import { creditLineWords, jointWords, positionWords } from './position-words.ts';
import { roughly, timeOf } from './values.ts';

/** What `status` knows; with `--json` one of these in one line. */
export interface StatusReport {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly controls: readonly Control[];
  /** Queues that somebody has paused as a whole. */
  readonly pausedQueues: readonly string[];
  readonly accounts: readonly StatusAccount[];
}

export interface StatusAccount extends AccountView {
  /** Longest time between polls that the config allows; null without one. */
  readonly calmMs: number | null;
  /** The newest actions and outcomes in the audit, oldest first. */
  readonly events: readonly StatusEvent[];
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

/** The report for people: a table of the accounts, then what there is to say of each. */
export function printStatus(io: CliIo, report: StatusReport): void {
  const { accounts, controls, pausedQueues, atMs } = report;
  if (pausedQueues.length > 0) {
    const words = `Somebody paused ${pausedQueues.join(' and ')}: what goes through a paused queue stands still until a daemon with the role poll runs.`;
    printLine(io, paint(io, 'stdout', 'red', words));
    printLine(io, '');
  }
  for (const control of controls) {
    const what = control.kind === 'pause' ? 'paused' : 'silenced';
    printLine(io, paint(io, 'stdout', 'yellow', printable(`${what}: ${controlWords(control, atMs)}`)));
  }
  if (controls.length > 0) printLine(io, '');
  if (accounts.length === 0) printLine(io, 'No accounts.');
  else for (const line of tableLines(io, accountTable(report))) printLine(io, line);
  for (const account of accounts) printAccount(io, account, atMs);
}

type Cell = (account: StatusAccount, atMs: number) => string | number;

const COLUMNS: readonly (readonly [title: string, cell: Cell])[] = [
  ['ACCOUNT', ({ accountId }) => accountId],
  ['MODE', ({ mode }) => mode ?? ''],
  ['LAST POLL', lastPoll],
  ['POSITIONS', ({ positions }) => positions.length],
  ['CREDIT LINES', ({ creditLines }) => creditLines.length],
  ['PENDING', ({ rules }) => rules.filter(({ phase }) => phase === 'pending').length],
  ['FIRING', ({ rules }) => rules.filter(({ phase }) => phase === 'firing').length],
  ['FROZEN', ({ rules }) => rules.filter(({ frozen }) => frozen).length],
  ['OPEN INTENTS', ({ intents, inbox }) => intents.filter(({ ended }) => !ended).length + inbox.length],
  ['HELD BACK', heldBack],
];

function accountTable({ accounts, atMs }: StatusReport): Table {
  return {
    columns: COLUMNS.map(([title]) => ({ title })),
    rows: accounts.map((account) => COLUMNS.map(([, cell]) => String(cell(account, atMs)))),
  };
}

function heldBack({ pause, silences }: StatusAccount): string {
  const silenced = silences.length === 0 ? [] : [`${silences.length} silenced`];
  return [...(pause === null ? [] : ['paused']), ...silenced].join(', ');
}

/** So many calm cadences without a poll: it is overdue. */
const OVERDUE = 3;

function lastPoll({ refused, judgedAtMs, calmMs }: StatusAccount, nowMs: number): string {
  if (refused !== null) return 'state refused';
  if (judgedAtMs === null) return 'never';
  const ageMs = nowMs - judgedAtMs;
  const overdue = calmMs !== null && ageMs > OVERDUE * calmMs ? ' (overdue)' : '';
  return `${roughly(ageMs)} ago${overdue}`;
}

function printAccount(io: CliIo, account: StatusAccount, nowMs: number): void {
  const { accountId, refused, positions, creditLines, intents, doubts, orders, inbox, events } = account;
  const rules = account.rules.filter(isNews);
  const isQuiet =
    refused === null &&
    [positions, creditLines, intents, rules, doubts, orders, inbox, events].every(
      (list) => list.length === 0,
    );
  if (isQuiet) return;
  printLine(io, '');
  printLine(io, paint(io, 'stdout', 'bold', printable(`account ${accountId}`)));
  const say = (text: string): void => printLine(io, `  ${printable(text)}`);
  if (refused !== null) {
    say(`its state is left alone: ${refused.message}`);
    return;
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
  for (const order of inbox)
    say(`by hand, not begun: ${order.kind} ${order.id} (${order.author}: ${order.reason})`);
  for (const intent of intents) say(intentText(intent, nowMs));
  for (const { market, why, sinceMs } of doubts) {
    say(`${market}: what is open there is not known (${why}) for ${roughly(nowMs - sinceMs)}`);
  }
  for (const order of orders) {
    const { role, market, side, amount, activationPrice, price, status } = order;
    say(
      `order ${status}: ${role} ${market} ${side} ${amount}, activates at ${activationPrice}, limit ${price}`,
    );
  }
  for (const event of events) {
    const where = event.market === null ? '' : ` ${event.market}`;
    say(`${timeOf(event.atMs)} ${event.kind}${where} (${event.reason}): ${event.words}`);
  }
}

/** Those at rest are in `--json`, too, with the reason why. */
function isNews({ phase, frozen }: RuleLine): boolean {
  return phase !== 'inactive' || frozen;
}

function intentText(intent: IntentLine, nowMs: number): string {
  const { ruleId, market, positionId, target, state, failures, openedMs } = intent;
  const failed = failures === 0 ? '' : `, ${failures} failed`;
  return `intent of ${ruleId}: position ${positionId} ${market} ${target}: ${state}${failed}, opened ${roughly(nowMs - openedMs)} ago`;
}
