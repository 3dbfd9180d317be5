/**
 * For each alert a scenario in which it fires, as close to its threshold as possible, and one in which it just does
 * not. Series in promtool's notation: `0.02x40` is 0.02 at 41 samples, `_x40` is none; a sample every 15 s.
 */
export interface AlertCase {
  readonly alert: string;
  readonly firing: Readonly<Record<string, string>>;
  readonly calm: Readonly<Record<string, string>> | readonly Readonly<Record<string, string>>[];
  /** Evaluation time; default: 10m. */
  readonly at?: string;
  /** Labels of the alert besides `severity` and `job`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly description: string;
  /** Omitted for series that Prometheus itself makes. */
  readonly withoutJob?: true;
}

const JOB = 'job="breakwater"';
const WHERE = `instance="a:9642",${JOB}`;
const POSITION = `account="desk-1",market="BTC_PERP",position="42",direction="long",${WHERE}`;
const LOAN = `account="desk-1",asset="USDT",loan="1700000000",${WHERE}`;
const RULE = `account="desk-1",rule="near",subject="position:42",severity="critical",${WHERE}`;
const ACCOUNT = `account="desk-1",${WHERE}`;
const STRESSED = 'account="desk-1",scenario="2020-03-12",conditions="crash"';
const ON = '1x60';
const OFF = '0x60';
const ALWAYS = (value: number): string => `${value}x60`;
/** A counter that adds this much after nine minutes, and existed before. */
const COUNTED = (count: number): string => `7x36 ${7 + count}x200`;
/** A series that appears in the ninth minute: `increase` alone would miss its first value. */
const APPEARED = (count: number): string => `_x36 ${count}x200`;
/** Without a price and a time: infinitely far. */
const NEVER = '+Inf '.repeat(60).trim();
/** Counted long ago. */
const PAST = '6x240';

const aboutPosition = { account: 'desk-1', market: 'BTC_PERP', position: '42', direction: 'long' };
const aboutLoan = { account: 'desk-1', asset: 'USDT', loan: '1700000000' };
const aboutRule = { account: 'desk-1', rule: 'near', subject: 'position:42' };
const aboutAccount = { account: 'desk-1' };
const position = 'desk-1: BTC_PERP long position 42';
const creditLine = 'desk-1: credit line in USDT (1700000000)';

