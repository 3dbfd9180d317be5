import { get, wordsOf } from './api.js';
import { nowMs } from './clock.js';
import { counted, percent, shortPercent } from './format.js';
import uPlot from './uplot.js';

/**
 * The curve of the last hour, with the thresholds as lines. What it shows is also said in words, as a canvas says
 * nothing to who does not see it.
 */

/**
 * @typedef {object} Line
 * @property {number} value
 * @property {string} name
 * @property {'critical' | 'warning' | 'info' | 'exchange' | 'harm'} kind
 */

/**
 * @typedef {object} CurveOptions
 * @property {string} accountId
 * @property {string} subject
 * @property {string} field `liquidationDistance`, `currentLtv`
 * @property {string} label
 */

const HOUR_MS = 3_600_000;
const HEIGHT = 260;

/** A node of its own: what draws on a canvas is told when something has changed. */
export class Curve {
  node = document.createElement('figure');
  #options;
  #canvas = document.createElement('div');
  #words = document.createElement('p');
  /** @type {{ atMs: number, value: number | null }[]} */
  #points = [];
  /** @type {readonly Line[]} */
  #lines = [];
  /** @type {uPlot | undefined} */
  #plot;
  #resize = new ResizeObserver(() => {
    const width = this.#canvas.clientWidth;
    if (this.#plot === undefined) this.#draw();
    else if (width > 0) this.#plot.setSize({ width, height: HEIGHT });
  });
  #dark = matchMedia('(prefers-color-scheme: dark)');
  #recolour = () => this.#plot?.redraw(false, true);

  /** @param {CurveOptions} options */
  constructor(options) {
    this.#options = options;
    this.node.className = 'curve-frame';
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', options.label);
    this.#canvas.className = 'curve';
    this.#words.className = 'muted curve-words';
    this.node.append(this.#canvas, this.#words);
    this.#resize.observe(this.#canvas);
    this.#dark.addEventListener('change', this.#recolour);
    document.addEventListener('themechange', this.#recolour);
    void this.#read();
  }

  refresh() {
    void this.#read();
  }

  /**
   * A figure as it is now; earlier ones are not drawn again.
   * @param {number | null} atMs
   * @param {number | 'none' | null} value
   * @param {readonly Line[]} thresholds
   */
  add(atMs, value, thresholds) {
    const isNew = JSON.stringify(thresholds) !== JSON.stringify(this.#lines);
    this.#lines = thresholds;
    const last = this.#points.at(-1)?.atMs ?? 0;
    if (atMs !== null && atMs > last)
      this.#points.push({ atMs, value: typeof value === 'number' ? value : null });
    else if (!isNew) return;
    this.#draw();
  }

  close() {
    this.#resize.disconnect();
    this.#dark.removeEventListener('change', this.#recolour);
    document.removeEventListener('themechange', this.#recolour);
    this.#plot?.destroy();
  }

  async #read() {
    const { accountId, subject, field } = this.#options;
    try {
      /** @type {{ points: readonly import('../../core/ports/history-reader.ts').HistoryPoint[] }} */
      const history = await get(`/accounts/${encodeURIComponent(accountId)}/history`, {
        subject,
        fromMs: Math.round(nowMs() - HOUR_MS),
        limit: 1_000,
      });
      const read = history.points.map(({ atMs, values }) => ({ atMs, value: numberOf(values[field]) }));
      const last = read.at(-1)?.atMs ?? 0;
      this.#points = [...read, ...this.#points.filter(({ atMs }) => atMs > last)];
      this.#draw();
    } catch (error) {
      this.#words.textContent = `The curve could not be read: ${wordsOf(error)}.`;
    }
  }

  #draw() {
    const from = nowMs() - HOUR_MS;
    this.#points = this.#points.filter(({ atMs }) => atMs >= from);
    this.#words.textContent = curveWords(this.#options.label, this.#points);
    this.#canvas.hidden = this.#points.length < 2;
    // Its colours and its width are those of the page that it is in.
    if (this.#points.length < 2 || !this.node.isConnected) return;
    /** @type {[number[], (number | null)[]]} */
    const data = [this.#points.map(({ atMs }) => atMs / 1_000), this.#points.map(({ value }) => value)];
    this.#plot ??= new uPlot(
      optionsOf(this.#canvas, this.#options.field, () => this.#lines),
      data,
      this.#canvas,
    );
    this.#plot.setData(data);
  }
}

/** @param {unknown} value */
function numberOf(value) {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** @param {string} label @param {readonly { value: number | null }[]} points */
function curveWords(label, points) {
  const values = points.map(({ value }) => value).filter((value) => value !== null);
  if (values.length < 2) return 'Too few samples for a curve yet.';
  const [low, high, last] = [Math.min(...values), Math.max(...values), values.at(-1)];
  const range = `between ${percent(low)} and ${percent(high)}, now ${percent(last)}`;
  return `${label}, last hour: ${range} (${counted(values.length, 'sample')}).`;
}

/**
 * @param {HTMLElement} host
 * @param {string} field
 * @param {() => readonly Line[]} lines
 * @returns {uPlot.Options}
 */
function optionsOf(host, field, lines) {
  const ink = () => colour('--muted');
  const grid = { stroke: () => colour('--line'), width: 1 };
  const axis = { stroke: ink, grid, ticks: grid, font: '12px system-ui, sans-serif' };
  return {
    width: Math.max(host.clientWidth, 240),
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true },
      y: { range: (_plot, min, max) => rangeOf(min, max, lines()) },
    },
    axes: [
      {
        ...axis,
        values: [
          [60, '{HH}:{mm}', null, null, null, null, null, null, 1],
          [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1],
        ],
      },
      { ...axis, size: 56, values: (_plot, splits) => splits.map((value) => shortPercent(value)) },
    ],
    series: [
      {},
      { label: field, stroke: () => colour('--accent'), width: 2, points: { show: false }, spanGaps: false },
    ],
    hooks: { draw: [(plot) => drawLines(plot, lines())] },
  };
}

/**
 * All thresholds are in sight, and the curve is not squeezed by far ones.
 * @param {number | null} min
 * @param {number | null} max
 * @param {readonly Line[]} lines
 * @returns {[number, number]}
 */
function rangeOf(min, max, lines) {
  const values = [...lines.map(({ value }) => value), min ?? 0, max ?? 0.1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max(high - low, 0.01) * 0.08;
  return [low - room, high + room];
}

/** Patterns tell the kinds apart, and each line has its name. @type {Readonly<Record<Line['kind'], number[]>>} */
const DASHES = { critical: [], warning: [8, 5], info: [3, 4], exchange: [10, 4, 2, 4], harm: [] };
const INKS = {
  critical: '--critical',
  warning: '--warning',
  info: '--info',
  exchange: '--muted',
  harm: '--critical',
};

/** @param {uPlot} plot @param {readonly Line[]} lines */
function drawLines(plot, lines) {
  const { ctx } = plot;
  const { left, width, top, height } = plot.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  /** @type {number[]} */
  const taken = [];
  for (const { value, name, kind } of lines) {
    const y = Math.round(plot.valToPos(value, 'y', true));
    if (y < top || y > top + height) continue;
    ctx.strokeStyle = colour(INKS[kind]);
    ctx.fillStyle = colour(INKS[kind]);
    ctx.lineWidth = (kind === 'harm' ? 3 : 1.5) * ratio;
    ctx.setLineDash(DASHES[kind].map((dash) => dash * ratio));
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    // A name over another one can be read by nobody; the bar above has them all.
    if (taken.some((other) => Math.abs(other - y) < 15 * ratio)) continue;
    taken.push(y);
    const isHigh = y - top < 16 * ratio;
    ctx.fillText(`${name} ${shortPercent(value)}`, left + 6 * ratio, isHigh ? y + 14 * ratio : y - 6 * ratio);
  }
  ctx.restore();
}

/** @type {HTMLElement | undefined} */
let probe;

/** A colour of the style sheet as the canvas takes it, in the theme that is on. @param {string} name */
function colour(name) {
  if (probe === undefined) {
    probe = document.createElement('span');
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
