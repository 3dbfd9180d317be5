import {
  AxisPlacement,
  BigValueColorMode,
  BigValueGraphMode,
  GraphDrawStyle,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TableSortByFieldStateBuilder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardLinkBuilder,
  type DynamicConfigValue,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as timeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

/** Panel kinds of the dashboards, each with one look. */

export const DATASOURCE = { type: 'prometheus', uid: '$datasource' } as const;

/** Colours in rising order of values; the first one has no lower bound. */
export type Steps = readonly (readonly [from: number | null, colour: string])[];

export const NEUTRAL: Steps = [[null, 'blue']];
export const GOOD: Steps = [[null, 'green']];
/** Zero is good, one or more is bad. */
export const ANY_IS_BAD: Steps = [
  [null, 'green'],
  [1, 'red'],
];
export const ANY_IS_ODD: Steps = [
  [null, 'green'],
  [1, 'orange'],
];
/** Same thresholds as the alerts: 3 % and 6 %. */
export const DISTANCE: Steps = [
  [null, 'red'],
  [0.03, 'orange'],
  [0.06, 'yellow'],
  [0.12, 'green'],
];
export const HEADROOM: Steps = [
  [null, 'red'],
  [0.05, 'orange'],
  [0.1, 'yellow'],
  [0.2, 'green'],
];
export const PROBABILITY: Steps = [
  [null, 'green'],
  [0.1, 'yellow'],
  [0.25, 'orange'],
  [0.5, 'red'],
];

export interface Query {
  readonly expr: string;
  readonly legend?: string;
}

export interface Common {
  readonly title: string;
  readonly description: string;
  readonly queries: readonly Query[];
  readonly unit?: string;
  readonly decimals?: number;
  readonly steps?: Steps;
  /** In grid columns (24 per row) and rows. */
  readonly size: readonly [width: number, height: number];
  /** Shown when the query returns nothing, which is mostly good news. */
  readonly noValue?: string;
}

export type Panel = stat.PanelBuilder | timeseries.PanelBuilder | table.PanelBuilder | timeline.PanelBuilder;

function thresholds(steps: Steps): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps(steps.map(([value, color]) => ({ value, color })));
}

const REF_IDS = 'ABCDEFGHIJKLMN';

function target({ expr, legend }: Query, index: number): DataqueryBuilder {
  const query = new DataqueryBuilder().expr(expr).refId(REF_IDS.charAt(index)).datasource(DATASOURCE);
  return legend === undefined ? query : query.legendFormat(legend);
}

function common<P extends Panel>(panel: P, options: Common): P {
  const { title, description, unit, decimals, steps, size, noValue } = options;
  panel.title(title).description(description).datasource(DATASOURCE).span(size[0]).height(size[1]);
  if (unit !== undefined) panel.unit(unit);
  if (decimals !== undefined) panel.decimals(decimals);
  if (noValue !== undefined) panel.noValue(noValue);
  panel.thresholds(thresholds(steps ?? NEUTRAL));
  return panel;
}

/** The current value of one figure, coloured by its thresholds. */
export function figure(
  options: Common & { readonly to?: string; readonly mappings?: readonly ValueMapping[] },
): Panel {
  const panel = common(new stat.PanelBuilder(), options)
    .graphMode(BigValueGraphMode.None)
    .colorMode(BigValueColorMode.Background)
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .targets(options.queries.map((query, index) => target(query, index).instant()));
  if (options.mappings !== undefined) panel.mappings([...options.mappings]);
  if (options.to !== undefined)
    panel.links([new DashboardLinkBuilder('Open').url(options.to).keepTime(true)]);
  return panel;
}

export interface CurvesOptions extends Common {
  readonly min?: number;
  readonly max?: number;
  /** Thresholds as lines across the panel. */
  readonly lines?: true;
  readonly stacked?: true;
  readonly bars?: true;
  /** Puts zero in the middle, as for profit and loss. */
  readonly centred?: true;
}

export function curves(options: CurvesOptions): Panel {
  const { queries, min, max, lines, stacked, bars, centred } = options;
  const panel = common(new timeseries.PanelBuilder(), options)
    .targets(queries.map((query, index) => target(query, index).range()))
    .lineWidth(bars === true ? 0 : 2)
    .fillOpacity(bars === true ? 80 : stacked === true ? 30 : 5)
    .drawStyle(bars === true ? GraphDrawStyle.Bars : GraphDrawStyle.Line)
    .showPoints(VisibilityMode.Never)
    .axisPlacement(AxisPlacement.Auto)
    .legend(legend())
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .colorScheme(new FieldColorBuilder().mode(FieldColorModeId.PaletteClassic));
  if (min !== undefined) panel.min(min);
  if (max !== undefined) panel.max(max);
  if (lines === true)
    panel.thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
  if (stacked === true) panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A'));
  if (centred === true) panel.axisCenteredZero(true);
  return panel;
}