export const CASES: readonly AlertCase[] = [
  {
    alert: 'BreakwaterLiquidation',
    firing: { [`breakwater_position_liquidation_state{${POSITION},state="liquidation"}`]: ON },
    calm: { [`breakwater_position_liquidation_state{${POSITION},state="margin_call"}`]: ON },
    labels: { ...aboutPosition, state: 'liquidation' },
    severity: 'critical',
    summary: `${position} is being liquidated`,
    description:
      'The exchange reports liquidationState "liquidation": it is closing this position itself. Rules on it act without limits; what is left of it is worth looking at now.',
  },
  {
    alert: 'BreakwaterMarginCall',
    firing: { [`breakwater_position_liquidation_state{${POSITION},state="unrecognised"}`]: ON },
    calm: { [`breakwater_position_liquidation_state{${POSITION},state="none"}`]: ON },
    labels: { ...aboutPosition, state: 'unrecognised' },
    severity: 'critical',
    summary: `${position} is in margin call`,
    description:
      'The exchange reports liquidationState "unrecognised" (an unrecognised state counts as a margin call). Add collateral or reduce.',
  },
  {
    alert: 'BreakwaterNearLiquidation',
    firing: {
      [`breakwater_position_liquidation_distance_ratio{${POSITION}}`]: ALWAYS(0.029),
      [`breakwater_position_disagreement{${POSITION}}`]: OFF,
    },
    calm: [
      { [`breakwater_position_liquidation_distance_ratio{${POSITION}}`]: ALWAYS(0.031) },
      { [`breakwater_position_liquidation_distance_ratio{${POSITION}}`]: NEVER },
      {
        [`breakwater_position_liquidation_distance_ratio{${POSITION}}`]: ALWAYS(-0.02),
        [`breakwater_position_disagreement{${POSITION}}`]: ON,
      },
    ],
    labels: aboutPosition,
    severity: 'critical',
    summary: `${position} is 2.9% from liquidation`,
    description: 'The mark price is 2.9% of itself away from the liquidation price (alert below 3%).',
  },
  {
    alert: 'BreakwaterLiquidationApproaches',
    // Two processes report the same: one alert.
    firing: {
      [`breakwater_position_liquidation_distance_ratio{${POSITION}}`]: ALWAYS(0.059),
      [`breakwater_position_liquidation_distance_ratio{${POSITION.replace('a:9642', 'b:9642')}}`]:
        ALWAYS(0.059),
      [`breakwater_position_disagreement{${POSITION}}`]: OFF,
    },
    calm: [
      { [`breakwater_position_liquidation_distance_ratio{${POSITION}}`]: ALWAYS(0.061) },
      {
        [`breakwater_position_liquidation_distance_ratio{${POSITION}}`]: ALWAYS(0.02),
        [`breakwater_position_disagreement{${POSITION}}`]: ON,
      },
    ],
    labels: aboutPosition,
    severity: 'warning',
    summary: `${position} is 5.9% from liquidation`,
    description: 'The mark price is 5.9% of itself away from the liquidation price (alert below 6%).',
  },
  {
    alert: 'BreakwaterAccountNearLiquidation',
    firing: { [`breakwater_account_joint_distance_ratio{${ACCOUNT}}`]: ALWAYS(0.049) },
    calm: [
      { [`breakwater_account_joint_distance_ratio{${ACCOUNT}}`]: ALWAYS(0.051) },
      { [`breakwater_account_joint_distance_ratio{${ACCOUNT}}`]: NEVER },
    ],
    labels: aboutAccount,
    severity: 'critical',
    summary: 'desk-1 is 4.9% from liquidation if all its markets move together',
    description:
      'Under cross margin all positions share one pool: a move of 4.9% of all markets, or of one of them, uses it up (alert below 5%).',
  },
  {
    alert: 'BreakwaterLiquidationLikely',
    firing: { [`breakwater_position_liquidation_probability_ratio{${POSITION}}`]: ALWAYS(0.26) },
    calm: { [`breakwater_position_liquidation_probability_ratio{${POSITION}}`]: ALWAYS(0.24) },
    labels: aboutPosition,
    severity: 'warning',
    summary: `${position} may be liquidated within the hour`,
    description:
      'With the volatility and drift of the last samples the chance of liquidation within an hour is 26% (alert above 25%).',
  },
  {
    alert: 'BreakwaterDisagreement',
    firing: { [`breakwater_position_disagreement{${POSITION}}`]: ON },
    calm: [
      { [`breakwater_position_disagreement{${POSITION}}`]: OFF },
      {
        [`breakwater_position_disagreement{${POSITION}}`]: ON,
        [`breakwater_position_disagreement{${POSITION.replace('direction="long"', 'direction="short"').replace('position="42"', 'position="43"')}}`]:
          OFF,
      },
    ],
    labels: aboutPosition,
    severity: 'warning',
    summary: `${position}: liquidation price and state contradict each other`,
    description:
      'The mark price is past the liquidation price that the exchange reports, but it reports no liquidation. Hedged and cross-collateral accounts show such prices. Nothing is sized by this distance.',
  },
  {
    alert: 'BreakwaterUnprotected',
    firing: {
      [`breakwater_position_unprotected_seconds{${POSITION}}`]: ALWAYS(610),
      [`breakwater_position_stop_cover_ratio{${POSITION}}`]: ALWAYS(0.35),
      [`breakwater_account_enforcing{${ACCOUNT}}`]: ON,
    },
    calm: [
      {
        [`breakwater_position_unprotected_seconds{${POSITION}}`]: ALWAYS(590),
        [`breakwater_account_enforcing{${ACCOUNT}}`]: ON,
      },
      {
        [`breakwater_position_unprotected_seconds{${POSITION}}`]: ALWAYS(610),
        [`breakwater_account_enforcing{${ACCOUNT}}`]: OFF,
      },
    ],
    labels: aboutPosition,
    severity: 'warning',
    summary: `${position} is not covered by stops`,
    description:
      'For 10m 10s no confirmed stops on the right side of its liquidation price have stood for all of it (alert above 10m), now for 35%. If this daemon dies, nothing at the exchange protects the rest.',
  },
  {
    alert: 'BreakwaterCreditLineNearLiquidation',
    firing: {
      [`breakwater_credit_line_ltv_ratio{${LOAN}}`]: ALWAYS(0.864),
      [`breakwater_credit_line_liquidation_ltv_ratio{${LOAN}}`]: ALWAYS(0.9),
    },
    calm: {
      [`breakwater_credit_line_ltv_ratio{${LOAN}}`]: ALWAYS(0.846),
      [`breakwater_credit_line_liquidation_ltv_ratio{${LOAN}}`]: ALWAYS(0.9),
    },
    labels: aboutLoan,
    severity: 'critical',
    summary: `${creditLine} is near liquidation of its collateral`,
    description:
      'The LTV has reached 96% of the liquidation LTV (alert above 95%). The daemon cannot repay: repay or add collateral now.',
  },
  {
    alert: 'BreakwaterCreditLineMarginCall',
    firing: {
      [`breakwater_credit_line_ltv_ratio{${LOAN}}`]: ALWAYS(0.75),
      [`breakwater_credit_line_margin_call_ltv_ratio{${LOAN}}`]: ALWAYS(0.75),
    },
    calm: {
      [`breakwater_credit_line_ltv_ratio{${LOAN}}`]: ALWAYS(0.74),
      [`breakwater_credit_line_margin_call_ltv_ratio{${LOAN}}`]: ALWAYS(0.75),
    },
    labels: aboutLoan,
    severity: 'critical',
    summary: `${creditLine} is in margin call`,
    description:
      'The LTV is at 100% of the margin call LTV. The daemon cannot repay: repay or add collateral.',
  },
  {
    alert: 'BreakwaterLtvHigh',
    firing: { [`breakwater_credit_line_headroom_ratio{${LOAN}}`]: ALWAYS(0.09) },
    calm: { [`breakwater_credit_line_headroom_ratio{${LOAN}}`]: ALWAYS(0.11) },
    labels: aboutLoan,
    severity: 'warning',
    summary: `${creditLine}: collateral may fall 9% until margin call`,
    description:
      'The collateral may lose 9% of its worth before the margin call LTV is reached (alert below 10%).',
  },
  {
    alert: 'BreakwaterMarginCallSoon',
    firing: { [`breakwater_credit_line_margin_call_seconds{${LOAN}}`]: ALWAYS(7140) },
    calm: [
      { [`breakwater_credit_line_margin_call_seconds{${LOAN}}`]: ALWAYS(7260) },
      { [`breakwater_credit_line_margin_call_seconds{${LOAN}}`]: NEVER },
    ],
    labels: aboutLoan,
    severity: 'warning',
    summary: `${creditLine}: margin call in about 1h 59m 0s`,
    description: 'If the LTV goes on drifting as it does, margin call comes in 1h 59m 0s (alert below 2h).',
  },
  {
    alert: 'BreakwaterCriticalRuleFiring',
    firing: {
      [`breakwater_rule_state{${RULE}}`]: ALWAYS(2),
      [`breakwater_account_enforcing{${ACCOUNT}}`]: ON,
    },
    calm: [
      { [`breakwater_rule_state{${RULE}}`]: ALWAYS(1), [`breakwater_account_enforcing{${ACCOUNT}}`]: ON },
      { [`breakwater_rule_state{${RULE}}`]: ALWAYS(2), [`breakwater_account_enforcing{${ACCOUNT}}`]: OFF },
      {
        [`breakwater_rule_state{${RULE.replace('"critical"', '"warning"')}}`]: ALWAYS(2),
        [`breakwater_account_enforcing{${ACCOUNT}}`]: ON,
      },
    ],
    labels: aboutRule,
    severity: 'critical',
    summary: 'desk-1: rule near fires for position:42 and does not end',
    description:
      'A rule of severity critical has been firing for more than 5 minutes: what it does has not cured what it sees.',
  },
  {
    alert: 'BreakwaterCriticalRuleObserved',
    firing: {
      [`breakwater_rule_state{${RULE}}`]: ALWAYS(2),
      [`breakwater_account_enforcing{${ACCOUNT}}`]: OFF,
    },
    calm: [
      { [`breakwater_rule_state{${RULE}}`]: ALWAYS(2), [`breakwater_account_enforcing{${ACCOUNT}}`]: ON },
      { [`breakwater_rule_state{${RULE}}`]: ALWAYS(1), [`breakwater_account_enforcing{${ACCOUNT}}`]: OFF },
    ],
    labels: aboutRule,
    severity: 'warning',
    summary: 'desk-1: rule near fires for position:42, and is only observed',
    description:
      'A rule of severity critical has been firing for more than 5 minutes. The account is not enforced: nothing is sent.',
  },
  {
    alert: 'BreakwaterCriticalRuleHeldBack',
    firing: {
      [`breakwater_rule_state{${RULE}}`]: ALWAYS(2),
      [`breakwater_account_paused{${ACCOUNT}}`]: ON,
    },
    calm: [
      { [`breakwater_rule_state{${RULE}}`]: ALWAYS(2), [`breakwater_account_paused{${ACCOUNT}}`]: OFF },
      { [`breakwater_rule_state{${RULE}}`]: ALWAYS(1), [`breakwater_account_paused{${ACCOUNT}}`]: ON },
    ],
    labels: aboutRule,
    severity: 'critical',
    summary: 'desk-1: rule near fires for position:42, and a pause holds it back',
    description:
      'A rule of severity critical fires while the account is paused: nothing is sent until somebody resumes it.',
  },
  {
    alert: 'BreakwaterActionFailing',
    firing: {
      [`breakwater_actions_total{kind="place",outcome="rejected",reason="notEnoughBalance",${WHERE}}`]:
        APPEARED(3),
    },
    calm: [
      {
        [`breakwater_actions_total{kind="place",outcome="rejected",reason="notEnoughBalance",${WHERE}}`]:
          APPEARED(2),
      },
      { [`breakwater_actions_total{kind="place",outcome="accepted",reason="",${WHERE}}`]: COUNTED(50) },
    ],
    at: '13m',
    labels: { kind: 'place', outcome: 'rejected', reason: 'notEnoughBalance' },
    severity: 'critical',
    summary: 'Actions at the exchange fail: place rejected notEnoughBalance',
    description:
      '3 requests of kind place ended as rejected (notEnoughBalance) within 10 minutes (alert from 3). The daemon follows up; positions may not be where rules want them.',
  },
  {
    alert: 'BreakwaterIntentFailed',
    firing: { [`breakwater_intents_ended_total{how="failed",why="attempts",${WHERE}}`]: APPEARED(1) },
    calm: [
      { [`breakwater_intents_ended_total{how="reached",why="target",${WHERE}}`]: APPEARED(5) },
      { [`breakwater_intents_ended_total{how="failed",why="attempts",${WHERE}}`]: PAST },
    ],
    at: '20m',
    labels: { how: 'failed', why: 'attempts' },
    severity: 'critical',
    summary: 'A reduction was given up: attempts',
    description:
      '1 reductions ended as failed (attempts) within 15 minutes. A position is not at its target, and nothing more is tried for that firing of the rule.',
  },
  {
    alert: 'BreakwaterIntentSlow',
    firing: {
      [`breakwater_oldest_intent_age_seconds{mode="enforce",${ACCOUNT}}`]: ALWAYS(190),
      [`breakwater_account_paused{${ACCOUNT}}`]: OFF,
    },
    calm: [
      { [`breakwater_oldest_intent_age_seconds{mode="enforce",${ACCOUNT}}`]: ALWAYS(170) },
      { [`breakwater_oldest_intent_age_seconds{mode="observe",${ACCOUNT}}`]: ALWAYS(190) },
      {
        [`breakwater_oldest_intent_age_seconds{mode="enforce",${ACCOUNT}}`]: ALWAYS(190),
        [`breakwater_account_paused{${ACCOUNT}}`]: ON,
      },
    ],
    labels: { ...aboutAccount, mode: 'enforce' },
    severity: 'critical',
    summary: 'desk-1: a reduction is not finished after 3m 10s',
    description:
      'The oldest open intent in enforce mode is 3m 10s old (alert above 3m); reductions take seconds.',
  },
  {
    alert: 'BreakwaterIntentOverdue',
    firing: { [`breakwater_intent_overdue_seconds{mode="enforce",${ACCOUNT}}`]: ALWAYS(31) },
    calm: [
      { [`breakwater_intent_overdue_seconds{mode="enforce",${ACCOUNT}}`]: ALWAYS(29) },
      { [`breakwater_intent_overdue_seconds{mode="observe",${ACCOUNT}}`]: ALWAYS(31) },
    ],
    labels: { ...aboutAccount, mode: 'enforce' },
    severity: 'critical',
    summary: 'desk-1: a reduction is 31s past its deadline',
    description:
      'An intent in enforce mode is 31s past its deadline (alert above 30s) and has not been ended: nobody carries the lane on.',
  },
  {
    alert: 'BreakwaterAlarmRaised',
    firing: { [`breakwater_alarms_total{kind="blocked",${WHERE}}`]: APPEARED(1) },
    calm: { [`breakwater_alarms_total{kind="blocked",${WHERE}}`]: PAST },
    at: '15m',
    labels: { kind: 'blocked' },
    severity: 'warning',
    summary: 'The daemon raised an alarm: blocked',
    description:
      '1 audit events of kind blocked that must reach a person, within 10 minutes. The channels were told the details; the audit has them.',
  },
  {
    alert: 'BreakwaterPausedTooLong',
    firing: { [`breakwater_account_pause_seconds{${ACCOUNT}}`]: ALWAYS(14_520) },
    calm: { [`breakwater_account_pause_seconds{${ACCOUNT}}`]: ALWAYS(14_280) },
    labels: aboutAccount,
    severity: 'warning',
    summary: 'desk-1 has been paused for 4h 2m 0s',
    description:
      'A pause holds back all actions of the account for longer than 4h. Watching and notifying go on; nothing is protected by actions.',
  },
  {
    alert: 'BreakwaterBlind',
    firing: { [`breakwater_data_age_seconds{source="positions",${ACCOUNT}}`]: ALWAYS(61) },
    calm: [
      { [`breakwater_data_age_seconds{source="positions",${ACCOUNT}}`]: ALWAYS(59) },
      { [`breakwater_data_age_seconds{source="transfers",${ACCOUNT}}`]: ALWAYS(61) },
    ],
    labels: { ...aboutAccount, source: 'positions' },
    severity: 'critical',
    summary: 'desk-1: positions not read for 1m 1s',
    description:
      'The last good read of positions is 1m 1s old (alert above 1m). Rules that need it are frozen: they neither fire nor resolve, and nothing acts on them.',
  },
  {
    alert: 'BreakwaterSourceStale',
    firing: { [`breakwater_data_age_seconds{source="transfers",${ACCOUNT}}`]: ALWAYS(301) },
    calm: { [`breakwater_data_age_seconds{source="transfers",${ACCOUNT}}`]: ALWAYS(299) },
    labels: { ...aboutAccount, source: 'transfers' },
    severity: 'warning',
    summary: 'desk-1: transfers not read for 5m 1s',
    description:
      'The last good read of transfers is 5m 1s old (alert above 5m). Rules that need it are frozen.',
  },
  {
    alert: 'BreakwaterNotJudged',
    // Time begins at 0, with a sample every 15 s: constantly 130 s ago, or 110.
    firing: { [`breakwater_account_last_judged_timestamp_seconds{${ACCOUNT}}`]: '-130+15x60' },
    calm: { [`breakwater_account_last_judged_timestamp_seconds{${ACCOUNT}}`]: '-110+15x60' },
    labels: aboutAccount,
    severity: 'critical',
    summary: 'desk-1 was last judged 2m 10s ago',
    description:
      'No rule of the account has been evaluated for 2m 10s (alert above 2m), though every account is due within its calm cadence.',
  },
  {
    // An account that was never judged has no time: the alert on an old judgement stays silent.
    alert: 'BreakwaterNeverJudged',
    firing: {
      [`breakwater_account_refused{${ACCOUNT}}`]: OFF,
      [`breakwater_account_last_judged_timestamp_seconds{account="desk-2",${WHERE}}`]: '-5+15x60',
    },
    calm: [
      {
        [`breakwater_account_refused{${ACCOUNT}}`]: OFF,
        [`breakwater_account_last_judged_timestamp_seconds{${ACCOUNT}}`]: '-5+15x60',
      },
      { [`breakwater_account_refused{${ACCOUNT}}`]: ON },
    ],
    labels: aboutAccount,
    severity: 'critical',
    summary: 'desk-1 has never been judged',
    description:
      'The account is in the config, and no rule of it has ever been evaluated: nothing is known of its positions and credit lines, and nothing protects them.',
  },
  {
    alert: 'BreakwaterNoPolls',
    firing: {
      [`breakwater_accounts{${WHERE}}`]: ALWAYS(1),
      [`breakwater_polls_total{outcome="ok",${WHERE}}`]: ALWAYS(100),
    },
    calm: [
      {
        [`breakwater_accounts{${WHERE}}`]: ALWAYS(7),
        [`breakwater_polls_total{outcome="ok",instance="b:9642",${JOB}}`]: '0+1x60',
      },
      { [`breakwater_accounts{${WHERE}}`]: OFF },
    ],
    labels: {},
    severity: 'critical',
    summary: 'Nothing is polled, with 1 accounts configured',
    description:
      'A Breakwater process answers, but none has ended a poll for 3 minutes: the role `poll` runs nowhere, or its queue stands still.',
  },
  {
    alert: 'BreakwaterPollsFailing',
    firing: {
      [`breakwater_polls_total{outcome="ok",${WHERE}}`]: '0+9x60',
      [`breakwater_polls_total{outcome="error",${WHERE}}`]: '0+6x60',
      [`breakwater_polls_total{outcome="contended",${WHERE}}`]: '0+5x60',
    },
    calm: {
      [`breakwater_polls_total{outcome="ok",${WHERE}}`]: '0+11x60',
      [`breakwater_polls_total{outcome="error",${WHERE}}`]: '0+9x60',
    },
    labels: {},
    severity: 'warning',
    summary: '55% of polls fail',
    description: '55% of polls of the last 5 minutes did not end in a durable decision (alert above 50%).',
  },
  {
    alert: 'BreakwaterScheduleLag',
    firing: {
      [`breakwater_schedule_lag_seconds_bucket{le="1",${WHERE}}`]: '0+98x60',
      [`breakwater_schedule_lag_seconds_bucket{le="2.5",${WHERE}}`]: '0+100x60',
      [`breakwater_schedule_lag_seconds_bucket{le="+Inf",${WHERE}}`]: '0+100x60',
    },
    calm: {
      [`breakwater_schedule_lag_seconds_bucket{le="0.5",${WHERE}}`]: '0+98x60',
      [`breakwater_schedule_lag_seconds_bucket{le="1",${WHERE}}`]: '0+100x60',
      [`breakwater_schedule_lag_seconds_bucket{le="+Inf",${WHERE}}`]: '0+100x60',
    },
    labels: {},
    severity: 'warning',
    summary: 'Polls begin 1.75s late',
    description:
      'One tick in a hundred begins 1.75s or more after its time (alert above 1s): too little CPU, a slow Redis, or a Redis without `hz 100`.',
  },
  {
    alert: 'BreakwaterRuleFrozen',
    firing: { [`breakwater_rule_frozen{${RULE}}`]: ON },
    calm: { [`breakwater_rule_frozen{${RULE}}`]: OFF },
    labels: aboutRule,
    severity: 'warning',
    summary: 'desk-1: rule near is frozen for position:42',
    description:
      'What the rule needs has been unknown for more than 5 minutes: it neither fires nor resolves.',
  },
  {
    alert: 'BreakwaterAccountRefused',
    firing: { [`breakwater_account_refused{${ACCOUNT}}`]: ON },
    calm: { [`breakwater_account_refused{${ACCOUNT}}`]: OFF },
    labels: aboutAccount,
    severity: 'critical',
    summary: 'desk-1 is left alone: its stored state cannot be read',
    description:
      'A document of the account in Redis was written by a newer version or is damaged. The account is neither judged nor acted on.',
  },
  {
    alert: 'BreakwaterConfigRefused',
    firing: { [`breakwater_degraded{reason="config",${WHERE}}`]: ON },
    calm: [
      { [`breakwater_degraded{reason="config",${WHERE}}`]: OFF },
      { [`breakwater_config_reloads_total{result="refused",${WHERE}}`]: PAST },
    ],
    labels: { reason: 'config' },
    severity: 'warning',
    summary: 'A changed config was refused',
    description:
      'The config file has errors: the daemon goes on with the one before, and what was meant to change has not changed.',
  },
  {
    alert: 'BreakwaterDaemonAbsent',
    firing: { [`breakwater_build_info{version="1",node_version="v24",${WHERE}}`]: '_x60' },
    calm: { [`breakwater_build_info{version="1",node_version="v24",${WHERE}}`]: ON },
    labels: {},
    withoutJob: true,
    severity: 'critical',
    summary: 'No Breakwater process can be seen',
    description:
      'Prometheus has no Breakwater target that answers. Either nothing watches the positions, or nothing can see that it does. Stops that stand at the exchange go on standing.',
  },
  {
    alert: 'BreakwaterInstanceDown',
    firing: { [`up{${WHERE}}`]: OFF },
    calm: [{ [`up{${WHERE}}`]: ON }, { 'up{instance="a:9100",job="node"}': OFF }],
    labels: { instance: 'a:9642' },
    severity: 'warning',
    summary: 'Breakwater on a:9642 does not answer',
    description: 'The scrape of this process fails; others may have taken its work over.',
  },
  {
    alert: 'BreakwaterRestarting',
    firing: { [`breakwater_process_start_time_seconds{${WHERE}}`]: '100x20 200x10 300x10 400x20' },
    calm: { [`breakwater_process_start_time_seconds{${WHERE}}`]: '100x20 200x20 300x20' },
    at: '13m',
    labels: { instance: 'a:9642' },
    severity: 'warning',
    summary: 'Breakwater on a:9642 restarts again and again',
    description:
      '3 restarts within 15 minutes (alert from 3). Each begins where the last one was, but something ends them.',
  },
  {
    alert: 'BreakwaterRedisDown',
    firing: {
      [`breakwater_redis_available{${WHERE}}`]: OFF,
      [`breakwater_redis_available{instance="b:9642",${JOB}}`]: ON,
    },
    calm: { [`breakwater_redis_available{${WHERE}}`]: ON },
    labels: {},
    severity: 'critical',
    summary: 'Redis does not answer',
    description:
      'A daemon cannot reach Redis. Processes that poll and act go on from their own memory, unless `redis.required` is true; several take turns. Nobody can pause them by Redis meanwhile.',
  },
  {
    alert: 'BreakwaterRunningAlone',
    firing: { [`breakwater_running_alone{${WHERE}}`]: ON },
    calm: { [`breakwater_running_alone{${WHERE}}`]: OFF },
    labels: { instance: 'a:9642' },
    severity: 'critical',
    summary: 'a:9642 goes on without Redis',
    description:
      'It acts from its own memory, and takes turns with the others, until Redis takes writes again.',
  },
  {
    alert: 'BreakwaterWatchingOnly',
    firing: { [`breakwater_watching_only{${WHERE}}`]: ON },
    calm: { [`breakwater_watching_only{${WHERE}}`]: OFF },
    labels: { instance: 'a:9642' },
    severity: 'critical',
    summary: 'a:9642 watches and does not act',
    description:
      'It was started without Redis and knows nothing that is fresh: rules fire, and no order is sent until Redis is back.',
  },
  {
    alert: 'BreakwaterMirrorFailing',
    firing: { [`breakwater_mirror_failing{${WHERE}}`]: ON },
    calm: { [`breakwater_mirror_failing{${WHERE}}`]: OFF },
    labels: { instance: 'a:9642' },
    severity: 'warning',
    summary: 'a:9642 cannot keep on disk what it knows',
    description: 'Ended without Redis, it would only watch afterwards, and what it did alone would be lost.',
  },
  {
    alert: 'BreakwaterSharedStateUnread',
    firing: { [`breakwater_shared_state_available{${WHERE}}`]: OFF },
    calm: {
      [`breakwater_shared_state_available{${WHERE}}`]: OFF,
      [`breakwater_shared_state_available{instance="b:9642",${JOB}}`]: ON,
    },
    labels: {},
    severity: 'critical',
    summary: 'The shared state cannot be read',
    description:
      'No process can read the shared state when it is scraped: metrics of accounts, positions, credit lines and rules are missing, and with them the alerts on those.',
  },
  {
    alert: 'BreakwaterDegraded',
    firing: { [`breakwater_degraded{reason="exchange_store",${WHERE}}`]: ON },
    calm: [
      { [`breakwater_degraded{reason="exchange_store",${WHERE}}`]: OFF },
      { [`breakwater_degraded{reason="redis",${WHERE}}`]: ON },
      { [`breakwater_degraded{reason="config",${WHERE}}`]: ON },
    ],
    labels: { reason: 'exchange_store' },
    severity: 'warning',
    summary: 'Breakwater is degraded: exchange_store',
    description: 'Something that it stands on has failed, and it does without: exchange_store.',
  },
  {
    alert: 'BreakwaterStateLost',
    firing: { [`breakwater_store_epochs_started_total{why="rolledBack",${WHERE}}`]: APPEARED(1) },
    calm: { [`breakwater_store_epochs_started_total{why="rolledBack",${WHERE}}`]: PAST },
    at: '15m',
    labels: { why: 'rolledBack' },
    severity: 'warning',
    summary: 'Stored state was lost or rolled back: rolledBack',
    description:
      '1 accounts began a new store epoch within 15 minutes because Redis was restarted, replaced or restored. In each market in use what was sent before is waited out, and the market read, before anything is placed there; pauses and silences may be gone.',
  },
  {
    alert: 'BreakwaterQueueStuck',
    firing: { [`breakwater_queue_oldest_job_seconds{queue="act",${WHERE}}`]: ALWAYS(31) },
    calm: { [`breakwater_queue_oldest_job_seconds{queue="act",${WHERE}}`]: ALWAYS(29) },
    labels: { queue: 'act' },
    severity: 'critical',
    summary: 'The queue act stands still: its oldest job waits for 31s',
    description:
      'A job has been waiting for 31s (alert above 30s). Jobs are taken within milliseconds when a process has the role.',
  },
  {
    alert: 'BreakwaterQueueProblems',
    firing: { [`breakwater_queue_problems_total{queue="act",problem="stalled",${WHERE}}`]: APPEARED(10) },
    calm: [
      { [`breakwater_queue_problems_total{queue="act",problem="stalled",${WHERE}}`]: APPEARED(9) },
      // Consequences of a lost Redis say nothing new.
      {
        [`breakwater_queue_problems_total{queue="act",problem="stalled",${WHERE}}`]: APPEARED(10),
        [`breakwater_redis_available{${WHERE}}`]: OFF,
      },
    ],
    at: '13m',
    labels: { queue: 'act', problem: 'stalled' },
    severity: 'warning',
    summary: 'Jobs fail: act stalled',
    description: '10 problems of kind stalled in the queue act within 10 minutes (alert from 10).',
  },
  {
    alert: 'BreakwaterQueuePaused',
    firing: { [`breakwater_queue_problems_total{queue="poll",problem="paused",${WHERE}}`]: APPEARED(1) },
    calm: { [`breakwater_queue_problems_total{queue="poll",problem="paused",${WHERE}}`]: ALWAYS(1) },
    at: '13m',
    labels: { queue: 'poll', problem: 'paused' },
    severity: 'critical',
    summary: 'Somebody paused the queue poll',
    description:
      'The queue poll was found paused 1 times within 10 minutes and was resumed. A paused queue watches, acts and tells nothing.',
  },
  {
    alert: 'BreakwaterQueueStaysPaused',
    firing: { [`breakwater_queue_paused{queue="poll",${WHERE}}`]: ALWAYS(1) },
    calm: { [`breakwater_queue_paused{queue="poll",${WHERE}}`]: ALWAYS(0) },
    labels: { queue: 'poll' },
    severity: 'critical',
    summary: 'The queue poll is paused, and nobody resumes it',
    description:
      'The queue poll has been paused for 30s. A daemon with the role poll resumes it within seconds: none runs. A paused queue watches, acts and tells nothing.',
  },
  {
    alert: 'BreakwaterControlRefused',
    firing: { [`breakwater_controls_refused_total{${WHERE}}`]: APPEARED(1) },
    calm: { [`breakwater_controls_refused_total{${WHERE}}`]: APPEARED(0) },
    at: '13m',
    labels: {},
    severity: 'critical',
    summary: "Somebody without the operators' key writes to Redis",
    description:
      'A stored pause or silence lacks the seal of operators.key and does not hold. The log says who claims to have said it.',
  },
  {
    alert: 'BreakwaterWebRefused',
    firing: { [`breakwater_web_refused_total{reason="wrongToken",${WHERE}}`]: APPEARED(100) },
    calm: { [`breakwater_web_refused_total{reason="wrongToken",${WHERE}}`]: APPEARED(99) },
    at: '13m',
    labels: { reason: 'wrongToken' },
    severity: 'warning',
    summary: 'The web server turns somebody away: wrongToken',
    description:
      '100 requests or connections were refused within 10 minutes (alert from 100): wrongToken. The log names the addresses.',
  },
  {
    alert: 'BreakwaterExchangeUnreachable',
    firing: {
      [`breakwater_exchange_requests_total{endpoint="openPositions",outcome="ok",error="",${WHERE}}`]:
        '0+9x60',
      [`breakwater_exchange_requests_total{endpoint="openPositions",outcome="failed",error="timeout",${WHERE}}`]:
        '0+10x60',
      [`breakwater_exchange_requests_total{endpoint="stopLimit",outcome="unknown",error="timeout",${WHERE}}`]:
        '0+1x60',
    },
    calm: {
      [`breakwater_exchange_requests_total{endpoint="openPositions",outcome="ok",error="",${WHERE}}`]:
        '0+11x60',
      [`breakwater_exchange_requests_total{endpoint="openPositions",outcome="failed",error="timeout",${WHERE}}`]:
        '0+9x60',
    },
    labels: {},
    severity: 'critical',
    summary: '55% of calls to the exchange fail',
    description:
      '55% of all calls of the last minute failed or were lost (alert above 50%). Reads are repeated and fail over; data ages, and rules freeze when it is too old.',
  },
  {
    alert: 'BreakwaterExchangePath',
    firing: {
      [`breakwater_exchange_path_failures_total{host="exchange.example",error="certificateRefused",${WHERE}}`]:
        APPEARED(3),
    },
    calm: {
      [`breakwater_exchange_path_failures_total{host="exchange.example",error="certificateRefused",${WHERE}}`]:
        APPEARED(2),
    },
    at: '10m30s',
    labels: { host: 'exchange.example', error: 'certificateRefused' },
    severity: 'warning',
    summary: 'The way to exchange.example fails: certificateRefused',
    description:
      '3 failures on the way to exchange.example within 5 minutes (alert from 3): certificateRefused. Other addresses, connections that stand and the last good address are used meanwhile.',
  },
  {
    alert: 'BreakwaterNoncesRefused',
    firing: { [`breakwater_exchange_nonces_refused_total{endpoint="openPositions",${WHERE}}`]: APPEARED(5) },
    calm: { [`breakwater_exchange_nonces_refused_total{endpoint="openPositions",${WHERE}}`]: APPEARED(4) },
    at: '13m',
    labels: { endpoint: 'openPositions' },
    severity: 'warning',
    summary: 'The exchange refuses nonces of openPositions',
    description:
      '5 nonces refused within 10 minutes (alert from 5): another program uses the key, the nonce mode is wrong, or a clock is.',
  },
  {
    alert: 'BreakwaterLimitsHit',
    firing: { [`breakwater_exchange_limits_hit_total{endpoint="openPositions",${WHERE}}`]: APPEARED(5) },
    calm: { [`breakwater_exchange_limits_hit_total{endpoint="openPositions",${WHERE}}`]: APPEARED(4) },
    at: '13m',
    labels: { endpoint: 'openPositions' },
    severity: 'warning',
    summary: 'The exchange limits requests of openPositions',
    description:
      '5 requests were answered 429 within 10 minutes (alert from 5). The budget shrinks and recovers by itself; accounts may be polled later than they should.',
  },
  {
    alert: 'BreakwaterBudgetExhausted',
    firing: {
      [`breakwater_exchange_budget_used_ratio{limit="positions",egress="default",${WHERE}}`]: ALWAYS(0.5),
      [`breakwater_exchange_budget_used_ratio{limit="positions",egress="default",instance="b:9642",${JOB}}`]:
        ALWAYS(0.41),
    },
    calm: {
      [`breakwater_exchange_budget_used_ratio{limit="positions",egress="default",${WHERE}}`]: ALWAYS(0.89),
      [`breakwater_exchange_budget_used_ratio{limit="positions",egress="other",${WHERE}}`]: ALWAYS(0.89),
    },
    labels: { limit: 'positions', egress: 'default' },
    severity: 'warning',
    summary: 'The request budget positions of default is nearly used up',
    description: '91% of the budget is in use (alert above 90%): accounts wait for their turn.',
  },
  {
    alert: 'BreakwaterContractDrift',
    firing: { [`breakwater_contract_drift_total{endpoint="creditLine",${WHERE}}`]: APPEARED(1) },
    calm: { [`breakwater_contract_drift_total{endpoint="creditLine",${WHERE}}`]: PAST },
    at: '20m',
    labels: { endpoint: 'creditLine' },
    severity: 'warning',
    summary: 'Replies of creditLine are not as documented',
    description:
      '1 replies of creditLine within 15 minutes had another form than the specification says. Their shape, without values, is in the log.',
  },
  {
    alert: 'BreakwaterRecordsSetAside',
    firing: { [`breakwater_records_set_aside_total{source="positions",${WHERE}}`]: APPEARED(1) },
    calm: { [`breakwater_records_set_aside_total{source="positions",${WHERE}}`]: PAST },
    at: '20m',
    labels: { source: 'positions' },
    severity: 'warning',
    summary: 'Records of positions are left out',
    description:
      '1 records of positions were not valid within 15 minutes and were left out. What they are about is not judged; the others are.',
  },
  {
    alert: 'BreakwaterNotificationUndelivered',
    firing: {
      [`breakwater_notifications_total{channel="ops",kind="firing",outcome="failed",reason="notFound",${WHERE}}`]:
        APPEARED(1),
    },
    calm: {
      [`breakwater_notifications_total{channel="ops",kind="firing",outcome="delivered",reason="",${WHERE}}`]:
        APPEARED(9),
      [`breakwater_notifications_total{channel="ops",kind="firing",outcome="failed",reason="timeout",${WHERE}}`]:
        PAST,
    },
    at: '15m',
    labels: { channel: 'ops', kind: 'firing', outcome: 'failed', reason: 'notFound' },
    severity: 'warning',
    summary: 'Channel ops does not take messages: notFound',
    description:
      '1 messages of kind firing could not be delivered on ops within 15 minutes (notFound). The next channel was told instead.',
  },
  {
    alert: 'BreakwaterNobodyReached',
    firing: {
      [`breakwater_notifications_total{channel="ops",kind="firing",outcome="failed",reason="notFound",${WHERE}}`]:
        APPEARED(1),
      // The log reaches no person.
      [`breakwater_notifications_total{channel="log",kind="firing",outcome="delivered",reason="",${WHERE}}`]:
        APPEARED(2),
      // A success an hour ago says nothing about now.
      [`breakwater_notifications_total{channel="phone",kind="firing",outcome="delivered",reason="",${WHERE}}`]:
        PAST,
    },
    calm: [
      {
        [`breakwater_notifications_total{channel="ops",kind="firing",outcome="failed",reason="notFound",${WHERE}}`]:
          APPEARED(2),
        [`breakwater_notifications_total{channel="phone",kind="firing",outcome="delivered",reason="",${WHERE}}`]:
          APPEARED(1),
      },
      {
        [`breakwater_notifications_total{channel="ops",kind="firing",outcome="failed",reason="notFound",${WHERE}}`]:
          PAST,
      },
    ],
    at: '18m',
    labels: {},
    severity: 'critical',
    summary: 'No channel takes messages',
    description:
      '1 messages failed within 15 minutes and none was delivered on any channel: what Breakwater has to say is in its log only.',
  },
  {
    alert: 'BreakwaterStressLiquidates',
    firing: {
      [`breakwater_stress_account_liquidated{${STRESSED},protection="rules",${WHERE}}`]: ON,
    },
    calm: {
      [`breakwater_stress_account_liquidated{${STRESSED},protection="rules",${WHERE}}`]: OFF,
      // The case that the rule exists for.
      [`breakwater_stress_account_liquidated{${STRESSED},protection="none",${WHERE}}`]: ON,
    },
    labels: { account: 'desk-1', scenario: '2020-03-12', conditions: 'crash', protection: 'rules' },
    severity: 'warning',
    summary: 'desk-1: 2020-03-12 would liquidate it, rules and all',
    description:
      'The newest stress test played 2020-03-12 with a crash exchange against what the account held: it is liquidated with the rules of the config in force.',
  },
  {
    alert: 'BreakwaterStressFailed',
    firing: { [`breakwater_stress_last_run{outcome="partial",${WHERE}}`]: ON },
    calm: [
      { [`breakwater_stress_last_run{outcome="complete",${WHERE}}`]: ON },
      { [`breakwater_stress_last_run{outcome="failed",${WHERE}}`]: OFF },
    ],
    labels: { outcome: 'partial' },
    severity: 'warning',
    summary: 'The newest stress test is partial',
    description:
      'The newest stress test on a schedule ended partial (partial: at its time limit). The status page says why; what is shown may be older or not whole.',
  },
  {
    alert: 'BreakwaterStressOverdue',
    firing: { [`breakwater_stress_overdue_seconds{${WHERE}}`]: ALWAYS(7260) },
    calm: { [`breakwater_stress_overdue_seconds{${WHERE}}`]: ALWAYS(7140) },
    labels: {},
    severity: 'warning',
    summary: 'The stress test has not run for 2h 1m 0s since it was due',
    description:
      'No process has run the stress test that was due 2h 1m 0s ago (alert after 2 hours): what the page shows is of an earlier book.',
  },
];
