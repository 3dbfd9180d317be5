import { gauges, type MetricTable } from './metric-spec.ts';

const POSITION = ['account', 'market', 'position', 'direction'] as const;
const LOAN = ['account', 'asset', 'loan'] as const;
const RULE = ['account', 'rule', 'subject', 'severity'] as const;
const ACCOUNT = ['account'] as const;

/**
 * Metrics of the shared state, read at each scrape. Every process with the role `web` reports the same, and a subject
 * that leaves the state loses its series. An unknown value has no series.
 */
export const STATE_METRICS = {
  ...gauges(POSITION, {
    position_liquidation_distance_ratio:
      'How far the mark price may move against a position before liquidation, as a share of it; +Inf when there is no liquidation price.',
  }),
  ...gauges([...POSITION, 'state'], {
    position_liquidation_state:
      '1 for the state that the exchange reports of a position: none, margin_call, liquidation or unrecognised.',
  }),
  ...gauges([...POSITION, 'cover'], {
    position_stop_cover:
      '1 for how well stops cover a position before liquidation: ok, missing, beyondLiquidation or unconfirmed.',
  }),
  ...gauges(
    POSITION,
    {
      position_notional: 'Value of a position at the mark price, in the money currency of its market.',
      position_unrealized_pnl: 'Floating profit and loss of a position, in the money currency of its market.',
    },
    'money',
  ),
  ...gauges(POSITION, {
    position_stop_cover_ratio:
      'Share of a position that confirmed stops of the daemon close before liquidation; 0 where there is none.',
    position_margin_usage_ratio: 'Share of the funds that a position takes up as margin.',
    position_liquidation_probability_ratio:
      'Chance that a position is liquidated within an hour, by how its mark price has been moving.',
    position_unprotected_seconds:
      'How long a position has been without a confirmed stop before liquidation; 0 while it is covered.',
    position_disagreement: '1 while a position has passed its liquidation price and is not being liquidated.',
  }),
  ...gauges(LOAN, {
    credit_line_ltv_ratio: 'Loan to value of a credit line.',
    credit_line_initial_ltv_ratio: 'Loan to value up to which one may borrow.',
    credit_line_margin_call_ltv_ratio: 'Loan to value at which the exchange calls for margin.',
    credit_line_liquidation_ltv_ratio: 'Loan to value at which the exchange sells the collateral.',
    credit_line_headroom_ratio:
      'How far the collateral may fall in value before the margin call; negative past it.',
    credit_line_margin_call_seconds:
      'Time within which the margin call becomes as likely as not, at the recent pace of the LTV; +Inf when it moves away.',
  }),
  ...gauges(
    LOAN,
    {
      credit_line_debt: 'What would have to be repaid now, in the asset borrowed.',
    },
    'asset',
  ),
  ...gauges(RULE, {
    rule_state: 'State of a rule for one subject: 0 inactive, 1 pending, 2 firing.',
    rule_state_seconds: 'For how long a rule has been pending or firing for a subject.',
    rule_frozen: '1 while the data do not decide a rule for a subject.',
  }),
  ...gauges(ACCOUNT, {
    rules_firing: 'Rules that fire, counted once per subject.',
    account_enforcing: '1 when the account is in enforce or approve mode, 0 in observe mode.',
    account_paused: '1 while a pause holds back all actions of the account.',
    account_pause_seconds:
      'For how long the pause that holds back the account has been in force; 0 without one.',
    account_danger:
      'How endangered the account is among all, by which polls are ordered: larger is nearer to harm.',
    account_joint_distance_ratio:
      'How far all markets may move together, or one alone, before the account is liquidated; +Inf when there is no such move.',
    account_last_judged_timestamp_seconds: 'When the account was last judged, Unix time.',
  }),
  ...gauges([...ACCOUNT, 'state', 'cause'], {
    account_state:
      '1 for what the account is doing, as page, API and `status` say it: blind, blocked, paused, acting, waiting, observing, watching or calm, and why.',
  }),
  ...gauges([...ACCOUNT, 'source'], {
    data_age_seconds: 'Time since a source of an account was last read, or since watching it began.',
  }),
  ...gauges(ACCOUNT, {
    account_refused: '1 while the account is left alone because its stored state cannot be read.',
    account_positions: 'Positions of the account as last read.',
    account_credit_lines: 'Credit lines of the account as last read.',
  }),
  ...gauges([...ACCOUNT, 'mode'], {
    intents_open: 'Intents that are not finished; those of mode observe are only recorded.',
    oldest_intent_age_seconds: 'Age of the oldest intent that is not finished; 0 without any.',
    intent_overdue_seconds:
      'For how long the most overdue intent that is not finished has been past its deadline; 0 without any.',
  }),
  ...gauges([], { paused: '1 while a pause holds back all actions of all accounts.' }),
} as const satisfies MetricTable;

export type StateMetric = keyof typeof STATE_METRICS;
