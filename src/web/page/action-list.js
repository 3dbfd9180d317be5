import { h, keyedList, setAttribute, setText, show } from './dom.js';
import { duration } from './format.js';
import { accountPath, subjectPath } from './route.js';
import { setTime, timeNode } from './time.js';

/** @typedef {import('./contract.d.ts').PageAction} ActionLine */

/** @type {Readonly<Record<string, string>>} */
const KINDS = { place: 'Order', cancelAll: 'Cancel all' };

/** What was done lately, newest first. */
export function actionList() {
  const list = h('ol', { class: 'actions', 'aria-live': 'off' });
  const nothing = h('p', { class: 'muted' }, 'Nothing has been done yet.');
  const node = h('div', {}, nothing, list);
  const set = keyedList(list, ({ id }) => id, actionLine);
  return {
    node,
    /** @param {readonly ActionLine[]} actions */
    update(actions) {
      show(nothing, actions.length === 0);
      set(actions);
    },
  };
}

/** @type {Readonly<Record<string, string>>} */
const OUTCOMES = { pending: 'being sent', observed: 'only observed, not sent', unknown: 'outcome unknown' };

/** How an outcome is taken. @param {string} outcome */
export function toneOf(outcome) {
  if (/reject|fail|refus/i.test(outcome)) return 'bad';
  if (/unknown|doubt|blocked/i.test(outcome)) return 'doubt';
  return /accept|reached|done|filled/i.test(outcome) ? 'good' : 'plain';
}

/** @returns {import('./contract.d.ts').Part<ActionLine>} */
function actionLine() {
  const time = timeNode('clock');
  const outcome = h('span', { class: 'outcome' });
  const kind = h('b');
  const link = h('a');
  const words = h('span', { class: 'action-words' });
  const took = h('span', { class: 'muted' });
  const reason = h('span', { class: 'reason' });
  const node = h(
    'li',
    { class: 'action' },
    h('div', { class: 'action-head' }, time, kind, outcome, took),
    h('div', {}, link, ' ', words),
    reason,
  );
  return {
    node,
    update(action) {
      setTime(time, action.atMs);
      setText(kind, KINDS[action.kind] ?? action.kind);
      setText(outcome, OUTCOMES[action.outcome] ?? action.outcome);
      setAttribute(outcome, 'data-tone', toneOf(action.outcome));
      const place = action.market === null ? action.accountId : `${action.accountId} ${action.market}`;
      setText(link, place);
      const { positionId, accountId } = action;
      setAttribute(
        link,
        'href',
        positionId === null ? accountPath(accountId) : subjectPath(accountId, `position:${positionId}`),
      );
      setText(words, action.words);
      setText(took, action.tookMs === null ? '' : `took ${duration(action.tookMs)}`);
      setText(reason, action.reason);
      show(reason, action.outcome !== 'accepted' && action.reason !== '');
    },
  };
}
