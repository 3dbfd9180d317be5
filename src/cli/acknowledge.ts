import type { Command } from 'commander';
import type { Door } from '../app.ts';
import { isMeant } from '../core/controls/acknowledge.ts';
import type { Acknowledgement } from '../core/controls/controls.ts';
import { roughly } from '../core/quantities/roughly.ts';
import type { NoticeLine } from '../core/view/account-view.ts';
import { scopeWords } from '../core/view/record-words.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine } from './io.ts';
import { type ControlFlags, printLifted } from './operate/controls.ts';
import { isRefusal, liftAll, sayReach, viewsOf, withDoor, withDoorPlace } from './operate/door.ts';
import { authorOf, durationMs, nonEmpty, timeOf } from './operate/values.ts';
import { printListing } from './table.ts';

interface Flags extends ControlFlags {
  readonly rule?: string;
  readonly subject?: string;
  readonly all?: boolean;
  readonly lift?: boolean;
}

/** `breakwater acknowledge`: says that somebody sees to open notices. */
export function registerAcknowledge(program: Command, io: CliIo): void {
  const command = program
    .command('acknowledge')
    .alias('ack')
    .summary('say that somebody sees to what people were told of')
    .description(
      'Says that somebody sees to what people were told of: it is not told again, and to nobody else, until it is ' +
        'over or gets worse. Rules go on acting. Without a choice it lists what is open.',
    )
    .option('-a, --account <id>', 'what is open in this account', nonEmpty)
    .option('--rule <id>', 'what this rule told, or a built-in notice such as built-in/blind', nonEmpty)
    .option('--subject <key>', 'such as position:42, creditLine:USDT@1700000000 or account', nonEmpty)
    .option('--all', 'everything that is open')
    .option(
      '-r, --reason <text>',
      'what is done about it; kept in the audit (default: acknowledged)',
      nonEmpty,
    )
    .option('--for <duration>', 'tell it again after this time (default: a week)', durationMs)
    .option('--author <name>', 'who sees to it (default: the user of the system)', nonEmpty)
    .option('--lift', 'end these acknowledgements: people are reminded again')
    .option('--list', 'print what is open, and end');
  withJson(withDoorPlace(command));
  withExamples(command, {
    'what is open': 'acknowledge',
    'all of one account': 'acknowledge --account desk-1 --reason "moving collateral"',
    'one outage, in every account': 'acknowledge --rule built-in/blind --reason "exchange is in maintenance"',
  });
  command.action((flags: Flags) => acknowledge(io, flags));
}

type Open = NoticeLine & { readonly accountId: string };

async function acknowledge(io: CliIo, flags: Flags): Promise<void> {
  const { account, rule, subject, all } = flags;
  const isChosen = all === true || [account, rule, subject].some((choice) => choice !== undefined);
  if (!isChosen && flags.lift === true) {
    throw new UsageError('say which ones to end.', 'Add --account ID, --rule ID or --all.');
  }
  await withDoor(io, flags, { undone: 'nothing was changed' }, async (door) => {
    if (!isChosen || flags.list === true) return list(io, flags, await openIn(door, flags));
    const isOf = (one: Acknowledgement): boolean =>
      (account === undefined || one.accountId === account) && isMeant(one, { ruleId: rule, subject });
    const before = (await door.ask('overview')).acknowledgements.filter(isOf);
    if (flags.lift === true) return await lift(io, flags, door, before);
    const done = await acknowledged(io, flags, door);
    const reach = done.length === 0 ? {} : await sayReach(io, door, 'Those that run go on reminding');
    if (flags.json === true) printJson(io, { acknowledgements: done, ...reach });
    else report(io, done, before);
  });
}

async function acknowledged(io: CliIo, flags: Flags, door: Door): Promise<readonly Acknowledgement[]> {
  const { account, rule: ruleId, subject, reason = 'acknowledged', for: forMs } = flags;
  const author = authorOf(flags.author, io);
  const body = { accountId: account ?? null, ruleId, subject, reason, author, forMs };
  try {
    return (await door.ask('acknowledge', { body })).acknowledgements;
  } catch (error) {
    if (!isRefusal(error, 404)) throw error;
    // Nothing is open, or there is no such account, which this refuses too.
    if (account !== undefined) await viewsOf(door, account);
    return [];
  }
}

async function openIn(door: Door, { account, rule, subject }: Flags): Promise<readonly Open[]> {
  const views = await viewsOf(door, account);
  return views
    .flatMap(({ accountId, notices }) => notices.map((notice) => ({ ...notice, accountId })))
    .filter((one) => isMeant(one, { ruleId: rule, subject }));
}

/** `before`: what was acknowledged before. */
function report(io: CliIo, done: readonly Acknowledgement[], before: readonly Acknowledgement[]): void {
  if (done.length === 0) printLine(io, NOTHING);
  for (const acknowledgement of done) {
    const { id, author, atMs } = acknowledgement;
    const what = scopeWords(acknowledgement);
    const isOlder = before.some((one) => one.id === id);
    const older = `Already acknowledged: ${what}, by ${author} at ${timeOf(atMs)}.`;
    printLine(io, isOlder ? older : `Acknowledged: ${what}, until it is over or gets worse.`);
  }
}

const NOTHING = 'Nothing of it is open.';

function list(io: CliIo, { json }: Flags, open: readonly Open[]): void {
  const nowMs = Date.now();
  printListing(io, open, {
    json,
    none: 'Nothing is open.',
    titles: ['ACCOUNT', 'RULE', 'SUBJECT', 'SEVERITY', 'FOR', 'ACKNOWLEDGED'],
    cells: ({ accountId, ruleId, subject, severity, sinceMs, acknowledged }) => [
      accountId,
      ruleId,
      subject,
      severity,
      roughly(nowMs - sinceMs),
      acknowledged === null ? 'no' : `${acknowledged.author}: ${acknowledged.reason}`,
    ],
  });
}

async function lift(io: CliIo, flags: Flags, door: Door, meant: readonly Acknowledgement[]): Promise<void> {
  const by = { author: authorOf(flags.author, io), reason: flags.reason ?? 'not seen to any more' };
  const lifted = await liftAll(io, door, meant, by);
  printLifted(io, lifted, { json: flags.json, none: 'Nothing of it was acknowledged.' });
}
