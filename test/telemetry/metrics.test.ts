import { PassThrough } from 'node:stream';
import { Agent, request } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import type { ActionCost } from '../../src/core/costs/action-cost.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { EVENT_METRICS } from '../../src/telemetry/metrics/event-metrics.ts';
import { createTelemetry, type DaemonTelemetry } from '../../src/telemetry/telemetry.ts';
import { startWebServer } from '../../src/web/server.ts';
import { AT, message } from '../notify/receiver.ts';
import { type ManualClock, manualClock } from '../state/support/manual-clock.ts';
import { checkMetrics } from '../support/programs.ts';
import { textOf, valueOf } from './parts.ts';
import { seriesOf, viewOf } from './views.ts';

// A separate registry: the process's one is used by the following files.
const dispatcher = new Agent();
afterAll(() => dispatcher.close());

function setUp(): { telemetry: DaemonTelemetry; clock: ManualClock; log: () => string } {
  const clock = manualClock(AT);
  const stream = new PassThrough();
  const logger = createLogger({ level: 'trace', format: 'json', stream });
  let all = '';
  const log = (): string => {
    all += String((stream.read() as Buffer | null) ?? '');
    return all;
  };
  return { telemetry: createTelemetry({ logger, version: '9.9.9', clock }), clock, log };
}

type EventOf<K extends DaemonEvent['kind']> = Extract<DaemonEvent, { readonly kind: K }>;

const call = (changes: object = {}): EventOf<'call'> => ({
  kind: 'call',
  accountId: 'desk-1',
  call: {
    endpoint: 'openPositions',
    outcome: 'ok',
    durationMs: 40,
    attempts: 2,
    noncesRefused: 1,
    limitsHit: 0,
    budgetWaitMs: 500,
    ...changes,
  },
});

const evaluated = (
  changes: { to?: string; from?: string; phases?: readonly string[]; mode?: string } = {},
): EventOf<'evaluated'> =>
  ({
    kind: 'evaluated',
    accountId: 'desk-1',
    settings: { mode: changes.mode ?? 'enforce' },
    snapshot: {},
    evaluation: {
      decisions: (changes.phases ?? []).map((phase) => ({ phase })),
      transitions:
        changes.to === undefined
          ? []
          : [
              {
                ruleId: 'near',
                subject: 'position:42',
                episode: 1,
                from: changes.from ?? 'pending',
                to: changes.to,
                reason: 'heldLongEnough',
                atMs: AT,
                words: 'liquidationDistance 4.1 % is below 5 %',
                mode: 'enforce',
                severity: 'critical',
                labels: {},
              },
            ],
    },
    durationMs: 30,
  }) as unknown as EventOf<'evaluated'>;

const audited = (changes: object = {}): EventOf<'audited'> => ({
  kind: 'audited',
  event: {
    kind: 'accepted',
    atMs: AT + 25,
    accountId: 'desk-1',
    market: 'BTC_PERP',
    positionId: '42',
    ruleId: 'near',
    reason: 'accepted',
    words: 'the exchange accepted the order',
    alarm: false,
    ...changes,
  },
});

const text = (value: string): DecimalString => value as DecimalString;

/** Sold above the mark at which its rule fired, at an unknown fee. */
const COST: ActionCost = {
  id: 'bw.1@1',
  clientOrderId: 'bw.1',
  role: 'reduce',
  direction: 'long',
  amountBase: text('0.5'),
  money: 'USDT',
  filledMs: AT,
  decidedPrice: text('60000'),
  limitPrice: text('59400'),
  fill: { price: text('60010'), from: 'realizedPnl' },
  fee: null,
  liquidationPrice: null,
};

/**
 * At least one event of each kind; the types enforce this. The log must cover each kind, and none may break a scrape.
 */
