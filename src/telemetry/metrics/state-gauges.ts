import type { Mode } from '../../core/rules/rule.ts';
import type { Phase } from '../../core/rules/rule-state.ts';
import type {
  AccountFigures,
  CreditLineFigures,
  Figure,
  IntentFigures,
  PositionFigures,
  RuleFigures,
} from '../../core/view/account-view.ts';
import { LabelSets } from './label-sets.ts';
import { type MetricSpec, PREFIX } from './metric-spec.ts';
import { STATE_METRICS, type StateMetric } from './state-metrics.ts';
import { TextParts } from './text-parts.ts';

/** When a view was made. */
export interface ViewTimes {
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The same instant on the lanes' clock, which dates intents. */
  readonly laneMs: number;
}

/**
 * Limit of positions, and of credit lines, per account that have series; `account_positions` and `account_credit_lines`
 * count all. A long list from the exchange must not fill the scraper's memory.
 */
export const MOST_SUBJECTS = 500;

const MS = 1000;

/** Initial room for series per account; an account with a few positions has about a hundred. */
const FIRST_SERIES = 64;

/**
 * All series of the state gauges: tens of thousands. As objects of a metrics library they would take more memory than
 * the rest of a scrape. Here a series is three numbers: metric, value, and a label set that series share.
 */
export class StateSeries {
  /** A pause for all accounts is in force. */
  isPausedEverywhere = false;
  readonly labels = new LabelSets();
  #metrics: Uint8Array;
  #sets: Uint32Array;
  #values: Float64Array;
  #count = 0;
  /** By account: where its series start and end. */
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;

  /** `accounts`: the maximum number. */
  constructor(accounts: number) {
    this.#starts = new Uint32Array(accounts);
    this.#ends = new Uint32Array(accounts);
    const room = FIRST_SERIES * (accounts + 1);
    this.#metrics = new Uint8Array(room);
    this.#sets = new Uint32Array(room);
    this.#values = new Float64Array(room);
  }

  /** Adds the series of an account. `index` is its place: each is added once, in any order. */
  take(index: number, figures: AccountFigures, times: ViewTimes): void {
    this.#starts[index] = this.#count;
    writeAccount(this, figures, times);
    this.#ends[index] = this.#count;
  }

  /** Adds an account of which only the state is known. */
  takeState(index: number, accountId: string, state: AccountFigures['state']): void {
    this.#starts[index] = this.#count;
    writeState(this, this.labels.begin().label('account="', labelText(accountId)).end(), state);
    this.#ends[index] = this.#count;
  }

