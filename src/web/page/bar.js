import { html, nothing } from './lit-html/lit-html.js';
import { labelName, scaleWords, sideOf } from './scale.js';

/**
 * The bar of a position or a credit line: how much of the way to liquidation is used up, and where the rules'
 * thresholds lie. A passed threshold shows in colour, in the pattern of the bar and in words beside it.
 */

/** @import { Scale, Mark } from './scale.js' */

const NAME = 'Way to liquidation that is used up';

/** @param {Scale} scale @param {string} figure */
export function bar(scale, figure) {
  const { marks } = scale;
  const rows = Math.max(0, ...marks.map(({ row }) => row + 1));
  const labels = html`<div class="bar-labels" .style=${`--rows: ${rows}`}>${marks.map(label)}</div>`;
  const { role, min, max, now, name, text } = saidOf(scale.fill, scaleWords(scale, figure));
  return html`<div class="bar" role=${role} aria-valuemin=${min} aria-valuemax=${max} data-zone=${scale.zone}
      aria-valuenow=${now} aria-label=${name} aria-valuetext=${text}>
    <div class="bar-track">${fill(scale.fill)}<div class="bar-ticks">${marks.map(tick)}</div></div>
    ${rows > 0 ? labels : nothing}
    <div class="bar-ends"><span class="bar-end">${scale.left}</span
      ><span class="bar-end bar-end-harm">${scale.right}</span></div>
  </div>`;
}

/** The same without thresholds, in the one line of an account. @param {Pick<Scale, 'fill' | 'zone'>} scale @param {string} figure */
export function thinBar(scale, figure) {
  const { role, min, max, now, name, text } = saidOf(scale.fill, figure);
  return html`<div class="bar bar-thin" role=${role} aria-valuemin=${min} aria-valuemax=${max} data-zone=${scale.zone}
      aria-valuenow=${now} aria-label=${name} aria-valuetext=${text}>
    <div class="bar-track">${fill(scale.fill)}</div>
  </div>`;
}

/** For who cannot see it. A meter has to have a value: where none is known it is a picture. @param {number | null} share @param {string} words */
function saidOf(share, words) {
  const none = { min: nothing, max: nothing, now: nothing, text: nothing };
  if (share === null) return { ...none, role: 'img', name: `${NAME}: ${words}` };
  return { role: 'meter', min: 0, max: 100, now: percentOf(share), name: NAME, text: words };
}

/** @param {number | null} share null: not known */
function percentOf(share) {
  return share === null ? undefined : Math.round(share * 1_000) / 10;
}

/** @param {number | null} share */
function fill(share) {
  return html`<div class="bar-fill" .style=${`--fill: ${percentOf(share) ?? 100}%`}></div>`;
}

/** @param {Mark} mark */
function placeOf({ at, row }) {
  return `--at: ${at * 100}%; --row: ${row}`;
}

/** @param {Mark} mark */
function tick(mark) {
  return html`<i class="bar-tick" .style=${placeOf(mark)} data-kind=${mark.kind} data-side=${sideOf(mark.at)}
    title=${`${mark.name}: ${mark.label}`}></i>`;
}

/** @param {Mark} mark */
function label(mark) {
  return html`<span class="bar-label" .style=${placeOf(mark)} data-kind=${mark.kind} data-side=${sideOf(mark.at)}
    title=${`${mark.name}: ${mark.label}`}><b>${mark.label}</b> <span class="bar-label-name">${labelName(mark.name)}</span></span>`;
}