const EVENTS: { readonly [K in DaemonEvent['kind']]: readonly [EventOf<K>, ...EventOf<K>[]] } = {
  ticked: [{ kind: 'ticked', bucket: 3, lagMs: 4, durationMs: 20, due: 5, inFlight: 2 }],
  read: [
    { kind: 'read', accountId: 'desk-1', source: 'positions', outcome: 'ok', durationMs: 20, setAside: 1 },
    {
      kind: 'read',
      accountId: 'desk-1',
      source: 'creditLine',
      outcome: 'failed',
      error: 'timeout',
      durationMs: 20,
      setAside: 0,
    },
  ],
  evaluated: [evaluated({ to: 'firing', phases: ['firing', 'inactive', 'firing'] })],
  commit: [{ kind: 'commit', accountId: 'desk-1', by: 'poll', result: 'committed' }],
  pollFailed: [{ kind: 'pollFailed', accountId: 'desk-1', why: 'error', error: new Error('boom') }],
  accountRefused: [
    {
      kind: 'accountRefused',
      problem: {
        accountId: 'b',
        version: 1,
        document: 'lane:BTC_PERP',
        code: 'DOCUMENT_NEWER',
        message: 'newer',
      },
    },
  ],
  epochStarted: [{ kind: 'epochStarted', accountId: 'desk-1', epoch: 'abc', why: 'empty' }],
  audited: [
    audited(),
    audited({ kind: 'intentEnded', reason: 'failed:attempts', alarm: true, openedMs: AT }),
    audited({ kind: 'intentEnded', reason: 'reached:target', atMs: AT + 2_000, openedMs: AT }),
    // A cancel action has no intent.
    audited({ kind: 'intentEnded', reason: 'failed:attempts' }),
    audited({ kind: 'priced', reason: 'filled', cost: COST }),
    audited({ kind: 'priced', reason: 'orderHistory', cost: COST }),
  ],
  notice: [{ kind: 'notice', notice: { ...message(), kind: 'firing' } }],
  laneDispatched: [{ kind: 'laneDispatched', lanes: [{ accountId: 'desk-1', market: null }] }],
  laneRun: [
    { kind: 'laneRun', accountId: 'desk-1', market: 'BTC_PERP', end: 'idle', steps: 2, durationMs: 30 },
  ],
  step: [
    {
      kind: 'step',
      accountId: 'desk-1',
      market: 'BTC_PERP',
      step: 'place',
      outcome: 'rejected',
      error: 'notEnoughBalance',
      durationMs: 9,
    },
    {
      kind: 'step',
      accountId: 'desk-1',
      market: 'BTC_PERP',
      step: 'readPositions',
      outcome: 'read',
      durationMs: 9,
    },
  ],
  workerError: [{ kind: 'workerError', queue: 'poll', error: new Error('w') }],
  jobFailed: [{ kind: 'jobFailed', queue: 'act', job: 'j', error: new Error('j') }],
  jobStalled: [{ kind: 'jobStalled', queue: 'act', job: 'j' }],
  jobRefused: [{ kind: 'jobRefused', queue: 'notify', job: 'j', why: 'form' }],
  auditCut: [{ kind: 'auditCut', words: 'records are missing' }],
  auditHead: [{ kind: 'auditHead', accountId: 'a', head: { seq: 1, hash: 'f' } }],
  noticeUnproven: [{ kind: 'noticeUnproven', queue: 'notify', words: 'it lacks the seal' }],
  controlRefused: [{ kind: 'controlRefused', words: 'the pause x does not hold' }],
  schedulesAsserted: [{ kind: 'schedulesAsserted', buckets: [1, 2], why: 'repair' }],
  started: [{ kind: 'started', roles: ['poll'], accounts: 7, instance: 'i' }],
  listening: [{ kind: 'listening', url: 'http://127.0.0.1:9642' }],
  webRefused: [{ kind: 'webRefused', why: 'wrongToken', client: '192.0.2.7' }],
  jobChanged: [{ kind: 'jobChanged', queue: 'act', job: 'j', change: 'removed', author: 'ann (192.0.2.7)' }],
  webError: [{ kind: 'webError', error: new Error('a slow reader') }],
  configReloaded: [{ kind: 'configReloaded', accounts: 8, result: 'changed', warnings: ['w'], lost: ['l'] }],
  configRefused: [{ kind: 'configRefused', problems: ['p'] }],
  redisChecked: [{ kind: 'redisChecked', warnings: ['hz'] }],
  journalOpened: [{ kind: 'journalOpened', directory: '/state' }],
  redis: [{ kind: 'redis', available: false, error: new Error('gone') }],
  standby: [
    { kind: 'standby', state: 'alone', error: new Error('gone') },
    { kind: 'standby', state: 'shared', accounts: [] },
  ],
  mirror: [{ kind: 'mirror', state: 'failing', error: new Error('full') }],
  journalTaken: [{ kind: 'journalTaken', directory: '/state', holder: 'process 1 on host' }],
  instanceTaken: [{ kind: 'instanceTaken', ordinal: 0, holder: 'h' }],
  company: [{ kind: 'company' }],
  exchangeStore: [{ kind: 'exchangeStore', store: 'nonce', available: false, accountId: 'desk-1' }],
  contractDrift: [
    {
      kind: 'contractDrift',
      accountId: 'desk-1',
      endpoint: 'openPositions',
      path: '[0].amount',
      expected: 'decimal',
      got: 'number',
    },
  ],
  call: [call(), call({ endpoint: 'stopLimit', limitsHit: 1 })],
  delivered: [
    {
      kind: 'delivered',
      message: message(),
      report: {
        channel: 'ops',
        type: 'slack',
        insteadOf: [],
        delivery: { kind: 'delivered', atMs: AT, attempts: 1, durationMs: 20 },
      },
    },
  ],
  deliveryRetried: [
    { kind: 'deliveryRetried', message: message(), channel: 'ops', reason: 'timeout', inMs: 5 },
  ],
  said: [{ kind: 'said', message: message(), text: 'CRITICAL firing', insteadOf: ['ops'] }],
  digested: [{ kind: 'digested', outcome: 'failed', name: '2026-01-31T08:00', words: 'no records' }],
  exchangePath: [{ kind: 'exchangePath', host: 'api.example', error: 'timeout', words: 'no answer' }],
  queueResumed: [{ kind: 'queueResumed', queue: 'act' }],
  ownTicks: [{ kind: 'ownTicks', state: 'begun' }],
  heartbeat: [{ kind: 'heartbeat', signal: 'success', atMs: AT, words: 'all is watched' }],
  botTold: [
    {
      kind: 'botTold',
      channel: 'ops',
      what: 'command',
      outcome: 'done',
      author: 'telegram:1',
      words: '/status',
    },
  ],
  botListens: [{ kind: 'botListens', channel: 'ops', trouble: 'another bot reads' }],
  logLost: [{ kind: 'logLost', why: 'full' }],
  stressed: [{ kind: 'stressed', outcome: 'complete', durationMs: 5, accounts: 1, liquidated: 0, words: '' }],
  stopping: [{ kind: 'stopping', why: 'SIGTERM' }],
  stopped: [{ kind: 'stopped', inTime: true, durationMs: 5 }],
};
const EVERY_EVENT: readonly DaemonEvent[] = Object.values(EVENTS).flat();

