import type { Command } from 'commander';
import type { Desk } from '../app.ts';
import { hasExpired } from '../core/controls/controls.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, printNote } from './io.ts';
import { type ControlFlags, controlWords, printLifted } from './operate/controls.ts';
import { requireObeyed } from './operate/obeyed.ts';
import { sayOutOfReach } from './operate/out-of-reach.ts';
import { requireAccount, withDaemonPlace, withDesk } from './operate/place.ts';
import { authorOf, nonEmpty } from './operate/values.ts';

interface Flags extends Omit<ControlFlags, 'for' | 'list'> {
  readonly id?: string;
}

/** `breakwater resume`: lifts a pause. */
export function registerResume(program: Command, io: CliIo): void {
  const command = program
    .command('resume')
    .summary('lift a pause')
    .description(
      'Lifts the pause of exactly this scope: without --account the one of everywhere, else that of the account. ' +
        'What still holds something back is said.',
    )
    .option('-a, --account <id>', 'the pause of this account', nonEmpty)
    .option('--id <id>', 'the pause or silence with this id (see status)', nonEmpty)
    .requiredOption('-r, --reason <text>', 'why; kept in the audit', nonEmpty)
    .option('--author <name>', 'who resumes (default: the user of the system)', nonEmpty);
  withJson(withDaemonPlace(command));
  withExamples(command, {
    'the pause of everywhere': 'resume --reason "maintenance is over"',
    'that of one account': 'resume --account desk-1 --reason "collateral moved"',
  });
  withRemarks(command, '\nEnds with 0 also when there was nothing to lift, and says so.');
  command.action((flags: Flags) => resume(io, flags));
}

async function resume(io: CliIo, flags: Flags): Promise<void> {
  const { account, id, reason = '' } = flags;
  if (id !== undefined && account !== undefined) {
    throw new UsageError('--id and --account are two ways to say it.', 'Leave out one of them.');
  }
  const author = authorOf(flags.author, io);
  await withDesk(io, flags, async (desk) => {
    if (account !== undefined) await requireAccount(desk, account);
    const accountId = id === undefined ? account : await accountOf(desk, id);
    await requireObeyed(io, desk, { accountId, undone: 'nothing was lifted' });
    const selector = id === undefined ? pauseOf(account) : ({ kind: 'id', id } as const);
    const lifted = await desk.controls.lift(selector, { author, reason });
    const nowMs = Date.now();
    const rest = (await desk.controls.list()).filter(
      (control) => control.kind === 'pause' && !hasExpired(control, nowMs),
    );
    for (const pause of rest) printNote(io, `Still paused: ${controlWords(pause, nowMs)}.`);
    const others = 'Other instances that run stay paused';
    const reach = lifted.length === 0 ? {} : await sayOutOfReach(io, desk, { done: 'has lifted it', others });
    printLifted(io, lifted, { json: flags.json, none: 'There was nothing to lift.', reach });
  });
}

async function accountOf({ controls }: Desk, id: string): Promise<string | undefined> {
  return (await controls.list()).find((control) => control.id === id)?.accountId ?? undefined;
}

function pauseOf(account: string | undefined) {
  return { kind: 'pause', accountId: account ?? null } as const;
}
