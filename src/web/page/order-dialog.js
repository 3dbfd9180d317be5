import { openForm } from './dialog.js';
import { reasonField, reasonOf, selectField, textField, textOf } from './form-fields.js';
import { textLines } from './layout.js';
import { html, nothing } from './lit-html/lit-html.js';
import { changeOrExplain, openChange, signature } from './signature.js';
import { positionTitle } from './subject-words.js';

/** Orders by hand: what is meant, then what it will do in the daemon's own words, then the order. */

/** @import { AccountView } from '../../core/view/account-view.ts' */
/** @import { OrderPreview } from './contract.d.ts' */

const EVERYTHING = 'everything';

/** What is asked for each way to reduce. @type {Readonly<Record<string, { label: string, ask: string, hint: string }>>} */
const WAYS = {
  close: { label: 'Close it', ask: '', hint: '' },
  by: { label: 'Take away a part of its size', ask: 'Part in percent', hint: 'Such as 50' },
  untilDistance: {
    label: 'Until liquidation is far enough away',
    ask: 'Distance in percent',
    hint: 'Such as 10',
  },
  toNotional: {
    label: 'To a worth that is left',
    ask: "Worth in the market's money",
    hint: 'Such as 5000',
  },
};

const URGENT = 'urgent';

/** When a full close closes. */
const WHEN = {
  name: 'when',
  label: 'When it closes',
  options: [
    { value: '', label: 'When the price moves against it' },
    { value: URGENT, label: 'Urgent: whichever way the price moves' },
  ],
  hint:
    'Urgent places a stop on either side of the price, each bounded by the slippage. ' +
    'Once one has closed the position, reduce-only leaves nothing for the other.',
};

/** @param {Pick<AccountView, 'accountId' | 'positions'>} account @param {string} [positionId] chosen at first */
export function openOrder({ accountId, positions }, positionId) {
  const who = signature();
  // The same for every try of this dialog: said twice it is done once.
  const key = randomKey();
  let chosen = positionId ?? positions[0]?.positionId ?? EVERYTHING;
  let way = 'close';
  const what = () =>
    selectField({
      name: 'what',
      label: 'What',
      value: chosen,
      options: [
        ...positions.map((position) => ({ value: position.positionId, label: positionTitle(position) })),
        { value: EVERYTHING, label: 'Close every open position' },
      ],
      onChange(value) {
        chosen = value;
        redraw();
      },
    });
  const { redraw } = openForm({
    title: `Reduce or close in ${accountId}`,
    text: 'Reduce-only stop orders, sent by the daemon with its next poll. You see the order before it is made.',
    fields: () => [
      what(),
      chosen === EVERYTHING ? nothing : wayFields(way, setWay),
      mayBeUrgent(positions, chosen, way) ? selectField(WHEN) : nothing,
      textField({ name: 'slippage', label: 'Slippage of each attempt, in percent', value: '0.5, 1, 2' }),
      reasonField(),
      who.fields(),
    ],
    action: 'Show the order',
    async send(given) {
      const order = orderOf(given, positions);
      const reason = reasonOf(given);
      const signed = who.sign(given);
      const path = `/accounts/${encodeURIComponent(accountId)}/orders`;
      /** @type {OrderPreview} */
      const preview = await changeOrExplain('POST', `${path}/preview`, { order });
      return {
        body: previewBody(preview),
        action: 'Order it',
        async send() {
          await changeOrExplain('POST', path, { order, reason, key, ...signed });
        },
      };
    },
  });
  /** @param {string} value */
  function setWay(value) {
    way = value;
    redraw();
  }
}

/** @param {string} way @param {(value: string) => void} onChange */
function wayFields(way, onChange) {
  const options = Object.entries(WAYS).map(([value, { label }]) => ({ value, label }));
  const { ask = '', hint = '' } = WAYS[way] ?? {};
  return [
    selectField({ name: 'way', label: 'How far', options, value: way, onChange }),
    textField({ name: 'much', label: ask, hint, inputmode: 'decimal', hidden: ask === '' }),
  ];
}

/**
 * Only a full close is, and it goes by market: of two positions in one market neither can be meant alone.
 * @param {AccountView['positions']} positions
 * @param {string} chosen
 * @param {string} way
 */
function mayBeUrgent(positions, chosen, way) {
  if (chosen === EVERYTHING) return true;
  const market = marketOf(positions, chosen);
  return way === 'close' && positions.filter((position) => position.market === market).length === 1;
}

/** @param {AccountView['positions']} positions @param {string} positionId */
function marketOf(positions, positionId) {
  return positions.find((position) => position.positionId === positionId)?.market;
}

/** @param {FormData} given @param {AccountView['positions']} positions */
function orderOf(given, positions) {
  const slippageSteps = textOf(given, 'slippage')
    .split(/[,;\s]+/)
    .filter((text) => text !== '' && text !== '%')
    .map((text) => fractionOf(text.replace(/%$/, ''), 'Slippage'));
  const positionId = textOf(given, 'what');
  const isUrgent = textOf(given, 'when') === URGENT;
  if (isUrgent || positionId === EVERYTHING) {
    const markets = positionId === EVERYTHING ? {} : { markets: [marketOf(positions, positionId)] };
    return { kind: 'flatten', slippageSteps, ...markets, ...(isUrgent ? { urgent: true } : {}) };
  }
  return {
    kind: 'reduce',
    positionId,
    slippageSteps,
    target: targetOf(textOf(given, 'way'), textOf(given, 'much')),
  };
}

/** @param {string} way @param {string} much */
function targetOf(way, much) {
  if (way === 'by') return { kind: way, fraction: fractionOf(much, 'Part') };
  if (way === 'untilDistance') return { kind: way, distance: fractionOf(much, 'Distance') };
  if (way === 'toNotional') return { kind: way, notional: much };
  return { kind: 'to', fraction: 0 };
}

/** @param {string} text in percent @param {string} what */
function fractionOf(text, what) {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`${what}: give a number in percent, such as 10.`);
  return Number((Number(text) / 100).toPrecision(12));
}

/** @param {OrderPreview} preview */
function previewBody({ plan, closesWhen, obstacles }) {
  return html`<dl class="plan">${plan.map(({ label, text }) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl>
    <p>${closesWhen}</p>
    ${obstacles.length === 0 ? nothing : textLines(obstacles, 'blind')}`;
}

/** @param {string} accountId @param {string} orderId */
export function openWithdraw(accountId, orderId) {
  openChange({
    title: `Withdraw the order ${orderId}`,
    text: 'Begun or not: it is taken back with the next poll, and orders that stand for it are cancelled.',
    action: 'Withdraw it',
    method: 'DELETE',
    path: `/accounts/${encodeURIComponent(accountId)}/orders/${encodeURIComponent(orderId)}`,
  });
}

/** Also where the page is not served securely. */
function randomKey() {
  return [...crypto.getRandomValues(new Uint8Array(8))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
