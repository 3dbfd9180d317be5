import { nowMs } from './clock.js';
import { ago, localTime, longDuration, until, utcTime } from './format.js';
import { Directive, directive } from './lit-html/directive.js';
import { html, noChange } from './lit-html/lit-html.js';

/** Times that go on while one looks. */

/** @typedef {'ago' | 'until' | 'for' | 'clock'} TimeForm `for`: how long since; `clock`: the time of day */

/** Puts a moment into a `time` element, whose text is brought up to date every second. */
class Ticking extends Directive {
  /** @param {TimeForm} _form @param {number | null} _atMs */
  render(_form, _atMs) {
    return noChange;
  }

  /**
   * @param {import('./lit-html/directive.js').Part} part
   * @param {[TimeForm, number | null]} values
   * @override
   */
  update(part, [form, atMs]) {
    const { element } = /** @type {import('./lit-html/directive.js').ElementPart} */ (part);
    const node = /** @type {HTMLTimeElement} */ (element);
    const at = atMs === null ? undefined : String(atMs);
    if (node.dataset['form'] === form && node.dataset['at'] === at) return noChange;
    node.dataset['form'] = form;
    if (atMs === null) {
      for (const name of ['data-at', 'datetime', 'title']) node.removeAttribute(name);
    } else {
      node.dataset['at'] = String(atMs);
      node.dateTime = new Date(atMs).toISOString();
      node.title = utcTime(atMs);
    }
    tell(node);
    return noChange;
  }
}

const ticking = directive(Ticking);

/** @param {TimeForm} form @param {number | null} atMs null: it is not known */
export function time(form, atMs) {
  return html`<time ${ticking(form, atMs)}></time>`;
}

/** @param {HTMLTimeElement} node */
function tell(node) {
  const text = textOf(node.dataset);
  if (node.textContent !== text) node.textContent = text;
}

/** @param {DOMStringMap} data */
function textOf(data) {
  const at = data['at'];
  if (at === undefined) return 'never';
  const [atMs, now] = [Number(at), nowMs()];
  if (data['form'] === 'ago') return ago(atMs, now);
  if (data['form'] === 'until') return until(atMs, now);
  return data['form'] === 'for' ? longDuration(now - atMs) : localTime(atMs, now);
}

export function startTicking() {
  setInterval(() => {
    if (document.hidden) return;
    for (const node of document.querySelectorAll('time[data-at]'))
      tell(/** @type {HTMLTimeElement} */ (node));
  }, 1_000);
}
