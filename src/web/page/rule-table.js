import { levelChip } from './chips.js';
import { openSilence } from './controls.js';
import { levelOfRule } from './danger.js';
import { h, keyedList, setAttribute, setText, show } from './dom.js';
import { phaseWords, ruleKey, sortedRules } from './lines.js';
import { subjectPath } from './route.js';
import { setTime, timeNode } from './time.js';

/** Every rule for an account or one of its subjects, with its state and the reason for it. */

/** @typedef {import('../../core/view/account-view.ts').RuleLine} RuleLine */
/** @typedef {{ rule: RuleLine, accountId: string, mayControl: boolean }} RuleRow */

/** @param {{ withSubject: boolean }} options */
export function ruleTable({ withSubject }) {
  const list = h('ul', { class: 'rules' });
  const nothing = h('p', { class: 'muted' }, 'No rule looks at this.');
  const node = h('div', {}, nothing, list);
  const set = keyedList(
    list,
    ({ rule }) => ruleKey(rule),
    () => ruleRow(withSubject),
  );
  return {
    node,
    /** @param {string} accountId @param {readonly RuleLine[]} rules @param {boolean} mayControl */
    update(accountId, rules, mayControl) {
      show(nothing, rules.length === 0);
      set(sortedRules(rules).map((rule) => ({ rule, accountId, mayControl })));
    },
  };
}

/** @param {boolean} withSubject @returns {import('./contract.d.ts').Part<RuleRow>} */
function ruleRow(withSubject) {
  const level = levelChip();
  const name = h('b', { class: 'id' });
  const subject = h('a');
  const since = timeNode('for');
  const sinceWords = h('span', { class: 'muted' }, 'for ', since);
  const silenced = h('span', { class: 'chip', 'data-look': 'paused' }, 'silenced');
  const mode = h('span', { class: 'chip' });
  const condition = h('code');
  const reason = h('p', { class: 'reason' });
  const stage = h('span', { class: 'muted' });
  const silence = h('button', { type: 'button', class: 'button button-small' }, 'Silence');
  const node = h(
    'li',
    { class: 'rule' },
    h('div', { class: 'rule-head' }, level.node, name, subject, sinceWords, stage, silenced, mode),
    reason,
    h('div', { class: 'rule-foot' }, h('p', { class: 'condition muted' }, 'Fires when ', condition), silence),
  );
  /** @type {RuleRow | undefined} */
  let shown;
  silence.addEventListener('click', () => {
    if (shown !== undefined) openSilence(shown.accountId, shown.rule.ruleId, shown.rule.subject);
  });
  return {
    node,
    update(row) {
      shown = row;
      const { rule, accountId, mayControl } = row;
      level.update({ level: levelOfRule(rule), words: phaseWords(rule) });
      setText(name, rule.ruleId);
      show(subject, withSubject && rule.subject !== 'account');
      setText(subject, rule.subject);
      setAttribute(subject, 'href', subjectPath(accountId, rule.subject));
      show(sinceWords, rule.sinceMs !== null);
      setTime(since, rule.sinceMs);
      setText(stage, rule.stage === null || rule.stage === 0 ? '' : `stage ${rule.stage}`);
      show(silenced, rule.silenced);
      setText(mode, rule.mode === 'observe' ? 'observe only' : '');
      show(mode, rule.mode === 'observe');
      setText(reason, rule.reason);
      setText(condition, rule.condition);
      silence.disabled = !mayControl;
      setAttribute(silence, 'aria-label', `Silence ${rule.ruleId} for ${rule.subject}`);
      setAttribute(
        silence,
        'title',
        mayControl ? null : 'Changing things from here is off: set web.controlToken',
      );
    },
  };
}
