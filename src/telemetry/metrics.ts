import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Every metric of the daemon: names with base units, help texts, and labels from closed or bounded sets. */

const PREFIX = 'breakwater_';

/** Seconds: from what a quick reply takes to what a timeout does. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LAG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const ORDER_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const DELIVERY_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export type Metrics = ReturnType<typeof createMetrics>;

export interface MetricsOptions {
  readonly version: string;
  /** Also of the process: CPU, memory, event loop, garbage collection. On by default. */
  readonly process?: boolean;
}

/** A registry of its own; nothing global, so several can be in one process. */
export function createMetrics({ version, process: withProcess = true }: MetricsOptions) {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]): Gauge<L> =>
    new Gauge({ name: `${PREFIX}${name}`, help, labelNames, registers });
  const histogram = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: readonly number[],
  ): Histogram<L> =>
    new Histogram({ name: `${PREFIX}${name}`, help, labelNames, buckets: [...buckets], registers });
  gauge('build_info', 'Version of Breakwater and of Node.js; always 1.', ['version', 'node_version']).set(
    { version, node_version: process.version },
    1,
  );
  if (withProcess) collectProcess(registry);
  return {
    registry,
    ...pollMetrics(counter, gauge, histogram),
    ...actMetrics(counter, gauge, histogram),
    ...exchangeMetrics(counter, gauge, histogram),
    ...operationMetrics(counter, gauge, histogram),
  };
}

