import type { MetricTable } from './metric-spec.ts';

/** Seconds: from what a quick reply takes to what a timeout does. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LAG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const ORDER_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const TARGET_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const DELIVERY_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const counter = { type: 'counter', unit: '1' } as const;
const gauge = { type: 'gauge', unit: '1' } as const;
const duration = { type: 'histogram', unit: 'seconds' } as const;

const POLL_METRICS = {
  polls: {
    ...counter,
    name: 'polls_total',
    labels: ['outcome'],
    help: 'Polls of an account, by how they ended.',
  },
  pollDuration: {
    ...duration,
    name: 'poll_duration_seconds',
    labels: [],
    help: 'From the beginning of the reads of an account to its durable decision.',
    buckets: REQUEST_BUCKETS,
  },
  scheduleLag: {
    ...duration,
    name: 'schedule_lag_seconds',
    labels: [],
    help: 'How much later than meant a tick of a bucket of accounts began.',
    buckets: LAG_BUCKETS,
  },
  overlapping: {
    ...counter,
    name: 'polls_skipped_in_flight_total',
    labels: [],
    help: 'Accounts that were due while their poll before was still going on.',
  },
  reads: {
    ...counter,
    name: 'reads_total',
    labels: ['source', 'outcome'],
    help: 'Reads of a source of an account, by outcome.',
  },
  setAside: {
    ...counter,
    name: 'records_set_aside_total',
    labels: ['source'],
    help: 'Records of replies that were not valid and were left out.',
  },
  commits: {
    ...counter,
    name: 'commits_total',
    labels: ['by', 'result'],
    help: 'Commits of an account, by who made them and result.',
  },
  transitions: {
    ...counter,
    name: 'rule_transitions_total',
    labels: ['to', 'reason'],
    help: 'Changes of the state of rules, by new state and reason.',
  },
  refusedAccounts: {
    ...counter,
    name: 'accounts_refused_total',
    labels: ['document'],
    help: 'Polls that left an account alone because its stored state cannot be read, by document.',
  },
  storeEpochs: {
    ...counter,
    name: 'store_epochs_started_total',
    labels: ['why'],
    help: 'New store epochs of the stored state of an account, by cause.',
  },
} as const satisfies MetricTable;

const ACT_METRICS = {
  actions: {
    ...counter,
    name: 'actions_total',
    labels: ['kind', 'outcome', 'reason'],
    help: 'Requests that act at the exchange, by kind, outcome and error.',
  },
  audited: {
    ...counter,
    name: 'audit_events_total',
    labels: ['kind', 'reason'],
    help: 'What order sets recorded, by kind and reason.',
  },
  alarms: {
    ...counter,
    name: 'alarms_total',
    labels: ['kind'],
    help: 'Events that must reach a person, by kind.',
  },
  intentsEnded: {
    ...counter,
    name: 'intents_ended_total',
    labels: ['how', 'why'],
    help: 'Intents that ended: reached, resolved, superseded, expired or failed, and why.',
  },
  laneRuns: {
    ...counter,
    name: 'lane_runs_total',
    labels: ['end'],
    help: 'Runs of a lane (one market of an account), by how they ended.',
  },
  laneRunDuration: {
    ...duration,
    name: 'lane_run_duration_seconds',
    labels: [],
    help: 'Duration of a run of a lane.',
    buckets: REQUEST_BUCKETS,
  },
  breachToOrder: {
    ...duration,
    name: 'breach_to_order_seconds',
    labels: [],
    help: 'From the evaluation in which a rule began to fire to its first order accepted by the exchange.',
    buckets: ORDER_BUCKETS,
  },
  timeToTarget: {
    ...duration,
    name: 'time_to_target_seconds',
    labels: [],
    help: 'From the opening of an intent to its target, of those that reached it.',
    buckets: TARGET_BUCKETS,
  },
} as const satisfies MetricTable;

const EXCHANGE_METRICS = {
  requests: {
    ...counter,
    name: 'exchange_requests_total',
    labels: ['endpoint', 'outcome', 'error'],
    help: 'Calls to the exchange, by endpoint, outcome and error.',
  },
  requestDuration: {
    ...duration,
    name: 'exchange_request_duration_seconds',
    labels: ['endpoint'],
    help: 'Duration of calls to the exchange, waiting and repetitions included.',
    buckets: REQUEST_BUCKETS,
  },
  attempts: {
    ...counter,
    name: 'exchange_attempts_total',
    labels: ['endpoint'],
    help: 'Requests sent to the exchange, repetitions included.',
  },
  noncesRefused: {
    ...counter,
    name: 'exchange_nonces_refused_total',
    labels: ['endpoint'],
    help: 'Nonces that the exchange refused.',
  },
  limitsHit: {
    ...counter,
    name: 'exchange_limits_hit_total',
    labels: ['endpoint'],
    help: 'Requests answered 429 because of a limit.',
  },
  budgetWait: {
    ...counter,
    name: 'exchange_budget_wait_seconds_total',
    unit: 'seconds',
    labels: ['endpoint'],
    help: 'Time that calls waited for their own request budget.',
  },
  budgetUsed: {
    ...gauge,
    name: 'exchange_budget_used_ratio',
    unit: 'ratio',
    labels: ['limit', 'egress'],
    help: 'Share of a request budget that this process used within its last period; the sum over processes is the whole use.',
  },
  pathFailures: {
    ...counter,
    name: 'exchange_path_failures_total',
    labels: ['host', 'error'],
    help: 'Failures on the way to the exchange, by host and cause; the call may have succeeded by another way.',
  },
  drift: {
    ...counter,
    name: 'contract_drift_total',
    labels: ['endpoint'],
    help: 'Replies of the exchange that were not as documented.',
  },
  stores: {
    ...gauge,
    name: 'exchange_store_available',
    labels: ['store'],
    help: '1 while the shared store of nonces or limits answers; 0 while this process goes by itself.',
  },
} as const satisfies MetricTable;

const OPERATION_METRICS = {
  notices: {
    ...counter,
    name: 'notices_total',
    labels: ['kind', 'severity'],
    help: 'Things said to people, by kind and severity.',
  },
  notifications: {
    ...counter,
    name: 'notifications_total',
    labels: ['channel', 'kind', 'outcome', 'reason'],
    help: 'Messages on a channel, by outcome; the reason says why one failed.',
  },
  notificationRetries: {
    ...counter,
    name: 'notification_retries_total',
    labels: ['channel', 'reason'],
    help: 'Attempts at a message that failed and were repeated.',
  },
  notificationDuration: {
    ...duration,
    name: 'notification_duration_seconds',
    labels: ['channel'],
    help: 'From the first attempt at a message to its end, its waiting included.',
    buckets: DELIVERY_BUCKETS,
  },
  queueJobs: {
    ...gauge,
    name: 'queue_jobs',
    labels: ['queue', 'state'],
    help: 'Jobs in a queue, by state.',
  },
  queueAge: {
    ...gauge,
    name: 'queue_oldest_job_seconds',
    unit: 'seconds',
    labels: ['queue'],
    help: 'For how long the oldest of the jobs that no worker has taken has been waiting; 0 without any.',
  },
  jobProblems: {
    ...counter,
    name: 'queue_problems_total',
    labels: ['queue', 'problem'],
    help: 'Jobs that failed, stalled or were refused, errors of workers, and queues that somebody had paused.',
  },
  schedules: {
    ...counter,
    name: 'schedules_asserted_total',
    labels: ['why'],
    help: 'Schedules of buckets that were set up, by cause.',
  },
  degraded: {
    ...gauge,
    name: 'degraded',
    labels: ['reason'],
    help: '1 while this process does not work as it should: redis, exchange_store, schedule, notify, log.',
  },
  shared: {
    ...gauge,
    name: 'shared_state_available',
    labels: [],
    help: '1 when this scrape could read the shared state and the queues; otherwise what stems from them is left out.',
  },
  redis: { ...gauge, name: 'redis_available', labels: [], help: '1 while Redis answers.' },
  accounts: { ...gauge, name: 'accounts', labels: [], help: 'Accounts in the config of this process.' },
  reloads: {
    ...counter,
    name: 'config_reloads_total',
    labels: ['result'],
    help: 'Reloads of the config, by result.',
  },
  logLost: {
    ...counter,
    name: 'log_lines_lost_total',
    labels: ['why'],
    help: 'Lines of the log that were not written: full (the output takes none, and too many wait) or failed.',
  },
  build: {
    ...gauge,
    name: 'build_info',
    labels: ['version', 'node_version'],
    help: 'Version of Breakwater and of Node.js; always 1.',
  },
} as const satisfies MetricTable;

const STRESS_CASE = ['scenario', 'conditions', 'protection'] as const;

const STRESS_METRICS = {
  stressRuns: {
    ...counter,
    name: 'stress_runs_total',
    labels: ['outcome'],
    help: 'Stress tests on a schedule that this process ran: complete, partial (ended at the time limit) or failed.',
  },
  stressLastRun: {
    ...gauge,
    name: 'stress_last_run',
    labels: ['outcome'],
    help: '1 for how the newest stress test ended, whichever process ran it: complete, partial or failed.',
  },
  stressAge: {
    ...gauge,
    name: 'stress_age_seconds',
    unit: 'seconds',
    labels: [],
    help: 'Time since the stress test whose outcome is shown here began.',
  },
  stressOverdue: {
    ...gauge,
    name: 'stress_overdue_seconds',
    unit: 'seconds',
    labels: [],
    help: 'For how long the next stress test has been due; 0 until then.',
  },
  stressDuration: {
    ...gauge,
    name: 'stress_duration_seconds',
    unit: 'seconds',
    labels: [],
    help: 'How long the stress test whose outcome is shown here took.',
  },
  stressAccounts: {
    ...gauge,
    name: 'stress_accounts',
    labels: [],
    help: 'Accounts that were played: those that hold a position.',
  },
  stressLeftOut: {
    ...gauge,
    name: 'stress_left_out',
    labels: [],
    help: 'Accounts and credit lines that could not be played; the status page says why.',
  },
  stressLiquidated: {
    ...gauge,
    name: 'stress_liquidated_accounts',
    labels: STRESS_CASE,
    help: 'Accounts that a scenario liquidates, if it came now; protection: none, or rules for those of the config.',
  },
  stressKept: {
    ...gauge,
    name: 'stress_equity_kept_ratio',
    unit: 'ratio',
    labels: STRESS_CASE,
    help: 'Share of the equity of all accounts that a scenario leaves.',
  },
  stressAccountLiquidated: {
    ...gauge,
    name: 'stress_account_liquidated',
    labels: ['account', ...STRESS_CASE],
    help: '1 when a scenario liquidates the account, if it came now; of the 100 accounts that lose most.',
  },
  stressAccountKept: {
    ...gauge,
    name: 'stress_account_equity_kept_ratio',
    unit: 'ratio',
    labels: ['account', ...STRESS_CASE],
    help: 'Share of its equity that a scenario leaves the account; of the 100 accounts that lose most.',
  },
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
