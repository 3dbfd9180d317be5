import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTROL_TOKEN, type Desk, drift, openDesk, play, untilWell } from '../page/desk.ts';
import { withPalette } from '../page/png.ts';
import { launchBrowser, openPage } from '../support/browser.ts';
import { Closers } from '../support/closers.ts';
import { DASHBOARDS, type Dashboard, type Panel, type Target, type Variable } from './dashboards.ts';
import {
  type Cell,
  type Chart,
  type Column,
  chartOf,
  escaped,
  type Field,
  SCRIPT,
  statHtml,
  tableHtml,
} from './drawing.ts';
import { hasPrometheus, startPrometheus } from './prometheus.ts';

/**
 * Draws the picture of the dashboard Overview in docs/images, without Grafana: its panels on its grid, with the answers
 * of a real Prometheus to its queries about a real daemon.
 * `node test/grafana/picture.ts [file] [title of a row to show collapsed]`
 */

const FILE = process.argv[2] ?? path.resolve(import.meta.dirname, '../../docs/images/dashboard-overview.png');
const COLLAPSED = process.argv[3] ?? 'Who';
const WIDTH = 1280;
const MARGIN = 16;
const GAP = 8;
const UNIT = 30;
const COLUMNS = 24;
const STEP_S = 1;
/** Spans some scrapes: there are two per second. */
const RATE_INTERVAL = '5s';

interface Drawn extends Panel {
  readonly fieldConfig?: { readonly defaults: Field; readonly overrides: readonly Override[] };
  readonly options?: {
    readonly sortBy?: readonly { readonly displayName: string; readonly desc: boolean }[];
  };
  readonly transformations?: readonly { readonly id: string; readonly options: Partial<Organize> }[];
}

interface Chosen extends Variable {
  readonly label?: string;
  readonly current?: { readonly text: string | readonly string[] };
}

interface Override {
  readonly matcher: { readonly options: string };
  readonly properties: readonly { readonly id: string; readonly value: unknown }[];
}

interface Organize {
  readonly excludeByName: Readonly<Record<string, boolean>>;
  readonly indexByName: Readonly<Record<string, number>>;
  readonly renameByName: Readonly<Record<string, string>>;
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** The same time span for all panels. */
interface Source {
  readonly url: string;
  readonly startS: number;
  readonly endS: number;
}

function filled(expr: string): string {
  return expr.replaceAll('$__rate_interval', RATE_INTERVAL).replaceAll(/\$(account|market)/g, '.*');
}

async function ask(
  { url, startS, endS }: Source,
  { expr, instant }: Pick<Target, 'expr' | 'instant'>,
): Promise<readonly Series[]> {
  const when =
    instant === true
      ? { time: String(endS) }
      : { start: String(startS), end: String(endS), step: String(STEP_S) };
  const parameters = new URLSearchParams({ query: filled(expr), ...when });
  const target = instant === true ? 'query' : 'query_range';
  const reply = await fetch(`${url}/api/v1/${target}?${parameters.toString()}`);
  const { error, data } = (await reply.json()) as { error?: string; data?: { result: readonly Series[] } };
  if (data === undefined) throw new Error(`${error}: ${expr}`);
  return data.result;
}

function numberOf(text: string): number {
  return Number(text.replace('Inf', 'Infinity'));
}

function named({ legendFormat = '' }: Target, { metric }: Series): string {
  return legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '');
}

async function stat(source: Source, { targets = [], fieldConfig }: Drawn): Promise<string> {
  const answers = await Promise.all(
    targets.map(async (target) =>
      (await ask(source, target)).map((series) => ({
        name: named(target, series),
        value: numberOf(series.value?.[1] ?? ''),
      })),
    ),
  );
  return statHtml(answers.flat(), fieldConfig?.defaults ?? {});
}

type Row = Readonly<Record<string, Cell>>;

/** The transformation `merge`: rows that agree in all shared labels become one. */
function merged(lines: readonly Row[], isValue: (name: string) => boolean): readonly Row[] {
  const rows: Row[] = [];
  for (const line of lines) {
    const labels = Object.keys(line).filter((name) => !isValue(name));
    const at = rows.findIndex((row) => labels.every((name) => !(name in row) || row[name] === line[name]));
    if (at < 0) rows.push(line);
    else rows[at] = { ...rows[at], ...line };
  }
  return rows;
}

