import { segment } from './api.js';
import { changeOrExplain, field, openForm, signature } from './dialog.js';
import { h } from './dom.js';

/** Pause, resume, silence: dialogs. */

const MINUTE_MS = 60_000;
const DURATIONS = [
  { label: '15 minutes', ms: 15 * MINUTE_MS },
  { label: '1 hour', ms: 60 * MINUTE_MS },
  { label: '4 hours', ms: 240 * MINUTE_MS },
  { label: '12 hours', ms: 720 * MINUTE_MS },
];
const ONE_HOUR = String(60 * MINUTE_MS);

/** @param {boolean} mayBeOpen whether "until it is lifted" is offered */
function durationSelect(mayBeOpen) {
  const options = DURATIONS.map(({ label, ms }) => h('option', { value: ms }, label));
  const open = mayBeOpen ? [h('option', { value: 'null' }, 'Until it is lifted')] : [];
  const select = h('select', { name: 'duration' }, ...options, ...open);
  select.value = ONE_HOUR;
  return select;
}

/** @param {HTMLSelectElement} select */
function durationOf(select) {
  return select.value === 'null' ? null : Number(select.value);
}

function reasonInput() {
  return h('textarea', { name: 'reason', required: true, rows: 2, maxlength: 300 });
}

/** @param {HTMLTextAreaElement} input */
function reasonOf(input) {
  const reason = input.value.replace(/\s+/g, ' ').trim();
  if (reason === '') throw new Error('Say why: it goes into the audit trail.');
  return reason;
}

/** @param {string | null} accountId null: everything */
export function openPause(accountId) {
  const reason = reasonInput();
  const duration = durationSelect(true);
  const who = signature();
  openForm({
    title: accountId === null ? 'Pause all actions' : `Pause actions of ${accountId}`,
    text:
      'No order and no cancel is sent while paused; a step that has begun is completed. ' +
      'Watching, rules and notifications go on.',
    fields: [field('Reason', reason), field('For how long', duration), ...who.fields],
    action: 'Pause',
    onTrouble: who.arrange,
    async send() {
      const body = { accountId, reason: reasonOf(reason), forMs: durationOf(duration) };
      await changeOrExplain('POST', '/pauses', { ...body, ...who.sign() });
    },
  });
}

/**
 * @param {'pauses' | 'silences'} kind
 * @param {string} id
 * @param {string} title
 */
export function openLift(kind, id, title) {
  const reason = reasonInput();
  const who = signature();
  openForm({
    title,
    fields: [field('Reason', reason), ...who.fields],
    action: kind === 'pauses' ? 'Resume' : 'Lift the silence',
    onTrouble: who.arrange,
    async send() {
      const body = { reason: reasonOf(reason), ...who.sign() };
      await changeOrExplain('DELETE', `/${kind}/${segment(id)}`, body);
    },
  });
}

/**
 * @param {string} accountId
 * @param {string} ruleId
 * @param {string} subject
 */
export function openSilence(accountId, ruleId, subject) {
  const reason = reasonInput();
  const duration = durationSelect(false);
  const scope = h(
    'select',
    { name: 'scope' },
    h('option', { value: 'subject' }, `Only for ${subject}`),
    h('option', { value: 'account' }, `For everything in ${accountId}`),
  );
  const who = signature();
  openForm({
    title: `Silence ${ruleId}`,
    text: 'This rule neither acts nor notifies while it is silent.',
    fields: [field('What', scope), field('Reason', reason), field('For how long', duration), ...who.fields],
    action: 'Silence',
    onTrouble: who.arrange,
    async send() {
      const body = {
        accountId,
        ruleId,
        subject: scope.value === 'subject' ? subject : null,
        reason: reasonOf(reason),
        forMs: durationOf(duration),
      };
      await changeOrExplain('POST', '/silences', { ...body, ...who.sign() });
    },
  });
}
