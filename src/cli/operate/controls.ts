import type { Control } from '../../core/controls/controls.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { scopeWords } from '../../core/view/record-words.ts';
import { type CliIo, printJson, printLine } from '../io.ts';
import { printListing } from '../table.ts';
import { type DoorFlags, type Reach, withDoor } from './door.ts';
import { timeOf } from './values.ts';

/** Flags of the commands that put or lift controls. */
export interface ControlFlags extends DoorFlags {
  readonly account?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly for?: number;
  readonly list?: boolean;
}

/** One line for people: what is held back, until when, by whom and why. */
export function controlWords(control: Control, nowMs: number): string {
  const { author, reason, expiresAtMs } = control;
  const until = expiresAtMs === null ? 'until it is lifted' : `for another ${roughly(expiresAtMs - nowMs)}`;
  return `${scopeWords(control)}, ${until}: ${author}: ${reason}`;
}

/** Prints the controls of one kind that are in force. */
export async function listControls(
  io: CliIo,
  flags: ControlFlags,
  kind: 'pauses' | 'silences',
  none: string,
): Promise<void> {
  await withDoor(io, flags, { undone: 'nothing can be listed' }, async (door) => {
    const controls: readonly Control[] = (await door.ask('overview'))[kind];
    printListing(io, controls, {
      json: flags.json,
      none,
      titles: ['ID', 'HOLDS BACK', 'SINCE', 'UNTIL', 'BY', 'REASON'],
      cells: (control) => [
        control.id,
        scopeWords(control),
        timeOf(control.atMs),
        control.expiresAtMs === null ? 'it is lifted' : timeOf(control.expiresAtMs),
        control.author,
        control.reason,
      ],
    });
  });
}

/** `reach`: added to the JSON. */
export function printLifted(
  io: CliIo,
  lifted: readonly Control[],
  {
    json,
    none,
    reach,
  }: { readonly json: boolean | undefined; readonly none: string; readonly reach?: Reach | undefined },
): void {
  if (json === true) printJson(io, { lifted, ...reach });
  else if (lifted.length === 0) printLine(io, none);
  else for (const control of lifted) printLine(io, `Lifted: ${control.kind} of ${scopeWords(control)}.`);
}
