import type { Control } from '../../core/controls/controls.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { scopeWords } from '../../core/view/record-words.ts';
import { type CliIo, printJson, printLine } from '../io.ts';
import { tableLines } from '../table.ts';
import type { PlaceFlags } from './place.ts';
import { timeOf } from './values.ts';

/** Flags of the commands that hold something back or let it go. */
export interface ControlFlags extends PlaceFlags {
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

export function printControls(
  io: CliIo,
  controls: readonly Control[],
  { json, none }: { readonly json: boolean; readonly none: string },
): void {
  if (json) {
    for (const control of controls) printJson(io, control);
    return;
  }
  if (controls.length === 0) {
    printLine(io, none);
    return;
  }
  const lines = tableLines(io, {
    columns: ['ID', 'HOLDS BACK', 'SINCE', 'UNTIL', 'BY', 'REASON'].map((title) => ({ title })),
    rows: controls.map((control) => [
      control.id,
      scopeWords(control),
      timeOf(control.atMs),
      control.expiresAtMs === null ? 'it is lifted' : timeOf(control.expiresAtMs),
      control.author,
      control.reason,
    ]),
  });
  for (const line of lines) printLine(io, line);
}
