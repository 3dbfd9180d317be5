import { reasonField, selectField, textOf } from './form-fields.js';
import { openChange } from './signature.js';

/** Pause, resume, silence: dialogs. */

const MINUTE_MS = 60_000;
const DURATIONS = [
  { label: '15 minutes', value: String(15 * MINUTE_MS) },
  { label: '1 hour', value: String(60 * MINUTE_MS) },
  { label: '4 hours', value: String(240 * MINUTE_MS) },
  { label: '12 hours', value: String(720 * MINUTE_MS) },
];
const OPEN = { label: 'Until it is lifted', value: 'null' };

/** @param {boolean} mayBeOpen whether "until it is lifted" is offered */
function durationField(mayBeOpen) {
  const options = mayBeOpen ? [...DURATIONS, OPEN] : DURATIONS;
  return selectField({ name: 'duration', label: 'For how long', options, value: String(60 * MINUTE_MS) });
}

/** @param {FormData} given */
function durationOf(given) {
  const value = textOf(given, 'duration');
  return value === OPEN.value ? null : Number(value);
}

/** @param {string | null} accountId null: everything */
export function openPause(accountId) {
  openChange({
    title: accountId === null ? 'Pause all actions' : `Pause actions of ${accountId}`,
    text:
      'No order and no cancel is sent while paused; a step that has begun is completed. ' +
      'Watching, rules and notifications go on.',
    fields: () => [reasonField(), durationField(true)],
    action: 'Pause',
    path: '/pauses',
    body: (given) => ({ accountId, forMs: durationOf(given) }),
  });
}

/** @param {'pauses' | 'silences'} kind @param {string} id @param {string} title */
export function openLift(kind, id, title) {
  const action = kind === 'pauses' ? 'Resume' : 'Lift the silence';
  openChange({ title, action, method: 'DELETE', path: `/${kind}/${encodeURIComponent(id)}` });
}

/** @param {string} accountId @param {string} ruleId @param {string} subject */
export function openSilence(accountId, ruleId, subject) {
  const scope = {
    name: 'scope',
    label: 'What',
    options: [
      { value: 'subject', label: `Only for ${subject}` },
      { value: 'account', label: `For everything in ${accountId}` },
    ],
  };
  openChange({
    title: `Silence ${ruleId}`,
    text: 'This rule neither acts nor notifies while it is silent.',
    fields: () => [selectField(scope), reasonField(), durationField(false)],
    action: 'Silence',
    path: '/silences',
    body: (given) => ({
      accountId,
      ruleId,
      subject: textOf(given, 'scope') === 'subject' ? subject : null,
      forMs: durationOf(given),
    }),
  });
}
