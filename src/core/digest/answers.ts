import type { AuditEvent } from '../audit/audit-event.ts';
import type { AnswerDigest } from './digest.ts';

/** Outcomes of the questions to people, by rule and outcome. */
export function answersIn(events: readonly AuditEvent[]): readonly AnswerDigest[] {
  const settled = events.filter(({ kind }) => kind === 'approvalSettled');
  const groups = Map.groupBy(settled, ({ ruleId, reason }) => JSON.stringify([ruleId ?? '', reason]));
  return [...groups.values()].flatMap((group) =>
    group
      .slice(-1)
      .map(({ ruleId = '', reason, words }) => ({ ruleId, end: reason, times: group.length, words })),
  );
}
