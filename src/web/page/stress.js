import { get, wordsOf } from './api.js';
import { levelChip } from './chips.js';
import { h, keyedList, setAttribute, setText, show } from './dom.js';
import { counted, percent } from './format.js';
import { section } from './layout.js';
import { setTime, timeNode } from './time.js';

/** What crashes would do if they came now: the newest stress test on a schedule. Hidden without a schedule. */

/** @typedef {import('./contract.d.ts').PageStress} PageStress */
/** @typedef {NonNullable<NonNullable<PageStress['stored']>['result']>} Result */
/** @typedef {Result['cases'][number]} StressCase */

const LOOK_EVERY_MS = 60_000;

export function stressPart() {
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true });
  const about = h('p', { class: 'muted' });
  const cases = h('ul', { class: 'stress-cases' });
  const leftOut = leftOutPart();
  const played = timeNode('ago');
  const next = timeNode('until');
  const age = h('p', { class: 'muted' }, 'Played ', played, ', again ', next, '.');
  const node = section('If it came now', trouble, about, cases, leftOut.node, age);
  node.classList.add('stress');
  show(node, false);
  const setCases = keyedList(cases, ({ one }) => `${one.scenario} ${one.conditions}`, caseLine);
  let isClosed = false;

  /** @param {PageStress} status */
  function update({ scheduled, stored }) {
    show(node, scheduled);
    const result = stored?.result ?? null;
    setText(about, aboutWords(stored));
    setCases((result?.cases ?? []).map((one) => ({ one, accounts: result?.accounts ?? 0 })));
    leftOut.update(result);
    show(age, result !== null);
    setTime(played, result?.atMs ?? null);
    setTime(next, stored?.nextAtMs ?? null);
    const { lastRun } = stored ?? {};
    show(trouble, lastRun !== undefined && lastRun.outcome !== 'complete');
    if (lastRun?.outcome === 'failed') setText(trouble, `The newest stress test failed: ${lastRun.words}.`);
    if (lastRun?.outcome === 'partial') setText(trouble, `Not complete: ${lastRun.words}.`);
  }

  async function read() {
    try {
      /** @type {PageStress} */
      const status = await get('/stress');
      if (!isClosed) update(status);
    } catch (error) {
      // Without an answer what was shown stays: its age is beside it.
      if (!node.hidden) {
        setText(trouble, `The stress test could not be read: ${wordsOf(error)}.`);
        show(trouble, true);
      }
    }
  }

  void read();
  const timer = setInterval(() => {
    if (!document.hidden) void read();
  }, LOOK_EVERY_MS);
  return {
    node,
    refresh: () => void read(),
    close() {
      isClosed = true;
      clearInterval(timer);
    },
  };
}

/** @param {PageStress['stored']} stored */
function aboutWords(stored) {
  if (stored === null) return 'A stress test is scheduled; none has run yet.';
  if (stored.result === null) return '';
  const { accounts } = stored.result;
  return accounts === 0
    ? 'No account held a position.'
    : `What crashes would do to ${counted(accounts, 'account')} as the positions were.`;
}

/** @returns {import('./contract.d.ts').Part<{ one: StressCase, accounts: number }>} */
function caseLine() {
  const level = levelChip();
  const title = h('strong');
  const words = h('p');
  const node = h('li', {}, h('div', { class: 'stress-head' }, title, level.node), words);
  return {
    node,
    update({ one, accounts }) {
      setText(title, one.conditions === 'crash' ? one.title : `${one.title}, exchange ${one.conditions}`);
      setAttribute(node, 'title', one.about);
      level.update(verdictOf(one));
      setText(words, caseWords(one, accounts));
    },
  };
}

/** @param {StressCase} one @returns {{ level: import('./contract.d.ts').Level, words: string }} */
function verdictOf({ liquidatedWith, liquidatedWithout }) {
  if (liquidatedWith > 0) return { level: 'critical', words: 'Liquidates' };
  return liquidatedWithout > 0 ? { level: 'ok', words: 'Rules hold' } : { level: 'ok', words: 'Harmless' };
}

/** @param {StressCase} one @param {number} accounts */
function caseWords({ liquidatedWithout, liquidatedWith, keptWithout, keptWith }, accounts) {
  return (
    `${liquidatedWithout} of ${accounts} liquidated, ${costWords(keptWithout)}; ` +
    `with these rules ${liquidatedWith}, ${costWords(keptWith)} of equity`
  );
}

/** @param {number} kept */
function costWords(kept) {
  return kept > 1 ? `gain ${percent(kept - 1)}` : `cost ${percent(1 - kept)}`;
}

/** @returns {import('./contract.d.ts').Part<Result | null>} */
function leftOutPart() {
  const summary = h('summary');
  const list = h('ul');
  const node = h('details', { hidden: true }, summary, list);
  return {
    node,
    update(result) {
      const count = result?.leftOutCount ?? 0;
      show(node, count > 0);
      if (result === null || count === 0) return;
      setText(summary, `${count} left out`);
      const more = count - result.leftOut.length;
      const sentences = more > 0 ? [...result.leftOut, `And ${more} more.`] : result.leftOut;
      list.replaceChildren(...sentences.map((sentence) => h('li', {}, sentence)));
    },
  };
}
