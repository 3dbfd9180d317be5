import { readFileSync, writeFileSync } from 'node:fs';

/** What the baseline measures, in the order in which it does. */
export const PARTS = ['lines', 'rooms', 'walk', 'worlds', 'grid', 'bench'] as const;
export type Part = (typeof PARTS)[number];

/** One measured figure; `what` is unique within its part. */
export interface Figure {
  /** `machine` describes where the others were measured. */
  readonly part: Part | 'machine';
  readonly what: string;
  /** Texts: hashes, verdicts of cases by their letter, names separated by spaces. */
  readonly value: number | string;
  readonly unit?: string;
}

/** The figures that the repository keeps. */
export const STORED = new URL('figures.jsonl', import.meta.url).pathname;

/** The figures of a file cannot be used, or there is none. */
export class FiguresError extends Error {}

/** Reads figures, one JSON object per line. @throws FiguresError; a missing file is empty with `orNone` */
export function readFigures(file: string, orNone: boolean): readonly Figure[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && orNone) return [];
    throw new FiguresError(
      code === 'ENOENT' ? `There are no figures in ${file}; --write stores them.` : message,
    );
  }
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line, index) => {
    const figure = parsed(line);
    if (figure === undefined) throw new FiguresError(`${file}:${index + 1} is not a figure.`);
    return figure;
  });
}

function parsed(line: string): Figure | undefined {
  try {
    const figure = JSON.parse(line) as Partial<Figure> | null;
    const { part, what, value } = figure ?? {};
    const isPart = part === 'machine' || PARTS.some((one) => one === part);
    const isValue = typeof value === 'number' || typeof value === 'string';
    return isPart && isValue && typeof what === 'string' ? (figure as Figure) : undefined;
  } catch {
    return undefined;
  }
}

/** Stores figures. Those of parts that were not measured stay. */
export function writeFigures(file: string, measured: readonly Figure[]): void {
  const parts = new Set(measured.map(({ part }) => part));
  const kept = readFigures(file, true).filter(({ part }) => !parts.has(part));
  const order = (['machine', ...PARTS] as const).flatMap((part) =>
    [...kept, ...measured].filter((figure) => figure.part === part),
  );
  writeFileSync(file, order.map((figure) => `${JSON.stringify(figure)}\n`).join(''));
}
