import { counted, money } from './format.js';
import { heading } from './layout.js';
import { html, nothing } from './lit-html/lit-html.js';

/** What protection cost and kept lately, by money currency. */

/** @typedef {import('./contract.d.ts').CostsReply} CostsReply */
/** @typedef {CostsReply['totals'][number]} CostTotal */

/** @param {CostsReply | undefined} costs undefined: not read @param {'h3' | 'h4'} level of its heading */
export function costPart(costs, level) {
  if (costs === undefined || costs.totals.length === 0) return nothing;
  const since = costs.isComplete ? '' : ' Older orders are not in it.';
  return html`<div class="costs">${heading(level, 'Price of protection, last 30 days')}
    <ul>${costs.totals.map((total) => html`<li>${costWords(total)}</li>`)}</ul>
    ${since === '' ? nothing : html`<p class="muted">${since}</p>`}</div>`;
}

/** `USDT: 2 orders cost 50.00 by slippage and 29.95 in fees; within the hour 500.00 was kept.` @param {CostTotal} total */
export function costWords({ money: currency, orders, slippage, fees, kept, averted }) {
  const hour = kept.known < 0 ? 'given up' : 'kept';
  const unknown = Math.max(slippage.unknown, fees.unknown, kept.unknown);
  const aside = unknown === 0 ? '' : ` Not all is known of ${counted(unknown, 'order')}.`;
  const saved =
    averted === 0 ? '' : ` After ${counted(averted, 'order')} the price passed the liquidation price.`;
  return (
    `${currency}: ${counted(orders, 'order')} cost ${money(slippage.known)} by slippage and ${money(fees.known)} in fees; ` +
    `within the hour after, ${money(Math.abs(kept.known))} was ${hour}.${saved}${aside}`
  );
}
