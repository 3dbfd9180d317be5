import { counter, gauge, histogram, type MetricTable } from './metric-spec.ts';

/** Seconds: from what a quick reply takes to what a timeout does. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LAG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const ORDER_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const TARGET_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const DELIVERY_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const POLL_METRICS = {
  polls: counter('polls_total', ['outcome'], 'Polls of an account, by how they ended.'),
  pollDuration: histogram(
    'poll_duration_seconds',
    [],
    'From the beginning of the reads of an account to its durable decision.',
    REQUEST_BUCKETS,
  ),
  scheduleLag: histogram(
    'schedule_lag_seconds',
    [],
    'How much later than meant a tick of a bucket of accounts began.',
    LAG_BUCKETS,
  ),
  overlapping: counter(
    'polls_skipped_in_flight_total',
    [],
    'Accounts that were due while their poll before was still going on.',
  ),
  reads: counter('reads_total', ['source', 'outcome'], 'Reads of a source of an account, by outcome.'),
  setAside: counter(
    'records_set_aside_total',
    ['source'],
    'Records of replies that were not valid and were left out.',
  ),
  commits: counter('commits_total', ['by', 'result'], 'Commits of an account, by who made them and result.'),
  transitions: counter(
    'rule_transitions_total',
    ['to', 'reason'],
    'Changes of the state of rules, by new state and reason.',
  ),
  refusedAccounts: counter(
    'accounts_refused_total',
    ['document'],
    'Polls that left an account alone because its stored state cannot be read, by document.',
  ),
  storeEpochs: counter(
    'store_epochs_started_total',
    ['why'],
    'New store epochs of the stored state of an account, by cause.',
  ),
} as const satisfies MetricTable;

const ACT_METRICS = {
  actions: counter(
    'actions_total',
    ['kind', 'outcome', 'reason'],
    'Requests that act at the exchange, by kind, outcome and error.',
  ),
  audited: counter('audit_events_total', ['kind', 'reason'], 'What order sets recorded, by kind and reason.'),
  alarms: counter('alarms_total', ['kind'], 'Events that must reach a person, by kind.'),
  intentsEnded: counter(
    'intents_ended_total',
    ['how', 'why'],
    'Intents that ended: reached, resolved, superseded, expired or failed, and why.',
  ),
  laneRuns: counter(
    'lane_runs_total',
    ['end'],
    'Runs of a lane (one market of an account), by how they ended.',
  ),
  laneRunDuration: histogram(
    'lane_run_duration_seconds',
    [],
    'Duration of a run of a lane.',
    REQUEST_BUCKETS,
  ),
  breachToOrder: histogram(
    'breach_to_order_seconds',
    [],
    'From the evaluation in which a rule began to fire to its first order accepted by the exchange.',
    ORDER_BUCKETS,
  ),
  timeToTarget: histogram(
    'time_to_target_seconds',
    [],
    'From the opening of an intent to its target, of those that reached it.',
    TARGET_BUCKETS,
  ),
} as const satisfies MetricTable;

const EXCHANGE_METRICS = {
  requests: counter(
    'exchange_requests_total',
    ['endpoint', 'outcome', 'error'],
    'Calls to the exchange, by endpoint, outcome and error.',
  ),
  requestDuration: histogram(
    'exchange_request_duration_seconds',
    ['endpoint'],
    'Duration of calls to the exchange, waiting and repetitions included.',
    REQUEST_BUCKETS,
  ),
  attempts: counter(
    'exchange_attempts_total',
    ['endpoint'],
    'Requests sent to the exchange, repetitions included.',
  ),
  noncesRefused: counter('exchange_nonces_refused_total', ['endpoint'], 'Nonces that the exchange refused.'),
  limitsHit: counter('exchange_limits_hit_total', ['endpoint'], 'Requests answered 429 because of a limit.'),
  budgetWait: counter(
    'exchange_budget_wait_seconds_total',
    ['endpoint'],
    'Time that calls waited for their own request budget.',
  ),
  budgetUsed: gauge(
    'exchange_budget_used_ratio',
    ['limit', 'egress'],
    'Share of a request budget that this process used within its last period; the sum over processes is the whole use.',
  ),
  pathFailures: counter(
    'exchange_path_failures_total',
    ['host', 'error'],
    'Failures on the way to the exchange, by host and cause; the call may have succeeded by another way.',
  ),
  drift: counter(
    'contract_drift_total',
    ['endpoint'],
    'Replies of the exchange that were not as documented.',
  ),
  stores: gauge(
    'exchange_store_available',
    ['store'],
    '1 while the shared store of nonces or limits answers; 0 while this process goes by itself.',
  ),
} as const satisfies MetricTable;

const OPERATION_METRICS = {
  notices: counter('notices_total', ['kind', 'severity'], 'Things said to people, by kind and severity.'),
  notifications: counter(
    'notifications_total',
    ['channel', 'kind', 'outcome', 'reason'],
    'Messages on a channel, by outcome; the reason says why one failed.',
  ),
  notificationRetries: counter(
    'notification_retries_total',
    ['channel', 'reason'],
    'Attempts at a message that failed and were repeated.',
  ),
  notificationDuration: histogram(
    'notification_duration_seconds',
    ['channel'],
    'From the first attempt at a message to its end, its waiting included.',
    DELIVERY_BUCKETS,
  ),
  queueJobs: gauge('queue_jobs', ['queue', 'state'], 'Jobs in a queue, by state.'),
  queueAge: gauge(
    'queue_oldest_job_seconds',
    ['queue'],
    'For how long the oldest of the jobs that no worker has taken has been waiting; 0 without any.',
  ),
  queuePaused: gauge(
    'queue_paused',
    ['queue'],
    '1 while somebody has paused the queue: nothing is taken out of it.',
  ),
  jobProblems: counter(
    'queue_problems_total',
    ['queue', 'problem'],
    'Jobs that failed, stalled or were refused, errors of workers, and queues that somebody had paused.',
  ),
  controlsRefused: counter(
    'controls_refused_total',
    [],
    'Stored pauses and silences that do not hold, as they lack the seal of `operators.key`.',
  ),
  schedules: counter('schedules_asserted_total', ['why'], 'Schedules of buckets that were set up, by cause.'),
  degraded: gauge(
    'degraded',
    ['reason'],
    '1 while this process does not work as it should: redis, exchange_store, schedule, notify, log.',
  ),
  shared: gauge(
    'shared_state_available',
    [],
    '1 when this scrape could read the shared state and the queues; otherwise what stems from them is left out.',
  ),
  redis: gauge('redis_available', [], '1 while Redis answers.'),
  accounts: gauge('accounts', [], 'Accounts in the config of this process.'),
  reloads: counter('config_reloads_total', ['result'], 'Reloads of the config, by result.'),
  logLost: counter(
    'log_lines_lost_total',
    ['why'],
    'Lines of the log that were not written: full (the output takes none, and too many wait) or failed.',
  ),
  webRefused: counter(
    'web_refused_total',
    ['reason'],
    'Requests and connections that the web server turned away: wrongToken, slowedDown (a client that sent too many wrong tokens), connections, scrapes.',
  ),
  build: gauge('build_info', ['version', 'node_version'], 'Version of Breakwater and of Node.js; always 1.'),
} as const satisfies MetricTable;

const STRESS_CASE = ['scenario', 'conditions', 'protection'] as const;

const STRESS_METRICS = {
  stressRuns: counter(
    'stress_runs_total',
    ['outcome'],
    'Stress tests on a schedule that this process ran: complete, partial (ended at the time limit) or failed.',
  ),
  stressLastRun: gauge(
    'stress_last_run',
    ['outcome'],
    '1 for how the newest stress test ended, whichever process ran it: complete, partial or failed.',
  ),
  stressAge: gauge('stress_age_seconds', [], 'Time since the stress test whose outcome is shown here began.'),
  stressOverdue: gauge(
    'stress_overdue_seconds',
    [],
    'For how long the next stress test has been due; 0 until then.',
  ),
  stressDuration: gauge(
    'stress_duration_seconds',
    [],
    'How long the stress test whose outcome is shown here took.',
  ),
  stressAccounts: gauge('stress_accounts', [], 'Accounts that were played: those that hold a position.'),
  stressLeftOut: gauge(
    'stress_left_out',
    [],
    'Accounts and credit lines that could not be played; the status page says why.',
  ),
  stressLiquidated: gauge(
    'stress_liquidated_accounts',
    STRESS_CASE,
    'Accounts that a scenario liquidates, if it came now; protection: none, or rules for those of the config.',
  ),
  stressKept: gauge(
    'stress_equity_kept_ratio',
    STRESS_CASE,
    'Share of the equity of all accounts that a scenario leaves.',
  ),
  stressAccountLiquidated: gauge(
    'stress_account_liquidated',
    ['account', ...STRESS_CASE],
    '1 when a scenario liquidates the account, if it came now; of the 100 accounts that lose most.',
  ),
  stressAccountKept: gauge(
    'stress_account_equity_kept_ratio',
    ['account', ...STRESS_CASE],
    'Share of its equity that a scenario leaves the account; of the 100 accounts that lose most.',
  ),
} as const satisfies MetricTable;

/** What this process has seen happen; counters and histograms are summed over processes. */
export const EVENT_METRICS = {
  ...POLL_METRICS,
  ...ACT_METRICS,
  ...EXCHANGE_METRICS,
  ...OPERATION_METRICS,
  ...STRESS_METRICS,
} as const;

/** In the order of the documentation. */
export const EVENT_GROUPS = {
  polls: POLL_METRICS,
  actions: ACT_METRICS,
  exchange: EXCHANGE_METRICS,
  operation: OPERATION_METRICS,
  stress: STRESS_METRICS,
} as const satisfies Readonly<Record<string, MetricTable>>;
