import type { Clock } from '../core/ports/clock.ts';
import type { DaemonEvent } from '../core/ports/telemetry.ts';
import type { StoredStress } from '../core/view/stress-result.ts';
import { DEGRADED_REASONS, type DegradedReason, Health } from './health.ts';
import type { Metrics } from './metrics/registry.ts';
import { type StateSeries, stateGaugesText } from './metrics/state-gauges.ts';
import { setStress } from './stress-gauges.ts';
import { Tally } from './tally.ts';

type EventOf<K extends DaemonEvent['kind']> = Extract<DaemonEvent, { readonly kind: K }>;

/** What is read when somebody scrapes: the shared state, which every process tells alike, and the queues. */
export interface SharedFigures {
  readonly state: StateSeries;
  readonly queues: Readonly<Record<string, QueueFigures>>;
  /** Absent: none is scheduled, or none has run. */
  readonly stress?: StoredStress | undefined;
}

export interface QueueFigures {
  /** By state. */
  readonly jobs: Readonly<Record<string, number>>;
  /** Age of the oldest job that no worker has taken; 0 without any. */
  readonly oldestAgeMs: number;
  /** Nothing is taken out of it. */
  readonly isPaused: boolean;
}

/** A request budget, and how much of it this process used within its last period, a fraction. */
export interface BudgetUse {
  readonly egress: string;
  readonly limit: string;
  readonly used: number;
}

/** Turns what happens into metrics. Called thousands of times a second: no copies, no work that a scrape can do. */
export interface MetricsRecorder {
  record(event: DaemonEvent): void;
  /** Asked at every scrape; when it fails there are no series. */
  shared(source: () => Promise<SharedFigures>): void;
  /** Asked at every scrape. */
  budgets(source: () => readonly BudgetUse[]): void;
  /** Why this process does not work as it should; empty: it does. */
  degraded(): readonly DegradedReason[];
  /** Only these accounts and channels exist from now on: series of others are removed. */
  retain(accountIds: readonly string[], channels: readonly string[]): void;
  /** The text of a scrape in parts, each made when it is asked for; it holds until the next one is. */
  scrape(): Promise<Iterable<Uint8Array>>;
  readonly contentType: string;
}

/** More breaches than this do not wait for their first order: the oldest are let go. */
const MOST_BREACHES = 64;
const MOST_REASONS = 300;
const MS = 1000;

/** What the handlers of events write to. */
interface Recording {
  readonly metrics: Metrics;
  readonly tallies: ReturnType<typeof talliesOf>;
  /** When rules of an account began to fire that have had no order accepted yet; Unix milliseconds, by rule. */
  readonly breachesOf: (accountId: string) => Map<string, number>;
  /** Label values from outside, such as the names of errors: so many different ones, the rest as `other`. */
  readonly bounded: (value: string) => string;
  readonly channelsSeen: Set<string>;
}

export function createRecorder(metrics: Metrics, clock: Clock): MetricsRecorder {
  const breaches = new Map<string, Map<string, number>>();
  const health = new Health(clock);
  let shared: (() => Promise<SharedFigures>) | undefined;
  let budgets: () => readonly BudgetUse[] = () => [];
  const tallies = talliesOf(metrics);
  const channelsSeen = new Set<string>();
  const recording: Recording = {
    metrics,
    tallies,
    channelsSeen,
    bounded: boundedValues(),
    breachesOf(accountId) {
      const known = breaches.get(accountId) ?? new Map<string, number>();
      breaches.set(accountId, known);
      return known;
    },
  };
  return {
    record(event) {
      health.note(event);
      const handler = HANDLERS[event.kind] as
        | ((event: DaemonEvent, recording: Recording) => void)
        | undefined;
      handler?.(event, recording);
    },
    shared(source) {
      shared = source;
    },
    budgets(source) {
      budgets = source;
    },
    degraded: () => health.reasons(),
    retain(accountIds, channels) {
      const kept = new Set(accountIds);
      for (const id of breaches.keys()) if (!kept.has(id)) breaches.delete(id);
      health.retain(kept, new Set(channels));
      metrics.accounts.set(kept.size);
      removeChannels(metrics, channelsSeen, new Set(channels));
    },
    async scrape() {
      const figures = await shared?.().catch(() => undefined);
      for (const tally of Object.values(tallies)) tally.flush();
      // Nothing else is done until the text is made, so that two scrapes at once do not mix.
      setQueues(metrics, figures?.queues ?? {});
      setStress(metrics, figures?.stress, clock.nowMs());
      metrics.shared.set(figures === undefined ? 0 : 1);
      metrics.budgetUsed.reset();
      for (const { egress, limit, used } of budgets()) metrics.budgetUsed.set({ egress, limit }, used);
      for (const reason of DEGRADED_REASONS) metrics.degraded.set({ reason }, Number(health.has(reason)));
      const own = await metrics.registry.metrics();
      return textOf(figures?.state, own);
    },
    contentType: metrics.registry.contentType,
  };
}

