import { chip, modeWords } from './chips.js';
import { openLift, openPause } from './controls.js';
import { verdictOf } from './danger.js';
import { h, keyedList, onChange, setAttribute, setText, show } from './dom.js';
import { listed } from './format.js';
import { drawIcon, faviconOf, icon } from './icons.js';
import { forget, kept, knownAs, onKeptChange } from './session.js';
import { themeSwitch } from './theme.js';
import { setTime, timeNode } from './time.js';

/** What is always in sight: how everything is, whether that is still true, and what holds actions back. */

/** @typedef {import('./contract.d.ts').PageState} PageState */
/** @typedef {import('./contract.d.ts').PauseLine} PauseLine */
/** @typedef {import('./contract.d.ts').SilenceLine} SilenceLine */

/** @param {{ retryNow: () => void, askReadToken: () => void }} deeds */
export function header(deeds) {
  const brand = h('a', { href: '/', class: 'brand' }, 'Breakwater');
  const mode = chip();
  const link = connectionChip();
  const pauseAll = h('button', { type: 'button', class: 'button' }, 'Pause actions');
  const forgetToken = h('button', { type: 'button', class: 'button button-quiet' }, 'Forget token');
  const stale = staleBanner(deeds);
  const pauses = h('ul', { class: 'banners', 'aria-label': 'Pauses and silences in force' });
  const verdict = verdictPart();
  const top = h(
    'div',
    { class: 'top' },
    brand,
    h('div', { class: 'top-state' }, mode.node, link.node),
    h('div', { class: 'top-buttons' }, pauseAll, forgetToken, themeSwitch()),
  );
  const node = h('header', { class: 'page-header' }, top, stale.node, verdict.node, pauses);
  const setPauses = keyedList(pauses, ({ control }) => control.id, controlBanner);
  pauseAll.addEventListener('click', () => openPause(null));
  const hasOwnToken = () => knownAs() !== null && kept('read') !== undefined;
  forgetToken.addEventListener('click', () => {
    forget('control');
    if (!hasOwnToken()) return;
    forget('read');
    location.reload();
  });
  const showForget = () => show(forgetToken, kept('control') !== undefined || hasOwnToken());
  onKeptChange(showForget);
  showForget();
  return {
    node,
    /** @param {PageState} state */
    update(state) {
      const { overview, connection } = state;
      link.update(connection);
      stale.update(connection);
      verdict.update(state);
      if (overview === null) return;
      mode.update(modeWords(overview.mode));
      pauseAll.disabled = !overview.may.control;
      setAttribute(
        pauseAll,
        'title',
        overview.may.control
          ? 'No order and no cancel is sent while paused'
          : 'Changing things from here is off: set web.controlToken, or web.users',
      );
      const mayLift = overview.may.control;
      setPauses([
        ...overview.pauses.map((control) => ({ control, kind: /** @type {const} */ ('pauses'), mayLift })),
        ...overview.silences.map((control) => ({
          control,
          kind: /** @type {const} */ ('silences'),
          mayLift,
        })),
      ]);
      show(pauses, overview.pauses.length + overview.silences.length > 0);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<PageState>} */
function verdictPart() {
  const shape = icon('unknown');
  const words = h('p', { class: 'verdict-words', role: 'status' }, 'Reading ...');
  const age = timeNode('ago');
  const ageLine = h('p', { class: 'muted verdict-age' });
  const node = h('div', { class: 'verdict' }, shape, h('div', {}, words, ageLine));
  const setAge = onChange((/** @type {string} */ text) => ageLine.replaceChildren(text, age));
  const setLevel = onChange((/** @type {import('./contract.d.ts').Level} */ level) => {
    drawIcon(shape, level);
    setAttribute(node, 'data-level', level);
    document.querySelector('link[rel="icon"]')?.setAttribute('href', faviconOf(level));
  });
  return {
    node,
    update({ overview, accounts, connection }) {
      if (overview === null) return;
      const views = [...accounts.values()];
      const { level, sentence } = verdictOf(overview);
      const isLive = connection.kind === 'live';
      setLevel(isLive || level === 'critical' ? level : 'unknown');
      setText(words, isLive ? sentence : `When last heard: ${sentence}`);
      const judged = views.map(({ judgedAtMs }) => judgedAtMs).filter((at) => at !== null);
      setAge(judged.length > 0 ? 'Oldest judgement shown: ' : 'As of ');
      setTime(age, judged.length > 0 ? Math.min(...judged) : overview.atMs);
    },
  };
}

function connectionChip() {
  const shape = icon('ok');
  const words = h('span');
  const node = h('span', { class: 'chip chip-level', role: 'status' }, shape, words);
  return {
    node,
    /** @param {import('./contract.d.ts').Connection} connection */
    update({ kind }) {
      const [level, text] = /** @type {const} */ ({
        live: ['ok', 'Live'],
        connecting: ['pending', 'Connecting'],
        lost: ['critical', 'Not live'],
        refused: ['unknown', 'Read token needed'],
      })[kind];
      drawIcon(shape, level);
      setAttribute(node, 'data-level', level);
      setText(words, text);
    },
  };
}

/** @param {{ retryNow: () => void, askReadToken: () => void }} deeds */
function staleBanner({ retryNow, askReadToken }) {
  const words = h('strong');
  const since = timeNode('for');
  const sinceWords = h('span', {}, ' It has been silent for ', since, '.');
  const next = timeNode('until');
  const nextWords = h('span', {}, ' Next try ', next, '.');
  const retry = h('button', { type: 'button', class: 'button' }, 'Try now');
  const ask = h('button', { type: 'button', class: 'button button-main' }, 'Enter the read token');
  const text = h('p', {}, words, sinceWords, nextWords);
  const node = h('div', { class: 'stale', role: 'alert', hidden: true }, icon('critical'), text, retry, ask);
  retry.addEventListener('click', retryNow);
  ask.addEventListener('click', askReadToken);
  return {
    node,
    /** @param {import('./contract.d.ts').Connection} connection */
    update(connection) {
      const { kind } = connection;
      const isLost = kind === 'lost';
      setAttribute(document.body, 'data-stale', isLost || kind === 'refused');
      show(node, isLost || kind === 'refused');
      show(retry, isLost);
      show(ask, kind === 'refused');
      show(nextWords, isLost);
      show(sinceWords, isLost && connection.lastByteMs !== null);
      if (kind === 'refused') setText(words, 'This daemon tells nothing without its read token.');
      if (!isLost) return;
      setText(
        words,
        `STALE: the live connection is lost (${connection.why}). What you see may no longer be true.`,
      );
      setTime(since, connection.lastByteMs);
      setTime(next, connection.retryAtMs);
    },
  };
}

/**
 * @typedef {{ control: PauseLine, kind: 'pauses', mayLift: boolean }
 *   | { control: SilenceLine, kind: 'silences', mayLift: boolean }} ControlLine
 */

/** @returns {import('./contract.d.ts').Part<ControlLine>} */
function controlBanner() {
  const shape = icon('pause');
  const what = h('strong');
  const why = h('span');
  const end = timeNode('until');
  const lift = h('button', { type: 'button', class: 'button' });
  const endWords = h('span', {}, ' Ends ', end, '.');
  const node = h('li', { class: 'banner' }, shape, h('p', {}, what, ' ', why, endWords), lift);
  /** @type {ControlLine | undefined} */
  let shown;
  lift.addEventListener('click', () => {
    if (shown !== undefined) openLift(shown.kind, shown.control.id, lift.textContent ?? '');
  });
  return {
    node,
    update(line) {
      shown = line;
      drawIcon(shape, line.kind === 'pauses' ? 'pause' : 'silence');
      setAttribute(node, 'data-kind', line.kind);
      const { accountId, author, reason, expiresAtMs } = line.control;
      const where = accountId ?? 'all accounts';
      if (line.kind === 'pauses') setText(what, `Actions of ${where} are paused.`);
      else
        setText(
          what,
          `Rule ${line.control.ruleId} is silent for ${listed([line.control.subject ?? 'everything'])} in ${where}.`,
        );
      setText(why, `${author}: ${reason}.`);
      show(endWords, expiresAtMs !== null);
      setTime(end, expiresAtMs);
      setText(
        lift,
        line.kind === 'pauses' ? `Resume ${where}` : `Lift the silence of ${line.control.ruleId}`,
      );
      lift.disabled = !line.mayLift;
    },
  };
}
