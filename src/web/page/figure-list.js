import { html, nothing } from './lit-html/lit-html.js';

/**
 * @typedef {object} FigureLine
 * @property {string} label
 * @property {string} text
 * @property {string} [title] said on hover
 * @property {'bad' | 'good'} [tone] besides what the text says
 * @property {boolean} [minor] left out where there is little room and nothing to fear
 */

/** A list of names and figures. @param {readonly FigureLine[]} lines */
export function figureList(lines) {
  return html`<dl class="figures">${lines.map(figure)}</dl>`;
}

/** @param {FigureLine} line */
function figure({ label, text, title, tone, minor }) {
  return html`<div class="figure" data-tone=${tone ?? nothing} ?data-minor=${minor === true}
    ><dt>${label}</dt><dd title=${title ?? nothing}>${text}</dd></div>`;
}
