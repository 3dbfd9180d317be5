import { amount } from './format.js';

/** What is being done about a position, in words. Pure. */

/** @import { IntentLine, OrderLine } from '../../core/view/account-view.ts' */

/**
 * What a reader is told of intents and orders.
 * @param {readonly IntentLine[]} intents
 * @param {readonly OrderLine[]} orders
 * @returns {readonly DoingLine[]}
 */
export function doingLines(intents, orders) {
  return [...intents.map(intentWords), ...orders.map(orderWords)];
}

/**
 * @typedef {object} DoingLine
 * @property {string} key
 * @property {string} label
 * @property {string} words
 * @property {string} title
 * @property {number | null} sinceMs
 * @property {boolean} isOver
 */

/** @param {IntentLine} intent @returns {DoingLine} */
function intentWords({ key, ruleId, target, state, openedMs, ended, failures, market }) {
  const failed = failures > 0 ? `; ${failures} failed` : '';
  return {
    key: `intent ${key}`,
    label: ended ? 'Ended' : 'Intent',
    words: `${target}: ${state}${failed}`,
    title: `${ruleId} in ${market}`,
    sinceMs: openedMs,
    isOver: ended,
  };
}

/** @type {Readonly<Record<OrderLine['status'], string>>} */
const ORDER_STATES = {
  sending: 'being sent',
  open: 'open',
  unsure: 'not known whether it is open',
  presumedFilled: 'filled, as the position shows',
  observed: 'not sent: observed only, or waiting for approval',
};

/** @param {OrderLine} order @returns {DoingLine} */
function orderWords({ clientOrderId, role, side, amount: size, activationPrice, price, status, market }) {
  return {
    key: `order ${clientOrderId}`,
    label: role === 'cover' ? 'Standing stop' : 'Order',
    words: `${side} ${amount(size)} at ${amount(price)}, from ${amount(activationPrice)} on: ${ORDER_STATES[status]}`,
    title: `${clientOrderId} in ${market}`,
    sinceMs: null,
    isOver: status === 'presumedFilled',
  };
}
