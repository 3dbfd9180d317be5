import { h, setAttribute, setText } from './dom.js';
import { ago, localTime, longDuration, until, utcTime } from './format.js';

/**
 * Times that go on while one looks. They are told by the server's clock: that of a phone may be wrong by hours.
 */

let skewMs = 0;

/** @param {number} serverMs the server's time, just received */
export function setServerTime(serverMs) {
  const next = serverMs - Date.now();
  // What a message takes to arrive is not worth a jump of every age on the page.
  if (Math.abs(next - skewMs) > 2_000 || skewMs === 0) skewMs = next;
}

export function nowMs() {
  return Date.now() + skewMs;
}

/** @typedef {'ago' | 'until' | 'for' | 'clock'} TimeForm `for`: how long since; `clock`: the time of day */

/**
 * @param {TimeForm} form
 * @param {number | null} [atMs]
 */
export function timeNode(form, atMs = null) {
  const node = h('time', { 'data-form': form });
  setTime(node, atMs);
  return node;
}

/**
 * @param {HTMLTimeElement} node
 * @param {number | null} atMs null: it is not known
 */
export function setTime(node, atMs) {
  setAttribute(node, 'data-at', atMs);
  setAttribute(node, 'datetime', atMs === null ? null : new Date(atMs).toISOString());
  setAttribute(node, 'title', atMs === null ? null : utcTime(atMs));
  tell(node);
}

/** @param {HTMLTimeElement} node */
function tell(node) {
  const at = node.dataset['at'];
  if (at === undefined) return setText(node, 'never');
  const atMs = Number(at);
  const now = nowMs();
  if (node.dataset['form'] === 'ago') setText(node, ago(atMs, now));
  else if (node.dataset['form'] === 'until') setText(node, until(atMs, now));
  else if (node.dataset['form'] === 'for') setText(node, longDuration(now - atMs));
  else setText(node, localTime(atMs, now));
}

export function startTicking() {
  setInterval(() => {
    if (document.hidden) return;
    for (const node of document.querySelectorAll('time[data-at]'))
      tell(/** @type {HTMLTimeElement} */ (node));
  }, 1_000);
}
