import type { ActionRequest } from '../../core/rules/subject.ts';
import { clockWords } from '../../core/text/time-words.ts';
import type { AccountView } from '../../core/view/account-view.ts';

interface PresentScene {
  readonly view: () => AccountView;
  readonly nowMs: number;
}

/** Why a rule fires, in present figures; figures from when it began are marked as such. */
export function presentWords(
  { ruleId, subject, because, atMs }: ActionRequest,
  { view, nowMs }: PresentScene,
): string {
  if (atMs >= nowMs) return because;
  const began = `when it began at ${clockWords(atMs)}: ${because}`;
  const line = view().rules.find((one) => one.ruleId === ruleId && one.subject === subject);
  if (line?.phase !== 'firing' || line.reason === '') return began;
  return line.reason.includes(because) ? line.reason : `${line.reason}; ${began}`;
}
