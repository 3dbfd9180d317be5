import { type ActionCost, costFigures } from '../core/costs/action-cost.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { DaemonEvent, EventOf } from '../core/ports/telemetry.ts';
import type { StoredStress, StressedAccountCase, StressedCase } from '../core/view/stress-result.ts';
import { DEGRADED_REASONS, Health } from './health.ts';
import { EVENT_GROUPS, EVENT_METRICS } from './metrics/event-metrics.ts';
import type { MetricSpec } from './metrics/metric-spec.ts';
import type { Metrics } from './metrics/registry.ts';
import { type StateSeries, stateGaugesText } from './metrics/state-gauges.ts';

/** Figures read at each scrape: the shared state, the same in every process, and the queues. */
export interface SharedFigures {
  readonly state: StateSeries;
  readonly queues: Readonly<Record<string, QueueFigures>>;
  /** Absent if no stress test is scheduled or none has run. */
  readonly stress?: StoredStress | undefined;
}

export interface QueueFigures {
  readonly jobs: Readonly<Record<string, number>>;
  /** Age of the oldest job that no worker has taken; 0 without one. */
  readonly oldestAgeMs: number;
  /** Workers take no jobs from it. */
  readonly isPaused: boolean;
}

/** A request budget, and the fraction of it that this process used within its last period. */
export interface BudgetUse {
  readonly egress: string;
  readonly limit: string;
  readonly used: number;
}

/** Limit, per account, of breaches that wait for their first order; the oldest are dropped. */
const MOST_BREACHES = 64;
const MOST_REASONS = 300;
const MS = 1000;

interface Recording {
  readonly metrics: Metrics;
  /** By rule: when it began to fire, in Unix milliseconds. Only rules that have had no order accepted since. */
  readonly breachesOf: (accountId: string) => Map<string, number>;
  /** Bounds label values from outside, such as error names: the first distinct values stay, the rest become `other`. */
  readonly bounded: (value: string) => string;
}

/** Turns events into metrics. Called thousands of times a second: no copies, no work that a scrape can do. */
export function createRecorder(metrics: Metrics, clock: Clock) {
  const breaches = new Map<string, Map<string, number>>();
  const health = new Health(clock);
  let shared: (() => Promise<SharedFigures>) | undefined;
  let lostState: (() => StateSeries) | undefined;
  let budgets: () => readonly BudgetUse[] = () => [];
  const recording: Recording = {
    metrics,
    bounded: boundedValues(),
    breachesOf(accountId) {
      const known = breaches.get(accountId) ?? new Map<string, number>();
      breaches.set(accountId, known);
      return known;
    },
  };
  return {
    record(event: DaemonEvent): void {
      health.note(event);
      const handler = HANDLERS[event.kind] as
        | ((event: DaemonEvent, recording: Recording) => void)
        | undefined;
      handler?.(event, recording);
    },
    /** Sets the source of the shared figures, called at each scrape. If it fails, the state has the series of `lost`. */
    shared(source: () => Promise<SharedFigures>, lost?: () => StateSeries): void {
      shared = source;
      lostState = lost;
    },
    /** Sets the source of the budgets, called at each scrape. */
    budgets(source: () => readonly BudgetUse[]): void {
      budgets = source;
    },
    /** Returns why this process does not work as it should; empty if it does. */
    degraded: () => health.reasons(),
    /** Removes what is kept for accounts and channels that no longer exist. */
    retain(accountIds: readonly string[], channels: readonly string[]): void {
      const kept = new Set(accountIds);
      for (const id of breaches.keys()) if (!kept.has(id)) breaches.delete(id);
      health.retain(kept, new Set(channels));
      metrics.accounts.set(kept.size);
      removeChannels(metrics, new Set(channels));
    },
    /** Returns the text of a scrape in lazy parts. */
    async scrape(): Promise<Iterable<Uint8Array>> {
      const figures = await shared?.().catch(() => undefined);
      // There is no other await before the text is made, so that concurrent scrapes do not mix.
      setQueues(metrics, figures?.queues ?? {});
      setStress(metrics, figures?.stress, clock.nowMs());
      metrics.shared_state_available.set(figures === undefined ? 0 : 1);
      metrics.exchange_budget_used_ratio.reset();
      for (const { egress, limit, used } of budgets())
        metrics.exchange_budget_used_ratio.set({ egress, limit }, used);
      for (const reason of DEGRADED_REASONS) metrics.degraded.set({ reason }, Number(health.has(reason)));
      const own = await metrics.registry.metrics();
      return textOf(figures === undefined ? lostState?.() : figures.state, own);
    },
    contentType: metrics.registry.contentType,
  };
}

