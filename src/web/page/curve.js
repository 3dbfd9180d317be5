import { get, segment, wordsOf } from './api.js';
import { h, setText, show } from './dom.js';
import { counted, percent, shortPercent } from './format.js';
import { nowMs } from './time.js';
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

/** @param {CurveOptions} options */
export function curve({ accountId, subject, field, label }) {
  const canvas = h('div', { class: 'curve' });
  const words = h('p', { class: 'muted curve-words' });
  const node = h('figure', { class: 'curve-frame', role: 'group', 'aria-label': label }, canvas, words);
  /** @type {{ atMs: number, value: number | null }[]} */
  let points = [];
  /** @type {readonly Line[]} */
  let lines = [];
  /** @type {uPlot | undefined} */
  let plot;

  const draw = () => {
    const from = nowMs() - HOUR_MS;
    points = points.filter(({ atMs }) => atMs >= from);
    const [data, text] = [dataOf(points), curveWords(label, points)];
    setText(words, text);
    show(canvas, points.length > 1);
    if (points.length < 2) return;
    plot ??= new uPlot(
      optionsOf(canvas, field, () => lines),
      data,
      canvas,
    );
    plot.setData(data);
  };
  const resize = new ResizeObserver(() => {
    const width = canvas.clientWidth;
    if (width > 0) plot?.setSize({ width, height: HEIGHT });
  });
  resize.observe(canvas);
  const recolour = () => plot?.redraw(false, true);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', recolour);
  document.addEventListener('themechange', recolour);

  const read = async () => {
    try {
      /** @type {{ points: readonly import('./contract.d.ts').HistoryPointLine[] }} */
      const history = await get(`/accounts/${segment(accountId)}/history`, {
        subject,
        fromMs: Math.round(nowMs() - HOUR_MS),
        limit: 1_000,
      });
      const read = history.points.map(({ atMs, values }) => ({ atMs, value: numberOf(values[field]) }));
      const last = read.at(-1)?.atMs ?? 0;
      points = [...read, ...points.filter(({ atMs }) => atMs > last)];
      draw();
    } catch (error) {
      setText(words, `The curve could not be read: ${wordsOf(error)}.`);
    }
  };
  void read();
  return {
    node,
    refresh: () => void read(),
    /**
     * A figure as it is now; earlier ones are not drawn again.
     * @param {number | null} atMs
     * @param {number | 'none' | null} value
     * @param {readonly Line[]} thresholds
     */
    add(atMs, value, thresholds) {
      const isNew = JSON.stringify(thresholds) !== JSON.stringify(lines);
      lines = thresholds;
      const last = points.at(-1)?.atMs ?? 0;
      if (atMs !== null && atMs > last)
        points.push({ atMs, value: typeof value === 'number' ? value : null });
      else if (!isNew) return;
      draw();
    },
    close() {
      resize.disconnect();
      dark.removeEventListener('change', recolour);
      document.removeEventListener('themechange', recolour);
      plot?.destroy();
    },
  };
}

/** @param {unknown} value */
function numberOf(value) {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/**
 * @param {readonly { atMs: number, value: number | null }[]} points
 * @returns {[number[], (number | null)[]]}
 */
function dataOf(points) {
  return [points.map(({ atMs }) => atMs / 1_000), points.map(({ value }) => value)];
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
    probe = h('span', { hidden: true });
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
