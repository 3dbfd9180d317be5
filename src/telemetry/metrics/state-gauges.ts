import type { Mode } from '../../core/rule.ts';
import type { Phase } from '../../core/rule-state.ts';
import type {
  AccountView,
  CreditLineLine,
  Figure,
  IntentLine,
  PositionLine,
  RuleLine,
} from '../../core/view/account-view.ts';
import { PREFIX } from './spec.ts';
import { STATE_METRICS, type StateMetric } from './state-metrics.ts';

export interface StateFigures {
  readonly accounts: Iterable<AccountView>;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The same on the lanes' clock, on which intents are dated. */
  readonly laneMs: number;
  /** A pause for all accounts is in force. */
  readonly isPausedEverywhere: boolean;
}

/**
 * Of an account with more positions or loans than this the rest has no series; `account_positions` still counts
 * them. What the exchange lists must not fill the memory of whoever scrapes.
 */
export const MOST_SUBJECTS = 500;

const MS = 1000;

/**
 * The text of all state gauges. Written as text at once: with tens of thousands of series the objects of a
 * metrics library would cost more than everything else in a scrape. Without figures only their names.
 */
export function stateGaugesText(figures: StateFigures | undefined): string {
  const series = new SeriesText();
  if (figures !== undefined) {
    series.add('pausedEverywhere', '', Number(figures.isPausedEverywhere));
    for (const account of figures.accounts) writeAccount(series, account, figures);
  }
  return series.text();
}

class SeriesText {
  readonly #texts = new Map<StateMetric, string>();

  /** `labels` as they stand between the braces. */
  add(metric: StateMetric, labels: string, value: number): void {
    const start = labels === '' ? NAMES[metric] : `${NAMES[metric]}{${labels}}`;
    this.#texts.set(metric, `${this.#texts.get(metric) ?? ''}${start} ${numberText(value)}\n`);
  }

  text(): string {
    const parts = Object.entries(STATE_METRICS).map(([key, { name, type, help }]) => {
      const lines = this.#texts.get(key as StateMetric) ?? '';
      return `# HELP ${PREFIX}${name} ${help}\n# TYPE ${PREFIX}${name} ${type}\n${lines}`;
    });
    return `${parts.join('\n')}\n`;
  }
}

