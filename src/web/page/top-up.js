import { get } from './api.js';
import { openForm } from './dialog.js';
import { selectField, textField, textOf } from './form-fields.js';
import { html, nothing } from './lit-html/lit-html.js';
import { changeOrExplain, signature } from './signature.js';

/**
 * A link at which money is paid in. It is good for one use and opened by whoever pays, with a Referer header, as
 * the card provider demands (specification 4.1).
 */

/** @import { TopUpOffer, TopUpLink } from './contract.d.ts' */

/** @param {string} accountId @param {string} subject @param {() => void} onChange */
export function topUp(accountId, subject, onChange) {
  /** @type {TopUpLink | undefined} */
  let made;
  /** @param {TopUpLink} link */
  const onLink = (link) => {
    made = link;
    onChange();
  };
  const ask = async () => openTopUp({ accountId, subject, offer: await offerOf(accountId), onLink });
  /** @param {boolean} isOffered */
  return (isOffered) => {
    if (!isOffered) return nothing;
    return html`<div>
      <button type="button" class="button button-main" @click=${() => void ask()}>Make a deposit link</button>
      <div class="deposit" aria-live="polite">${made === undefined ? nothing : linkTemplate(made)}</div>
    </div>`;
  };
}

/** Bounds and currencies; without an answer the server judges what is typed. @param {string} accountId @returns {Promise<TopUpOffer | null>} */
async function offerOf(accountId) {
  try {
    /** @type {{ offer: TopUpOffer | null }} */
    const reply = await get(`/accounts/${encodeURIComponent(accountId)}/top-ups`);
    return reply.offer;
  } catch {
    return null;
  }
}

/** @param {{ accountId: string, subject: string, offer: TopUpOffer | null, onLink: (link: TopUpLink) => void }} options */
function openTopUp({ accountId, subject, offer, onLink }) {
  const tickers = offer?.tickers ?? [];
  const options = tickers.map((name) => ({ value: name, label: name }));
  const amount = {
    name: 'amount',
    label: 'Amount',
    hint: boundsWords(offer),
    inputmode: /** @type {const} */ ('decimal'),
    pattern: '\\d+(\\.\\d+)?',
  };
  const who = signature();
  openForm({
    title: 'Make a deposit link',
    text: 'A fresh link is made with the exchange. Nothing is paid before you pay at the page that it opens.',
    fields: () => [
      textField(amount),
      options.length > 0 ? selectField({ name: 'ticker', label: 'Currency', options }) : nothing,
      who.fields(),
    ],
    action: 'Make the link',
    async send(given) {
      const ticker = options.length > 0 ? { ticker: textOf(given, 'ticker') } : {};
      const body = { subject, amount: textOf(given, 'amount'), ...ticker, ...who.sign(given) };
      /** @type {TopUpLink} */
      const link = await changeOrExplain('POST', `/accounts/${encodeURIComponent(accountId)}/top-ups`, body);
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
function linkTemplate({ url, uniqueId }) {
  return html`<p><a href=${url} target="_blank" rel="noopener" referrerpolicy="origin" class="button button-main"
    >Open the deposit page (new tab)</a
    ><span class="muted"> At ${new URL(url).host}, id ${uniqueId}. Good for one use; it is not kept here.</span></p>`;
}