  /** Adds a series, unless `value` is undefined. */
  add(metric: StateMetric, labels: number, value: number | undefined): void {
    if (value === undefined) return;
    if (this.#count === this.#metrics.length) this.#grow();
    this.#metrics[this.#count] = NUMBERS[metric];
    this.#sets[this.#count] = labels;
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  #grow(): void {
    const room = 2 * this.#count;
    const [metrics, sets, values] = [this.#metrics, this.#sets, this.#values];
    this.#metrics = new Uint8Array(room);
    this.#sets = new Uint32Array(room);
    this.#values = new Float64Array(room);
    this.#metrics.set(metrics);
    this.#sets.set(sets);
    this.#values.set(values);
  }

  /** Writes the lines of a metric, accounts in order; yields each part that is full. */
  *write(metric: StateMetric, text: TextParts): Generator<Uint8Array> {
    const name = `${PREFIX}${STATE_METRICS[metric].name}`;
    if (metric === 'paused') text.text(`${name} ${Number(this.isPausedEverywhere)}\n`);
    const start = Buffer.from(`${name}{`);
    const number = NUMBERS[metric];
    const [metrics, sets, values, ends] = [this.#metrics, this.#sets, this.#values, this.#ends];
    for (let account = 0; account < ends.length; account += 1) {
      for (let at = this.#starts[account]!; at < ends[account]!; at += 1) {
        if (metrics[at] !== number) continue;
        if (text.isFull(start, this.labels.length(sets[at]!))) yield text.take();
        text.series(start, this.labels, sets[at]!, numberText(values[at]!));
      }
    }
  }
}

/**
 * Yields the text of all state gauges in parts; without series, only names and help. A part is valid until the next one
 * is requested.
 */
export function* stateGaugesText(series: StateSeries | undefined): Generator<Uint8Array> {
  const text = new TextParts();
  for (const [metric, { name, type, help }] of METRICS) {
    text.text(`# HELP ${PREFIX}${name} ${help}\n# TYPE ${PREFIX}${name} ${type}\n`);
    if (series !== undefined) yield* series.write(metric, text);
    text.text('\n');
  }
  yield text.take();
}

const METRICS = Object.entries(STATE_METRICS) as readonly (readonly [StateMetric, MetricSpec])[];

const NUMBERS = Object.fromEntries(METRICS.map(([metric], number) => [metric, number])) as Readonly<
  Record<StateMetric, number>
>;

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** Escapes a label value for the text format. */
function labelText(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value;
}

function writeAccount(series: StateSeries, view: AccountFigures, times: ViewTimes): void {
  const account = series.labels.begin().label('account="', labelText(view.accountId)).end();
  series.add('account_refused', account, Number(view.refused !== null));
  if (view.mode !== null) series.add('account_enforcing', account, Number(view.mode !== 'observe'));
  series.add('account_paused', account, Number(view.pause !== null));
  const pausedMs = view.pause === null ? 0 : Math.max(0, times.nowMs - view.pause.atMs);
  series.add('account_pause_seconds', account, pausedMs / MS);
  writeState(series, account, view.state);
  // Nothing else is known about an account that cannot be read, not even that nothing is open.
  if (view.refused !== null) return;
  series.add('account_danger', account, view.danger);
  const jointDistance = valueOf(view.jointDistance, Number.POSITIVE_INFINITY);
  series.add('account_joint_distance_ratio', account, jointDistance);
  if (view.judgedAtMs !== null)
    series.add('account_last_judged_timestamp_seconds', account, view.judgedAtMs / MS);
  for (const { source, ageMs } of view.sources) {
    series.add('data_age_seconds', series.labels.begin(account).label(',source="', source).end(), ageMs / MS);
  }
  writeIntents(series, account, view.intents, times.laneMs);
  writeRules(series, account, view, times.nowMs);
  series.add('account_positions', account, view.positions.length);
  for (const line of view.positions.slice(0, MOST_SUBJECTS)) writePosition(series, account, line);
  series.add('account_credit_lines', account, view.creditLines.length);
  for (const line of view.creditLines.slice(0, MOST_SUBJECTS)) writeCreditLine(series, account, line);
}

function writeState(series: StateSeries, account: number, { kind, cause }: AccountFigures['state']): void {
  const labels = series.labels.begin(account).label(',state="', kind).label(',cause="', cause);
  series.add('account_state', labels.end(), 1);
}

const MODES: readonly Mode[] = ['enforce', 'approve', 'observe'];

function writeIntents(
  series: StateSeries,
  account: number,
  intents: readonly IntentFigures[],
  laneMs: number,
): void {
  for (const mode of MODES) {
    // Few accounts use approvals, so series of `approve` exist only while an intent has that mode.
    if (mode === 'approve' && !intents.some((intent) => intent.mode === mode)) continue;
    let [count, oldestMs, overdueMs] = [0, 0, 0];
    for (const intent of intents) {
      if (intent.ended || intent.mode !== mode) continue;
      count += 1;
      oldestMs = Math.max(oldestMs, laneMs - intent.openedMs);
      overdueMs = Math.max(overdueMs, laneMs - intent.deadlineMs);
    }
    const labels = series.labels.begin(account).label(',mode="', mode).end();
    series.add('intents_open', labels, count);
    series.add('oldest_intent_age_seconds', labels, oldestMs / MS);
    series.add('intent_overdue_seconds', labels, overdueMs / MS);
  }
}

const PHASE_VALUES: Readonly<Record<Phase, number>> = { inactive: 0, pending: 1, firing: 2 };

function writeRules(series: StateSeries, account: number, view: AccountFigures, nowMs: number): void {
  const { positions, creditLines, rules } = view;
  const beyond = [...positions.slice(MOST_SUBJECTS), ...creditLines.slice(MOST_SUBJECTS)];
  const hidden = new Set(beyond.map(({ subject }) => subject));
  let firing = 0;
  for (const line of rules) {
    const { subject, phase, frozen, sinceMs } = line;
    if (phase === 'firing') firing += 1;
    if (hidden.has(subject)) continue;
    const labels = ruleLabels(series.labels.begin(account), line);
    series.add('rule_state', labels, PHASE_VALUES[phase]);
    series.add('rule_frozen', labels, Number(frozen));
    if (phase !== 'inactive' && sinceMs !== null) {
      series.add('rule_state_seconds', labels, Math.max(0, nowMs - sinceMs) / MS);
    }
  }
  series.add('rules_firing', account, firing);
}

function ruleLabels(labels: LabelSets, { ruleId, subject, severity }: RuleFigures): number {
  labels.label(',rule="', labelText(ruleId)).label(',subject="', labelText(subject));
  return labels.label(',severity="', severity ?? 'unknown').end();
}

function writePosition(series: StateSeries, account: number, line: PositionFigures): void {
  const { market, positionId, direction, unprotectedMs, disagreement } = line;
  series.labels.begin(account).label(',market="', labelText(market));
  series.labels.label(',position="', labelText(positionId));
  const labels = series.labels.label(',direction="', direction ?? 'unknown').end();
  series.add(
    'position_liquidation_distance_ratio',
    labels,
    valueOf(line.liquidationDistance, Number.POSITIVE_INFINITY),
  );
  if (line.liquidationState !== null) {
    const state = series.labels.begin(labels).label(',state="', line.liquidationState).end();
    series.add('position_liquidation_state', state, 1);
  }
  if (line.stopCover !== null) {
    series.add('position_stop_cover', series.labels.begin(labels).label(',cover="', line.stopCover).end(), 1);
  }
  const covered = line.stopCoverShare ?? (line.stopCover === 'missing' ? 0 : undefined);
  series.add('position_stop_cover_ratio', labels, covered);
  series.add('position_notional', labels, valueOf(line.notional));
  series.add('position_unrealized_pnl', labels, valueOf(line.unrealizedPnl));
  series.add('position_margin_usage_ratio', labels, valueOf(line.marginUsage));
  series.add('position_liquidation_probability_ratio', labels, valueOf(line.liquidationProbability1h, 0));
  series.add('position_unprotected_seconds', labels, unprotectedMs === null ? undefined : unprotectedMs / MS);
  series.add('position_disagreement', labels, disagreement === null ? undefined : Number(disagreement));
}

const SECONDS_PER_MINUTE = 60;

function writeCreditLine(series: StateSeries, account: number, line: CreditLineFigures): void {
  const { asset, subject, minutesToMarginCall, debt } = line;
  const creditLine = subject.slice(subject.lastIndexOf('@') + 1);
  series.labels.begin(account).label(',asset="', labelText(asset));
  const labels = series.labels.label(',loan="', labelText(creditLine)).end();
  series.add('credit_line_ltv_ratio', labels, valueOf(line.currentLtv));
  series.add('credit_line_initial_ltv_ratio', labels, valueOf(line.initialLtv));
  series.add('credit_line_margin_call_ltv_ratio', labels, valueOf(line.marginCallLtv));
  series.add('credit_line_liquidation_ltv_ratio', labels, valueOf(line.liquidationLtv));
  series.add('credit_line_headroom_ratio', labels, valueOf(line.collateralMayFall));
  const minutes = valueOf(minutesToMarginCall, Number.POSITIVE_INFINITY);
  series.add(
    'credit_line_margin_call_seconds',
    labels,
    minutes === undefined ? undefined : minutes * SECONDS_PER_MINUTE,
  );
  series.add('credit_line_debt', labels, debt === null ? undefined : Number(debt));
}

/** Returns the value of a figure. Undefined means no series: it is unknown, or `none` without a number for that. */
function valueOf(figure: Figure, none?: number): number | undefined {
  return figure === 'none' ? none : (figure ?? undefined);
}
