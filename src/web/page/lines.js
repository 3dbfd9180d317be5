import { levelChip } from './chips.js';
import { isNotable, LEVELS, levelOfRule } from './danger.js';
import { doingLines } from './doing-words.js';
import { h, keyedList, setAttribute, setText, show } from './dom.js';
import { setTime, timeNode } from './time.js';

/** Lines about what the rules say and what is being done, for lists and pages alike. */

/** @typedef {import('../../core/view/account-view.ts').RuleLine} RuleLine */
/** @typedef {import('../../core/view/account-view.ts').IntentLine} IntentLine */
/** @typedef {import('../../core/view/account-view.ts').OrderLine} OrderLine */
/** @typedef {import('./doing-words.js').DoingLine} DoingLine */

/** Rules that fire, are about to, or cannot be judged; nothing while there are none. */
export function notableRules() {
  const node = h('ul', { class: 'rule-lines', 'aria-label': 'Rules' });
  const set = keyedList(node, ruleKey, ruleLine);
  return {
    node,
    /** @param {readonly RuleLine[]} rules */
    update(rules) {
      const notable = sortedRules(rules.filter(isNotable));
      show(node, notable.length > 0);
      set(notable);
    },
  };
}

/** @param {readonly RuleLine[]} rules */
export function sortedRules(rules) {
  return rules.toSorted((a, b) => LEVELS.indexOf(levelOfRule(a)) - LEVELS.indexOf(levelOfRule(b)));
}

/** @param {RuleLine} rule */
export function ruleKey({ ruleId, subject }) {
  return JSON.stringify([ruleId, subject]);
}

/** @param {RuleLine} rule */
export function phaseWords({ phase, frozen, severity }) {
  const words = { firing: 'Firing', pending: 'Pending', inactive: 'Quiet' }[phase];
  const known =
    phase === 'firing' && severity !== null && severity !== 'info' ? `${words}, ${severity}` : words;
  if (!frozen) return known;
  return phase === 'inactive' ? 'Not known' : `${known}, frozen`;
}

/** @returns {import('./contract.d.ts').Part<RuleLine>} */
function ruleLine() {
  const level = levelChip();
  const name = h('b', { class: 'id' });
  const since = timeNode('for');
  const sinceWords = h('span', { class: 'muted' }, 'for ', since);
  const silenced = h('span', { class: 'chip' }, 'silenced');
  const observed = h('span', { class: 'chip' }, 'observe only');
  const reason = h('span', { class: 'reason' });
  const node = h('li', { class: 'rule-line' }, level.node, name, sinceWords, silenced, observed, reason);
  return {
    node,
    update(rule) {
      level.update({ level: levelOfRule(rule), words: phaseWords(rule) });
      setText(name, rule.ruleId);
      show(sinceWords, rule.sinceMs !== null && rule.phase !== 'inactive');
      setTime(since, rule.sinceMs);
      show(silenced, rule.silenced);
      show(observed, rule.mode === 'observe' && rule.phase === 'firing');
      setText(reason, rule.reason);
    },
  };
}

/**
 * What is being done: open intents, and the orders of ours that are out.
 * @param {{ ended: boolean }} options whether intents that have ended, and orders that count as filled, are shown too
 */
export function doings({ ended }) {
  const list = h('ul', { class: 'doings', 'aria-label': 'What is being done' });
  const set = keyedList(list, (line) => line.key, doing);
  return {
    node: list,
    /**
     * @param {readonly IntentLine[]} intents
     * @param {readonly OrderLine[]} orders
     */
    update(intents, orders) {
      const lines = doingLines(intents, orders).filter(({ isOver }) => ended || !isOver);
      show(list, lines.length > 0);
      set(lines);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<DoingLine>} */
function doing() {
  const label = h('b');
  const words = h('span');
  const since = timeNode('ago');
  const node = h('li', { class: 'doing' }, label, words, since);
  return {
    node,
    update({ label: name, words: text, title, sinceMs, isOver }) {
      setText(label, name);
      setText(words, text);
      setAttribute(node, 'title', title);
      setAttribute(node, 'data-over', isOver);
      show(since, sinceMs !== null);
      setTime(since, sinceMs);
    },
  };
}
