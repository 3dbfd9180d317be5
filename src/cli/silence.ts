import type { Command } from 'commander';
import type { Desk } from '../app.ts';
import { OWN_RULES } from '../core/rules/own-rules.ts';
import { scopeWords } from '../core/view/record-words.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine, printNote } from './io.ts';
import { type ControlFlags, printControls, printLifted } from './operate/controls.ts';
import { requireObeyed } from './operate/obeyed.ts';
import { sayOutOfReach } from './operate/out-of-reach.ts';
import { requireAccount, withDaemonPlace, withDesk } from './operate/place.ts';
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
  withJson(withDaemonPlace(command));
  withExamples(command, {
    'a rule, everywhere': 'silence --rule ltv-high --for 2h --reason "repaying by hand"',
    'for one position':
      'silence --rule near-liquidation --subject position:42 --account desk-1 --for 30m --reason hedged',
    'end it earlier': 'silence --rule ltv-high --lift --reason repaid',
  });
  command.action((flags: Flags) => {
    if (flags.list === true) return list(io, flags);
    return flags.lift === true ? lift(io, flags) : silence(io, flags);
  });
}

async function list(io: CliIo, flags: Flags): Promise<void> {
  await withDesk(io, flags, async ({ controls }) => {
    const silences = (await controls.list()).filter(({ kind }) => kind === 'silence');
    printControls(io, silences, { json: flags.json, none: 'Nothing is silenced.' });
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
  await withDesk(io, flags, async (desk) => {
    if (flags.account !== undefined) await requireAccount(desk, flags.account);
    await requireRule(desk, ruleId, flags.account);
    await requireObeyed(io, desk, { accountId: flags.account, undone: 'nothing was silenced' });
    const put = await desk.controls.put({
      kind: 'silence',
      accountId: flags.account ?? null,
      ruleId,
      subject,
      author,
      reason,
      expiresAtMs: Date.now() + forMs,
    });
    if (desk.accounts === undefined) {
      printNote(io, `Nobody can tell here whether there is a rule ${ruleId}: the config is not known.`);
    }
    const reach = await sayOutOfReach(io, desk, {
      done: 'is silenced',
      others: 'Other instances that run go on acting and notifying',
    });
    if (flags.json === true) printJson(io, { ...put, ...reach });
    else printLine(io, `Silenced: ${scopeWords(put)}, until ${timeOf(put.expiresAtMs ?? 0)} (${put.id}).`);
  });
}

async function lift(io: CliIo, flags: Flags): Promise<void> {
  const { ruleId, reason } = named(flags);
  if (flags.for !== undefined) throw new UsageError('--lift ends a silence at once.', 'Leave out --for.');
  const subject = subjectOf(flags.subject);
  const author = authorOf(flags.author, io);
  await withDesk(io, flags, async (desk) => {
    await requireObeyed(io, desk, { accountId: flags.account, undone: 'nothing was lifted' });
    const selector = { kind: 'silence', accountId: flags.account ?? null, ruleId, subject } as const;
    const lifted = await desk.controls.lift(selector, { author, reason });
    const others = 'Other instances that run stay silenced';
    const reach = lifted.length === 0 ? {} : await sayOutOfReach(io, desk, { done: 'has lifted it', others });
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

/** @throws UsageError if the config has no such rule for these accounts */
async function requireRule({ accounts }: Desk, ruleId: string, accountId: string | undefined): Promise<void> {
  if (accounts === undefined) return;
  const concerned = accounts.filter(({ id }) => accountId === undefined || id === accountId);
  // The built-in notice of a blind account can be silenced, too.
  const ids: readonly string[] = [
    ...new Set(concerned.flatMap(({ rules }) => rules.map(({ id }) => id))),
    OWN_RULES.blind,
  ];
  // The rules of an account that is stored but no longer in the config are not known here.
  if (concerned.length === 0 || ids.includes(ruleId)) return;
  const { meantOr } = await import('../app.ts');
  const whose = accountId === undefined ? 'no account has' : `account ${accountId} does not have`;
  const cure = meantOr(ruleId, ids, `Rules: ${ids.join(', ') || 'none'}.`);
  throw new UsageError(`${whose} a rule ${JSON.stringify(ruleId)}.`, cure);
}
