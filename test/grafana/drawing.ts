/** Renders a dashboard's panels: values with units and colours, single values, tables, and charts for uPlot. */

interface Thresholds {
  readonly steps: readonly { readonly value: number | null; readonly color: string }[];
}

interface Mapping {
  readonly options: Readonly<Record<string, { readonly text: string; readonly color: string }>>;
}

export interface Field {
  readonly unit?: string;
  readonly decimals?: number;
  readonly noValue?: string;
  readonly min?: number;
  readonly max?: number;
  readonly mappings?: readonly Mapping[];
  readonly thresholds?: Thresholds;
  readonly custom?: {
    readonly drawStyle?: string;
    readonly lineWidth?: number;
    readonly fillOpacity?: number;
    readonly thresholdsStyle?: { readonly mode: string };
  };
  readonly 'custom.cellOptions'?: { readonly type: string };
  readonly 'custom.width'?: number;
}

const COLOURS: Readonly<Record<string, string>> = {
  red: '#f2495c',
  'dark-red': '#c4162a',
  orange: '#ff9830',
  yellow: '#fade2a',
  green: '#73bf69',
  blue: '#5794f2',
  purple: '#b877d9',
};

/** Colours of curves, in order. */
const PALETTE = ['#73bf69', '#f2cc0c', '#8ab8ff', '#ff780a', '#f2495c', '#5794f2', '#b877d9', '#705da0'];

