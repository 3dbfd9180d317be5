import { thinBar } from './bar.js';
import { chip } from './chips.js';
import { LEVEL_WORDS, levelOfAccount } from './danger.js';
import { capital } from './format.js';
import { icon } from './icons.js';
import { html, nothing } from './lit-html/lit-html.js';
import { atRiskWords, doingWords, nearestWords, rowScale } from './row-words.js';
import { time } from './time.js';

/** One account in one line of the list. */

/** @import { AccountRow } from '../../core/lines/account-row.ts' */

/**
 * @param {AccountRow} row
 * @param {{ isOpen: boolean, card: import('./contract.d.ts').Drawn, isModeShown: boolean, onToggle: (accountId: string) => void }} options
 *   `card`: what is below it while it is open
 */
export function accountRow(row, { isOpen, card, isModeShown, onToggle }) {
  const { accountId, state, mode, labels } = row;
  const level = levelOfAccount(row);
  const words = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const doing = doingWords(row);
  const id = `card-${encodeURIComponent(accountId)}`;
  const nearest = nearestWords(row);
  return html`<li class="account" data-level=${level} ?data-open=${isOpen}>
    <div class="row" @click=${(/** @type {Event} */ event) => toggled(event, () => onToggle(accountId))}>
      <h3 class="row-name"><button type="button" class="row-toggle" aria-expanded=${isOpen} aria-controls=${isOpen ? id : nothing}
        ><span class="row-level" data-level=${level}>${icon(level)}<span class="visually-hidden">${LEVEL_WORDS[level]}: </span></span
        ><span class="row-id">${accountId}</span></button></h3>
      <span class="row-chips">${isModeShown && mode !== null ? chip({ text: mode, look: `mode-${mode}` }) : nothing}${
        words.length === 0 ? nothing : chip({ text: words.join(' '), look: 'label' })
      }</span>
      <p class="state-words"><span class="state-text">${capital(state.words)}${
        state.sinceMs === null
          ? nothing
          : html`<span class="muted">, for ${time('for', state.sinceMs)}</span>`
      }</span>${doing === '' ? nothing : html`<span class="row-doing">${doing}</span>`}</p>
      <div class="row-bar">${thinBar(rowScale(row), nearest)}<span class="row-nearest">${nearest}</span></div>
      <span class="row-worth">${atRiskWords(row)}</span>
    </div>
    ${isOpen ? html`<div class="row-card" id=${id}>${card}</div>` : nothing}
  </li>`;
}

/** Anywhere on the line counts, but not where somebody marks words. @param {Event} event @param {() => void} toggle */
function toggled({ target }, toggle) {
  const isButton = target instanceof Element && target.closest('button') !== null;
  if (isButton || getSelection()?.isCollapsed !== false) toggle();
}
