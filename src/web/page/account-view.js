import { accountChips, blindWords, startedWords, subjectsOf, textLine } from './account-card.js';
import { actionList } from './action-list.js';
import { levelChip } from './chips.js';
import { openPause } from './controls.js';
import { levelOfAccount } from './danger.js';
import { h, keyedList, onChange, setText, show } from './dom.js';
import { amount, capital } from './format.js';
import { breadcrumb, columns, section } from './layout.js';
import { doings } from './lines.js';
import { ruleTable } from './rule-table.js';
import { jointWords } from './scale.js';
import { story } from './story.js';
import { subjectCard } from './subject-card.js';
import { setTime, timeNode } from './time.js';

/** Everything about one account. */

/** @typedef {import('../../core/view/account-view.ts').AccountView} AccountView */

/** @param {string} accountId @returns {import('./contract.d.ts').PageView} */
export function accountView(accountId) {
  const now = nowPart(accountId);
  const rules = ruleTable({ withSubject: true });
  const orders = ordersPart();
  const data = dataPart();
  const actions = actionList();
  const past = story(accountId, undefined);
  const onNews = onChange(() => past.look());
  const onAccount = onChange((/** @type {AccountView} */ account) => {
    now.update(account);
    orders.update(account);
    data.update(account);
  });
  return {
    node: columns({
      now: [...now.nodes, section('Rules', rules.node)],
      side: [orders.node, section('Recent actions', actions.node), data.node],
      story: past.node,
    }),
    title: `${accountId} - Breakwater`,
    watched: () => [accountId],
    update({ accounts, overview, actions: all, happened }) {
      const account = accounts.get(accountId);
      now.allow(overview?.may.control === true);
      onNews(happened.get(accountId) ?? 0);
      actions.update(all.filter((action) => action.accountId === accountId));
      if (account === undefined) return;
      onAccount(account);
      rules.update(accountId, account.rules, overview?.may.control === true);
    },
    refresh: () => past.look(),
    close: () => past.close(),
  };
}

/** @param {string} accountId */
function nowPart(accountId) {
  const level = levelChip();
  const chips = accountChips();
  const [judged, due] = [timeNode('ago'), timeNode('until')];
  const pause = h('button', { type: 'button', class: 'button' }, 'Pause this account');
  const joint = h('p', { hidden: true });
  const state = h('p', { class: 'state-words' });
  const started = h('p', { class: 'muted' });
  const blind = h('ul', { class: 'blind' });
  const subjects = h('div', { class: 'subjects' });
  const nothing = h('p', { class: 'muted', hidden: true }, 'No position and no credit line.');
  const setBlind = keyedList(blind, (words) => words, textLine);
  const setSubjects = keyedList(
    subjects,
    ({ subject }) => subject,
    () => subjectCard({ heading: 'h3', linked: true, endedIntents: false }),
  );
  pause.addEventListener('click', () => openPause(accountId));
  return {
    nodes: [
      breadcrumb([]),
      h('div', { class: 'page-title' }, level.node, h('h1', {}, accountId), chips.node, pause),
      h('p', { class: 'muted' }, 'Judged ', judged, ', next ', due, '.'),
      state,
      joint,
      blind,
      started,
      section('Positions and credit lines', subjects, nothing),
    ],
    /** @param {boolean} mayControl */
    allow(mayControl) {
      pause.disabled = !mayControl;
    },
    /** @param {AccountView} account */
    update(account) {
      level.update({ level: levelOfAccount(account) });
      chips.update(account);
      setTime(judged, account.judgedAtMs);
      setTime(due, account.nextDueAtMs);
      const together = jointWords(account);
      setText(joint, together);
      show(joint, together !== '');
      setText(state, capital(account.state.words));
      const note = startedWords(account);
      show(started, note !== '');
      setText(started, note);
      const words = blindWords(account);
      show(blind, words.length > 0);
      setBlind(words);
      const list = subjectsOf(account);
      show(nothing, list.length === 0);
      setSubjects(list);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<AccountView>} */
function ordersPart() {
  const doing = doings({ ended: true });
  const idle = h('p', { class: 'muted' }, 'No intent and no order of ours.');
  return {
    node: section('Intents and orders', doing.node, idle),
    update({ intents, orders }) {
      doing.update(intents, orders);
      show(idle, intents.length + orders.length === 0);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<AccountView>} */
function dataPart() {
  const body = h('tbody');
  const heads = ['Read', 'Last good', 'State'].map((name) => h('th', { scope: 'col' }, name));
  const balances = h('ul', { class: 'balances' });
  const setSources = keyedList(body, ({ source }) => source, sourceRow);
  const setBalances = keyedList(balances, (words) => words, textLine);
  return {
    node: section('Data', h('table', {}, h('thead', {}, h('tr', {}, ...heads)), body), balances),
    update(account) {
      setSources(account.sources);
      setBalances(
        account.balances.map(({ asset, available }) => `${amount(available)}\u00a0${asset} available`),
      );
    },
  };
}

/** @returns {import('./contract.d.ts').Part<AccountView['sources'][number]>} */
function sourceRow() {
  const name = h('th', { scope: 'row' });
  const age = timeNode('ago');
  const state = h('td');
  const node = h('tr', {}, name, h('td', {}, age), state);
  return {
    node,
    update({ source, readAtMs, complete, setAside, tooOld }) {
      setText(name, source);
      setTime(age, readAtMs);
      const words = [
        ...(tooOld ? ['too old'] : []),
        ...(complete ? [] : ['incomplete']),
        ...(setAside > 0 ? [`${setAside} set aside`] : []),
      ];
      setText(state, words.length === 0 ? 'good' : words.join(', '));
    },
  };
}
