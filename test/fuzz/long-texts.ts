import type { FuzzInput } from './target.ts';

/** Length of the example config, and the extra allowance for each further stretch of a text. */
const USUAL_CHARACTERS = 20_000;
const STRETCH_CHARACTERS = 10_000;
const MS = 50;
const BYTES = 64 * 2 ** 20;

/** The operator's own YAML may be long: time and memory grow linearly with its length. */
export function boundsOf(text: string): Required<Pick<FuzzInput, 'longestMs' | 'mostBytes'>> {
  const stretches = 1 + Math.max(0, Math.ceil((text.length - USUAL_CHARACTERS) / STRETCH_CHARACTERS));
  return { longestMs: MS * stretches, mostBytes: BYTES * stretches };
}