export type MetricsRecorder = ReturnType<typeof createRecorder>;

function* textOf(state: StateSeries | undefined, own: string): Generator<Uint8Array> {
  yield* stateGaugesText(state);
  yield Buffer.from(`\n${own}`);
}

const LONGEST_VALUE = 80;

function boundedValues(): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= MOST_REASONS || value.length > LONGEST_VALUE) return 'other';
    known.add(value);
    return value;
  };
}

type Handlers = { readonly [K in DaemonEvent['kind']]?: (event: EventOf<K>, recording: Recording) => void };

const problem =
  (name: string) =>
  ({ queue }: { readonly queue: string }, { metrics }: Recording): void =>
    metrics.queue_problems_total.inc({ queue, problem: name });

const HANDLERS: Handlers = {
  ticked({ lagMs, inFlight }, { metrics }) {
    metrics.schedule_lag_seconds.observe(Math.max(0, lagMs) / MS);
    if (inFlight > 0) metrics.polls_skipped_in_flight_total.inc(inFlight);
  },
  read({ source, outcome, setAside }, { metrics }) {
    metrics.reads_total.inc({ source, outcome });
    if (setAside > 0) metrics.records_set_aside_total.inc({ source }, setAside);
  },
  evaluated({ accountId, evaluation, durationMs }, { metrics, breachesOf }) {
    metrics.polls_total.inc({ outcome: 'ok' });
    metrics.poll_duration_seconds.observe(durationMs / MS);
    for (const { ruleId, from, to, reason, atMs } of evaluation.transitions) {
      metrics.rule_transitions_total.inc({ to, reason });
      if (to !== 'firing') breachesOf(accountId).delete(ruleId);
      else if (from !== 'firing') noteBreach(breachesOf(accountId), ruleId, atMs);
    }
  },
  pollFailed: ({ why }, { metrics }) => metrics.polls_total.inc({ outcome: why }),
  commit: ({ by, result }, { metrics }) => metrics.commits_total.inc({ by, result }),
  accountRefused: ({ problem: { document } }, { metrics }) =>
    metrics.accounts_refused_total.inc({ document: document.startsWith('lane:') ? 'lane' : document }),
  epochStarted: ({ why }, { metrics }) => metrics.store_epochs_started_total.inc({ why }),

  laneRun({ end, durationMs }, { metrics }) {
    metrics.lane_runs_total.inc({ end });
    metrics.lane_run_duration_seconds.observe(durationMs / MS);
  },
  step({ step, outcome, error = '' }, { metrics, bounded }) {
    if (step === 'readPositions') return;
    metrics.actions_total.inc({ kind: step, outcome, reason: error === '' ? '' : bounded(error) });
  },
  audited({ event }, { metrics, bounded, breachesOf }) {
    const { kind, reason, alarm, accountId, ruleId, atMs, openedMs } = event;
    metrics.audit_events_total.inc({ kind, reason: bounded(reason) });
    if (alarm) metrics.alarms_total.inc({ kind });
    if (event.cost !== undefined && reason === 'filled') countCost(metrics, event.cost);
    if (kind === 'intentEnded' && openedMs !== undefined) {
      const [how = '', ...why] = reason.split(':');
      metrics.intents_ended_total.inc({ how, why: bounded(why.join(':')) });
      if (how === 'reached') metrics.time_to_target_seconds.observe(Math.max(0, atMs - openedMs) / MS);
    }
    if (kind !== 'accepted' || ruleId === undefined) return;
    const breaches = breachesOf(accountId);
    const sinceMs = breaches.get(ruleId);
    if (sinceMs === undefined) return;
    breaches.delete(ruleId);
    metrics.breach_to_order_seconds.observe(Math.max(0, atMs - sinceMs) / MS);
  },

  call({ call }, { metrics, bounded }) {
    const { endpoint, outcome, error = '' } = call;
    metrics.exchange_requests_total.inc({ endpoint, outcome, error: error === '' ? '' : bounded(error) });
    metrics.exchange_request_duration_seconds.observe({ endpoint }, call.durationMs / MS);
    metrics.exchange_attempts_total.inc({ endpoint }, call.attempts);
    if (call.noncesRefused > 0) metrics.exchange_nonces_refused_total.inc({ endpoint }, call.noncesRefused);
    if (call.limitsHit > 0) metrics.exchange_limits_hit_total.inc({ endpoint }, call.limitsHit);
    if (call.budgetWaitMs > 0)
      metrics.exchange_budget_wait_seconds_total.inc({ endpoint }, call.budgetWaitMs / MS);
  },
  exchangePath: ({ host, error }, { metrics, bounded }) =>
    metrics.exchange_path_failures_total.inc({ host, error: bounded(error) }),
  contractDrift: ({ endpoint }, { metrics }) => metrics.contract_drift_total.inc({ endpoint }),
  exchangeStore: ({ store, available }, { metrics }) =>
    metrics.exchange_store_available.set({ store }, available ? 1 : 0),

  notice: ({ notice: { kind, severity } }, { metrics }) => metrics.notices_total.inc({ kind, severity }),
  delivered({ message: { kind }, report: { channel, delivery } }, { metrics }) {
    const reason = delivery.kind === 'failed' ? delivery.reason : '';
    metrics.notifications_total.inc({ channel, kind, outcome: delivery.kind, reason });
    if ('durationMs' in delivery)
      metrics.notification_duration_seconds.observe({ channel }, delivery.durationMs / MS);
  },
  deliveryRetried: ({ channel, reason }, { metrics }) =>
    metrics.notification_retries_total.inc({ channel, reason }),

  workerError: problem('workerError'),
  jobFailed: problem('failed'),
  jobStalled: problem('stalled'),
  jobRefused: problem('refused'),
  controlRefused: (_event, { metrics }) => metrics.controls_refused_total.inc(),
  noticeUnproven: problem('unproven'),
  queueResumed: problem('paused'),
  schedulesAsserted: ({ why, buckets }, { metrics }) =>
    metrics.schedules_asserted_total.inc({ why }, buckets.length),
  webRefused: ({ why }, { metrics }) => metrics.web_refused_total.inc({ reason: why }),
  journalOpened: (_event, { metrics }) => metrics.redis_available.remove(),
  redis: ({ available }, { metrics }) => metrics.redis_available.set(available ? 1 : 0),
  standby(event, { metrics }) {
    metrics.running_alone.set(event.state === 'alone' ? 1 : 0);
    metrics.watching_only.set(event.state === 'alone' && event.watchesOnly !== undefined ? 1 : 0);
  },
  mirror: ({ state }, { metrics }) => metrics.mirror_failing.set(state === 'failing' ? 1 : 0),
  started: ({ accounts }, { metrics }) => metrics.accounts.set(accounts),
  configReloaded({ accounts, result }, { metrics }) {
    metrics.accounts.set(accounts);
    // The first read is not a reload; it only creates the series.
    if (result === 'first') metrics.config_reloads_total.inc({ result: 'changed' }, 0);
    else metrics.config_reloads_total.inc({ result });
  },
  configRefused: (_event, { metrics }) => metrics.config_reloads_total.inc({ result: 'refused' }),
  heartbeat({ signal, refused, atMs }, { metrics }) {
    metrics.heartbeat_pings_total.inc({ signal, outcome: refused === undefined ? 'accepted' : 'failed' });
    if (signal === 'success' && refused === undefined)
      metrics.heartbeat_last_success_timestamp_seconds.set(atMs / MS);
  },
  botTold: ({ channel, what, outcome }, { metrics }) =>
    metrics.bot_updates_total.inc({ channel, what, outcome }),
  logLost: ({ why }, { metrics }) => metrics.log_lines_lost_total.inc({ why }),
  stressed: ({ outcome }, { metrics }) => metrics.stress_runs_total.inc({ outcome }),
};

