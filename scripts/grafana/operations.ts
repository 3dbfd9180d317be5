import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { counts, durations, rate, rates, SCOPE } from './counters.ts';
import { dashboardOf, INSTANCE, UIDS } from './frame.ts';
import { ANY_IS_BAD, ANY_IS_ODD, curves, figure, GOOD, type Panel, subjects, words } from './panels.ts';

/** The daemon's own work: polls, queues, exchange calls, and how long each takes. */
export function operations(): Dashboard {
  return dashboardOf({
    uid: UIDS.operations,
    title: 'Breakwater / Operations',
    description: 'The daemon itself: polls, actions, queues, the exchange, messages and the processes.',
    variables: [INSTANCE],
    from: 'now-1h',
    sections: [
      { title: 'Is it well', panels: [...health(), ...versions()] },
      { title: 'Polls', panels: polls() },
      { title: 'Acting', panels: acting() },
      { title: 'The exchange', panels: exchange() },
      { title: 'Queues', panels: queues() },
      { title: 'Telling people', panels: telling() },
      { title: 'Processes', panels: processes() },
    ],
  });
}

const UP_DOWN = words({ '0': ['DOWN', 'red'], '1': ['up', 'green'] });

function health(): readonly Panel[] {
  return [
    figure({
      title: 'Processes',
      description: 'Breakwater processes that answer.',
      queries: [{ expr: `count(breakwater_build_info{${SCOPE}})` }],
      steps: GOOD,
      size: [2, 4],
    }),
    figure({
      title: 'Redis',
      description: 'Whether every process reaches it.',
      queries: [{ expr: `min(breakwater_redis_available{${SCOPE}})` }],
      mappings: UP_DOWN,
      size: [3, 4],
    }),
    figure({
      title: 'Shared state',
      description: 'Whether scrapes can read it; without it there are no metrics of accounts.',
      queries: [{ expr: `min(breakwater_shared_state_available{${SCOPE}})` }],
      mappings: UP_DOWN,
      size: [3, 4],
    }),
    figure({
      title: 'Shared stores',
      description: 'Whether nonces and request budgets are shared by the processes.',
      queries: [{ expr: `1 - max(breakwater_degraded{${SCOPE}, reason="exchange_store"})` }],
      mappings: UP_DOWN,
      size: [3, 4],
    }),
    figure({
      title: 'Degraded',
      description: 'Which of the things it stands on has failed: 1 is failed.',
      queries: [{ expr: `max by (reason) (breakwater_degraded{${SCOPE}})`, legend: '{{reason}}' }],
      steps: ANY_IS_BAD,
      size: [5, 4],
    }),
    figure({
      title: 'Accounts',
      description: 'In the config of each process; they should agree.',
      queries: [{ expr: `max(breakwater_accounts{${SCOPE}})` }],
      size: [2, 4],
    }),
    figure({
      title: 'Everything paused',
      description: 'A pause of all accounts at once.',
      queries: [{ expr: `max(breakwater_paused{${SCOPE}})` }],
      mappings: words({ '0': ['no', 'green'], '1': ['PAUSED', 'orange'] }),
      size: [3, 4],
    }),
    figure({
      title: 'Alarms, last hour',
      description: 'Audit events that must reach a person.',
      queries: [{ expr: `sum(increase(breakwater_alarms_total{${SCOPE}}[1h])) or vector(0)` }],
      decimals: 0,
      steps: ANY_IS_ODD,
      size: [3, 4],
    }),
  ];
}

function versions(): readonly Panel[] {
  return [
    subjects({
      title: 'Versions',
      description: 'Of each process; during an update they differ for a while.',
      size: [8, 5],
      labels: [
        { name: 'instance', title: 'Process' },
        { name: 'version', title: 'Version' },
        { name: 'node_version', title: 'Node.js' },
      ],
      values: [
        {
          name: 'started',
          title: 'Up',
          expr: `max by (instance, version, node_version) (breakwater_build_info{${SCOPE}} * on (instance) group_left () (time() - breakwater_process_start_time_seconds{${SCOPE}}))`,
          unit: 's',
          decimals: 0,
        },
      ],
      sortBy: 'Process',
    }),
    counts('config_reloads_total', ['result'], {
      title: 'Config reloads',
      description: 'A refused one changes nothing; see its errors with `breakwater check`.',
      size: [8, 5],
    }),
    counts('store_epochs_started_total', ['why'], {
      title: 'New store epochs',
      description: 'Accounts whose stored state was new, lost or rolled back.',
      size: [8, 5],
    }),
  ];
}

