import type { Command } from 'commander';
import type { Pause } from '../core/controls/controls.ts';
import { scopeWords } from '../core/view/record-words.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine, printNote } from './io.ts';
import { type ControlFlags, printControls } from './operate/controls.ts';
import { requireObeyed } from './operate/obeyed.ts';
import { type OutOfReach, sayOutOfReach } from './operate/out-of-reach.ts';
import { requireAccount, withDaemonPlace, withDesk } from './operate/place.ts';
import { authorOf, durationMs, nonEmpty, timeOf } from './operate/values.ts';

/** `breakwater pause`: holds back all actions from the next step on. */
export function registerPause(program: Command, io: CliIo): void {
  const command = program
    .command('pause')
    .summary('hold back all actions, everywhere or of one account')
    .description(
      'Holds back all orders and cancels, everywhere or of one account, from the next step of every daemon on. ' +
        'Watching and notifying go on. What has begun as one step - cancel, read, place - is finished, so that ' +
        'no market is left half done. Orders already at the exchange stay, and can fill. A pause of the same scope replaces the one before.',
    )
    .option('-a, --account <id>', 'of this account only', nonEmpty)
    .option('-r, --reason <text>', 'why; kept with the pause and in the audit', nonEmpty)
    .option('--for <duration>', 'ends by itself after this time, such as 2h', durationMs)
    .option('--author <name>', 'who pauses (default: the user of the system)', nonEmpty)
    .option('--list', 'print the pauses in force, and end');
  withJson(withDaemonPlace(command));
  withExamples(command, {
    everywhere: 'pause --for 2h --reason "maintenance of the exchange"',
    'one account, until resumed': 'pause --account desk-1 --reason "moving collateral"',
    'what is paused': 'pause --list',
  });
  command.action((flags: ControlFlags) => (flags.list === true ? list(io, flags) : pause(io, flags)));
}

async function list(io: CliIo, flags: ControlFlags): Promise<void> {
  await withDesk(io, flags, async ({ controls }) => {
    const pauses = (await controls.list()).filter(({ kind }) => kind === 'pause');
    printControls(io, pauses, { json: flags.json, none: 'Nothing is paused.' });
  });
}

async function pause(io: CliIo, flags: ControlFlags): Promise<void> {
  const { reason, account } = flags;
  if (reason === undefined) throw new UsageError('a pause needs a reason.', 'Add --reason TEXT.');
  const author = authorOf(flags.author, io);
  await withDesk(io, flags, async (desk) => {
    if (account !== undefined) await requireAccount(desk, account);
    await requireObeyed(io, desk, { accountId: account, undone: 'nothing was paused' });
    const expiresAtMs = flags.for === undefined ? null : Date.now() + flags.for;
    const put = await desk.controls.put({
      kind: 'pause',
      accountId: account ?? null,
      author,
      reason,
      expiresAtMs,
    });
    const ids = account === undefined ? (desk.accountIds ?? []) : [account];
    const views = await Promise.all(ids.map((id) => desk.view(id)));
    const orders = views.flatMap((view) => view.orders.filter(({ status }) => status === 'open'));
    if (orders.length > 0) {
      printNote(
        io,
        `Orders already at the exchange stay, and can fill: ${orders.length} (see status --account ID).`,
      );
    }
    const reach = await sayOutOfReach(io, desk, {
      done: 'is paused',
      others: 'Other instances that run GO ON ACTING',
    });
    report(io, { ...(put as Pause), ...reach }, flags.json === true);
  });
}

function report(io: CliIo, pause: Pause & OutOfReach, json: boolean): void {
  const resume =
    pause.accountId === null ? 'breakwater resume' : `breakwater resume --account ${pause.accountId}`;
  if (pause.expiresAtMs === null) {
    printNote(io, `This pause has no end: nothing acts until somebody runs: ${resume} --reason TEXT`);
  }
  if (json) {
    printJson(io, pause);
    return;
  }
  const until = pause.expiresAtMs === null ? 'until it is lifted' : `until ${timeOf(pause.expiresAtMs)}`;
  const where = pause.onlyAt === undefined ? '' : ` at ${pause.onlyAt} alone`;
  printLine(io, `Paused${where}: ${scopeWords(pause)}, ${until} (${pause.id}).`);
}