async function table(source: Source, panel: Drawn): Promise<string> {
  const { targets = [], fieldConfig, transformations = [], options } = panel;
  const answers = await Promise.all(targets.map((target) => ask(source, target)));
  const valueOf = (index: number): string =>
    targets.length === 1 ? 'Value' : `Value #${targets[index]?.refId ?? ''}`;
  const lines = answers.flatMap((series, index) =>
    series.map(({ metric, value }): Row => ({ ...metric, [valueOf(index)]: numberOf(value?.[1] ?? '') })),
  );
  const isValue = (name: string): boolean => name.startsWith('Value');
  const organize = transformations.find(({ id }) => id === 'organize')?.options ?? {};
  const { excludeByName = {}, indexByName = {}, renameByName = {} } = organize;
  const names = Object.keys(indexByName)
    .filter((name) => excludeByName[name] !== true)
    .sort((a, b) => (indexByName[a] ?? 0) - (indexByName[b] ?? 0));
  const columns = names.map((name): Column => {
    const title = renameByName[name] ?? name;
    const own = fieldConfig?.overrides.find(({ matcher }) => matcher.options === title)?.properties ?? [];
    const field = {
      ...fieldConfig?.defaults,
      ...Object.fromEntries(own.map(({ id, value }) => [id, value])),
    };
    return { name: title, field, isNumber: isValue(name) };
  });
  const rows = merged(lines, isValue).map((row) => names.map((name) => row[name]));
  const [{ displayName, desc } = { displayName: '', desc: false }] = options?.sortBy ?? [];
  const by = columns.findIndex(({ name }) => name === displayName);
  rows.sort((a, b) => compared(a[by], b[by]) * (desc ? -1 : 1));
  return tableHtml(columns, rows, fieldConfig?.defaults.noValue ?? 'No data');
}

function compared(a: Cell, b: Cell): number {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : a - b;
  return String(a ?? '').localeCompare(String(b ?? ''));
}

function timesOf({ startS, endS }: Source): readonly number[] {
  return Array.from({ length: (endS - startS) / STEP_S + 1 }, (_, index) => startS + index * STEP_S);
}

async function curves(source: Source, panel: Drawn, marks: Chart['marks']) {
  const { id, targets = [], fieldConfig } = panel;
  const times = timesOf(source);
  const answers = await Promise.all(
    targets.map(async (target) =>
      (await ask(source, target)).map((series) => {
        const values = new Map(series.values);
        const at = (time: number): number | null => {
          const text = values.get(time);
          return text === undefined || text === 'NaN' ? null : numberOf(text);
        };
        return { name: named(target, series), values: times.map(at) };
      }),
    ),
  );
  return chartOf(`chart-${id}`, times, answers.flat(), marks, fieldConfig?.defaults ?? {});
}

/** Intervals in which an annotation's query has an answer. */
async function marksOf(source: Source, { annotations }: Dashboard): Promise<Chart['marks']> {
  const answers = await Promise.all(annotations.list.map(({ expr }) => ask(source, { expr })));
  const times = new Set(answers.flat().flatMap(({ values = [] }) => values.map(([time]) => time)));
  const spans: [number, number][] = [];
  for (const time of [...times].sort((a, b) => a - b)) {
    const span = spans.at(-1);
    if (span !== undefined && time - span[1] === STEP_S) span[1] = time;
    else spans.push([time, time]);
  }
  return spans;
}

/** Removes the panels of a collapsed row, and moves the rows below up, as Grafana does. */
function placed(dashboard: Dashboard): readonly Drawn[] {
  const rows = dashboard.panels.filter(({ type }) => type === 'row');
  const at = rows.findIndex(({ title }) => title === COLLAPSED);
  const from = (rows[at]?.gridPos.y ?? Number.POSITIVE_INFINITY) + 1;
  const to = rows[at + 1]?.gridPos.y ?? Number.POSITIVE_INFINITY;
  return dashboard.panels
    .filter(({ gridPos: { y } }) => y < from || y >= to)
    .map((panel) => (panel.gridPos.y < from ? panel : movedUp(panel, to - from)));
}

function movedUp(panel: Drawn, by: number): Drawn {
  return { ...panel, gridPos: { ...panel.gridPos, y: panel.gridPos.y - by } };
}

function box({ x, y, w, h }: Panel['gridPos']): string {
  const column = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS;
  const across = (units: number, unit: number): number => Math.max(0, units * unit + (units - 1) * GAP);
  const left = x * (column + GAP);
  return `left:${left}px;top:${y * (UNIT + GAP)}px;width:${across(w, column)}px;height:${across(h, UNIT)}px`;
}

