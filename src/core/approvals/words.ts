import { type ApprovalQuestion, latestOf, partsOf, referenceOf, type SettledBy } from './question.ts';

/** How a question was settled, in one sentence. */
export function settledWords(question: ApprovalQuestion, by: SettledBy): string {
  const { answer } = question;
  const { ruleId } = partsOf(question);
  const what = `${referenceOf(question, latestOf(question)?.revision ?? 1)} (rule ${ruleId})`;
  const who = answer === undefined ? 'somebody' : answer.author;
  const why = answer === undefined ? '' : `: ${answer.reason}`;
  switch (by) {
    case 'approved':
      return `${who} approved ${what}${why}; it acts now`;
    case 'vetoed':
      return `${who} vetoed ${what}${why}; it does not act, and asks again if the position gets clearly worse`;
    case 'deadline':
      return `nobody answered ${what} in time; it acts now`;
    case 'timeTooShort':
      return `${what} is not waited for: liquidation may come before an answer would; it acts now`;
    case 'notDelivered':
      return `${what} is not waited for: no notice of it has reached anybody; it acts now`;
    case 'unanswered':
      return `nobody answered ${what} in time; it does not act, and can still be approved`;
    case 'notNeeded':
      return `${what} needs no answer any more: the rule does not fire`;
  }
}