/** Counts a fill once, with what is known of it then. */
function countCost(metrics: Metrics, cost: ActionCost): void {
  const { money } = cost;
  const { slippage, fee } = costFigures(cost);
  const parts = [
    ['slippage', slippage],
    ['fee', fee],
  ] as const;
  for (const [part, value] of parts) {
    if (value === null) metrics.protection_unknown_total.inc({ money, part });
    else
      metrics.protection_money_total.inc(
        { money, part, sign: value < 0 ? 'gained' : 'lost' },
        Math.abs(value),
      );
  }
}

function noteBreach(breaches: Map<string, number>, ruleId: string, atMs: number): void {
  const [oldest] = breaches.keys();
  if (breaches.size >= MOST_BREACHES && oldest !== undefined) breaches.delete(oldest);
  breaches.set(ruleId, atMs);
}

function setQueues(metrics: Metrics, queues: SharedFigures['queues']): void {
  const { queue_jobs: jobCount, queue_oldest_job_seconds: age, queue_paused: paused } = metrics;
  for (const gauge of [jobCount, age, paused]) gauge.reset();
  for (const [queue, { jobs, oldestAgeMs, isPaused }] of Object.entries(queues)) {
    for (const [state, count] of Object.entries(jobs)) jobCount.set({ queue, state }, count);
    age.set({ queue }, Math.max(0, oldestAgeMs) / MS);
    paused.set({ queue }, Number(isPaused));
  }
}

