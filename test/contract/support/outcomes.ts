import type { CommandOutcome, ReadOutcome } from '../../../src/core/ports/exchange.ts';

export type Outcome = ReadOutcome<unknown> | CommandOutcome<unknown>;

/** An outcome as one comparable line: `ok`, `accepted`, or kind, error name, code, status and effect. */
export function summary(outcome: Outcome): string {
  if (!('error' in outcome)) return outcome.kind;
  const { name, code, httpStatus, effect } = outcome.error;
  return [outcome.kind, name, code ?? '-', httpStatus ?? '-', effect].join(' ');
}

/** The names of the fields that an error blames. */
export function blamed(outcome: Outcome): readonly string[] {
  return 'error' in outcome ? Object.keys(outcome.error.fields ?? {}) : [];
}
