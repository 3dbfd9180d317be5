import type { Command } from 'commander';
import type { Desk } from '../app.ts';
import { type Acknowledged, acknowledgeAll, isMeant } from '../core/controls/acknowledge.ts';
import { roughly } from '../core/quantities/roughly.ts';
import { OWN_RULES } from '../core/rules/own-rules.ts';
import type { NoticeLine } from '../core/view/account-view.ts';
import { scopeWords } from '../core/view/record-words.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine } from './io.ts';
import { type ControlFlags, printLifted } from './operate/controls.ts';
import { requireObeyed } from './operate/obeyed.ts';
import { type OutOfReach, sayOutOfReach } from './operate/out-of-reach.ts';
import { accountsOf, withDaemonPlace, withDesk } from './operate/place.ts';
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
  withJson(withDaemonPlace(command));
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
  await withDesk(io, flags, async (desk) => {
    const open = (await openIn(desk, account)).filter((one) => isMeant(one, { ruleId: rule, subject }));
    if (!isChosen || flags.list === true) return list(io, flags, open);
    if (open.length === 0 && rule !== undefined) await requireKnown(desk, rule);
    await requireObeyed(io, desk, { accountId: account, undone: 'nothing was changed' });
    if (flags.lift === true) return await lift(io, flags, desk, open);
    const author = authorOf(flags.author, io);
    const by = { author, reason: flags.reason ?? 'acknowledged' };
    const done = await acknowledgeAll(desk.controls, open, { by, nowMs: Date.now(), forMs: flags.for });
    const reach = done.length === 0 ? {} : await sayOutOfReach(io, desk, OTHERS_REMIND);
    report(io, done, flags.json === true ? reach : undefined);
  });
}

/** A rule that exists may have nothing open. @throws UsageError naming the rules that have */
async function requireKnown(desk: Desk, ruleId: string): Promise<void> {
  const rules = (desk.accounts ?? []).flatMap((account) => account.rules.map(({ id }) => id));
  if ([...rules, ...Object.values(OWN_RULES)].includes(ruleId)) return;
  const ids = [...new Set((await openIn(desk, undefined)).map((one) => one.ruleId))];
  const cure = ids.length === 0 ? 'Nothing is open.' : `Rules with something open: ${ids.join(', ')}.`;
  throw new UsageError(`nothing is open of a rule ${JSON.stringify(ruleId)}.`, cure);
}

async function openIn(desk: Desk, account: string | undefined): Promise<readonly Open[]> {
  const ids = await accountsOf(desk, account === undefined ? undefined : [account]);
  const views = await Promise.all(ids.map((id) => desk.view(id)));
  return views.flatMap(({ accountId, notices }) => notices.map((notice) => ({ ...notice, accountId })));
}

const OTHERS_REMIND = { done: 'knows of it', others: 'Other instances that run go on reminding' };

/** `json`: prints JSON, with these fields added. */
function report(io: CliIo, done: readonly Acknowledged[], json: OutOfReach | undefined): void {
  if (json !== undefined) {
    printJson(io, { acknowledgements: done.map(({ acknowledgement }) => acknowledgement), ...json });
    return;
  }
  if (done.length === 0) printLine(io, NOTHING);
  for (const { acknowledgement, isOlder } of done) {
    const { author, atMs } = acknowledgement;
    const what = scopeWords(acknowledgement);
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

async function lift(io: CliIo, flags: Flags, { controls }: Desk, open: readonly Open[]): Promise<void> {
  const author = authorOf(flags.author, io);
  const by = { author, reason: flags.reason ?? 'not seen to any more' };
  const ids = open.flatMap(({ acknowledged }) => (acknowledged === null ? [] : [acknowledged.id]));
  const lifted = (await Promise.all(ids.map((id) => controls.lift({ kind: 'id', id }, by)))).flat();
  printLifted(io, lifted, { json: flags.json, none: 'Nothing of it was acknowledged.' });
}