const STYLE = `
* { box-sizing: border-box; }
body { margin: 0; padding: ${MARGIN}px; background: #111217; color: #ccccdc; font: 13px/1.4 Inter, "DejaVu Sans Condensed", sans-serif; }
h1 { margin: 0 0 14px; font-size: 18px; font-weight: 500; }
h1 small { margin-left: 20px; color: #8e8f98; font-size: 13px; font-weight: 400; }
h1 small b { margin-left: 4px; padding: 4px 10px; border: 1px solid #34363d; border-radius: 3px; color: #ccccdc; font-weight: 400; }
main { position: relative; }
section { position: absolute; display: flex; flex-direction: column; background: #181b1f; border: 1px solid #26282e; border-radius: 3px; overflow: hidden; }
section.row { flex-direction: row; align-items: center; background: none; border: 0; font-size: 15px; }
section.row small { margin-left: 10px; color: #8e8f98; font-size: 12px; }
h2 { margin: 0; padding: 7px 8px 3px; font-size: 12.5px; letter-spacing: -0.1px; font-weight: 500; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.body { flex: 1; min-height: 0; display: flex; }
.chart { flex: 1; min-height: 0; }
.body.tall { flex-direction: column; }
.stat { flex: 1; margin: 4px 6px 6px; border-radius: 3px; display: flex; flex-direction: column; align-items: center; justify-content: center; background: color-mix(in srgb, var(--colour) 78%, black); color: #fff; font-size: 34px; font-weight: 500; line-height: 1.15; }
.stat small { font-size: 13px; font-weight: 400; }
.none { flex: 1; display: flex; align-items: center; justify-content: center; color: #8e8f98; background: none; font-size: 20px; }
table { width: 100%; border-collapse: collapse; font-size: 12.5px; align-self: flex-start; }
th { color: #6e9fff; font-weight: 500; text-align: left; white-space: nowrap; }
th, td { padding: 6px 10px; border-bottom: 1px solid #24262b; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.legend { width: auto; margin: 0 10px 6px; align-self: stretch; font-size: 11.5px; }
.legend th, .legend td { padding: 1px 6px; border: 0; }
.legend td:first-child { width: 100%; }
.legend i { display: inline-block; width: 14px; height: 4px; border-radius: 2px; margin-right: 8px; vertical-align: middle; }`;

async function sectionOf(
  source: Source,
  panel: Drawn,
  marks: Chart['marks'],
  charts: Chart[],
  hidden: number,
): Promise<string> {
  const { type, title, gridPos } = panel;
  if (type === 'row') {
    const mark = title === COLLAPSED ? '▸' : '▾';
    const count = title === COLLAPSED ? `<small>(${hidden} panels)</small>` : '';
    return `<section class="row" style="${box(gridPos)}">${mark}&ensp;${escaped(title)}${count}</section>`;
  }
  let body: string;
  if (type === 'stat') body = `<div class="body">${await stat(source, panel)}</div>`;
  else if (type === 'table') body = `<div class="body">${await table(source, panel)}</div>`;
  else if (type === 'timeseries') {
    const { chart, legend } = await curves(source, panel, marks);
    charts.push(chart);
    body = `<div class="body tall"><div class="chart" id="${chart.id}"></div>${legend}</div>`;
  } else throw new Error(`a panel of type ${type} is not drawn`);
  return `<section style="${box(gridPos)}"><h2>${escaped(title)}</h2>${body}</section>`;
}

async function htmlOf(source: Source, dashboard: Dashboard): Promise<string> {
  const marks = await marksOf(source, dashboard);
  const panels = placed(dashboard);
  const charts: Chart[] = [];
  const hidden = dashboard.panels.length - panels.length;
  const sections = await Promise.all(panels.map((panel) => sectionOf(source, panel, marks, charts, hidden)));
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => (y + h) * (UNIT + GAP)));
  const variables = (dashboard.templating.list as readonly Chosen[])
    .filter(({ current }) => current !== undefined)
    .map(
      ({ label, current }) =>
        `<small>${escaped(label ?? '')} <b>${escaped(String(current?.text))}</b></small>`,
    );
  const uplot = (name: string) =>
    readFileSync(fileURLToPath(import.meta.resolve(`uplot/dist/${name}`)), 'utf8');
  return `<!doctype html><meta charset="utf-8"><style>${uplot('uPlot.min.css')}${STYLE}</style>
<h1>${escaped(dashboard.title)}${variables.join('')}</h1><main style="height:${height - GAP}px">${sections.join('')}</main>
<script>${uplot('uPlot.iife.min.js')}</script><script>const charts = ${JSON.stringify(charts)};${SCRIPT}</script>`;
}

async function happen(desk: Desk): Promise<void> {
  // The chance of liquidation would extrapolate even a tiny trend for an hour.
  await drift(desk.simulator, 220, 0);
  await play(desk);
  await untilWell(desk);
}

const closers = new Closers();
try {
  const dashboard = DASHBOARDS.find(({ uid }) => uid === 'breakwater-overview');
  if (dashboard === undefined) throw new Error('there is no dashboard Overview');
  if (!hasPrometheus()) throw new Error('prometheus is not on the PATH (Debian: apt-get install prometheus)');
  const desk = await openDesk(closers);
  const target = new URL(desk.daemon.webUrl() ?? '').host;
  const prometheus = await startPrometheus({ target, token: CONTROL_TOKEN });
  closers.add(() => prometheus.stop());
  // After the first scrape.
  const startS = Math.ceil(Date.now() / 1000) + 1;
  await happen(desk);
  const source = { url: prometheus.url, startS, endS: Math.floor(Date.now() / 1000) };
  const html = await htmlOf(source, dashboard);
  const browser = await launchBrowser();
  closers.add(() => browser.close());
  const { page, complaints } = await openPage(browser, { viewport: { width: WIDTH, height: 800 } });
  await page.setContent(html);
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  await writeFile(FILE, withPalette(await page.screenshot({ fullPage: true })));
} finally {
  await closers.close();
}
