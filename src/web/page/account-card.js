import { chip, levelChip, modeWords } from './chips.js';
import { LEVELS, levelOfAccount, levelOfSubject } from './danger.js';
import { h, keyedList, setAttribute, setText, show } from './dom.js';
import { capital, listed } from './format.js';
import { doings, notableRules } from './lines.js';
import { accountPath } from './route.js';
import { subjectCard } from './subject-card.js';
import { setTime, timeNode } from './time.js';

/** @typedef {import('../../core/view/account-view.ts').AccountView} AccountView */

/** Its positions and credit lines, most endangered first. @param {AccountView} account */
export function subjectsOf(account) {
  return [...account.positions, ...account.creditLines]
    .map(({ subject }) => ({ account, subject, level: levelOfSubject(account, subject) }))
    .sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
}

/** Chips that say how an account is run. */
export function accountChips() {
  const mode = chip();
  const paused = chip();
  const silenced = chip();
  const labels = chip();
  const node = h('span', { class: 'chips' }, mode.node, paused.node, silenced.node, labels.node);
  return {
    node,
    /** @param {AccountView} account */
    update(account) {
      const { pause, silences } = account;
      mode.update(modeWords(account.mode));
      const why = pause === null ? '' : `${pause.author}: ${pause.reason}`;
      paused.update(pause === null ? null : { text: 'paused', title: why, look: 'paused' });
      const rules = listed(silences.map(({ ruleId }) => ruleId));
      silenced.update(silences.length === 0 ? null : { text: `silenced: ${rules}`, look: 'paused' });
      const words = Object.entries(account.labels).map(([name, value]) => `${name}=${value}`);
      labels.update(words.length === 0 ? null : { text: words.join(' '), look: 'label' });
    },
  };
}

/** What keeps an account from being judged, in words; empty: nothing. @param {AccountView} account */
export function blindWords(account) {
  const { refused, judgedAtMs, sources, doubts } = account;
  if (refused !== null) return [`Its stored state cannot be read (${refused.document}): ${refused.message}`];
  const words = [];
  if (judgedAtMs === null) words.push('Not polled yet.');
  const old = sources.filter(({ tooOld }) => tooOld).map(({ source }) => source);
  if (old.length > 0) words.push(`Data too old: ${listed(old)}. Rules that need it are frozen.`);
  const partial = sources.filter(({ setAside }) => setAside > 0);
  if (partial.length > 0) {
    words.push(
      `Records that cannot be read were set aside: ${listed(partial.map(({ source, setAside }) => `${setAside} of ${source}`))}.`,
    );
  }
  for (const { market, why } of doubts) if (why !== 'newStore') words.push(`${market}: ${doubtWords(why)}`);
  return words;
}

/** @type {Readonly<Record<string, string>>} */
const DOUBTS = {
  unknownOutcome: 'not known whether the last request took effect; orders are cleared before the next one.',
  processDied: 'a daemon died in the middle of a request; orders are cleared before the next one.',
  duplicateUnexpected:
    'the exchange knows an order that was not sent; orders are cleared before the next one.',
};

/** @param {string} why */
function doubtWords(why) {
  return DOUBTS[why] ?? `orders are not confirmed (${why}); they are cleared before the next one.`;
}

/** What a person may want to know and need not act on. @param {AccountView} account */
export function startedWords({ doubts }) {
  const markets = doubts.filter(({ why }) => why === 'newStore').map(({ market }) => market);
  if (markets.length === 0) return '';
  return `Just started: orders in ${listed(markets)} are not confirmed yet; they are cleared before the first action there.`;
}

/** One account in the list. @returns {import('./contract.d.ts').Part<AccountView>} */
export function accountCard() {
  const level = levelChip();
  const link = h('a', { class: 'title-link' });
  const chips = accountChips();
  const judged = timeNode('ago');
  const state = h('p', { class: 'state-words' });
  const started = h('p', { class: 'muted' });
  const blind = h('ul', { class: 'blind' });
  const rules = notableRules();
  const others = doings({ ended: false });
  const subjects = h('div', { class: 'subjects' });
  const nothing = h('p', { class: 'muted' }, 'No position and no credit line.');
  const node = h(
    'article',
    { class: 'account' },
    h(
      'header',
      { class: 'account-head' },
      level.node,
      h('h3', {}, link),
      chips.node,
      h('span', { class: 'muted account-age' }, 'judged ', judged),
    ),
    state,
    blind,
    started,
    rules.node,
    others.node,
    subjects,
    nothing,
  );
  const setBlind = keyedList(blind, (words) => words, textLine);
  const setSubjects = keyedList(
    subjects,
    ({ subject }) => subject,
    () => subjectCard({ heading: 'h4', linked: true, endedIntents: false }),
  );
  return {
    node,
    update(account) {
      const own = levelOfAccount(account);
      setAttribute(node, 'data-level', own);
      level.update({ level: own });
      setText(link, account.accountId);
      setAttribute(link, 'href', accountPath(account.accountId));
      chips.update(account);
      setTime(judged, account.judgedAtMs);
      setText(state, capital(account.state.words));
      const note = startedWords(account);
      show(started, note !== '');
      setText(started, note);
      const words = blindWords(account);
      show(blind, words.length > 0);
      setBlind(words);
      rules.update(account.rules.filter(({ subject }) => subject === 'account'));
      const shown = new Set(account.positions.map(({ positionId }) => positionId));
      others.update(
        account.intents.filter(({ positionId }) => !shown.has(positionId)),
        account.orders.filter(({ positionId }) => !shown.has(positionId)),
      );
      const list = subjectsOf(account);
      show(nothing, list.length === 0 && account.refused === null && account.judgedAtMs !== null);
      setSubjects(list);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<string>} */
export function textLine() {
  const node = h('li');
  return { node, update: (text) => setText(node, text) };
}
