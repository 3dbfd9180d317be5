import type { FuzzInput } from './target.ts';

/** As long as the example of a config, and what more each further stretch of a text may take. */
const USUAL_CHARACTERS = 20_000;
const STRETCH_CHARACTERS = 10_000;
const MS = 50;
const BYTES = 64 * 2 ** 20;

/** YAML of the operator's own, which may be long: time and memory grow with its length, and no faster. */
export function boundsOf(text: string): Required<Pick<FuzzInput, 'longestMs' | 'mostBytes'>> {
  const stretches = 1 + Math.max(0, Math.ceil((text.length - USUAL_CHARACTERS) / STRETCH_CHARACTERS));
  return { longestMs: MS * stretches, mostBytes: BYTES * stretches };
}
