import { controlsInForce } from '../../core/ports/controls.ts';
import { type CliIo, paint, printLine } from '../io.ts';
import type { StatusAccount, StatusReport } from '../status.ts';
import { printable, type Table, tableLines } from '../table.ts';
import type { IntentLine, LoanLine, PositionLine } from './account-view.ts';
import { controlWords } from './controls.ts';
import { roughly, timeOf } from './values.ts';

/** The report for people: a table of the accounts, then what there is to say of each. */
export function printStatus(io: CliIo, report: StatusReport): void {
  const { accounts, controls, atMs } = report;
  for (const control of controls) {
    const what = control.kind === 'pause' ? 'paused' : 'silenced';
    printLine(io, paint(io, 'stdout', 'yellow', printable(`${what}: ${controlWords(control, atMs)}`)));
  }
  if (controls.length > 0) printLine(io, '');
  if (accounts.length === 0) printLine(io, 'No accounts.');
  else printTable(io, accountTable(report));
  for (const account of accounts) printAccount(io, account, atMs);
}

function accountTable({ accounts, controls, atMs }: StatusReport): Table {
  const titles = [
    'ACCOUNT',
    'MODE',
    'LAST POLL',
    'POSITIONS',
    'LOANS',
    'PENDING',
    'FIRING',
    'FROZEN',
    'OPEN INTENTS',
    'HELD BACK',
  ];
  return {
    columns: titles.map((title) => ({ title })),
    rows: accounts.map((account) => {
      const { pause, silences } = controlsInForce({ stamp: '', entries: controls }, account.accountId, atMs);
      const held = [
        ...(pause === undefined ? [] : ['paused']),
        ...(silences.length === 0 ? [] : [`${silences.length} silenced`]),
      ];
      const inPhase = (phase: string) => account.rules.filter((rule) => rule.phase === phase).length;
      return [
        account.accountId,
        account.mode ?? '',
        lastPoll(account, atMs),
        String(account.positions.length),
        String(account.loans.length),
        String(inPhase('pending')),
        String(inPhase('firing')),
        String(account.rules.filter(({ frozen }) => frozen).length),
        String(account.intents.filter(({ ended }) => !ended).length + account.inbox.length),
        held.join(', '),
      ];
    }),
  };
}

/** So many calm cadences without a poll: it is overdue. */
const OVERDUE = 3;

function lastPoll({ refused, lastPollMs, calmMs }: StatusAccount, nowMs: number): string {
  if (refused !== null) return 'state refused';
  if (lastPollMs === null) return 'never';
  const ageMs = nowMs - lastPollMs;
  const overdue = calmMs !== null && ageMs > OVERDUE * calmMs ? ' (overdue)' : '';
  return `${roughly(ageMs)} ago${overdue}`;
}

function printAccount(io: CliIo, account: StatusAccount, nowMs: number): void {
  const { accountId, refused, positions, loans, intents, rules, doubts, orders, inbox, events } = account;
  const isQuiet =
    refused === null &&
    [positions, loans, intents, rules, doubts, orders, inbox, events].every((list) => list.length === 0);
  if (isQuiet) return;
  printLine(io, '');
  printLine(io, paint(io, 'stdout', 'bold', printable(`account ${accountId}`)));
  const say = (text: string): void => printLine(io, `  ${printable(text)}`);
  if (refused !== null) {
    say(`its state is left alone: ${refused.message}`);
    return;
  }
  for (const line of positions) say(positionText(line));
  for (const line of loans) say(loanText(line));
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

function positionText({
  positionId,
  market,
  amount,
  markPrice,
  distance,
  cover,
  ageMs,
}: PositionLine): string {
  const parts = [
    ...(amount === undefined ? [] : [`amount ${amount}`]),
    ...(markPrice === undefined ? [] : [`mark ${markPrice}`]),
    ...(distance === undefined ? [] : [`${(distance * 100).toFixed(2)} % from liquidation`]),
    cover === 'covered' ? 'covered by a stop' : cover === 'open' ? 'no stop' : 'cover unknown',
    ageMs === undefined ? 'figures not noted yet' : `seen ${roughly(ageMs)} ago`,
  ];
  return `position ${positionId}${market === undefined ? '' : ` ${market}`}: ${parts.join(', ')}`;
}

function loanText({ subject, amount, currentLtv, ageMs }: LoanLine): string {
  const parts = [
    ...(amount === undefined ? [] : [`amount ${amount}`]),
    ...(currentLtv === undefined ? [] : [`LTV ${(currentLtv * 100).toFixed(2)} %`]),
    ageMs === undefined ? 'figures not noted yet' : `seen ${roughly(ageMs)} ago`,
  ];
  return `loan ${subject.replace(/^creditLine:/, '')}: ${parts.join(', ')}`;
}

function intentText(intent: IntentLine, nowMs: number): string {
  const { ruleId, market, positionId, target, state, failures, openedMs } = intent;
  const failed = failures === 0 ? '' : `, ${failures} failed`;
  return `intent of ${ruleId}: position ${positionId} ${market} ${target}: ${state}${failed}, opened ${roughly(nowMs - openedMs)} ago`;
}

function printTable(io: CliIo, table: Table): void {
  for (const line of tableLines(io, table)) printLine(io, line);
}