/** Metrics of the catalogue to which no event has added anything. */
function notCounted(text: string): readonly string[] {
  return Object.values(EVENT_METRICS)
    .filter(({ type }) => type !== 'gauge')
    .map(({ name, type }) => `breakwater_${name}${type === 'histogram' ? '_count' : ''}`)
    .filter((name) => !new RegExp(`^${name}(\\{.*\\})? (?!0$)`, 'm').test(text));
}

describe('events', () => {
  test('are counted, and each of them is in the log', async () => {
    const { telemetry, clock, log } = setUp();
    for (const event of EVERY_EVENT) telemetry.emit(event);
    clock.advance(10_000);
    const text = textOf(await telemetry.metrics.scrape());
    const expected: Readonly<Record<string, number>> = {
      'breakwater_polls_total{outcome="ok"}': 1,
      'breakwater_polls_total{outcome="error"}': 1,
      'breakwater_schedule_lag_seconds_bucket{le="0.005"}': 1,
      breakwater_polls_skipped_in_flight_total: 2,
      'breakwater_reads_total{source="creditLine",outcome="failed"}': 1,
      'breakwater_records_set_aside_total{source="positions"}': 1,
      'breakwater_intents_ended_total{how="failed",why="attempts"}': 1,
      'breakwater_intents_ended_total{how="reached",why="target"}': 1,
      breakwater_time_to_target_seconds_count: 1,
      breakwater_time_to_target_seconds_sum: 2,
      'breakwater_degraded{reason="redis"}': 1,
      'breakwater_degraded{reason="exchange_store"}': 1,
      'breakwater_degraded{reason="schedule"}': 1,
      'breakwater_degraded{reason="notify"}': 0,
      'breakwater_degraded{reason="commands"}': 1,
      'breakwater_rule_transitions_total{to="firing",reason="heldLongEnough"}': 1,
      'breakwater_commits_total{by="poll",result="committed"}': 1,
      'breakwater_accounts_refused_total{document="lane"}': 1,
      'breakwater_store_epochs_started_total{why="empty"}': 1,
      breakwater_breach_to_order_seconds_count: 1,
      breakwater_breach_to_order_seconds_sum: 0.025,
      'breakwater_audit_events_total{kind="intentEnded",reason="failed:attempts"}': 2,
      'breakwater_alarms_total{kind="intentEnded"}': 1,
      'breakwater_protection_money_total{money="USDT",part="slippage",sign="gained"}': 5,
      'breakwater_protection_unknown_total{money="USDT",part="fee"}': 1,
      'breakwater_notices_total{kind="firing",severity="critical"}': 1,
      'breakwater_lane_runs_total{end="idle"}': 1,
      'breakwater_actions_total{kind="place",outcome="rejected",reason="notEnoughBalance"}': 1,
      'breakwater_queue_problems_total{queue="act",problem="failed"}': 1,
      breakwater_controls_refused_total: 1,
      'breakwater_web_refused_total{reason="wrongToken"}': 1,
      'breakwater_schedules_asserted_total{why="repair"}': 2,
      breakwater_accounts: 8,
      'breakwater_config_reloads_total{result="refused"}': 1,
      breakwater_redis_available: 0,
      'breakwater_exchange_store_available{store="nonce"}': 0,
      'breakwater_contract_drift_total{endpoint="openPositions"}': 1,
      'breakwater_exchange_requests_total{endpoint="openPositions",outcome="ok",error=""}': 1,
      'breakwater_exchange_attempts_total{endpoint="openPositions"}': 2,
      'breakwater_exchange_nonces_refused_total{endpoint="openPositions"}': 1,
      'breakwater_exchange_budget_wait_seconds_total{endpoint="openPositions"}': 0.5,
      [`breakwater_build_info{version="9.9.9",node_version="${process.version}"}`]: 1,
    };
    for (const [series, value] of Object.entries(expected))
      expect([series, valueOf(text, series)]).toEqual([series, value]);
    expect(notCounted(text)).toEqual([]);
    expect(text).not.toContain('step="readPositions"');
    const lines = log().trim().split('\n');
    // `logLost` is missing: the output may accept no lines.
    expect(lines).toHaveLength(EVERY_EVENT.length + 3);
    expect(log()).not.toContain('telemetryFailed');
    expect(lines.find((line) => line.includes('"event":"ruleChanged"'))).toMatch(
      /"level":"warn".*"account":"desk-1".*"subject":"position:42".*"rule":"near".*"reason":"heldLongEnough".*"durationMs":30/,
    );
  });

  test('a process that goes on alone is degraded, even before the client of Redis reports a loss and after it answers again', () => {
    const { telemetry } = setUp();
    const isDegraded = () => telemetry.metrics.degraded().includes('redis');
    expect(isDegraded()).toBe(false);
    telemetry.emit({ kind: 'standby', state: 'alone', error: new Error('takes no writes') });
    expect(isDegraded()).toBe(true);
    telemetry.emit({ kind: 'redis', available: false, error: new Error('gone') });
    telemetry.emit({ kind: 'redis', available: true });
    expect(isDegraded()).toBe(true);
    telemetry.emit({ kind: 'standby', state: 'shared', accounts: [] });
    expect(isDegraded()).toBe(false);
  });

  test('that fail at every poll are logged now and then, with the number of skipped ones', () => {
    const { telemetry, clock, log } = setUp();
    const failed: DaemonEvent = {
      kind: 'read',
      accountId: 'a',
      source: 'positions',
      outcome: 'failed',
      error: 'timeout',
      durationMs: 1,
      setAside: 0,
    };
    for (let index = 0; index < 25; index++) {
      telemetry.emit(failed);
      clock.advance(1000);
    }
    const lines = log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { repeated?: number });
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, 9, 9]);
  });

  test('40,000 wrong tokens are counted, and logged once per sender address', async () => {
    const { telemetry, log } = setUp();
    for (let index = 0; index < 20_000; index++) {
      for (const client of ['192.0.2.7', '2001:db8:0:0::/64'])
        telemetry.emit({ kind: 'webRefused', why: 'wrongToken', client });
    }
    const lines = log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; level: string; client: string; message: string });
    expect(lines.map(({ event, level, client }) => [event, level, client])).toEqual([
      ['webRefused', 'warn', '192.0.2.7'],
      ['webRefused', 'warn', '2001:db8:0:0::/64'],
    ]);
    const text = textOf(await telemetry.metrics.scrape());
    expect(valueOf(text, 'breakwater_web_refused_total{reason="wrongToken"}')).toBe(40_000);
  });

  test('messages are counted by channel and outcome; series of removed channels disappear', async () => {
    const { telemetry } = setUp();
    const report = (channel: string, delivery: object) =>
      telemetry.emit({
        kind: 'delivered',
        message: message(),
        report: { channel, type: 'slack', insteadOf: [], delivery },
      } as DaemonEvent);
    report('ops', { kind: 'delivered', atMs: AT, attempts: 1, durationMs: 20 });
    report('phone', { kind: 'failed', reason: 'notFound', words: 'HTTP 404', attempts: 1, durationMs: 20 });
    telemetry.emit({
      kind: 'deliveryRetried',
      message: message(),
      channel: 'phone',
      reason: 'timeout',
      inMs: 500,
    });
    telemetry.emit({ kind: 'botTold', channel: 'phone', what: 'press', outcome: 'done', words: '' });
    const before = textOf(await telemetry.metrics.scrape());
    const failed =
      'breakwater_notifications_total{channel="phone",kind="firing",outcome="failed",reason="notFound"}';
    const fine = 'breakwater_notifications_total{channel="ops",kind="firing",outcome="delivered",reason=""}';
    expect([valueOf(before, failed), valueOf(before, fine)]).toEqual([1, 1]);
    expect(valueOf(before, 'breakwater_notification_retries_total{channel="phone",reason="timeout"}')).toBe(
      1,
    );
    telemetry.metrics.retain(['desk-1'], ['ops', 'log']);
    const after = textOf(await telemetry.metrics.scrape());
    expect(after).not.toMatch(/channel="phone"/);
    expect([valueOf(after, fine), valueOf(after, 'breakwater_accounts')]).toEqual([1, 1]);
  });

  test('a breach is measured once, to its first accepted order, and not if it cleared before', async () => {
    const { telemetry } = setUp();
    const count = async () =>
      valueOf(textOf(await telemetry.metrics.scrape()), 'breakwater_breach_to_order_seconds_count');
    telemetry.emit(evaluated({ to: 'firing' }));
    telemetry.emit(evaluated({ to: 'inactive', from: 'firing' }));
    telemetry.emit(audited());
    expect(await count()).toBe(0);
    telemetry.emit(evaluated({ to: 'firing' }));
    telemetry.emit(evaluated({ to: 'firing', from: 'firing' }));
    telemetry.emit(audited());
    telemetry.emit(audited());
    expect(await count()).toBe(1);
  });

  test('external labels are bounded', async () => {
    const { telemetry } = setUp();
    for (let index = 0; index < 1000; index++)
      telemetry.emit(call({ outcome: 'failed', error: `e${index}` }));
    const text = textOf(await telemetry.metrics.scrape());
    const series = text.split('\n').filter((line) => line.startsWith('breakwater_exchange_requests_total{'));
    expect(series.length).toBeLessThanOrEqual(301);
    expect(text).toContain('error="other"} 700');
  });

  test('shared figures are read at each scrape; if that fails there are no series, rather than stale ones', async () => {
    const { telemetry } = setUp();
    const available = 'breakwater_shared_state_available';
    expect(valueOf(textOf(await telemetry.metrics.scrape()), available)).toBe(0);
    let fails = false;
    telemetry.metrics.shared(async () => {
      if (fails) throw new Error('Redis is gone');
      const state = seriesOf([viewOf('desk-1'), viewOf('desk-2')], { nowMs: AT, laneMs: AT });
      state.isPausedEverywhere = true;
      return {
        state,
        queues: { act: { jobs: { waiting: 3, active: 1 }, oldestAgeMs: 250, isPaused: true } },
      };
    });
    telemetry.metrics.budgets(() => [{ egress: 'default', limit: 'positions', used: 0.25 }]);
    const told = {
      [available]: 1,
      breakwater_paused: 1,
      'breakwater_account_enforcing{account="desk-2"}': 1,
      'breakwater_queue_jobs{queue="act",state="waiting"}': 3,
      'breakwater_queue_jobs{queue="act",state="active"}': 1,
      'breakwater_queue_oldest_job_seconds{queue="act"}': 0.25,
      'breakwater_queue_paused{queue="act"}': 1,
      'breakwater_exchange_budget_used_ratio{egress="default",limit="positions"}': 0.25,
    };
    const text = textOf(await telemetry.metrics.scrape());
    expect(Object.fromEntries(Object.keys(told).map((series) => [series, valueOf(text, series)]))).toEqual(
      told,
    );
    fails = true;
    const without = textOf(await telemetry.metrics.scrape());
    expect(valueOf(without, available)).toBe(0);
    expect(without).not.toMatch(
      /^breakwater_(paused|account_|intents_open|queue_jobs|queue_oldest|queue_paused).* /m,
    );
  });

  test('a problem of the process is reported until it is resolved', () => {
    const { telemetry, clock } = setUp();
    const { metrics } = telemetry;
    const deliver = (kind: string, reason = 'rejected') =>
      telemetry.emit({
        kind: 'delivered',
        message: message(),
        report: { channel: 'ops', type: 'slack', insteadOf: [], delivery: { kind, reason } },
      } as DaemonEvent);
    const store = (accountId: string, available: boolean) =>
      telemetry.emit({ kind: 'exchangeStore', store: 'nonce', available, accountId });
    expect(metrics.degraded()).toEqual([]);
    // A channel removed from the config: nothing to fix.
    deliver('failed', 'noSuchChannel');
    expect(metrics.degraded()).toEqual([]);
    telemetry.emit({ kind: 'redis', available: false });
    store('a', false);
    store('b', false);
    deliver('failed');
    telemetry.emit({ kind: 'botListens', channel: 'ops', trouble: 'HTTP 409' });
    clock.advance(10_000);
    telemetry.emit({ kind: 'ticked', bucket: 1, lagMs: 6_000, durationMs: 1, due: 1, inFlight: 0 });
    expect(metrics.degraded()).toEqual(['redis', 'exchange_store', 'schedule', 'notify', 'commands']);
    telemetry.emit({ kind: 'redis', available: true });
    telemetry.emit({ kind: 'botListens', channel: 'ops' });
    store('a', true);
    deliver('delivered');
    expect(metrics.degraded()).toEqual(['exchange_store', 'schedule']);
    metrics.retain(['a'], ['ops']);
    clock.advance(61_000);
    expect(metrics.degraded()).toEqual([]);
    deliver('failed');
    telemetry.emit({ kind: 'botListens', channel: 'ops', trouble: 'HTTP 409' });
    metrics.retain(['a'], []);
    expect(metrics.degraded()).toEqual([]);
  });

  test('an unavailable shared store does not count as degraded in the first seconds', () => {
    const { telemetry, clock } = setUp();
    const store = (available: boolean) =>
      telemetry.emit({ kind: 'exchangeStore', store: 'nonce', available, accountId: 'a' });
    store(false);
    clock.advance(9_000);
    expect(telemetry.metrics.degraded()).toEqual([]);
    store(true);
    clock.advance(9_000);
    expect(telemetry.metrics.degraded()).toEqual([]);
    store(false);
    clock.advance(10_000);
    expect(telemetry.metrics.degraded()).toEqual(['exchange_store']);
  });

  test('a tick that was due before the start does not count as a disturbed schedule', () => {
    const { telemetry, clock } = setUp();
    const tick = (lagMs: number) =>
      telemetry.emit({ kind: 'ticked', bucket: 1, lagMs, durationMs: 1, due: 1, inFlight: 0 });
    clock.advance(7_000);
    tick(8_000);
    expect(telemetry.metrics.degraded()).toEqual([]);
    tick(6_000);
    expect(telemetry.metrics.degraded()).toEqual(['schedule']);
  });

  test('an event that cannot be recorded does no harm', () => {
    const { telemetry, log } = setUp();
    expect(() => telemetry.emit({ kind: 'evaluated' } as never)).not.toThrow();
    expect(log()).toContain('telemetryFailed');
  });

  test('two registries in one process do not collide', async () => {
    const [one, two] = [setUp(), setUp()];
    one.telemetry.emit(call());
    expect(textOf(await two.telemetry.metrics.scrape())).not.toContain('endpoint="openPositions"');
  });
});

