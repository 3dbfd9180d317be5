import { html } from './lit-html/lit-html.js';

/**
 * Shapes that differ from each other without their colour: an octagon, a triangle, a question mark in a square,
 * an hourglass, a circle, a tick. They only repeat what a word beside them says.
 */

/** @import { Level } from './contract.d.ts' */

/** @type {Readonly<Record<Level | 'pause' | 'silence', { solid: string, mark: string }>>} */
const SHAPES = {
  critical: { solid: 'M7 1h10l6 6v10l-6 6H7l-6-6V7z', mark: 'M12 6v7.5M12 17v.6' },
  warning: { solid: 'M12 1.5 23.2 22H.8z', mark: 'M12 8.5v6.5M12 18v.6' },
  unknown: { solid: 'M3 2h18v20H3z', mark: 'M8.8 9a3.2 3.2 0 1 1 4.6 2.9c-1 .5-1.4 1-1.4 2.2M12 17.4v.6' },
  pending: { solid: 'M4 1.5h16v4L14.5 12 20 18.5v4H4v-4L9.5 12 4 5.5z', mark: '' },
  info: { solid: 'M12 1a11 11 0 1 0 0 22 11 11 0 0 0 0-22z', mark: 'M12 11v6.5M12 6.5v.6' },
  ok: { solid: 'M12 1a11 11 0 1 0 0 22 11 11 0 0 0 0-22z', mark: 'm7 12.5 3.5 3.5L17 8.5' },
  pause: { solid: 'M3 2h18v20H3z', mark: 'M9 7.5v9M15 7.5v9' },
  silence: { solid: 'M12 1a11 11 0 1 0 0 22 11 11 0 0 0 0-22z', mark: 'M7 12h10' },
};

/** @param {keyof typeof SHAPES} name */
export function icon(name) {
  const { solid, mark } = SHAPES[name];
  return html`<svg viewBox="0 0 24 24" class="icon" aria-hidden="true" focusable="false"
    ><path d=${solid} class="icon-solid"></path><path d=${mark} class="icon-mark"></path
  ></svg>`;
}

const FAVICON = {
  critical: '#d3372b',
  warning: '#d98e04',
  unknown: '#7a8794',
  pending: '#7a8794',
  info: '#2f7fb8',
  ok: '#23875a',
};

/** Also the tab says it. @param {Level} level */
export function faviconOf(level) {
  const { solid, mark } = SHAPES[level];
  const text =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="${solid}" fill="${FAVICON[level]}"/>` +
    `<path d="${mark}" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(text)}`;
}