function polls(): readonly Panel[] {
  return [
    rates('polls_total', ['outcome'], {
      title: 'Polls',
      description: 'Accounts judged per second, by how it ended.',
    }),
    durations('poll_duration_seconds', {
      title: 'Duration of a poll',
      description: 'From the beginning of the reads to the durable decision.',
    }),
    durations('schedule_lag_seconds', {
      title: 'Schedule lag',
      description: 'How much later than meant a tick began. Dashed: the alert.',
      lines: true,
      steps: [
        [null, 'green'],
        [1, 'orange'],
      ],
    }),
    rates('reads_total', ['source', 'outcome'], {
      title: 'Reads',
      description: 'Of each source of an account, by outcome.',
    }),
    counts('records_set_aside_total', ['source'], {
      title: 'Records left out',
      description: 'Records of replies that were not valid; what they are about is not judged.',
    }),
    rates('commits_total', ['by', 'result'], {
      title: 'Commits',
      description: 'Compare-and-set of the account’s state. A conflict is repeated.',
    }),
    counts('rule_transitions_total', ['to', 'reason'], {
      title: 'Rules that changed',
      description: 'Changes of the state of rules, by new state and reason.',
      size: [12, 8],
    }),
    rates('polls_skipped_in_flight_total', ['instance'], {
      title: 'Polls that were still going on',
      description: 'Accounts that were due while their poll before had not ended.',
      size: [12, 8],
    }),
  ];
}

function acting(): readonly Panel[] {
  return [
    counts('actions_total', ['kind', 'outcome', 'reason'], {
      title: 'Orders and cancels',
      description: 'What was sent, by outcome and error.',
    }),
    durations('breach_to_order_seconds', {
      title: 'From breach to order',
      description: 'From the evaluation in which a rule began to fire to its first accepted order.',
    }),
    durations('time_to_target_seconds', {
      title: 'Time to target',
      description: 'From the opening of a reduction to its target.',
    }),
    counts('intents_ended_total', ['how', 'why'], {
      title: 'How reductions ended',
      description: 'Reached, resolved, superseded, expired or failed.',
    }),
    counts('alarms_total', ['kind'], {
      title: 'Alarms',
      description: 'Audit events that must reach a person.',
    }),
    rates('lane_runs_total', ['end'], {
      title: 'Runs of lanes',
      description: 'A lane is one market of one account; by how its run ended.',
    }),
    rates('audit_events_total', ['kind'], {
      title: 'What order sets recorded',
      description: 'Audit events by kind.',
      size: [16, 8],
    }),
    durations('lane_run_duration_seconds', {
      title: 'Duration of a lane’s run',
      description: 'With its requests and its waiting for fences.',
    }),
  ];
}

function exchange(): readonly Panel[] {
  return [
    rates('exchange_requests_total', ['endpoint'], {
      title: 'Calls',
      description: 'Per second, by endpoint.',
    }),
    curves({
      title: 'Calls that failed',
      description: 'By endpoint, outcome and error.',
      queries: [
        {
          expr: rate('exchange_requests_total', ['endpoint', 'outcome', 'error'], 'outcome!~"ok|accepted"'),
          legend: '{{endpoint}} {{outcome}} {{error}}',
        },
      ],
      unit: 'ops',
      min: 0,
      noValue: 'none',
      size: [8, 8],
    }),
    curves({
      title: 'Latency, p99',
      description: 'Waiting and repetitions included.',
      queries: [
        {
          expr: `histogram_quantile(0.99, sum by (le, endpoint) (rate(breakwater_exchange_request_duration_seconds_bucket{${SCOPE}}[$__rate_interval])))`,
          legend: '{{endpoint}}',
        },
      ],
      unit: 's',
      min: 0,
      size: [8, 8],
    }),
    rates('exchange_attempts_total', ['endpoint'], {
      title: 'Requests sent',
      description: 'With repetitions: more than calls means that something is repeated.',
    }),
    counts('exchange_nonces_refused_total', ['endpoint'], {
      title: 'Nonces refused',
      description: 'Another program with the same key, a wrong nonce mode, or a wrong clock.',
    }),
    counts('exchange_limits_hit_total', ['endpoint'], {
      title: 'Request limits hit',
      description: 'Requests that the exchange answered with 429.',
    }),
    curves({
      title: 'Request budget used',
      description: 'Of our own budget, by limit. Dashed: the alert.',
      queries: [
        {
          expr: `sum by (egress, limit) (breakwater_exchange_budget_used_ratio{${SCOPE}})`,
          legend: '{{egress}} {{limit}}',
        },
      ],
      unit: 'percentunit',
      min: 0,
      lines: true,
      steps: [
        [null, 'green'],
        [0.9, 'orange'],
      ],
      size: [8, 8],
    }),
    rates('exchange_budget_wait_seconds_total', ['endpoint'], {
      title: 'Waiting for the budget',
      description: 'Seconds of waiting per second.',
      unit: 's',
      noValue: 'none',
    }),
    counts('contract_drift_total', ['endpoint'], {
      title: 'Replies that are not as documented',
      description: 'Their shape, without values, is in the log.',
    }),
  ];
}

