import { accountChips, accountDeeds, accountNotes, ordersByHand } from './account-card.js';
import { subjectsOf } from './account-words.js';
import { actionList } from './action-list.js';
import { levelChip } from './chips.js';
import { costPart, costResource } from './costs.js';
import { levelOfAccount } from './danger.js';
import { amount, capital } from './format.js';
import { breadcrumb, columns, section } from './layout.js';
import { doings } from './lines.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { openNotices } from './notices.js';
import { openQuestions } from './questions.js';
import { ruleTable } from './rule-table.js';
import { Story } from './story.js';
import { accountStress, stressResource } from './stress.js';
import { subjectCard } from './subject-card.js';
import { time } from './time.js';

/** Everything about one account. */

/** @import { AccountView } from '../../core/view/account-view.ts' */
/** @import { PageState, CostsReply, PageStress } from './contract.d.ts' */

const NOTHING = { control: false, operate: false, topUp: false };

/** @param {string} accountId @param {() => void} changed @returns {import('./contract.d.ts').PageView} */
export function accountView(accountId, changed) {
  const past = new Story(accountId, undefined, changed);
  const stress = stressResource(changed);
  const costs = costResource(accountId, changed);
  let heard = 0;
  return {
    title: `${accountId} - Breakwater`,
    wantsRows: false,
    watched: () => [accountId],
    template(state) {
      const news = state.happened.get(accountId) ?? 0;
      if (news !== heard) past.look();
      heard = news;
      return viewTemplate(accountId, state, { past, stress: stress.value, costs: costs.value });
    },
    refresh() {
      past.look();
      void stress.look();
    },
    close() {
      past.close();
      stress.close();
      costs.close();
    },
  };
}

/**
 * @param {string} accountId
 * @param {PageState} state
 * @param {{ past: Story, stress: PageStress | undefined, costs: CostsReply | undefined }} beside
 */
function viewTemplate(accountId, { accounts, overview, actions }, { past, stress, costs }) {
  const account = accounts.get(accountId);
  const may = overview?.may ?? NOTHING;
  const done = actions.filter((action) => action.accountId === accountId);
  const recent = section('Recent actions', actionList(done));
  if (account === undefined) {
    const now = [breadcrumb([]), html`<h1>${accountId}</h1><p class="muted">Reading ...</p>`];
    return columns({ now, side: recent, story: past.template() });
  }
  const { rules, judgedAtMs, nextDueAtMs, state: is } = account;
  const subjects = subjectsOf(account);
  const cards = repeat(
    subjects,
    ({ subject }) => subject,
    ({ subject }) => subjectCard(account, subject, 'h3'),
  );
  const none = html`<p class="muted">No position and no credit line.</p>`;
  return columns({
    now: [
      breadcrumb([]),
      html`<div class="page-title">${levelChip(levelOfAccount(account))}<h1>${accountId}</h1>${accountChips(account)}</div>
        <p class="muted">Judged ${time('ago', judgedAtMs)}, next ${time('until', nextDueAtMs)}.</p>
        <p class="state-words">${capital(is.words)}</p>${accountNotes(account)}${openQuestions(account, may)}${openNotices(
          account,
          may,
        )}${accountDeeds(account, may)}`,
      section(
        'Positions and credit lines',
        html`<div class="subjects">${cards}</div>${subjects.length === 0 ? none : nothing}`,
      ),
      section('Rules', ruleTable(accountId, rules, { withSubject: true, mayControl: may.control })),
    ],
    side: [
      section('Intents and orders', ordersTemplate(account, may)),
      recent,
      besideTemplate(accountStress(stress, accountId, 'h3'), costPart(costs, 'h3')),
      section('Data', sourceTable(account), balanceList(account)),
    ],
    story: past.template(),
  });
}

/** @param {AccountView} account @param {import('./contract.d.ts').PageOverview['may']} may */
function ordersTemplate(account, may) {
  const { intents, orders } = account;
  const idle = html`<p class="muted">No intent and no order of ours.</p>`;
  return html`${ordersByHand(account, may)}${doings(intents, orders, { ended: true })}${
    intents.length + orders.length === 0 ? idle : nothing
  }`;
}

/** @param {import('./contract.d.ts').Drawn} stress @param {import('./contract.d.ts').Drawn} costs */
function besideTemplate(stress, costs) {
  if (stress === nothing && costs === nothing) return nothing;
  return section('Stress and costs', stress, costs);
}

/** @param {AccountView} account */
function sourceTable({ sources }) {
  const heads = ['Read', 'Last good', 'State'].map((name) => html`<th scope="col">${name}</th>`);
  return html`<table><thead><tr>${heads}</tr></thead><tbody>${sources.map(sourceRow)}</tbody></table>`;
}

/** @param {AccountView['sources'][number]} source */
function sourceRow({ source, readAtMs, complete, setAside, tooOld }) {
  const words = [
    ...(tooOld ? ['too old'] : []),
    ...(complete ? [] : ['incomplete']),
    ...(setAside > 0 ? [`${setAside} set aside`] : []),
  ];
  return html`<tr><th scope="row">${source}</th><td>${time('ago', readAtMs)}</td
    ><td>${words.length === 0 ? 'good' : words.join(', ')}</td></tr>`;
}

/** @param {AccountView} account */
function balanceList({ balances }) {
  if (balances.length === 0) return nothing;
  return html`<ul class="balances">${balances.map(
    ({ asset, available }) => html`<li>${`${amount(available)}\u00a0${asset} available`}</li>`,
  )}</ul>`;
}
