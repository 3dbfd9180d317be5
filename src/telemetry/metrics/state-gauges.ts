import type { Mode } from '../../core/rules/rule.ts';
import type { Phase } from '../../core/rules/rule-state.ts';
import type {
  AccountFigures,
  CreditLineFigures,
  Figure,
  IntentFigures,
  PositionFigures,
} from '../../core/view/account-view.ts';
import { type MetricSpec, PREFIX } from './metric-spec.ts';
import { STATE_METRICS, type StateMetric } from './state-metrics.ts';

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

/**
 * All series of the state gauges: tens of thousands. A series is a metric, a value, and the text of its labels, which
 * series share. prom-client would need several times the time and memory: for 105,000 series (1,000 accounts) 480 ms
 * and 74 MiB with its gauges, 310 ms and 56 MiB with a `get` that returns the values; this class needs 70 ms, and
 * 10 MiB until the text is written.
 */
export class StateSeries {
  /** A pause for all accounts is in force. */
  isPausedEverywhere = false;
  readonly #metrics: StateMetric[] = [];
  readonly #labels: string[] = [];
  readonly #values: number[] = [];
  /** By account: where its series start and end. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Adds the series of an account. `index` is its place: each is added once, in any order. */
  take(index: number, figures: AccountFigures, times: ViewTimes): void {
    this.#starts[index] = this.#metrics.length;
    writeAccount(this, figures, times);
    this.#ends[index] = this.#metrics.length;
  }

  /** Adds an account of which only the state is known. */
  takeState(index: number, accountId: string, state: AccountFigures['state']): void {
    this.#starts[index] = this.#metrics.length;
    writeState(this, labelled('', { account: accountId }), state);
    this.#ends[index] = this.#metrics.length;
  }

  /** Adds a series, unless `value` is undefined. */
  add(metric: StateMetric, labels: string, value: number | undefined): void {
    if (value === undefined) return;
    this.#metrics.push(metric);
    this.#labels.push(labels);
    this.#values.push(value);
  }

  /** The lines of a metric, accounts in order. */
  *lines(metric: StateMetric): Generator<string> {
    const [metrics, labels, values] = [this.#metrics, this.#labels, this.#values];
    if (metric === 'paused') yield `${PREFIX}paused ${Number(this.isPausedEverywhere)}\n`;
    const name = `${PREFIX}${metric}{`;
    for (const [account, start] of this.#starts.entries()) {
      const end = this.#ends[account]!;
      for (let at = start; at < end; at += 1) {
        if (metrics[at] === metric) yield `${name}${labels[at]!}} ${numberText(values[at]!)}\n`;
      }
    }
  }
}

const PART_LENGTH = 65_536;

/** Yields the text of all state gauges in parts; without series, only names and help. */
export function* stateGaugesText(series: StateSeries | undefined): Generator<Uint8Array> {
  let text = '';
  for (const [metric, { type, help }] of METRICS) {
    text += `# HELP ${PREFIX}${metric} ${help}\n# TYPE ${PREFIX}${metric} ${type}\n`;
    for (const line of series?.lines(metric) ?? []) {
      if (text.length + line.length > PART_LENGTH) {
        yield Buffer.from(text);
        text = '';
      }
      text += line;
    }
    text += '\n';
  }
  yield Buffer.from(text);
}

const METRICS = Object.entries(STATE_METRICS) as readonly (readonly [StateMetric, MetricSpec])[];

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** The text of labels, their values escaped for the text format, after that of `base`. */
function labelled(base: string, labels: Readonly<Record<string, string>>): string {
  const parts = base === '' ? [] : [base];
  for (const name in labels) parts.push(`${name}="${escaped(labels[name]!)}"`);
  // Joined text takes less memory than text put together by `+`, of which every piece stays.
  return parts.join(',');
}

function escaped(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function writeAccount(series: StateSeries, view: AccountFigures, times: ViewTimes): void {
  const account = labelled('', { account: view.accountId });
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
    series.add('data_age_seconds', labelled(account, { source }), ageMs / MS);
  }
  writeIntents(series, account, view.intents, times.laneMs);
  writeRules(series, account, view, times.nowMs);
  series.add('account_positions', account, view.positions.length);
  for (const line of view.positions.slice(0, MOST_SUBJECTS)) writePosition(series, account, line);
  series.add('account_credit_lines', account, view.creditLines.length);
  for (const line of view.creditLines.slice(0, MOST_SUBJECTS)) writeCreditLine(series, account, line);
}

function writeState(series: StateSeries, account: string, { kind, cause }: AccountFigures['state']): void {
  series.add('account_state', labelled(account, { state: kind, cause }), 1);
}

const MODES: readonly Mode[] = ['enforce', 'approve', 'observe'];

function writeIntents(
  series: StateSeries,
  account: string,
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
    const labels = labelled(account, { mode });
    series.add('intents_open', labels, count);
    series.add('oldest_intent_age_seconds', labels, oldestMs / MS);
    series.add('intent_overdue_seconds', labels, overdueMs / MS);
  }
}

const PHASE_VALUES: Readonly<Record<Phase, number>> = { inactive: 0, pending: 1, firing: 2 };

function writeRules(series: StateSeries, account: string, view: AccountFigures, nowMs: number): void {
  const { positions, creditLines, rules } = view;
  const beyond = [...positions.slice(MOST_SUBJECTS), ...creditLines.slice(MOST_SUBJECTS)];
  const hidden = new Set(beyond.map(({ subject }) => subject));
  let firing = 0;
  for (const { ruleId, subject, severity, phase, frozen, sinceMs } of rules) {
    if (phase === 'firing') firing += 1;
    if (hidden.has(subject)) continue;
    const labels = labelled(account, { rule: ruleId, subject, severity: severity ?? 'unknown' });
    series.add('rule_state', labels, PHASE_VALUES[phase]);
    series.add('rule_frozen', labels, Number(frozen));
    if (phase !== 'inactive' && sinceMs !== null) {
      series.add('rule_state_seconds', labels, Math.max(0, nowMs - sinceMs) / MS);
    }
  }
  series.add('rules_firing', account, firing);
}

function writePosition(series: StateSeries, account: string, line: PositionFigures): void {
  const { market, positionId, direction, unprotectedMs, disagreement } = line;
  const labels = labelled(account, { market, position: positionId, direction: direction ?? 'unknown' });
  series.add(
    'position_liquidation_distance_ratio',
    labels,
    valueOf(line.liquidationDistance, Number.POSITIVE_INFINITY),
  );
  if (line.liquidationState !== null) {
    series.add('position_liquidation_state', labelled(labels, { state: line.liquidationState }), 1);
  }
  if (line.stopCover !== null) {
    series.add('position_stop_cover', labelled(labels, { cover: line.stopCover }), 1);
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

function writeCreditLine(series: StateSeries, account: string, line: CreditLineFigures): void {
  const { asset, subject, minutesToMarginCall, debt } = line;
  const creditLine = subject.slice(subject.lastIndexOf('@') + 1);
  const labels = labelled(account, { asset, loan: creditLine });
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