export function colour(name: string): string {
  const found = COLOURS[name];
  if (found === undefined) throw new Error(`there is no colour ${name}`);
  return found;
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const SECONDS = [
  [86_400, 'days'],
  [3_600, 'hours'],
  [60, 'mins'],
] as const;
const SHORT = [
  [1e6, 'Mil'],
  [1e3, 'K'],
] as const;

/** A number in the unit of its field; by default with three significant digits. */
export function formatted(value: number, { unit, decimals }: Field): string {
  const text = (number: number): string => {
    if (!Number.isFinite(number)) return number > 0 ? '∞' : '-∞';
    if (decimals !== undefined) return number.toFixed(decimals);
    return String(Math.abs(number) < 100 ? Number(number.toPrecision(3)) : Math.round(number));
  };
  if (unit === undefined) return text(value);
  if (unit === 'percentunit') return `${text(value * 100)}%`;
  const scaled = (steps: readonly (readonly [number, string])[], last: string): string => {
    const [by, name] = steps.find(([least]) => Math.abs(value) >= least) ?? [1, last];
    return `${text(value / by)} ${Number.isFinite(value) ? name : ''}`.trim();
  };
  if (unit === 's') return scaled(SECONDS, 's');
  if (unit === 'short') return scaled(SHORT, '');
  throw new Error(`there is no unit ${unit}`);
}

export function thresholdColour(value: number, { thresholds }: Field): string {
  const step = thresholds?.steps.findLast((each) => each.value === null || value >= each.value);
  return colour(step?.color ?? 'green');
}

export interface Shown {
  readonly name: string;
  readonly value: number;
}

/** Coloured by its thresholds; named if there are several values. */
export function statHtml(values: readonly Shown[], field: Field): string {
  if (values.length === 0) return `<div class="stat none">${escaped(field.noValue ?? 'No data')}</div>`;
  return values
    .map(({ name, value }) => {
      const label = values.length > 1 ? `<small>${escaped(name)}</small>` : '';
      const style = `--colour:${thresholdColour(value, field)}`;
      return `<div class="stat" style="${style}">${label}${escaped(formatted(value, field))}</div>`;
    })
    .join('');
}

export type Cell = string | number | undefined;

export interface Column {
  readonly name: string;
  readonly field: Field;
  readonly isNumber: boolean;
}

export function tableHtml(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  none: string,
): string {
  if (rows.length === 0) return `<div class="none">${escaped(none)}</div>`;
  const heads = columns.map(({ name, isNumber, field }) => {
    const width = field['custom.width'] === undefined ? '' : ` style="width:${field['custom.width']}px"`;
    return `<th${isNumber ? ' class="number"' : ''}${width}>${escaped(name)}</th>`;
  });
  const lines = rows.map(
    (row) => `<tr>${row.map((cell, index) => cellHtml(cell, columns[index])).join('')}</tr>`,
  );
  return `<table><thead><tr>${heads.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table>`;
}

function cellHtml(cell: Cell, column: Column | undefined): string {
  const { field = {}, isNumber = false } = column ?? {};
  const mapped = field.mappings
    ?.map(({ options }) => options[String(cell)])
    .find((each) => each !== undefined);
  const isColoured = field['custom.cellOptions']?.type === 'color-text' && cell !== undefined;
  const own = typeof cell === 'number' ? thresholdColour(cell, field) : undefined;
  const shade = mapped === undefined ? own : colour(mapped.color);
  const text = mapped?.text ?? (typeof cell === 'number' ? formatted(cell, field) : (cell ?? ''));
  const style = isColoured && shade !== undefined ? ` style="color:${shade}"` : '';
  return `<td${isNumber ? ' class="number"' : ''}${style}>${escaped(text)}</td>`;
}

export interface Curve {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** Data that the script in the page passes to uPlot. */
export interface Chart {
  readonly id: string;
  readonly times: readonly number[];
  /** In drawing order: stacked curves on top of each other, the highest first. */
  readonly curves: readonly (Curve & { readonly colour: string })[];
  readonly isBars: boolean;
  readonly field: Field;
  readonly dashes: readonly { readonly value: number; readonly colour: string }[];
  readonly marks: readonly (readonly [number, number])[];
  readonly isPercent: boolean;
}

export function chartOf(
  id: string,
  times: readonly number[],
  curves: readonly Curve[],
  marks: Chart['marks'],
  field: Field,
): { readonly chart: Chart; readonly legend: string } {
  const coloured = curves.map((curve, index) => ({
    ...curve,
    colour: PALETTE[index % PALETTE.length] ?? '',
  }));
  const isBars = field.custom?.drawStyle === 'bars';
  const isDashed = field.custom?.thresholdsStyle?.mode === 'dashed';
  const steps = isDashed ? (field.thresholds?.steps ?? []) : [];
  const dashes = steps.flatMap(({ value, color }) =>
    value === null ? [] : [{ value, colour: colour(color) }],
  );
  const chart = {
    id,
    times,
    curves: isBars ? stacked(coloured) : coloured,
    isBars,
    field,
    dashes,
    marks,
    isPercent: field.unit === 'percentunit',
  };
  return { chart, legend: legendHtml(coloured, field) };
}

function stacked<C extends Curve>(curves: readonly C[]): readonly C[] {
  const sums: number[] = [];
  return curves
    .map((curve) => ({
      ...curve,
      values: curve.values.map((value, at) => (sums[at] = (sums[at] ?? 0) + (value ?? 0))),
    }))
    .reverse();
}

function legendHtml(curves: readonly (Curve & { readonly colour: string })[], field: Field): string {
  const lines = curves.map(({ name, values, colour }) => {
    const numbers = values.filter((value) => value !== null);
    const [last = 0, max] = [numbers.at(-1), Math.max(...numbers)];
    const cells = [last, max].map((value) => `<td class="number">${escaped(formatted(value, field))}</td>`);
    return `<tr><td><i style="background:${colour}"></i>${escaped(name)}</td>${cells.join('')}</tr>`;
  });
  const head = '<tr><th>Name</th><th class="number">Last *</th><th class="number">Max</th></tr>';
  return `<table class="legend"><thead>${head}</thead><tbody>${lines.join('')}</tbody></table>`;
}

/** Runs in the page: draws each of `charts` into the element with its id. */
export const SCRIPT = `
const grey = { stroke: '#9fa2a8', font: '11px "DejaVu Sans Condensed", sans-serif', grid: { stroke: 'rgba(204,204,220,.08)', width: 1 }, ticks: { show: false } };
const clock = (times) => times.map((time) => new Date(time * 1000).toISOString().slice(11, 19));
for (const { id, times, curves, isBars, field, dashes, marks, isPercent } of charts) {
  const place = document.getElementById(id);
  const line = (u, value, colour) => {
    const y = u.valToPos(value, 'y', true);
    if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
    u.ctx.strokeStyle = colour;
    u.ctx.globalAlpha = 0.7;
    u.ctx.setLineDash([10, 10]);
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
  };
  const draw = (u) => {
    u.ctx.save();
    u.ctx.lineWidth = 1;
    for (const { value, colour } of dashes) line(u, value, colour);
    u.ctx.setLineDash([4, 4]);
    for (const [from, to] of marks) {
      const [left, right] = [from, to].map((time) => u.valToPos(time, 'x', true));
      u.ctx.globalAlpha = 0.12;
      u.ctx.fillStyle = '${colour('purple')}';
      u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
      u.ctx.globalAlpha = 1;
      u.ctx.strokeStyle = '${colour('purple')}';
      u.ctx.strokeRect(left, u.bbox.top, 0, u.bbox.height);
    }
    u.ctx.restore();
  };
  const opacity = Math.round(((field.custom?.fillOpacity ?? 0) / 100) * 255).toString(16).padStart(2, '0');
  const series = curves.map(({ colour }) => ({
    stroke: colour,
    width: field.custom?.lineWidth ?? 1,
    fill: colour + opacity,
    points: { show: false },
    paths: isBars ? uPlot.paths.bars({ size: [0.8, 20] }) : undefined,
  }));
  const digits = (step) => [0, 1, 2].find((count) => Math.abs(step * 10 ** (2 + count) - Math.round(step * 10 ** (2 + count))) < 1e-6);
  const axis = (u, splits) =>
    splits.map((value) => (isPercent ? (value * 100).toFixed(digits(splits[1] - splits[0])) + '%' : String(Number(value.toFixed(2)))));
  const range = (u, low, high) => {
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [field.min ?? low - room, field.max ?? high + room];
  };
  new uPlot(
    {
      width: place.clientWidth,
      height: place.clientHeight,
      padding: [10, 14, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range } },
      series: [{}, ...series],
      axes: [{ ...grey, size: 26, values: (u, splits) => clock(splits), space: 90 }, { ...grey, size: 52, values: axis, space: 34 }],
      hooks: { draw: [draw] },
    },
    [times, ...curves.map(({ values }) => values)],
    place,
  );
}`;
