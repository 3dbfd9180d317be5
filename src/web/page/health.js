import { levelChip } from './chips.js';
import { html, nothing } from './lit-html/lit-html.js';
import { time } from './time.js';

/** Whether the daemon itself is well: its checks, the exchange, what works only in part, its queues. */

/** @import { PageOverview as Overview, QueueLine } from './contract.d.ts' */

/** @type {Readonly<Record<string, string>>} */
const CHECKS = { redis: 'Redis', firstEvaluation: 'Every account judged', dataFresh: 'Data fresh' };
const HEADS = ['Queue', 'Waiting', 'Active', 'Failed', 'Oldest'];

/** @param {Overview | null} overview */
export function healthPart(overview) {
  if (overview === null) return html`<p class="muted">Reading ...</p>`;
  const { health, exchange, degraded, degradedWords, queues, startedAtMs, version, instance } = overview;
  const lines = [
    { name: 'Exchange', ok: exchange.ok, why: exchange.words },
    // The daemon may be ready without Redis, but then that is not well.
    ...health.checks.map(({ name, ok, why }) => ({
      name: CHECKS[name] ?? name,
      ok: ok && !degraded.includes(name),
      why,
    })),
    ...degraded
      .filter((part) => !health.checks.some(({ name }) => name === part))
      .map((part) => ({ name: 'Works in part', ok: false, why: degradedWords[part] ?? part })),
  ];
  return html`<ul class="checks">${lines.map(checkLine)}</ul>
    ${queues.length === 0 ? nothing : queueTable(queues)}
    <p class="muted">Started ${time('ago', startedAtMs)}.</p>
    <p class="muted">Version ${version}, instance ${instance}</p>`;
}

/** @param {{ name: string, ok: boolean | null, why: string }} check */
function checkLine({ name, ok, why }) {
  const chip =
    ok === null ? levelChip('unknown') : levelChip(ok ? 'ok' : 'critical', ok ? 'Well' : 'Not well');
  return html`<li>${chip} <span>${name}</span> <span class="muted">${why}</span></li>`;
}

/** @param {readonly QueueLine[]} queues */
function queueTable(queues) {
  return html`<table class="queues">
    <thead><tr>${HEADS.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${queues.map(queueRow)}</tbody>
  </table>`;
}

/** @param {QueueLine} line */
function queueRow({ queue, waiting, active, failed, oldestMs, isPaused }) {
  return html`<tr><th scope="row">${isPaused ? `${queue} (paused)` : queue}</th>
    <td>${waiting}</td><td>${active}</td><td>${failed}</td>
    <td>${oldestMs === null ? nothing : time('for', oldestMs)}</td></tr>`;
}
