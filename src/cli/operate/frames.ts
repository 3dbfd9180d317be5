import { CLEAR_LINE, CLEAR_TO_END, ESC, HIDE_CURSOR, SHOW_CURSOR } from '../ansi.ts';
import { type CliIo, printLine, terminalSize } from '../io.ts';
import { timeOf } from './values.ts';

const HOME = `${ESC}H`;
const CLEAR_ALL = `${ESC}2J`;
const USUAL_ROWS = 24;

/**
 * Shows lines again and again: in place on a terminal, elsewhere one after the other.
 * @param isForPeople adds the time of each; JSON has its own time.
 */
export function openFrames(io: CliIo, isForPeople: boolean) {
  if (!io.isTty.stdout || io.env['TERM'] === 'dumb' || !isForPeople) {
    return {
      show(lines: readonly string[]): void {
        const head = isForPeople ? [timeOf(Date.now())] : [];
        for (const line of [...head, ...lines, ...(isForPeople ? [''] : [])]) printLine(io, line);
      },
      close: () => undefined,
    };
  }
  io.stdout.write(`${HIDE_CURSOR}${CLEAR_ALL}`);
  return {
    show(lines: readonly string[]): void {
      const rows = Math.max(3, terminalSize(io, 'rows') ?? USUAL_ROWS);
      const head = `${timeOf(Date.now())}, Ctrl-C ends`;
      // More lines than the terminal has would scroll, and could not be drawn over.
      const most = rows - 2;
      const cut = `and ${lines.length - most + 1} more lines: status without --watch`;
      const shown = lines.length <= most ? lines : [...lines.slice(0, most - 1), cut];
      const text = [head, ...shown].map((line) => `${line}${CLEAR_LINE}\n`).join('');
      io.stdout.write(`${HOME}${text}${CLEAR_TO_END}`);
    },
    /** Leaves the last frame, and shows the cursor again. */
    close: () => void io.stdout.write(SHOW_CURSOR),
  };
}