/** Sums that the library names like counters although they are none; they are there by type as well. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `${PREFIX}nodejs_active_${what}_total`);

function collectProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}

type MakeCounter = <L extends string>(name: string, help: string, labelNames: readonly L[]) => Counter<L>;
type MakeGauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) => Gauge<L>;
type MakeHistogram = <L extends string>(
  name: string,
  help: string,
  labelNames: readonly L[],
  buckets: readonly number[],
) => Histogram<L>;

function pollMetrics(counter: MakeCounter, gauge: MakeGauge, histogram: MakeHistogram) {
  return {
    polls: counter('polls_total', 'Polls of an account, by how they ended.', ['outcome']),
    pollDuration: histogram(
      'poll_duration_seconds',
      'From the beginning of the reads of an account to its durable decision.',
      [],
      REQUEST_BUCKETS,
    ),
    scheduleLag: histogram(
      'schedule_lag_seconds',
      'How much later than meant a tick of a bucket of accounts began.',
      [],
      LAG_BUCKETS,
    ),
    overlapping: counter(
      'polls_skipped_in_flight_total',
      'Accounts that were due while their poll before was still going on.',
      [],
    ),
    reads: counter('reads_total', 'Reads of a source of an account, by outcome.', ['source', 'outcome']),
    setAside: counter(
      'records_set_aside_total',
      'Records of replies that were not valid and were left out.',
      ['source'],
    ),
    dataAge: gauge('data_age_seconds', 'Time since a source of an account was last read.', [
      'account',
      'source',
    ]),
    commits: counter('commits_total', 'Commits of an account, by who made them and result.', [
      'by',
      'result',
    ]),
    transitions: counter(
      'rule_transitions_total',
      'Changes of the state of rules, by new state and reason.',
      ['to', 'reason'],
    ),
    firing: gauge('rules_firing', 'Rules that fire, counted once per subject.', ['account']),
    enforcing: gauge('account_enforcing', '1 when the account is in enforce mode, 0 in observe mode.', [
      'account',
    ]),
    paused: gauge('account_paused', '1 while a pause holds back all actions of the account.', ['account']),
    refusedAccounts: counter(
      'accounts_refused_total',
      'Accounts left alone because their stored state cannot be read, by document.',
      ['document'],
    ),
    lives: counter('lives_started_total', 'New lives of the stored state of an account, by cause.', ['why']),
  };
}

function actMetrics(counter: MakeCounter, gauge: MakeGauge, histogram: MakeHistogram) {
  return {
    actions: counter('actions_total', 'Requests that act at the exchange, by kind, outcome and error.', [
      'kind',
      'outcome',
      'reason',
    ]),
    audited: counter('audit_events_total', 'What order sets recorded, by kind and reason.', [
      'kind',
      'reason',
    ]),
    alarms: counter('alarms_total', 'Events that must reach a person, by kind.', ['kind']),
    laneRuns: counter('lane_runs_total', 'Runs of a lane (one market of an account), by how they ended.', [
      'end',
    ]),
    laneRunDuration: histogram(
      'lane_run_duration_seconds',
      'Duration of a run of a lane.',
      [],
      REQUEST_BUCKETS,
    ),
    intentsOpen: gauge(
      'intents_open',
      'Intents that are not finished; those of mode observe are only recorded.',
      ['account', 'mode'],
    ),
    intentAge: gauge(
      'oldest_intent_age_seconds',
      'Age of the oldest intent that is not finished; 0 without any.',
      ['account', 'mode'],
    ),
    breachToOrder: histogram(
      'breach_to_order_seconds',
      'From the evaluation in which a rule began to fire to its first order accepted by the exchange.',
      [],
      ORDER_BUCKETS,
    ),
  };
}

function exchangeMetrics(counter: MakeCounter, gauge: MakeGauge, histogram: MakeHistogram) {
  return {
    requests: counter('exchange_requests_total', 'Calls to the exchange, by endpoint, outcome and error.', [
      'endpoint',
      'outcome',
      'error',
    ]),
    requestDuration: histogram(
      'exchange_request_duration_seconds',
      'Duration of calls to the exchange, waiting and repetitions included.',
      ['endpoint'],
      REQUEST_BUCKETS,
    ),
    attempts: counter('exchange_attempts_total', 'Requests sent to the exchange, repetitions included.', [
      'endpoint',
    ]),
    noncesRefused: counter('exchange_nonces_refused_total', 'Nonces that the exchange refused.', [
      'endpoint',
    ]),
    limitsHit: counter('exchange_limits_hit_total', 'Requests answered 429 because of a limit.', [
      'endpoint',
    ]),
    budgetWait: counter(
      'exchange_budget_wait_seconds_total',
      'Time that calls waited for their own request budget.',
      ['endpoint'],
    ),
    drift: counter('contract_drift_total', 'Replies of the exchange that were not as documented.', [
      'endpoint',
    ]),
    stores: gauge(
      'exchange_store_available',
      '1 while the shared store of nonces or limits answers; 0 while this process goes by itself.',
      ['store'],
    ),
  };
}

function operationMetrics(counter: MakeCounter, gauge: MakeGauge, histogram: MakeHistogram) {
  return {
    notices: counter('notices_total', 'Things said to people, by kind and severity.', ['kind', 'severity']),
    notifications: counter(
      'notifications_total',
      'Messages on a channel, by outcome; the reason says why one failed.',
      ['channel', 'kind', 'outcome', 'reason'],
    ),
    notificationRetries: counter(
      'notification_retries_total',
      'Attempts at a message that failed and were repeated.',
      ['channel', 'reason'],
    ),
    notificationDuration: histogram(
      'notification_duration_seconds',
      'From the first attempt at a message to its end, its waiting included.',
      ['channel'],
      DELIVERY_BUCKETS,
    ),
    queueJobs: gauge('queue_jobs', 'Jobs in a queue, by state.', ['queue', 'state']),
    queueAge: gauge(
      'queue_oldest_job_age_seconds',
      'For how long the oldest of the jobs that no worker has taken has been waiting; 0 without any.',
      ['queue'],
    ),
    jobProblems: counter(
      'queue_problems_total',
      'Jobs that failed, stalled or were refused, and errors of workers.',
      ['queue', 'problem'],
    ),
    schedules: counter('schedules_asserted_total', 'Schedules of buckets that were set up, by cause.', [
      'why',
    ]),
    shared: gauge(
      'shared_state_available',
      '1 when this scrape could read the shared state and the queues; otherwise what stems from them is left out.',
      [],
    ),
    redis: gauge('redis_available', '1 while Redis answers.', []),
    accounts: gauge('accounts', 'Accounts in the config of this process.', []),
    reloads: counter('config_reloads_total', 'Reloads of the config, by result.', ['result']),
  };
}
