import type { Control } from '../../core/controls/controls.ts';
import type { AccountView, IntentLine, RuleLine } from '../../core/view/account-view.ts';
import { headlineOf } from '../../core/view/state-line.ts';
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

/** The report for people: how all are, a line of each account, and with `everything` what there is to say of each. */
export function printStatus(io: CliIo, report: StatusReport, everything: boolean): void {
  const { accounts, controls, pausedQueues, atMs } = report;
  if (pausedQueues.length > 0) {
    const words = `Somebody paused ${pausedQueues.join(' and ')}: what goes through a paused queue stands still until a daemon with the role poll runs.`;
    printLine(io, paint(io, 'stdout', 'red', words));
    printLine(io, '');
  }
  if (accounts.length > 1) {
    const { severity, words } = headlineOf(accounts);
    printLine(io, paint(io, 'stdout', COLOURS[severity ?? 'calm'], printable(words)));
    printLine(io, '');
  }
  for (const control of controls) {
    const what = control.kind === 'pause' ? 'paused' : 'silenced';
    printLine(io, paint(io, 'stdout', 'yellow', printable(`${what}: ${controlWords(control, atMs)}`)));
  }
  if (controls.length > 0) printLine(io, '');
  if (accounts.length === 0) printLine(io, 'No accounts.');
  else for (const line of tableLines(io, accountTable(report))) printLine(io, line);
  if (everything) for (const account of accounts) printAccount(io, account, atMs);
}

const COLOURS = { critical: 'red', warning: 'yellow', info: 'bold', calm: 'bold' } as const;

type Cell = (account: StatusAccount, atMs: number) => string;

const COLUMNS: readonly (readonly [title: string, cell: Cell])[] = [
  ['ACCOUNT', ({ accountId }) => accountId],
  ['MODE', ({ mode }) => mode ?? ''],
  ['LAST POLL', lastPoll],
  ['STATE', stateWords],
];

function accountTable({ accounts, atMs }: StatusReport): Table {
  return {
    columns: COLUMNS.map(([title]) => ({ title })),
    rows: accounts.map((account) => COLUMNS.map(([, cell]) => cell(account, atMs))),
  };
}

function stateWords({ state, silences }: StatusAccount, atMs: number): string {
  const since = state.sinceMs === null ? '' : `, for ${roughly(atMs - state.sinceMs)}`;
  const silenced = silences.length === 0 ? '' : `, ${silences.length} silenced`;
  return `${state.words}${since}${silenced}`;
}

function lastPoll({ refused, judgedAtMs }: StatusAccount, nowMs: number): string {
  if (refused !== null) return 'state refused';
  return judgedAtMs === null ? 'never' : `${roughly(nowMs - judgedAtMs)} ago`;
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
}

function doubtWords(why: string): string {
  const cleared = 'they are cleared before the first action there';
  return why === 'newStore'
    ? `just started, orders are not confirmed yet; ${cleared}`
    : `orders are not confirmed (${why}); ${cleared}`;
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
