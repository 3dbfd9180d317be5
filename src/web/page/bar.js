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
  const content = html`<div class="bar-track">${fill(scale.fill)}<div class="bar-ticks">${marks.map(tick)}</div></div>
    ${rows > 0 ? labels : nothing}
    <div class="bar-ends"><span class="bar-end">${scale.left}</span
      ><span class="bar-end bar-end-harm">${scale.right}</span></div>`;
  return meter(scale, scaleWords(scale, figure), 'bar', content);
}

/** The same without thresholds, in the one line of an account. @param {Pick<Scale, 'fill' | 'zone'>} scale @param {string} figure */
export function thinBar(scale, figure) {
  return meter(scale, figure, 'bar bar-thin', html`<div class="bar-track">${fill(scale.fill)}</div>`);
}

/**
 * With words for who cannot see it. A meter has to have a value: where none is known it is a picture.
 * @param {Pick<Scale, 'fill' | 'zone'>} scale
 * @param {string} words
 * @param {string} look
 * @param {import('./contract.d.ts').Drawn} content
 */
function meter({ fill: share, zone }, words, look, content) {
  if (share === null)
    return html`<div class=${look} role="img" data-zone=${zone} aria-label=${`${NAME}: ${words}`}>${content}</div>`;
  return html`<div class=${look} role="meter" aria-valuemin="0" aria-valuemax="100" data-zone=${zone}
    aria-valuenow=${percentOf(share)} aria-label=${NAME} aria-valuetext=${words}>${content}</div>`;
}

/** @param {number} share */
function percentOf(share) {
  return Math.round(share * 1_000) / 10;
}

/** @param {number | null} share null: not known */
function fill(share) {
  return html`<div class="bar-fill" .style=${`--fill: ${percentOf(share ?? 1)}%`}></div>`;
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
