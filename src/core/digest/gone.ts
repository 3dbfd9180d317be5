import type { Transition } from '../rules/decision.ts';
import type { SubjectKey } from '../rules/subject.ts';
import type { GoneDigest } from './digest.ts';
import { subjectWords } from './rules-fired.ts';

/** Positions and credit lines that left the list while a rule fired for them, oldest first. */
export function goneIn(
  transitions: readonly Transition[],
  names: ReadonlyMap<SubjectKey, string>,
): readonly GoneDigest[] {
  const gone = transitions.filter(({ from, reason }) => from === 'firing' && reason === 'subjectGone');
  const groups = Map.groupBy(gone, ({ subject, atMs }) => JSON.stringify([subject, atMs]));
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map(({ subject, atMs }) => ({
      name: subjectWords(subject, names),
      ruleIds: [...new Set(group.map(({ ruleId }) => ruleId))].toSorted(),
      atMs,
    })),
  );
}