describe('the text of a scrape', () => {
  test('promtool finds nothing wrong with it', async ({ skip }) => {
    const { telemetry } = setUp();
    for (const event of EVERY_EVENT) telemetry.emit(event);
    telemetry.emit({
      kind: 'deliveryRetried',
      message: message(),
      channel: 'phone',
      reason: 'timeout',
      inMs: 500,
    });
    const server = await startWebServer({
      host: '127.0.0.1',
      port: 0,
      metrics: telemetry.metrics,
      readiness: async () => ({ ready: true, checks: [] }),
      onError: () => undefined,
      onJobChanged: () => undefined,
      onRefused: () => undefined,
    });
    const scraped = await request(`${server.url}/metrics`, { dispatcher, reset: true });
    expect(scraped.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await scraped.body.text();
    await server.close();
    const found = await checkMetrics(text);
    if (found === undefined) skip('promtool is not installed');
    expect(found).toEqual({ code: 0, output: '' });
  });

  test("every metric has the project's prefix and a help text", async () => {
    const text = textOf(await setUp().telemetry.metrics.scrape());
    for (const [, name, help] of text.matchAll(/^# HELP (\S+) (.*)$/gm)) {
      expect(name).toMatch(/^breakwater_[a-z0-9_]+$/);
      expect(help?.length).toBeGreaterThan(5);
    }
    expect(text).toContain('breakwater_process_cpu_seconds_total');
    expect(text).toContain('breakwater_nodejs_eventloop_lag_seconds');
  });
});