function legend(): VizLegendOptionsBuilder {
  return new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
    .calcs(['lastNotNull', 'max']);
}

export interface Column {
  /** A label, or the name of the value. */
  readonly name: string;
  readonly title: string;
  readonly unit?: string;
  readonly decimals?: number;
  readonly steps?: Steps;
  readonly mappings?: readonly ValueMapping[];
  readonly width?: number;
  /** URL; `${__value.text}` is the cell. */
  readonly to?: string;
}

/** A column with a query's value or, where the value is always 1, with one of its labels. */
export interface ValueColumn extends Column {
  readonly expr: string;
  readonly shows?: 'label';
}

export interface TableOptions extends Omit<Common, 'queries'> {
  /** Records with the same labels share a row. */
  readonly labels: readonly Column[];
  readonly values: readonly ValueColumn[];
  readonly sortBy: string;
  readonly descending?: true;
}

/** One row per subject: several instant queries, joined by their common labels. */
export function subjects(options: TableOptions): Panel {
  const { values, labels, sortBy, descending = false } = options;
  const fieldOf = ({ name, shows }: ValueColumn, index: number): string =>
    shows === 'label' ? name : valueField(values, index);
  const titles = [
    ...labels.map(({ name, title }) => [name, title] as const),
    ...values.map((value, index) => [fieldOf(value, index), value.title] as const),
  ];
  const ones = values.flatMap(({ shows }, index) => (shows === 'label' ? [valueField(values, index)] : []));
  const panel = common(new table.PanelBuilder(), { ...options, queries: [] })
    .targets(values.map((query, index) => target(query, index).instant().format(PromQueryFormat.Table)))
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: Object.fromEntries(['Time', ...ones].map((name) => [name, true])),
        indexByName: Object.fromEntries(titles.map(([name], index) => [name, index])),
        renameByName: Object.fromEntries(titles),
      },
    })
    .sortBy([new TableSortByFieldStateBuilder().displayName(sortBy).desc(descending)])
    .filterable(true);
  for (const column of [...labels, ...values]) panel.overrideByName(column.title, propertiesOf(column));
  return panel;
}

/** Grafana's name for the value of a table query. */
function valueField(values: readonly ValueColumn[], index: number): string {
  return values.length === 1 ? 'Value' : `Value #${REF_IDS.charAt(index)}`;
}

function propertiesOf({ unit, decimals, steps, mappings, width, to }: Column): DynamicConfigValue[] {
  return [
    ...(unit === undefined ? [] : [{ id: 'unit', value: unit }]),
    ...(decimals === undefined ? [] : [{ id: 'decimals', value: decimals }]),
    ...(width === undefined ? [] : [{ id: 'custom.width', value: width }]),
    ...(steps === undefined && mappings === undefined
      ? []
      : [{ id: 'custom.cellOptions', value: { type: 'color-text' } }]),
    ...(steps === undefined ? [] : [{ id: 'thresholds', value: thresholds(steps).build() }]),
    ...(mappings === undefined ? [] : [{ id: 'mappings', value: mappings }]),
    ...(to === undefined ? [] : [{ id: 'links', value: [{ title: 'Open', url: to }] }]),
  ];
}

/** Texts and colours by value; values are numbers or labels. */
export function words(
  texts: Readonly<Record<string, readonly [text: string, colour: string]>>,
): readonly ValueMapping[] {
  const options = Object.entries(texts).map(
    ([value, [text, color]], index) => [value, { text, color, index }] as const,
  );
  return [{ type: MappingType.ValueToText, options: Object.fromEntries(options) }];
}

/** A state timeline: one line per series, coloured by its value. */
export function states(options: Common & { readonly mappings: readonly ValueMapping[] }): Panel {
  return common(new timeline.PanelBuilder(), options)
    .targets(options.queries.map((query, index) => target(query, index).range()))
    .mappings([...options.mappings])
    .showValue(VisibilityMode.Auto)
    .mergeValues(true)
    .fillOpacity(70)
    .lineWidth(0)
    .rowHeight(0.8)
    .legend(new VizLegendOptionsBuilder().showLegend(false))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Single).sort(SortOrder.None));
}
