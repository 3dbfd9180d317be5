import type { z } from 'zod';
import { JSON_SHAPES } from '../../scripts/documents/json-shapes.ts';

/** Prints log lines. */
const NOT_WRITTEN_DOWN = 'run';

/**
 * Why a line that a command printed with `--json` is not what docs/json.md says; undefined: it is. Unknown fields are
 * faults, too.
 */
export function shapeFault(args: readonly string[], line: string): string | undefined {
  const shape = shapeOf(args);
  if (shape === undefined) {
    return args[0] === NOT_WRITTEN_DOWN ? undefined : 'docs/json.md does not have this command';
  }
  const value: unknown = JSON.parse(line);
  const { error } = shape.safeParse(value);
  if (error !== undefined) return JSON.stringify(error.issues);
  const long = EXACT.has(args.slice(0, 2).join(' ')) || args[0] === 'call' ? undefined : longFigure(value);
  return long === undefined ? undefined : `${long} has more than 15 digits`;
}

/** Their records are those of the audit, digit by digit. */
const EXACT: ReadonlySet<string> = new Set(['audit tail', 'audit show']);

/** A figure with what a sum of fractions leaves behind its last digit: 25.740000000000002. */
function longFigure(value: unknown): number | undefined {
  if (typeof value === 'number') return Number(value.toPrecision(15)) === value ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.values(value)
    .map(longFigure)
    .find((long) => long !== undefined);
}

/** The name in docs/json.md with the most words that a command line has. */
export function shapeNameOf(args: readonly string[]): string | undefined {
  const meant = Object.keys(JSON_SHAPES).flatMap((name) =>
    name
      .split('`, `')
      .map((written) => written.split(' '))
      .filter((words) => isMeant(words, args))
      .map((words) => ({ name, words: words.length })),
  );
  return meant.toSorted((one, other) => other.words - one.words)[0]?.name;
}

function shapeOf(args: readonly string[]): z.ZodType | undefined {
  const name = shapeNameOf(args);
  return name === undefined ? undefined : (JSON_SHAPES as Readonly<Record<string, z.ZodType>>)[name];
}

/** Words in capitals stand for any argument. */
function isMeant(words: readonly string[], args: readonly string[]): boolean {
  return words.every((word, index) => {
    if (word.startsWith('--')) return args.includes(word);
    const given = args[index];
    return given === word || (given !== undefined && /^[A-Z]+$/.test(word) && !given.startsWith('-'));
  });
}
