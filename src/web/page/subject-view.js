import { accountChips, blindWords, textLine } from './account-card.js';
import { actionList } from './action-list.js';
import { curve } from './curve.js';
import { h, keyedList, onChange, setText, show } from './dom.js';
import { breadcrumb, columns, section } from './layout.js';
import { accountPath } from './route.js';
import { ruleTable } from './rule-table.js';
import { asLtv } from './scale.js';
import { story } from './story.js';
import { creditTitle, cureWords, positionTitle, subjectCard } from './subject-card.js';
import { setTime, timeNode } from './time.js';
import { topUp } from './top-up.js';

/** Everything about one position or one credit line: figures, curve, rules, and its whole story. */

/** @typedef {import('../../core/view/account-view.ts').AccountView} AccountView */
/** @typedef {import('./curve.js').Line} Line */

/**
 * @param {string} accountId
 * @param {string} subject
 * @param {'position' | 'creditLine'} kind
 * @returns {import('./contract.d.ts').PageView}
 */
export function subjectView(accountId, subject, kind) {
  const isPosition = kind === 'position';
  const name = isPosition ? subject.replace(/^position:/, 'Position ') : 'Credit line';
  const now = nowPart({ accountId, subject, name });
  const line = curve({
    accountId,
    subject,
    field: isPosition ? 'liquidationDistance' : 'currentLtv',
    label: isPosition ? 'Distance to liquidation' : 'Loan to value',
  });
  const rules = ruleTable({ withSubject: false });
  const cure = isPosition ? undefined : curePart(accountId, subject);
  const actions = actionList();
  const past = story(accountId, subject);
  const onNews = onChange(() => past.look());
  const onAccount = onChange((/** @type {AccountView} */ account) => {
    now.update(account);
    const { position, credit } = foundIn(account, subject);
    if (position !== undefined)
      line.add(account.figuresAtMs, position.liquidationDistance, positionLines(position));
    if (credit !== undefined) line.add(account.figuresAtMs, credit.currentLtv, creditLines(credit));
  });
  return {
    node: columns({
      now: [...now.nodes, ...(cure === undefined ? [] : [cure.node]), section('Last hour', line.node)],
      side: [section('Rules', rules.node), section('Recent actions', actions.node)],
      story: past.node,
    }),
    title: `${name}, ${accountId} - Breakwater`,
    watched: () => [accountId],
    update({ accounts, overview, actions: all, happened }) {
      const account = accounts.get(accountId);
      onNews(happened.get(accountId) ?? 0);
      if (account === undefined) return;
      onAccount(account);
      const own = account.rules.filter((rule) => rule.subject === subject);
      rules.update(accountId, own, overview?.may.control === true);
      cure?.update(account, overview);
      const { position } = foundIn(account, subject);
      const done = all.filter(
        (action) => action.accountId === accountId && concerns(action, subject, position?.market),
      );
      actions.update(done);
    },
    refresh() {
      past.look();
      line.refresh();
    },
    close() {
      past.close();
      line.close();
    },
  };
}

/** @param {AccountView} account @param {string} subject */
function foundIn({ positions, creditLines: lines }, subject) {
  return {
    position: positions.find((found) => found.subject === subject),
    credit: lines.find((found) => found.subject === subject),
  };
}

/** @param {{ accountId: string, subject: string, name: string }} about */
function nowPart({ accountId, subject, name }) {
  const heading = h('h1', {}, name);
  const chips = accountChips();
  const judged = timeNode('ago');
  const gone = h('p', { class: 'notice', role: 'status', hidden: true });
  const blind = h('ul', { class: 'blind', hidden: true });
  const card = subjectCard({ heading: 'h2', title: 'Now', linked: false, endedIntents: true });
  const setBlind = keyedList(blind, (words) => words, textLine);
  show(card.node, false);
  return {
    nodes: [
      breadcrumb([{ text: accountId, href: accountPath(accountId) }]),
      h('div', { class: 'page-title' }, heading, chips.node),
      h('p', { class: 'muted' }, 'Judged ', judged, '.'),
      gone,
      blind,
      card.node,
    ],
    /** @param {AccountView} account */
    update(account) {
      chips.update(account);
      setTime(judged, account.judgedAtMs);
      const words = blindWords(account);
      show(blind, words.length > 0);
      setBlind(words);
      const { position, credit } = foundIn(account, subject);
      const isThere = position !== undefined || credit !== undefined;
      show(card.node, isThere);
      show(gone, !isThere && account.judgedAtMs !== null);
      setText(gone, `${name} is not open any more, as far as is known; its story remains.`);
      card.update({ account, subject });
      if (position !== undefined) setText(heading, positionTitle(position));
      if (credit !== undefined) setText(heading, creditTitle(credit));
    },
  };
}

/**
 * @param {import('./contract.d.ts').PageAction} action
 * @param {string} subject
 * @param {string | undefined} market
 */
function concerns({ positionId, market: where }, subject, market) {
  if (positionId !== null) return subject === `position:${positionId}`;
  return where === null || where === market;
}

/** @param {import('../../core/view/account-view.ts').PositionLine} position @returns {readonly Line[]} */
function positionLines({ marks }) {
  const own = marks.filter(({ field }) => field === 'liquidationDistance');
  return [
    { value: 0, name: 'liquidation', kind: 'harm' },
    ...own.map(({ threshold, ruleId, severity }) => ({ value: threshold, name: ruleId, kind: severity })),
  ];
}

/** @param {import('../../core/view/account-view.ts').CreditLineLine} line @returns {readonly Line[]} */
function creditLines(line) {
  /** @type {Line[]} */
  const lines = [];
  if (typeof line.liquidationLtv === 'number')
    lines.push({ value: line.liquidationLtv, name: 'liquidation', kind: 'harm' });
  if (typeof line.marginCallLtv === 'number')
    lines.push({ value: line.marginCallLtv, name: 'margin call', kind: 'exchange' });
  for (const { field, op, threshold, ruleId, severity } of line.marks) {
    const value = asLtv(field, op, threshold, line);
    if (value !== undefined) lines.push({ value, name: ruleId, kind: severity });
  }
  return lines;
}

/** @param {string} accountId @param {string} subject */
function curePart(accountId, subject) {
  const list = h('ul', { class: 'cures' });
  const none = h('p', { class: 'muted' }, 'Nothing is needed to reach the targets of the rules.');
  const form = topUp(accountId, subject);
  const hint = h(
    'p',
    { class: 'muted' },
    'Either one is enough. The daemon cannot repay or add collateral: this is for a person to do.',
  );
  const node = section('What cures it', list, none, hint, form.node);
  const set = keyedList(list, (words) => words, textLine);
  return {
    node,
    /** @param {AccountView} account @param {import('./contract.d.ts').PageOverview | null} overview */
    update(account, overview) {
      const line = account.creditLines.find((found) => found.subject === subject);
      const words = line === undefined ? [] : cureWords(line);
      set(words);
      show(none, words.length === 0);
      show(hint, words.length > 0);
      form.update(overview?.may.topUp === true);
    },
  };
}
