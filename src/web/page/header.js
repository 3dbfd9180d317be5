import { levelChip, modeChip } from './chips.js';
import { openLift, openPause } from './controls.js';
import { verdictOf } from './danger.js';
import { faviconOf, icon } from './icons.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { forget, kept, knownAs } from './session.js';
import { themeSwitch } from './theme.js';
import { time } from './time.js';

/** What is always in sight: how everything is, whether that is still true, and what holds actions back. */

/** @import { PageState, PageOverview as Overview, Connection } from './contract.d.ts' */
/** @typedef {Overview['pauses'][number] | Overview['silences'][number]} ControlLine */

const MAY = 'No order and no cancel is sent while paused';
const OFF = 'Changing things from here is off: set web.controlToken, or web.users';

/** @param {PageState} state @param {{ retryNow: () => void, askReadToken: () => void, changed: () => void }} deeds */
export function header(state, deeds) {
  const { overview, connection } = state;
  const mayControl = overview?.may.control === true;
  return html`<header class="page-header">
    <div class="top">
      <a href="/" class="brand">Breakwater</a>
      <div class="top-state">${overview === null ? nothing : modeChip(overview.mode)}${connectionChip(connection)}</div>
      <div class="top-buttons">
        <button type="button" class="button" ?disabled=${overview !== null && !mayControl} title=${mayControl ? MAY : OFF}
          @click=${() => openPause(null)}>Pause actions</button>
        ${forgetButton()}${themeSwitch(deeds.changed)}
      </div>
    </div>
    ${staleBanner(connection, deeds)}${verdict(state)}${overview === null ? nothing : banners(overview)}
  </header>`;
}

function forgetButton() {
  const hasOwnToken = knownAs() !== null && kept('read') !== undefined;
  if (kept('control') === undefined && !hasOwnToken) return nothing;
  const forgotten = () => {
    forget('control');
    if (!hasOwnToken) return;
    forget('read');
    location.reload();
  };
  return html`<button type="button" class="button button-quiet" @click=${forgotten}>Forget token</button>`;
}

/** What the whole is called, and how grave it is. @param {Pick<PageState, 'overview' | 'connection'>} state */
export function verdictNow({ overview, connection }) {
  if (overview === null) return { level: /** @type {const} */ ('unknown'), sentence: 'Reading ...' };
  const { level, sentence } = verdictOf(overview);
  if (connection.kind === 'live') return { level, sentence };
  return {
    level: level === 'critical' ? level : /** @type {const} */ ('unknown'),
    sentence: `When last heard: ${sentence}`,
  };
}

/** The tab says it too. @param {PageState} state */
export function showFavicon(state) {
  const link = document.querySelector('link[rel="icon"]');
  const href = faviconOf(verdictNow(state).level);
  if (link?.getAttribute('href') !== href) link?.setAttribute('href', href);
}

/** @param {PageState} state */
function verdict(state) {
  const { overview } = state;
  const { level, sentence } = verdictNow(state);
  const oldest = overview?.oldestJudgedAtMs ?? null;
  const age =
    oldest === null
      ? html`As of ${time('ago', overview?.atMs ?? null)}`
      : html`Oldest judgement: ${time('ago', oldest)}`;
  return html`<div class="verdict" data-level=${level}>${icon(level)}
    <div><p class="verdict-words" role="status">${sentence}</p>
      <p class="muted verdict-age">${overview === null ? nothing : age}</p></div>
  </div>`;
}

/** @param {Connection} connection */
function connectionChip({ kind }) {
  const [level, text] = /** @type {const} */ ({
    live: ['ok', 'Live'],
    connecting: ['pending', 'Connecting'],
    lost: ['critical', 'Not live'],
    refused: ['unknown', 'Read token needed'],
  })[kind];
  return html`<span role="status">${levelChip(level, text)}</span>`;
}

/** @param {Connection} connection @param {{ retryNow: () => void, askReadToken: () => void }} deeds */
function staleBanner(connection, { retryNow, askReadToken }) {
  if (connection.kind === 'refused') {
    return html`<div class="stale" role="alert">${icon('critical')}
      <p><strong>This daemon tells nothing without its read token.</strong></p>
      <button type="button" class="button button-main" @click=${askReadToken}>Enter the read token</button></div>`;
  }
  if (connection.kind !== 'lost') return nothing;
  const { why, lastByteMs, retryAtMs } = connection;
  return html`<div class="stale" role="alert">${icon('critical')}
    <p><strong>STALE: the live connection is lost (${why}). What you see may no longer be true.</strong>${
      lastByteMs === null ? nothing : html`<span> It has been silent for ${time('for', lastByteMs)}.</span>`
    }<span> Next try ${time('until', retryAtMs)}.</span></p>
    <button type="button" class="button" @click=${retryNow}>Try now</button></div>`;
}

/** @param {Overview} overview */
function banners({ pauses, silences, may }) {
  const all = [...pauses, ...silences];
  if (all.length === 0) return nothing;
  const banner = (/** @type {ControlLine} */ control) => controlBanner(control, may.control);
  return html`<ul class="banners" aria-label="Pauses and silences in force">${repeat(all, ({ id }) => id, banner)}</ul>`;
}

/** @param {ControlLine} control @param {boolean} mayLift */
function controlBanner(control, mayLift) {
  const { id, accountId, author, reason, expiresAtMs } = control;
  const where = accountId ?? 'all accounts';
  const isPause = control.kind === 'pause';
  const what = isPause
    ? `Actions of ${where} are paused.`
    : `Rule ${control.ruleId} is silent for ${control.subject ?? 'everything'} in ${where}.`;
  const lift = isPause ? `Resume ${where}` : `Lift the silence of ${control.ruleId}`;
  const kind = isPause ? 'pauses' : 'silences';
  return html`<li class="banner" data-kind=${kind}>${icon(isPause ? 'pause' : 'silence')}
    <p><strong>${what}</strong> <span>${author}: ${reason}.</span>${
      expiresAtMs === null ? nothing : html`<span> Ends ${time('until', expiresAtMs)}.</span>`
    }</p>
    <button type="button" class="button" ?disabled=${!mayLift} @click=${() => openLift(kind, id, lift)}>${lift}</button></li>`;
}
