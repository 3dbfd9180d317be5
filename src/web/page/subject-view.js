import { accountChips } from './account-card.js';
import { blindWords } from './account-words.js';
import { actionList } from './action-list.js';
import { Curve } from './curve.js';
import { breadcrumb, columns, section, textLines } from './layout.js';
import { html, nothing } from './lit-html/lit-html.js';
import { openOrder } from './order-dialog.js';
import { accountPath } from './route.js';
import { ruleTable } from './rule-table.js';
import { ruleLtvs } from './scale.js';
import { Story } from './story.js';
import { subjectCard } from './subject-card.js';
import { creditTitle, cureWords, positionTitle } from './subject-words.js';
import { time } from './time.js';
import { topUp } from './top-up.js';

/** Everything about one position or one credit line: figures, curve, rules, and its whole story. */

/** @import { AccountView } from '../../core/view/account-view.ts' */
/** @import { Line } from './curve.js' */
/** @typedef {import('./contract.d.ts').PageOverview['may']} May */

/**
 * @param {{ accountId: string, subject: string, kind: 'position' | 'creditLine' }} about
 * @param {() => void} changed
 * @returns {import('./contract.d.ts').PageView}
 */
export function subjectView({ accountId, subject, kind }, changed) {
  const isPosition = kind === 'position';
  const name = isPosition ? subject.replace(/^position:/, 'Position ') : 'Credit line';
  const line = new Curve({
    accountId,
    subject,
    field: isPosition ? 'liquidationDistance' : 'currentLtv',
    label: isPosition ? 'Distance to liquidation' : 'Loan to value',
  });
  const past = new Story(accountId, subject, changed);
  const cure = isPosition ? undefined : topUp(accountId, subject, changed);
  let heard = 0;
  return {
    title: `${name}, ${accountId} - Breakwater`,
    wantsRows: false,
    watched: () => [accountId],
    template({ accounts, overview, actions, happened }) {
      const account = accounts.get(accountId);
      const news = happened.get(accountId) ?? 0;
      if (news !== heard) past.look();
      heard = news;
      const way = breadcrumb([{ text: accountId, href: accountPath(accountId) }]);
      if (account === undefined) {
        const now = [way, html`<h1>${name}</h1><p class="muted">Reading ...</p>`];
        return columns({ now, side: nothing, story: past.template() });
      }
      const { position, credit } = foundIn(account, subject);
      if (position !== undefined)
        line.add(account.figuresAtMs, position.liquidationDistance, positionLines(position));
      if (credit !== undefined) line.add(account.figuresAtMs, credit.currentLtv, creditLines(credit));
      const may = overview?.may ?? NOTHING;
      const rules = account.rules.filter((rule) => rule.subject === subject);
      const done = actions.filter(
        (action) => action.accountId === accountId && concerns(action, subject, position?.market),
      );
      return columns({
        now: [
          way,
          nowTemplate(account, { subject, name, may }),
          cure === undefined ? nothing : cureTemplate(credit, cure(may.topUp)),
          section('Last hour', line.node),
        ],
        side: [
          section('Rules', ruleTable(accountId, rules, { withSubject: false, mayControl: may.control })),
          section('Recent actions', actionList(done)),
        ],
        story: past.template(),
      });
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

const NOTHING = { control: false, operate: false, topUp: false };

/** @param {AccountView} account @param {string} subject */
function foundIn({ positions, creditLines: lines }, subject) {
  return {
    position: positions.find((found) => found.subject === subject),
    credit: lines.find((found) => found.subject === subject),
  };
}

/** @param {AccountView} account @param {{ subject: string, name: string, may: May }} about */
function nowTemplate(account, { subject, name, may }) {
  const { position, credit } = foundIn(account, subject);
  const isThere = position !== undefined || credit !== undefined;
  const isGone = !isThere && account.judgedAtMs !== null;
  const title =
    position !== undefined ? positionTitle(position) : credit !== undefined ? creditTitle(credit) : name;
  const blind = blindWords(account);
  const reduce = html`<div class="deeds"><button type="button" class="button" ?disabled=${!may.operate}
    @click=${() => openOrder(account, position?.positionId)}>Reduce or close</button></div>`;
  return html`<div class="page-title"><h1>${title}</h1>${accountChips(account)}</div>
    <p class="muted">Judged ${time('ago', account.judgedAtMs)}.</p>
    <p class="notice" role="status" ?hidden=${!isGone}>${
      isGone ? `${name} is not open any more, as far as is known; its story remains.` : ''
    }</p>
    ${blind.length === 0 ? nothing : textLines(blind, 'blind')}
    ${subjectCard(account, subject, 'now')}
    ${position === undefined ? nothing : reduce}`;
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
  const own = /** @type {const} */ ([
    { ltv: line.liquidationLtv, name: 'liquidation', kind: 'harm' },
    { ltv: line.marginCallLtv, name: 'margin call', kind: 'exchange' },
  ]);
  return [...own, ...ruleLtvs(line)].flatMap(({ ltv: value, name, kind }) =>
    typeof value === 'number' ? [{ value, name, kind }] : [],
  );
}

/**
 * @param {import('../../core/view/account-view.ts').CreditLineLine | undefined} line
 * @param {import('./contract.d.ts').Drawn} deposit
 */
function cureTemplate(line, deposit) {
  const words = line === undefined ? [] : cureWords(line);
  const hint = 'Either one is enough. The daemon cannot repay or add collateral: this is for a person to do.';
  return section(
    'What cures it',
    words.length === 0
      ? html`<p class="muted">Nothing is needed to reach the targets of the rules.</p>`
      : html`${textLines(words, 'cures')}<p class="muted">${hint}</p>`,
    deposit,
  );
}
