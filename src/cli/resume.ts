import type { Command } from 'commander';
import type { Door } from '../app.ts';
import { type Control, hasExpired } from '../core/controls/controls.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, printNote, printWarning } from './io.ts';
import { type ControlFlags, controlWords, printLifted } from './operate/controls.ts';
import { liftAll, sayReach, viewsOf, withDoor, withDoorPlace } from './operate/door.ts';
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
  withJson(withDoorPlace(command));
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
  const by = { author: authorOf(flags.author, io), reason };
  await withDoor(io, flags, { undone: 'nothing was lifted' }, async (door) => {
    const found = await meantBy(door, flags);
    if (found.length === 0 && account !== undefined) await viewsOf(door, account);
    const lifted = await liftAll(io, door, found, by);
    const nowMs = Date.now();
    // It is lifted, whatever becomes of the rest.
    const now = await door.ask('overview').catch(() => undefined);
    if (now === undefined) printWarning(io, 'What else is paused cannot be read: look with status.');
    const rest = now?.pauses.filter((pause) => !hasExpired(pause, nowMs)) ?? [];
    for (const pause of rest) printNote(io, `Still paused: ${controlWords(pause, nowMs)}.`);
    const reach = lifted.length === 0 ? undefined : await sayReach(io, door, 'Those that run stay paused');
    printLifted(io, lifted, { json: flags.json, none: 'There was nothing to lift.', reach });
  });
}

async function meantBy(door: Door, { account, id }: Flags): Promise<readonly Control[]> {
  const { pauses, silences, acknowledgements } = await door.ask('overview');
  if (id === undefined) return pauses.filter(({ accountId }) => accountId === (account ?? null));
  return [...pauses, ...silences, ...acknowledgements].filter((control) => control.id === id);
}
