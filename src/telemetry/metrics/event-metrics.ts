import { counters, gauges, histograms, type MetricTable } from './metric-spec.ts';

/** Seconds, from a quick reply to a timeout. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LAG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const ORDER_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const TARGET_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const DELIVERY_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const STRESS_CASE = ['scenario', 'conditions', 'protection'] as const;

/** In the order of the documentation. */
export const EVENT_GROUPS = {
  polls: {
    ...counters(['outcome'], { polls_total: 'Polls of an account, by how they ended.' }),
    ...histograms([], REQUEST_BUCKETS, {
      poll_duration_seconds: 'From the beginning of the reads of an account to its durable decision.',
    }),
    ...histograms([], LAG_BUCKETS, {
      schedule_lag_seconds: 'How much later than meant a tick of a bucket of accounts began.',
    }),
    ...counters([], {
      polls_skipped_in_flight_total: 'Accounts that were due while their poll before was still going on.',
    }),
    ...counters(['source', 'outcome'], { reads_total: 'Reads of a source of an account, by outcome.' }),
    ...counters(['source'], {
      records_set_aside_total: 'Records of replies that were not valid and were left out.',
    }),
    ...counters(['by', 'result'], { commits_total: 'Commits of an account, by who made them and result.' }),
    ...counters(['to', 'reason'], {
      rule_transitions_total: 'Changes of the state of rules, by new state and reason.',
    }),
    ...counters(['document'], {
      accounts_refused_total:
        'Polls that left an account alone because its stored state cannot be read, by document.',
    }),
    ...counters(['why'], {
      store_epochs_started_total: 'New store epochs of the stored state of an account, by cause.',
    }),
  },
  actions: {
    ...counters(['kind', 'outcome', 'reason'], {
      actions_total: 'Requests that act at the exchange, by kind, outcome and error.',
    }),
    ...counters(['kind', 'reason'], { audit_events_total: 'What order sets recorded, by kind and reason.' }),
    ...counters(['kind'], { alarms_total: 'Events that must reach a person, by kind.' }),
    ...counters(['how', 'why'], {
      intents_ended_total: 'Intents that ended: reached, resolved, superseded, expired or failed, and why.',
    }),
    ...counters(['money', 'part', 'sign'], {
      protection_money_total:
        'What orders that closed something cost, as known at the fill: slippage and fee (lost, or gained), in money currency.',
    }),
    ...counters(['money', 'part'], {
      protection_unknown_total: 'The same, where the figure is not known.',
    }),
    ...counters(['end'], {
      lane_runs_total: 'Runs of a lane (one market of an account), by how they ended.',
    }),
    ...histograms([], REQUEST_BUCKETS, { lane_run_duration_seconds: 'Duration of a run of a lane.' }),
    ...histograms([], ORDER_BUCKETS, {
      breach_to_order_seconds:
        'From the evaluation in which a rule began to fire to its first order accepted by the exchange.',
    }),
    ...histograms([], TARGET_BUCKETS, {
      time_to_target_seconds: 'From the opening of an intent to its target, of those that reached it.',
    }),
  },
  exchange: {
    ...counters(['endpoint', 'outcome', 'error'], {
      exchange_requests_total: 'Calls to the exchange, by endpoint, outcome and error.',
    }),
    ...histograms(['endpoint'], REQUEST_BUCKETS, {
      exchange_request_duration_seconds:
        'Duration of calls to the exchange, waiting and repetitions included.',
    }),
    ...counters(['endpoint'], {
      exchange_attempts_total: 'Requests sent to the exchange, repetitions included.',
      exchange_nonces_refused_total: 'Nonces that the exchange refused.',
      exchange_limits_hit_total: 'Requests answered 429 because of a limit.',
      exchange_budget_wait_seconds_total: 'Time that calls waited for their own request budget.',
    }),
    ...gauges(['limit', 'egress'], {
      exchange_budget_used_ratio:
        'Share of a request budget that this process used within its last period; the sum over processes is the whole use.',
    }),
    ...counters(['host', 'error'], {
      exchange_path_failures_total:
        'Failures on the way to the exchange, by host and cause; the call may have succeeded by another way.',
    }),
    ...counters(['endpoint'], {
      contract_drift_total: 'Replies of the exchange that were not as documented.',
    }),
    ...gauges(['store'], {
      exchange_store_available:
        '1 while the shared store of nonces or limits answers; 0 while this process goes by itself.',
    }),
  },
  operation: {
    ...counters(['kind', 'severity'], { notices_total: 'Things said to people, by kind and severity.' }),
    ...counters(['channel', 'kind', 'outcome', 'reason'], {
      notifications_total: 'Messages on a channel, by outcome; the reason says why one failed.',
    }),
    ...counters(['channel', 'reason'], {
      notification_retries_total: 'Attempts at a message that failed and were repeated.',
    }),
    ...counters(['channel', 'what', 'outcome'], {
      bot_updates_total:
        'Commands and presses of buttons that the bot of a channel was told, and what became of them; those of chats that are not listed are `unknownChat`.',
    }),
    ...histograms(['channel'], DELIVERY_BUCKETS, {
      notification_duration_seconds: 'From the first attempt at a message to its end, its waiting included.',
    }),
    ...gauges(['queue', 'state'], { queue_jobs: 'Jobs in a queue, by state.' }),
    ...gauges(['queue'], {
      queue_oldest_job_seconds:
        'For how long the oldest of the jobs that no worker has taken has been waiting; 0 without any.',
      queue_paused: '1 while somebody has paused the queue: nothing is taken out of it.',
    }),
    ...counters(['queue', 'problem'], {
      queue_problems_total:
        'Jobs that failed, stalled or were refused, errors of workers, queues that somebody had paused, and notices without the seal of `operators.key`.',
    }),
    ...counters([], {
      controls_refused_total:
        'Stored pauses and silences that do not hold, as they lack the seal of `operators.key`.',
    }),
    ...counters(['why'], { schedules_asserted_total: 'Schedules of buckets that were set up, by cause.' }),
    ...gauges(['reason'], {
      degraded:
        '1 while this process does not work as it should: redis, exchange_store, schedule, notify, commands (those of chats are not heard), log, config (the changed file is refused).',
    }),
    ...gauges([], {
      shared_state_available:
        '1 when this scrape could read the shared state and the queues; otherwise what stems from them is left out.',
      redis_available: '1 while Redis answers; absent where the config names none.',
      running_alone: '1 while Redis is lost and this process goes on from its own memory.',
      watching_only:
        '1 while Redis is lost and this process does not act, as it was started without it and knows nothing that is fresh.',
      mirror_failing: '1 while what this process knows cannot be kept on disk (stateDir).',
      accounts: 'Accounts in the config of this process.',
    }),
    ...counters(['signal', 'outcome'], {
      heartbeat_pings_total:
        'Pings of the heartbeat: start, success (all accounts are judged in time) or fail, and whether they were accepted or failed.',
    }),
    ...gauges([], {
      heartbeat_last_success_timestamp_seconds:
        'When the receiver of the heartbeat last accepted a success, Unix time; 0 until then.',
    }),
    ...counters(['result'], { config_reloads_total: 'Reloads of the config, by result.' }),
    ...counters(['why'], {
      log_lines_lost_total:
        'Lines of the log that were not written: full (the output takes none, and too many wait) or failed.',
    }),
    ...counters(['reason'], {
      web_refused_total:
        'Requests and connections that the web server turned away: wrongToken, slowedDown (a client that sent too many of these), connections, scrapes.',
    }),
    ...gauges(['version', 'node_version'], { build_info: 'Version of Breakwater and of Node.js; always 1.' }),
  },
  stress: {
    ...counters(['outcome'], {
      stress_runs_total:
        'Stress tests on a schedule that this process ran: complete, partial (ended at the time limit) or failed.',
    }),
    ...gauges(['outcome'], {
      stress_last_run:
        '1 for how the newest stress test ended, whichever process ran it: complete, partial or failed.',
    }),
    ...gauges([], {
      stress_age_seconds: 'Time since the stress test whose outcome is shown here began.',
      stress_overdue_seconds: 'For how long the next stress test has been due; 0 until then.',
      stress_duration_seconds: 'How long the stress test whose outcome is shown here took.',
      stress_accounts: 'Accounts that were played: those that hold a position.',
      stress_left_out: 'Accounts and credit lines that could not be played; the status page says why.',
    }),
    ...gauges(STRESS_CASE, {
      stress_liquidated_accounts:
        'Accounts that a scenario liquidates, if it came now; protection: none, or rules for those of the config.',
      stress_equity_kept_ratio: 'Share of the equity of all accounts that a scenario leaves.',
    }),
    ...gauges(['account', ...STRESS_CASE], {
      stress_account_liquidated:
        '1 when a scenario liquidates the account, if it came now; of the 100 accounts that lose most.',
      stress_account_equity_kept_ratio:
        'Share of its equity that a scenario leaves the account; of the 100 accounts that lose most.',
    }),
  },
} as const satisfies Readonly<Record<string, MetricTable>>;

/** Metrics of the events of this process. Counters and histograms are per process: sum them over all. */
export const EVENT_METRICS = {
  ...EVENT_GROUPS.polls,
  ...EVENT_GROUPS.actions,
  ...EVENT_GROUPS.exchange,
  ...EVENT_GROUPS.operation,
  ...EVENT_GROUPS.stress,
} as const;
