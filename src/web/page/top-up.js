import { get, segment } from './api.js';
import { changeOrExplain, field, openForm, signature } from './dialog.js';
import { h, show } from './dom.js';

/**
 * A link at which money is paid in. It is good for one use and opened by whoever pays, with a Referer header, as
 * the card provider demands (specification 4.1).
 */

/** @typedef {import('./contract.d.ts').TopUpOffer} TopUpOffer */
/** @typedef {import('./contract.d.ts').TopUpLink} TopUpLink */

/** @param {string} accountId @param {string} subject */
export function topUp(accountId, subject) {
  const open = h('button', { type: 'button', class: 'button button-main' }, 'Make a deposit link');
  const place = h('div', { class: 'deposit', 'aria-live': 'polite' });
  const node = h('div', { hidden: true }, open, place);
  const ask = async () => {
    const offer = await offerOf(accountId);
    openTopUp({ accountId, subject, offer, onLink: (link) => place.replaceChildren(linkNode(link)) });
  };
  open.addEventListener('click', () => void ask());
  return {
    node,
    /** @param {boolean} isOffered */
    update(isOffered) {
      show(node, isOffered);
    },
  };
}

/** Bounds and currencies; without an answer the server judges what is typed. @param {string} accountId @returns {Promise<TopUpOffer | null>} */
async function offerOf(accountId) {
  try {
    /** @type {{ offer: TopUpOffer | null }} */
    const reply = await get(`/accounts/${segment(accountId)}/top-ups`);
    return reply.offer;
  } catch {
    return null;
  }
}

/** @param {{ accountId: string, subject: string, offer: TopUpOffer | null, onLink: (link: TopUpLink) => void }} options */
function openTopUp({ accountId, subject, offer, onLink }) {
  const amount = h('input', {
    name: 'amount',
    required: true,
    inputmode: 'decimal',
    pattern: '\\d+(\\.\\d+)?',
  });
  const tickers = offer?.tickers ?? [];
  const ticker = h(
    'select',
    { name: 'ticker' },
    ...tickers.map((name) => h('option', { value: name }, name)),
  );
  const who = signature();
  openForm({
    title: 'Make a deposit link',
    text: 'A fresh link is made with the exchange. Nothing is paid before you pay at the page that it opens.',
    fields: [
      field('Amount', amount, boundsWords(offer)),
      ...(tickers.length > 0 ? [field('Currency', ticker)] : []),
      ...who.fields,
    ],
    action: 'Make the link',
    onTrouble: who.arrange,
    async send() {
      const body = {
        subject,
        amount: amount.value.trim(),
        ...(tickers.length > 0 ? { ticker: ticker.value } : {}),
      };
      /** @type {TopUpLink} */
      const link = await changeOrExplain('POST', `/accounts/${segment(accountId)}/top-ups`, {
        ...body,
        ...who.sign(),
      });
      if (!isWebAddress(link.url)) throw new Error('The link that came is no web address; it is not shown.');
      onLink(link);
    },
  });
}

/** @param {TopUpOffer | null} offer */
function boundsWords(offer) {
  const low = offer?.minAmount ?? null;
  const high = offer?.maxAmount ?? null;
  if (low !== null && high !== null) return `From ${low} to ${high}`;
  if (low !== null) return `At least ${low}`;
  return high === null ? 'As a decimal, such as 250.00' : `At most ${high}`;
}

/** Never `javascript:` or the like, whatever the exchange answered. @param {string} url */
function isWebAddress(url) {
  return URL.canParse(url) && ['https:', 'http:'].includes(new URL(url).protocol);
}

/** @param {TopUpLink} link */
function linkNode({ url, uniqueId }) {
  const link = h(
    'a',
    { href: url, target: '_blank', rel: 'noopener', referrerpolicy: 'origin', class: 'button button-main' },
    'Open the deposit page (new tab)',
  );
  return h(
    'p',
    {},
    link,
    h(
      'span',
      { class: 'muted' },
      ` At ${new URL(url).host}, id ${uniqueId}. Good for one use; it is not kept here.`,
    ),
  );
}
