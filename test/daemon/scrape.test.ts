import { expect, test } from 'vitest';
import { EVENT_METRICS } from '../../src/telemetry/metrics/event-metrics.ts';
import type { MetricSpec } from '../../src/telemetry/metrics/metric-spec.ts';
import { STATE_METRICS } from '../../src/telemetry/metrics/state-metrics.ts';
import { ACCOUNTS } from '../contract/support/world.ts';
import { checkMetrics } from '../support/programs.ts';
import { d, drift, openScene, polls, sizeOf } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const BORROWER = {
  id: 'borrower',
  hedgeMode: false,
  leverage: 10,
  collateral: {},
  main: { BTC: d('2') },
};

const RULES = `  - id: near
    on: position
    when: { liquidationDistance: { below: 8%, clearAbove: 12% } }
    keepFiringFor: 1m
    severity: critical
    do:
      - notify: { channels: [log] }
      - reduce: { by: 50%, slippage: 1% }
  - id: slow
    on: position
    when: { liquidationDistance: { below: 90% } }
    for: 1h
    severity: info
    do: [{ notify: { channels: [log] } }]
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 1% } }
    severity: warning
    do: [{ notify: { channels: [log], cure: [0.5%] } }]
`;

const STATE_NAMES = Object.values(STATE_METRICS).map(({ name }) => `breakwater_${name}`);

/** Series that a scenario of some seconds without trouble does not produce. */
const NOT_HERE: ReadonlySet<string> = new Set([
  // Forecasts take half a minute of samples; test/daemon/scale.test.ts has them.
  'position_liquidation_probability_ratio',
  'credit_line_margin_call_seconds',
  // No such failure happened, so no label has a series.
  'store_epochs_started_total',
  'exchange_path_failures_total',
  'log_lines_lost_total',
  'polls_skipped_in_flight_total',
  'records_set_aside_total',
  'accounts_refused_total',
  'exchange_nonces_refused_total',
  'exchange_limits_hit_total',
  'exchange_budget_wait_seconds_total',
  'contract_drift_total',
  // No bot listens here.
  'bot_updates_total',
  'exchange_path_failures_total',
  'log_lines_lost_total',
  'exchange_store_available',
  'notification_retries_total',
  'queue_problems_total',
  'alarms_total',
  // No heartbeat is configured; test/daemon/heartbeat.test.ts has it.
  'heartbeat_pings_total',
  // No stress test is scheduled; test/daemon/scheduled-stress.test.ts has them.
  ...Object.values(EVENT_METRICS).flatMap(({ name }) => (name.startsWith('stress_') ? [name] : [])),
]);

test('a scrape during activity has every metric, promtool finds no fault, and closed subjects are gone', async ({
  annotate,
}) => {
  const simulator = await openScene({ accounts: [...ACCOUNTS, BORROWER] });
  const creditLine = { asset: 'USDT', amount: d('5000'), collateralAsset: 'BTC', collateralAmount: d('0.5') };
  simulator.exchange.change((model) => model.openLoan('borrower', creditLine));
  const world = await openDaemonWorld(simulator, {
    accounts: {
      long: { rules: ['near', 'slow'] },
      borrower: { rules: ['ltv'], more: '    mode: observe\n' },
    },
    rules: RULES,
  });
  const daemon = await world.start();
  const other = await world.start({ roles: ['web'], ordinal: 1 });
  const scrape = async (of = daemon): Promise<string> =>
    await (await fetch(`${of.webUrl()}/metrics`, { headers: { connection: 'close' } })).text();
  await polls(world, 'long');
  await polls(world, 'borrower');
  await fetch(`${daemon.webUrl()}/healthz`, { headers: { authorization: 'Bearer of-nobody' } });

  simulator.setPrice('BTC_PERP', '43500');
  await drift(simulator, -0.002, () => sizeOf(simulator, 'long') <= 0.251, 'a fill', world);
  let text = '';
  const has = (series: RegExp) => series.test(text);
  await eventually(
    async () => {
      text = await scrape();
      return (
        has(/^breakwater_rule_state\{account="long",rule="near".* 2$/m) &&
        has(/^breakwater_time_to_target_seconds_count [1-9]/m)
      );
    },
    'a scrape after the target was reached',
    () => [
      troubles(world.events),
      text.split('\n').filter((line) => /rule_state|time_to_target_seconds_count/.test(line)),
    ],
    100,
  );
  const missing = [...Object.values<MetricSpec>(STATE_METRICS), ...Object.values<MetricSpec>(EVENT_METRICS)]
    .map(({ name, type }) => (type === 'histogram' ? `${name}_count` : name))
    .filter((name) => !NOT_HERE.has(name) && !new RegExp(`^breakwater_${name}[ {]`, 'm').test(text));
  expect(missing).toEqual([]);
  expect(text).toMatch(
    /^breakwater_position_liquidation_distance_ratio\{account="long",market="BTC_PERP",position="\w+",direction="long"\} 0\.\d+$/m,
  );
  expect(text).toMatch(
    /^breakwater_rule_state\{account="long",rule="slow",subject="position:\w+",severity="info"\} 1$/m,
  );
  expect(text).toMatch(
    /^breakwater_rule_state\{account="borrower",rule="ltv",subject="creditLine:USDT@\d+",severity="warning"\} 2$/m,
  );
  expect(text).toMatch(
    /^breakwater_credit_line_ltv_ratio\{account="borrower",asset="USDT",loan="\d+"\} 0\.\d+$/m,
  );
  expect(text).toMatch(/^breakwater_actions_total\{kind="place",outcome="accepted",reason=""\} [1-9]/m);
  const found = await checkMetrics(text);
  if (found === undefined) await annotate('promtool is not installed: the scrape was not checked by it');
  else expect(found).toEqual({ code: 0, output: '' });

  // The other process neither polled nor acted, and shows the same shared state.
  const stateSeries = (of: string): readonly string[] =>
    of
      .split('\n')
      .filter((line) => STATE_NAMES.some((name) => line.startsWith(`${name}{`)))
      .map((line) => line.slice(0, line.lastIndexOf(' ')));
  let told: readonly (readonly string[])[] = [];
  await eventually(
    async () => {
      told = await Promise.all([daemon, other].map(async (of) => stateSeries(await scrape(of))));
      return told[0]!.length > 30 && told[0]!.join() === told[1]!.join();
    },
    'the same series from both',
    () => told,
    100,
  );

  const [position] = simulator.model.openPositions('long');
  const amount = position!.amount.abs();
  expect(simulator.model.placeCollateralOrder('long', { market: 'BTC_PERP', side: 'sell', amount }).ok).toBe(
    true,
  );
  const frozen = ['rule="near"', 'rule="slow"'].map((rule) => {
    const severity = rule === 'rule="near"' ? 'critical' : 'info';
    return `breakwater_rule_frozen{account="long",${rule},subject="position:${position!.positionId}",severity="${severity}"}`;
  });
  for (const each of [daemon, other]) {
    await eventually(
      async () => {
        text = await scrape(each);
        return (
          !text.includes(`position="${position!.positionId}"`) &&
          // Only an empty list shows the closure: its rules are frozen for minutes, and say so.
          frozen.every((series) => text.includes(`${series} 1`))
        );
      },
      'no series of the closed position',
      () => text.split('\n').filter((line) => line.includes(`${position!.positionId}"`)),
      100,
    );
    expect(text).toContain('breakwater_account_positions{account="long"} 0');
  }
});