function removeChannels(metrics: Metrics, kept: ReadonlySet<string>): void {
  for (const { name, labels } of Object.values<MetricSpec>(EVENT_METRICS)) {
    if (labels.includes('channel')) removeSeries(metrics[name as keyof typeof EVENT_METRICS], kept);
  }
}

/** prom-client removes series one by one, by all of their labels, and lists them only in its internal map. */
function removeSeries(
  metric: { remove(labels: Record<string, string>): void },
  kept: ReadonlySet<string>,
): void {
  const { hashMap } = metric as unknown as {
    readonly hashMap: Readonly<Record<string, { readonly labels: Record<string, string> }>>;
  };
  for (const { labels } of Object.values(hashMap)) {
    if (!kept.has(labels['channel'] ?? '')) metric.remove(labels);
  }
}

const { stress_runs_total: _, ...GAUGES } = EVENT_GROUPS.stress;

/** Sets the gauges to the newest stress test; without one there are no series. */
function setStress(metrics: Metrics, stored: StoredStress | undefined, nowMs: number): void {
  for (const name of Object.keys(GAUGES) as (keyof typeof GAUGES)[]) {
    const gauge: { reset(): void; remove(labels: object): void } = metrics[name];
    gauge.reset();
    // A gauge without labels reports 0 after a reset, which would be a false value.
    gauge.remove({});
  }
  if (stored === undefined) return;
  const { result, lastRun, nextAtMs } = stored;
  metrics.stress_last_run.set({ outcome: lastRun.outcome }, 1);
  metrics.stress_overdue_seconds.set(Math.max(0, nowMs - nextAtMs) / MS);
  if (result === null) return;
  metrics.stress_age_seconds.set(Math.max(0, nowMs - result.atMs) / MS);
  metrics.stress_duration_seconds.set(result.durationMs / MS);
  metrics.stress_accounts.set(result.accounts);
  metrics.stress_left_out.set(result.leftOutCount);
  for (const { scenario, conditions, ...effect } of result.cases) {
    for (const [protection, liquidated, kept] of bothOf(effect)) {
      const labels = { scenario, conditions, protection };
      metrics.stress_liquidated_accounts.set(labels, liquidated);
      metrics.stress_equity_kept_ratio.set(labels, kept);
    }
  }
  for (const { accountId: account, scenario, conditions, ...effect } of result.accountCases) {
    for (const [protection, liquidated, kept] of bothOf(effect)) {
      const labels = { account, scenario, conditions, protection };
      metrics.stress_account_liquidated.set(labels, liquidated);
      metrics.stress_account_equity_kept_ratio.set(labels, kept);
    }
  }
}

type Effect = Pick<
  StressedCase | StressedAccountCase,
  'liquidatedWithout' | 'liquidatedWith' | 'keptWithout' | 'keptWith'
>;

function bothOf({ liquidatedWithout, liquidatedWith, keptWithout, keptWith }: Effect) {
  return [
    ['none', Number(liquidatedWithout), keptWithout],
    ['rules', Number(liquidatedWith), keptWith],
  ] as const;
}