function* textOf(state: StateSeries | undefined, own: string): Generator<Uint8Array> {
  yield* stateGaugesText(state);
  yield Buffer.from(`\n${own}`);
}

/** Counters that every poll adds to. */
function talliesOf(metrics: Metrics) {
  return {
    /** By endpoint and outcome; those with an error are counted one by one. */
    requests: new Tally<string, string>(metrics.requests, (endpoint, outcome) => ({
      endpoint,
      outcome,
      error: '',
    })),
    attempts: new Tally<string, ''>(metrics.attempts, (endpoint) => ({ endpoint })),
    reads: new Tally<string, string>(metrics.reads, (source, outcome) => ({ source, outcome })),
    polls: new Tally<string, ''>(metrics.polls, (outcome) => ({ outcome })),
    commits: new Tally<string, string>(metrics.commits, (by, result) => ({ by, result })),
  };
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

const HANDLERS: Handlers = {
  ticked({ lagMs, inFlight }, { metrics }) {
    metrics.scheduleLag.observe(Math.max(0, lagMs) / MS);
    if (inFlight > 0) metrics.overlapping.inc(inFlight);
  },
  read({ source, outcome, setAside }, { metrics, tallies }) {
    tallies.reads.add(source, outcome);
    if (setAside > 0) metrics.setAside.inc({ source }, setAside);
  },
  evaluated({ accountId, evaluation, durationMs }, { metrics, tallies, breachesOf }) {
    tallies.polls.add('ok', '');
    metrics.pollDuration.observe(durationMs / MS);
    for (const { ruleId, from, to, reason, atMs } of evaluation.transitions) {
      metrics.transitions.inc({ to, reason });
      if (to !== 'firing') breachesOf(accountId).delete(ruleId);
      else if (from !== 'firing') noteBreach(breachesOf(accountId), ruleId, atMs);
    }
  },
  pollFailed: ({ why }, { tallies }) => tallies.polls.add(why, ''),
  commit: ({ by, result }, { tallies }) => tallies.commits.add(by, result),
  accountRefused: ({ problem: { document } }, { metrics }) =>
    metrics.refusedAccounts.inc({ document: document.startsWith('lane:') ? 'lane' : document }),
  epochStarted: ({ why }, { metrics }) => metrics.storeEpochs.inc({ why }),

  laneRun({ end, durationMs }, { metrics }) {
    metrics.laneRuns.inc({ end });
    metrics.laneRunDuration.observe(durationMs / MS);
  },
  step({ step, outcome, error = '' }, { metrics, bounded }) {
    if (step === 'readPositions') return;
    metrics.actions.inc({ kind: step, outcome, reason: error === '' ? '' : bounded(error) });
  },
  audited({ event }, { metrics, bounded, breachesOf }) {
    const { kind, reason, alarm, accountId, ruleId, atMs, openedMs } = event;
    metrics.audited.inc({ kind, reason: bounded(reason) });
    if (alarm) metrics.alarms.inc({ kind });
    if (kind === 'intentEnded' && openedMs !== undefined) {
      const [how = '', ...why] = reason.split(':');
      metrics.intentsEnded.inc({ how, why: bounded(why.join(':')) });
      if (how === 'reached') metrics.timeToTarget.observe(Math.max(0, atMs - openedMs) / MS);
    }
    if (kind !== 'accepted' || ruleId === undefined) return;
    const breaches = breachesOf(accountId);
    const sinceMs = breaches.get(ruleId);
    if (sinceMs === undefined) return;
    breaches.delete(ruleId);
    metrics.breachToOrder.observe(Math.max(0, atMs - sinceMs) / MS);
  },

  call({ call }, { metrics, tallies, bounded }) {
    const { endpoint, outcome, error = '' } = call;
    if (error === '') tallies.requests.add(endpoint, outcome);
    else metrics.requests.inc({ endpoint, outcome, error: bounded(error) });
    metrics.requestDuration.observe({ endpoint }, call.durationMs / MS);
    tallies.attempts.add(endpoint, '', call.attempts);
    if (call.noncesRefused > 0) metrics.noncesRefused.inc({ endpoint }, call.noncesRefused);
    if (call.limitsHit > 0) metrics.limitsHit.inc({ endpoint }, call.limitsHit);
    if (call.budgetWaitMs > 0) metrics.budgetWait.inc({ endpoint }, call.budgetWaitMs / MS);
  },
  exchangePath: ({ host, error }, { metrics, bounded }) =>
    metrics.pathFailures.inc({ host, error: bounded(error) }),
  contractDrift: ({ endpoint }, { metrics }) => metrics.drift.inc({ endpoint }),
  exchangeStore: ({ store, available }, { metrics }) => metrics.stores.set({ store }, available ? 1 : 0),

  notice: ({ notice: { kind, severity } }, { metrics }) => metrics.notices.inc({ kind, severity }),
  delivered({ message: { kind }, report: { channel, delivery } }, { metrics, channelsSeen }) {
    channelsSeen.add(channel);
    const reason = delivery.kind === 'failed' ? delivery.reason : '';
    metrics.notifications.inc({ channel, kind, outcome: delivery.kind, reason });
    if ('durationMs' in delivery) metrics.notificationDuration.observe({ channel }, delivery.durationMs / MS);
  },
  deliveryRetried({ channel, reason }, { metrics, channelsSeen }) {
    channelsSeen.add(channel);
    metrics.notificationRetries.inc({ channel, reason });
  },

  workerError: ({ queue }, { metrics }) => metrics.jobProblems.inc({ queue, problem: 'workerError' }),
  jobFailed: ({ queue }, { metrics }) => metrics.jobProblems.inc({ queue, problem: 'failed' }),
  jobStalled: ({ queue }, { metrics }) => metrics.jobProblems.inc({ queue, problem: 'stalled' }),
  jobRefused: ({ queue }, { metrics }) => metrics.jobProblems.inc({ queue, problem: 'refused' }),
  auditHead: () => undefined,
  controlRefused: (_event, { metrics }) => metrics.controlsRefused.inc(),
  queueResumed: ({ queue }, { metrics }) => metrics.jobProblems.inc({ queue, problem: 'paused' }),
  schedulesAsserted: ({ why, buckets }, { metrics }) => metrics.schedules.inc({ why }, buckets.length),
  webRefused: ({ why }, { metrics }) => metrics.webRefused.inc({ reason: why }),
  redis: ({ available }, { metrics }) => metrics.redis.set(available ? 1 : 0),
  started: ({ accounts }, { metrics }) => metrics.accounts.set(accounts),
  configReloaded({ accounts, changed }, { metrics }) {
    metrics.accounts.set(accounts);
    metrics.reloads.inc({ result: changed ? 'changed' : 'unchanged' });
  },
  configRefused: (_event, { metrics }) => metrics.reloads.inc({ result: 'refused' }),
  logLost: ({ why }, { metrics }) => metrics.logLost.inc({ why }),
  stressed: ({ outcome }, { metrics }) => metrics.stressRuns.inc({ outcome }),
};

function noteBreach(breaches: Map<string, number>, ruleId: string, atMs: number): void {
  const [oldest] = breaches.keys();
  if (breaches.size >= MOST_BREACHES && oldest !== undefined) breaches.delete(oldest);
  breaches.set(ruleId, atMs);
}

function setQueues({ queueJobs, queueAge, queuePaused }: Metrics, queues: SharedFigures['queues']): void {
  for (const gauge of [queueJobs, queueAge, queuePaused]) gauge.reset();
  for (const [queue, { jobs, oldestAgeMs, isPaused }] of Object.entries(queues)) {
    for (const [state, count] of Object.entries(jobs)) queueJobs.set({ queue, state }, count);
    queueAge.set({ queue }, Math.max(0, oldestAgeMs) / MS);
    queuePaused.set({ queue }, Number(isPaused));
  }
}

function removeChannels(metrics: Metrics, seen: Set<string>, kept: ReadonlySet<string>): void {
  const gone = [...seen].filter((channel) => !kept.has(channel));
  if (gone.length === 0) return;
  for (const channel of gone) seen.delete(channel);
  for (const metric of [metrics.notifications, metrics.notificationRetries, metrics.notificationDuration]) {
    removeSeries(metric, gone);
  }
}

interface WithSeries {
  remove(labels: Record<string, string | number>): void;
}

/** prom-client removes one series at a time, by all of its labels; what exists only its own map knows. */
function removeSeries(metric: WithSeries, channels: readonly string[]): void {
  const { hashMap } = metric as unknown as {
    readonly hashMap: Readonly<Record<string, { readonly labels: Record<string, string> }>>;
  };
  for (const { labels } of Object.values(hashMap)) {
    if (channels.includes(labels['channel'] ?? '')) metric.remove(labels);
  }
}
