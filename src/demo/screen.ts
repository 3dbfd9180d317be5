import type { CliIo } from '../cli/io.ts';

const ESC = '\u001b[';
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;
const CLEAR_TO_END = `${ESC}0J`;
const CLEAR_LINE = `${ESC}K`;

export interface Screen {
  columns(): number;
  open(): void;
  /** Writes the lines over those drawn before. */
  draw(lines: readonly string[]): void;
  /** Leaves the last lines standing and gives the cursor back. */
  close(): void;
}

/** Draws in place on a terminal. One write per frame, so that nothing flickers. */
export function createScreen(io: CliIo): Screen {
  let drawn = 0;
  const size = (name: 'columns' | 'rows', fallback: number): number => {
    const value = name in io.stdout ? Number(Reflect.get(io.stdout, name)) : Number.NaN;
    return Number.isInteger(value) && value > 0 ? value : fallback;
  };
  return {
    columns: () => size('columns', 100),
    open: () => void io.stdout.write(HIDE_CURSOR),
    draw(lines) {
      // A frame taller than the terminal would scroll, and its first lines could not be reached again.
      const shown = lines.slice(0, size('rows', 40) - 1);
      const up = drawn > 0 ? `${ESC}${drawn}A\r` : '';
      io.stdout.write(`${up}${shown.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_TO_END}`);
      drawn = shown.length;
    },
    close: () => void io.stdout.write(SHOW_CURSOR),
  };
}
