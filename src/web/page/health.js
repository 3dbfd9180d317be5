import { levelChip } from './chips.js';
import { degradedWords } from './danger.js';
import { h, keyedList, setText, show } from './dom.js';
import { setTime, timeNode } from './time.js';

/** Whether the daemon itself is well: its checks, what works only in part, its queues. */

/** @typedef {import('./contract.d.ts').PageOverview} Overview */
/** @typedef {import('./contract.d.ts').QueueLine} QueueLine */

/** @type {Readonly<Record<string, string>>} */
const CHECKS = { redis: 'Redis', firstEvaluation: 'Every account judged', dataFresh: 'Data fresh' };

export function healthPart() {
  const checks = h('ul', { class: 'checks' });
  const queues = h('tbody');
  const table = h(
    'table',
    { class: 'queues' },
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['Queue', 'Waiting', 'Active', 'Failed', 'Oldest'].map((name) => h('th', { scope: 'col' }, name)),
      ),
    ),
    queues,
  );
  const about = h('p', { class: 'muted' });
  const started = timeNode('ago');
  const node = h('div', {}, checks, table, h('p', { class: 'muted' }, 'Started ', started, '.'), about);
  const setChecks = keyedList(checks, ({ name }) => name, checkLine);
  const setQueues = keyedList(queues, ({ queue }) => queue, queueRow);
  return {
    node,
    /** @param {Overview | null} overview */
    update(overview) {
      if (overview === null) return;
      setChecks([
        ...overview.health.checks,
        ...overview.degraded.map((name) => ({
          name: `degraded: ${name}`,
          ok: false,
          why: degradedWords(name),
        })),
      ]);
      show(table, overview.queues.length > 0);
      setQueues(overview.queues);
      setTime(started, overview.startedAtMs);
      setText(about, `Version ${overview.version}, instance ${overview.instance}`);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<Overview['health']['checks'][number]>} */
function checkLine() {
  const level = levelChip();
  const name = h('span');
  const why = h('span', { class: 'muted' });
  const node = h('li', {}, level.node, name, why);
  return {
    node,
    update(check) {
      level.update({ level: check.ok ? 'ok' : 'critical', words: check.ok ? 'Well' : 'Not well' });
      setText(name, CHECKS[check.name] ?? check.name);
      setText(why, check.why);
    },
  };
}

/** @returns {import('./contract.d.ts').Part<QueueLine>} */
function queueRow() {
  const name = h('th', { scope: 'row' });
  const cells = [h('td'), h('td'), h('td')];
  const oldest = timeNode('for');
  const age = h('td', {}, oldest);
  const node = h('tr', {}, name, ...cells, age);
  return {
    node,
    update({ queue, waiting, active, failed, oldestMs, isPaused }) {
      setText(name, isPaused ? `${queue} (paused)` : queue);
      for (const [index, count] of [waiting, active, failed].entries()) {
        const cell = cells[index];
        if (cell !== undefined) setText(cell, String(count));
      }
      show(oldest, oldestMs !== null);
      setTime(oldest, oldestMs);
    },
  };
}
