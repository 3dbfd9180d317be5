import { openForm } from './dialog.js';
import { reasonField, reasonOf } from './form-fields.js';
import { amount } from './format.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { mayControl } from './session.js';
import { changeOrExplain, signature } from './signature.js';
import { time } from './time.js';

/** What people are asked before a rule acts, and their answer. */

/** @import { AccountView, QuestionLine, OrderLine } from '../../core/view/account-view.ts' */
/** @typedef {import('./contract.d.ts').PageOverview['may']} May */

/** What can be answered now, and what has been. @param {Pick<AccountView, 'accountId' | 'questions'>} account @param {May} may */
export function openQuestions({ accountId, questions }, may) {
  const isAnswered = (/** @type {QuestionLine} */ { state, answer }) =>
    answer !== null && (state === 'approved' || state === 'vetoed');
  const shown = questions.filter((question) => question.answerable || isAnswered(question));
  if (shown.length === 0) return nothing;
  const line = (/** @type {QuestionLine} */ question) => {
    const { reference, ruleId, answerable, answer } = question;
    if (!answerable) return html`<li class="doing"><b class="id">${ruleId}</b> ${answerWords(answer)}</li>`;
    const button = (/** @type {'approve' | 'veto'} */ decision) =>
      html`<button type="button" class="button button-small" aria-label=${`${LABELS[decision]} ${ruleId}, ${reference}`}
        @click=${() => openAnswer(accountId, question, decision)}>${LABELS[decision]}</button>`;
    return html`<li class="doing"><b class="id">${ruleId}</b> <span>${linesOf(question).join('; ')}</span>
      <span class="muted">${deadline(question)}</span>
      ${mayControl(may) ? [button('approve'), button('veto')] : nothing}</li>`;
  };
  return html`<ul class="doings" aria-label="Waiting for approval">${repeat(shown, ({ reference }) => reference, line)}</ul>`;
}

/** @param {QuestionLine['answer']} answer */
function answerWords(answer) {
  if (answer === null) return nothing;
  const { author, decision, reason, atMs } = answer;
  return html`<span>${author} ${decision === 'approve' ? 'approved' : 'vetoed'} it ${time('ago', atMs)}: ${reason}</span>`;
}

const LABELS = { approve: 'Approve', veto: 'Veto' };

const MEANING = {
  approve: 'The target is approved, not the prices: an order is priced anew when it is sent.',
  veto: 'It does not act then. A later stage, or liquidation clearly nearer, asks again; a margin call acts.',
};

/** The orders as they would be sent now; where none can be shaped, what is aimed at. @param {QuestionLine} question */
function linesOf({ orders, targets }) {
  if (orders.length > 0) return orders.map(orderLine);
  return targets.map(
    ({ market, sizeBase, targetBase }) =>
      `reduce ${market} from ${amount(sizeBase)} to ${amount(targetBase)}`,
  );
}

/** @param {OrderLine} order */
function orderLine({ side, amount: size, market, activationPrice, price }) {
  const when = side === 'sell' ? 'or less' : 'or more';
  return `${side} ${amount(size)} ${market} once the price is ${amount(activationPrice)} ${when}, limit ${amount(price)}`;
}

/** @param {QuestionLine} question */
function deadline({ state, untilMs, withoutAnswer }) {
  if (state !== 'waiting') return 'nobody answered in time; it does not act';
  return html`without an answer it ${withoutAnswer === 'act' ? 'acts' : 'does not act'} at ${time('clock', untilMs)}`;
}

/** @param {string} accountId @param {QuestionLine} question @param {'approve' | 'veto'} decision */
function openAnswer(accountId, question, decision) {
  const who = signature();
  const { reference, ruleId } = question;
  openForm({
    title: `${LABELS[decision]} ${ruleId} in ${accountId}`,
    text: MEANING[decision],
    fields: () => [reasonField(), who.fields()],
    action: 'Show what it is about',
    async send(given) {
      const body = { reference, decision, reason: reasonOf(given), ...who.sign(given) };
      return {
        body: confirmationBody(question),
        action: LABELS[decision],
        async send() {
          await changeOrExplain('POST', `/accounts/${encodeURIComponent(accountId)}/answers`, body);
        },
      };
    },
  });
}

/** @param {QuestionLine} question */
function confirmationBody(question) {
  const { orders, targets, subject } = question;
  const left = targets.map(
    ({ market, sizeBase, targetBase }) =>
      html`<div><dt>${market}</dt><dd>at most ${amount(targetBase)} of ${amount(sizeBase)} is left</dd></div>`,
  );
  return html`<dl class="plan"><div><dt>for</dt><dd>${subject}</dd></div>
    ${orders.map((order) => html`<div><dt>would send</dt><dd>${orderLine(order)}</dd></div>`)}${left}</dl>
    <p>${deadline(question)}</p>`;
}
