import type { Mutant } from './operators.ts';

/** Puts mutants into the text of their file, each behind a switch, so that one compilation serves all. */

export interface Switched extends Mutant {
  /** By which it is switched on. */
  readonly number: number;
}

interface Place {
  readonly start: number;
  readonly end: number;
  readonly mutants: Switched[];
  readonly inner: Place[];
}

/** What the text calls with a number: whether that mutant is on. */
const SWITCH = '__isMutated';

export const SWITCH_NAME = '__breakwaterIsMutated';

/** Gives each the number by which it is switched on: its place in the list. */
export function numbered(mutants: readonly Mutant[]): readonly Switched[] {
  const all: Switched[] = [];
  for (const mutant of mutants) all.push({ ...mutant, number: all.length });
  return all;
}

export function weave(text: string, mutants: readonly Switched[]): string {
  const root: Place = { start: 0, end: text.length, mutants: [], inner: [] };
  for (const mutant of mutants.toSorted((a, b) => a.start - b.start || b.end - a.end)) place(root, mutant);
  return `const ${SWITCH} = globalThis.${SWITCH_NAME} ?? (() => false); ${render(root, text)}`;
}

function place(within: Place, mutant: Switched): void {
  const { start, end } = mutant;
  const around = within.inner.find((one) => one.start <= start && end <= one.end);
  if (around === undefined) within.inner.push({ start, end, mutants: [mutant], inner: [] });
  else if (around.start === start && around.end === end) around.mutants.push(mutant);
  else place(around, mutant);
}

function render({ start, end, mutants, inner }: Place, text: string): string {
  let original = '';
  let from = start;
  for (const part of inner) {
    original += text.slice(from, part.start) + render(part, text);
    from = part.end;
  }
  original += text.slice(from, end);
  if (mutants.length === 0) return original;
  if (mutants.some(({ to }) => to === null)) {
    const isOff = mutants.map(({ number }) => `!${SWITCH}(${number})`).join(' && ');
    return `{ if (${isOff}) { ${original} } }`;
  }
  const choices = mutants.map(({ number, to }) => `${SWITCH}(${number}) ? (${to}) : `);
  return `(${choices.join('')}(${original}))`;
}
