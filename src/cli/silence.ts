import type { Command } from 'commander';
import { scopeWords } from '../core/view/record-words.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine } from './io.ts';
import { type ControlFlags, listControls, printLifted } from './operate/controls.ts';
import { liftAll, sayReach, withDoor, withDoorPlace } from './operate/door.ts';
import { authorOf, durationMs, nonEmpty, timeOf } from './operate/values.ts';

interface Flags extends ControlFlags {
  readonly rule?: string;
  readonly subject?: string;
  readonly lift?: boolean;
}

/** `breakwater silence`: keeps one rule from acting and notifying for a time. */
export function registerSilence(program: Command, io: CliIo): void {
  const command = program
    .command('silence')
    .summary("hold back one rule's actions and notifications for a time")
    .description(
      "Holds back one rule's actions and notifications, for all that it judges or for one subject, from the next " +
        'step of every daemon on. The rule goes on judging, and its state is seen in status.',
    )
    .option('--rule <id>', 'the rule', nonEmpty)
    .option(
      '--subject <key>',
      'such as position:42, creditLine:USDT@1700000000 or account (see status)',
      nonEmpty,
    )
    .option('-a, --account <id>', 'of this account only', nonEmpty)
    .option('-r, --reason <text>', 'why; kept with the silence and in the audit', nonEmpty)
    .option('--for <duration>', 'how long, such as 2h', durationMs)
    .option('--author <name>', 'who silences (default: the user of the system)', nonEmpty)
    .option('--lift', 'end the silence of exactly this rule, subject and account')
    .option('--list', 'print the silences in force, and end');
  withJson(withDoorPlace(command));
  withExamples(command, {
    'a rule, everywhere': 'silence --rule ltv-high --for 2h --reason "repaying by hand"',
    'for one position':
      'silence --rule near-liquidation --subject position:42 --account desk-1 --for 30m --reason hedged',
    'end it earlier': 'silence --rule ltv-high --lift --reason repaid',
  });
  command.action((flags: Flags) => {
    if (flags.list === true) return listControls(io, flags, 'silences', 'Nothing is silenced.');
    return flags.lift === true ? lift(io, flags) : silence(io, flags);
  });
}

/** @throws UsageError for a missing option */
function named({ rule, reason }: Flags) {
  if (rule === undefined) throw new UsageError('name the rule.', 'Add --rule ID.');
  if (reason === undefined) throw new UsageError('a reason is needed.', 'Add --reason TEXT.');
  return { ruleId: rule, reason };
}

async function silence(io: CliIo, flags: Flags): Promise<void> {
  const { ruleId, reason } = named(flags);
  const forMs = flags.for;
  if (forMs === undefined) throw new UsageError('a silence has an end.', 'Add --for, such as --for 2h.');
  const subject = subjectOf(flags.subject);
  const author = authorOf(flags.author, io);
  await withDoor(io, flags, { undone: 'nothing was silenced' }, async (door) => {
    const body = { accountId: flags.account ?? null, ruleId, subject, author, reason, forMs };
    const put = await door.ask('silence', { body });
    const reach = await sayReach(io, door, 'Those that run go on acting and notifying');
    if (flags.json === true) printJson(io, { ...put, ...reach });
    else printLine(io, `Silenced: ${scopeWords(put)}, until ${timeOf(put.expiresAtMs)} (${put.id}).`);
  });
}

async function lift(io: CliIo, flags: Flags): Promise<void> {
  const { ruleId, reason } = named(flags);
  if (flags.for !== undefined) throw new UsageError('--lift ends a silence at once.', 'Leave out --for.');
  const subject = subjectOf(flags.subject);
  const by = { author: authorOf(flags.author, io), reason };
  await withDoor(io, flags, { undone: 'nothing was lifted' }, async (door) => {
    const { silences } = await door.ask('overview');
    const meant = silences.filter(
      (one) => one.accountId === (flags.account ?? null) && one.ruleId === ruleId && one.subject === subject,
    );
    const lifted = await liftAll(io, door, meant, by);
    const reach = lifted.length === 0 ? undefined : await sayReach(io, door, 'Those that run stay silenced');
    printLifted(io, lifted, { json: flags.json, none: 'There was no such silence.', reach });
  });
}

function subjectOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (text === 'account' || /^position:.+$/.test(text) || /^creditLine:[^@]+@\d+$/.test(text)) return text;
  throw new UsageError(
    `--subject: expected position:ID, creditLine:ASSET@SECONDS or account, got ${JSON.stringify(text)}.`,
    'See: breakwater status',
  );
}