const NAMES = Object.fromEntries(
  Object.entries(STATE_METRICS).map(([key, { name }]) => [key, `${PREFIX}${name}`]),
) as Readonly<Record<StateMetric, string>>;

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** As the text format wants label values. */
function labelText(value: string): string {
  return /[\\"\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value;
}

function writeAccount(series: SeriesText, view: AccountView, figures: StateFigures): void {
  const account = `account="${labelText(view.accountId)}"`;
  series.add('refused', account, Number(view.refused !== null));
  if (view.mode !== null) series.add('enforcing', account, Number(view.mode === 'enforce'));
  series.add('paused', account, Number(view.pause !== null));
  const pausedMs = view.pause === null ? 0 : Math.max(0, figures.nowMs - view.pause.atMs);
  series.add('pauseTime', account, pausedMs / MS);
  // Of what cannot be read nothing else is known; not even that nothing is open.
  if (view.refused !== null) return;
  series.add('danger', account, view.danger);
  if (view.judgedAtMs !== null) series.add('lastJudged', account, view.judgedAtMs / MS);
  for (const { source, ageMs } of view.sources) {
    series.add('dataAge', `${account},source="${source}"`, ageMs / MS);
  }
  writeIntents(series, account, view.intents, figures.laneMs);
  writeRules(series, account, view, figures.nowMs);
  series.add('positions', account, view.positions.length);
  for (const line of view.positions.slice(0, MOST_SUBJECTS)) writePosition(series, account, line);
  series.add('creditLines', account, view.creditLines.length);
  for (const line of view.creditLines.slice(0, MOST_SUBJECTS)) writeLoan(series, account, line);
}

const MODES: readonly Mode[] = ['enforce', 'observe'];

function writeIntents(
  series: SeriesText,
  account: string,
  intents: readonly IntentLine[],
  laneMs: number,
): void {
  for (const mode of MODES) {
    let [count, oldestMs, overdueMs] = [0, 0, 0];
    for (const intent of intents) {
      if (intent.ended || intent.mode !== mode) continue;
      count += 1;
      oldestMs = Math.max(oldestMs, laneMs - intent.openedMs);
      overdueMs = Math.max(overdueMs, laneMs - intent.deadlineMs);
    }
    const labels = `${account},mode="${mode}"`;
    series.add('intentsOpen', labels, count);
    series.add('intentAge', labels, oldestMs / MS);
    series.add('intentOverdue', labels, overdueMs / MS);
  }
}

const PHASE_VALUES: Readonly<Record<Phase, number>> = { inactive: 0, pending: 1, firing: 2 };

function writeRules(series: SeriesText, account: string, view: AccountView, nowMs: number): void {
  const { positions, creditLines, rules } = view;
  const beyond = [...positions.slice(MOST_SUBJECTS), ...creditLines.slice(MOST_SUBJECTS)];
  const hidden = new Set(beyond.map(({ subject }) => subject));
  let firing = 0;
  for (const line of rules) {
    const { subject, phase, frozen, sinceMs } = line;
    if (phase === 'firing') firing += 1;
    if (hidden.has(subject)) continue;
    const labels = `${account},${ruleLabels(line)}`;
    series.add('ruleState', labels, PHASE_VALUES[phase]);
    series.add('ruleFrozen', labels, Number(frozen));
    if (phase !== 'inactive' && sinceMs !== null) {
      series.add('ruleStateTime', labels, Math.max(0, nowMs - sinceMs) / MS);
    }
  }
  series.add('firing', account, firing);
}

function ruleLabels({ ruleId, subject, severity }: RuleLine): string {
  return `rule="${labelText(ruleId)}",subject="${labelText(subject)}",severity="${severity ?? 'unknown'}"`;
}

function writePosition(series: SeriesText, account: string, line: PositionLine): void {
  const { market, positionId, direction, unprotectedMs, disagreement } = line;
  const labels = `${account},market="${labelText(market)}",position="${labelText(positionId)}",direction="${direction ?? 'unknown'}"`;
  const add = (metric: StateMetric, value: number | undefined): void => {
    if (value !== undefined) series.add(metric, labels, value);
  };
  add('liquidationDistance', valueOf(line.liquidationDistance, Number.POSITIVE_INFINITY));
  if (line.liquidationState !== null) {
    series.add('liquidationState', `${labels},state="${line.liquidationState}"`, 1);
  }
  if (line.stopCover !== null) series.add('stopCover', `${labels},cover="${line.stopCover}"`, 1);
  add('notional', valueOf(line.notional));
  add('unrealizedPnl', valueOf(line.unrealizedPnl));
  add('positionMarginUsage', valueOf(line.marginUsage));
  add('liquidationProbability', valueOf(line.liquidationProbability1h, 0));
  add('unprotected', unprotectedMs === null ? undefined : unprotectedMs / MS);
  add('disagreement', disagreement === null ? undefined : Number(disagreement));
}

const SECONDS_PER_MINUTE = 60;

function writeLoan(series: SeriesText, account: string, line: CreditLineLine): void {
  const { asset, subject, minutesToMarginCall, debt } = line;
  const loan = subject.slice(subject.lastIndexOf('@') + 1);
  const labels = `${account},asset="${labelText(asset)}",loan="${labelText(loan)}"`;
  const add = (metric: StateMetric, value: number | undefined): void => {
    if (value !== undefined) series.add(metric, labels, value);
  };
  add('currentLtv', valueOf(line.currentLtv));
  add('initialLtv', valueOf(line.initialLtv));
  add('marginCallLtv', valueOf(line.marginCallLtv));
  add('liquidationLtv', valueOf(line.liquidationLtv));
  add('headroom', valueOf(line.collateralMayFall));
  const minutes = valueOf(minutesToMarginCall, Number.POSITIVE_INFINITY);
  add('marginCallIn', minutes === undefined ? undefined : minutes * SECONDS_PER_MINUTE);
  add('debt', debt === null ? undefined : Number(debt));
}

/** What is unknown has no series; a "there is none" only where it means a number. */
function valueOf(figure: Figure, none?: number): number | undefined {
  return figure === 'none' ? none : (figure ?? undefined);
}
