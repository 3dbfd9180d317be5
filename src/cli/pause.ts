import type { Command } from 'commander';
import type { Pause } from '../core/controls/controls.ts';
import { scopeWords } from '../core/view/record-words.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import { type CliIo, printJson, printLine, printNote } from './io.ts';
import { type ControlFlags, listControls } from './operate/controls.ts';
import { type Reach, sayReach, viewsOf, withDoor, withDoorPlace } from './operate/door.ts';
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
  withJson(withDoorPlace(command));
  withExamples(command, {
    everywhere: 'pause --for 2h --reason "maintenance of the exchange"',
    'one account, until resumed': 'pause --account desk-1 --reason "moving collateral"',
    'what is paused': 'pause --list',
  });
  command.action((flags: ControlFlags) =>
    flags.list === true ? listControls(io, flags, 'pauses', 'Nothing is paused.') : pause(io, flags),
  );
}

const UNDONE = {
  undone: 'nothing was paused',
  nobody: 'What does not run cannot act; breakwater run --paused starts it with everything held back.',
};

async function pause(io: CliIo, flags: ControlFlags): Promise<void> {
  const { reason, account } = flags;
  if (reason === undefined) throw new UsageError('a pause needs a reason.', 'Add --reason TEXT.');
  const author = authorOf(flags.author, io);
  await withDoor(io, flags, UNDONE, async (door) => {
    const body = { accountId: account ?? null, author, reason, forMs: flags.for ?? null };
    const put = await door.ask('pause', { body });
    const reach = await sayReach(io, door, 'Those that run GO ON ACTING');
    const views = await viewsOf(door, account).catch(() => []);
    const orders = views.flatMap((view) => view.orders.filter(({ status }) => status === 'open')).length;
    if (orders > 0) {
      printNote(
        io,
        `Orders already at the exchange stay, and can fill: ${orders} (see status --account ID).`,
      );
    }
    report(io, { ...put, ...reach }, flags.json === true);
  });
}

function report(io: CliIo, pause: Pause & Reach, json: boolean): void {
  const resume =
    pause.accountId === null ? 'breakwater resume' : `breakwater resume --account ${pause.accountId}`;
  if (pause.expiresAtMs === null) {
    printNote(io, `This pause has no end: nothing acts until somebody runs: ${resume} --reason TEXT`);
  }
  if (json) return printJson(io, pause);
  const until = pause.expiresAtMs === null ? 'until it is lifted' : `until ${timeOf(pause.expiresAtMs)}`;
  printLine(io, `Paused: ${scopeWords(pause)}, ${until} (${pause.id}).`);
}