function queues(): readonly Panel[] {
  return [
    curves({
      title: 'Jobs',
      description: 'By queue and state.',
      queries: [
        {
          expr: `max by (queue, state) (breakwater_queue_jobs{${SCOPE}})`,
          legend: '{{queue}} {{state}}',
        },
      ],
      min: 0,
      size: [8, 8],
    }),
    curves({
      title: 'Oldest job that waits',
      description: 'Jobs are taken within milliseconds. Dashed: the alert.',
      queries: [
        { expr: `max by (queue) (breakwater_queue_oldest_job_seconds{${SCOPE}})`, legend: '{{queue}}' },
      ],
      unit: 's',
      min: 0,
      lines: true,
      steps: [
        [null, 'green'],
        [30, 'red'],
      ],
      size: [8, 8],
    }),
    counts('queue_problems_total', ['queue', 'problem'], {
      title: 'Problems',
      description: 'Jobs that failed, stalled or were refused, and errors of workers.',
    }),
    counts('schedules_asserted_total', ['why'], {
      title: 'Schedules set up',
      description: 'At the start, after a reload, and by the watchdog when they had stopped (repair).',
      size: [24, 6],
    }),
  ];
}

function telling(): readonly Panel[] {
  return [
    counts('notices_total', ['kind', 'severity'], {
      title: 'Things to say',
      description: 'Notices to people, by kind and severity.',
    }),
    counts('notifications_total', ['channel', 'outcome', 'reason'], {
      title: 'Messages',
      description: 'Per channel, by outcome; the reason says why one failed.',
    }),
    counts('notification_retries_total', ['channel', 'reason'], {
      title: 'Attempts repeated',
      description: 'Attempts at a message that failed and were repeated.',
    }),
    curves({
      title: 'Duration of a message, p90',
      description: 'From its first attempt to its end, waiting included.',
      queries: [
        {
          expr: `histogram_quantile(0.9, sum by (le, channel) (rate(breakwater_notification_duration_seconds_bucket{${SCOPE}}[$__rate_interval])))`,
          legend: '{{channel}}',
        },
      ],
      unit: 's',
      min: 0,
      size: [24, 7],
    }),
  ];
}

function processes(): readonly Panel[] {
  const of = (metric: string) => [{ expr: `breakwater_${metric}{${SCOPE}}`, legend: '{{instance}}' }];
  return [
    curves({
      title: 'CPU',
      description: 'Cores used by each process.',
      queries: [
        {
          expr: `rate(breakwater_process_cpu_seconds_total{${SCOPE}}[$__rate_interval])`,
          legend: '{{instance}}',
        },
      ],
      unit: 'percentunit',
      min: 0,
      size: [6, 8],
    }),
    curves({
      title: 'Memory',
      description: 'Resident set of each process.',
      queries: of('process_resident_memory_bytes'),
      unit: 'bytes',
      min: 0,
      size: [6, 8],
    }),
    curves({
      title: 'Event loop lag, p99',
      description: 'How late the process gets to what is due.',
      queries: of('nodejs_eventloop_lag_p99_seconds'),
      unit: 's',
      min: 0,
      size: [6, 8],
    }),
    curves({
      title: 'Open handles',
      description: 'Connections, timers and files; a steady rise is a leak.',
      queries: [
        { expr: `sum by (instance) (breakwater_nodejs_active_handles{${SCOPE}})`, legend: '{{instance}}' },
      ],
      min: 0,
      size: [6, 8],
    }),
  ];
}
