import type { MetricTable } from './metric-spec.ts';

const POSITION = ['account', 'market', 'position', 'direction'] as const;
const LOAN = ['account', 'asset', 'loan'] as const;
const RULE = ['account', 'rule', 'subject', 'severity'] as const;
const ACCOUNT = ['account'] as const;

const gauge = { type: 'gauge', unit: '1' } as const;

/**
 * What is so, as the shared state has it when somebody scrapes: any process with the role `web` tells the same,
 * and what is gone from there is gone from here. What is unknown has no series.
 */
export const STATE_METRICS = {
  liquidationDistance: {
    ...gauge,
    name: 'position_liquidation_distance_ratio',
    unit: 'ratio',
    labels: POSITION,
    help: 'How far the mark price may move against a position before liquidation, as a share of it; +Inf when there is no liquidation price.',
  },
  liquidationState: {
    ...gauge,
    name: 'position_liquidation_state',
    labels: [...POSITION, 'state'],
    help: '1 for the state that the exchange reports of a position: none, margin_call, liquidation or unrecognised.',
  },
  stopCover: {
    ...gauge,
    name: 'position_stop_cover',
    labels: [...POSITION, 'cover'],
    help: '1 for how well stops cover a position before liquidation: ok, missing, beyondLiquidation or unconfirmed.',
  },
  notional: {
    ...gauge,
    name: 'position_notional',
    unit: 'money',
    labels: POSITION,
    help: 'Value of a position at the mark price, in the money currency of its market.',
  },
  unrealizedPnl: {
    ...gauge,
    name: 'position_unrealized_pnl',
    unit: 'money',
    labels: POSITION,
    help: 'Floating profit and loss of a position, in the money currency of its market.',
  },
  positionMarginUsage: {
    ...gauge,
    name: 'position_margin_usage_ratio',
    unit: 'ratio',
    labels: POSITION,
    help: 'Share of the funds that a position takes up as margin.',
  },
  liquidationProbability: {
    ...gauge,
    name: 'position_liquidation_probability_ratio',
    unit: 'ratio',
    labels: POSITION,
    help: 'Chance that a position is liquidated within an hour, by how its mark price has been moving.',
  },
  unprotected: {
    ...gauge,
    name: 'position_unprotected_seconds',
    unit: 'seconds',
    labels: POSITION,
    help: 'How long a position has been without a confirmed stop before liquidation; 0 while it is covered.',
  },
  disagreement: {
    ...gauge,
    name: 'position_disagreement',
    labels: POSITION,
    help: '1 while a position has passed its liquidation price and is not being liquidated.',
  },
  currentLtv: {
    ...gauge,
    name: 'credit_line_ltv_ratio',
    unit: 'ratio',
    labels: LOAN,
    help: 'Loan to value of a credit line.',
  },
  initialLtv: {
    ...gauge,
    name: 'credit_line_initial_ltv_ratio',
    unit: 'ratio',
    labels: LOAN,
    help: 'Loan to value up to which one may borrow.',
  },
  marginCallLtv: {
    ...gauge,
    name: 'credit_line_margin_call_ltv_ratio',
    unit: 'ratio',
    labels: LOAN,
    help: 'Loan to value at which the exchange calls for margin.',
  },
  liquidationLtv: {
    ...gauge,
    name: 'credit_line_liquidation_ltv_ratio',
    unit: 'ratio',
    labels: LOAN,
    help: 'Loan to value at which the exchange sells the collateral.',
  },
  headroom: {
    ...gauge,
    name: 'credit_line_headroom_ratio',
    unit: 'ratio',
    labels: LOAN,
    help: 'How far the collateral may fall in value before the margin call; negative past it.',
  },
  marginCallIn: {
    ...gauge,
    name: 'credit_line_margin_call_seconds',
    unit: 'seconds',
    labels: LOAN,
    help: 'Time within which the margin call becomes as likely as not, at the recent pace of the LTV; +Inf when it moves away.',
  },
  debt: {
    ...gauge,
    name: 'credit_line_debt',
    unit: 'asset',
    labels: LOAN,
    help: 'What would have to be repaid now, in the asset borrowed.',
  },
  ruleState: {
    ...gauge,
    name: 'rule_state',
    labels: RULE,
    help: 'State of a rule for one subject: 0 inactive, 1 pending, 2 firing.',
  },
  ruleStateTime: {
    ...gauge,
    name: 'rule_state_seconds',
    unit: 'seconds',
    labels: RULE,
    help: 'For how long a rule has been pending or firing for a subject.',
  },
  ruleFrozen: {
    ...gauge,
    name: 'rule_frozen',
    labels: RULE,
    help: '1 while the data do not decide a rule for a subject.',
  },
  firing: {
    ...gauge,
    name: 'rules_firing',
    labels: ACCOUNT,
    help: 'Rules that fire, counted once per subject.',
  },
  enforcing: {
    ...gauge,
    name: 'account_enforcing',
    labels: ACCOUNT,
    help: '1 when the account is in enforce mode, 0 in observe mode.',
  },
  paused: {
    ...gauge,
    name: 'account_paused',
    labels: ACCOUNT,
    help: '1 while a pause holds back all actions of the account.',
  },
  pauseTime: {
    ...gauge,
    name: 'account_pause_seconds',
    unit: 'seconds',
    labels: ACCOUNT,
    help: 'For how long the pause that holds back the account has been in force; 0 without one.',
  },
  danger: {
    ...gauge,
    name: 'account_danger',
    labels: ACCOUNT,
    help: 'How endangered the account is among all, by which polls are ordered: larger is nearer to harm.',
  },
  jointDistance: {
    ...gauge,
    name: 'account_joint_distance_ratio',
    unit: 'ratio',
    labels: ACCOUNT,
    help: 'How far all markets may move together, or one alone, before the account is liquidated; +Inf when there is no such move.',
  },
  lastJudged: {
    ...gauge,
    name: 'account_last_judged_timestamp_seconds',
    unit: 'seconds',
    labels: ACCOUNT,
    help: 'When the account was last judged, Unix time.',
  },
  dataAge: {
    ...gauge,
    name: 'data_age_seconds',
    unit: 'seconds',
    labels: [...ACCOUNT, 'source'],
    help: 'Time since a source of an account was last read, or since watching it began.',
  },
  refused: {
    ...gauge,
    name: 'account_refused',
    labels: ACCOUNT,
    help: '1 while the account is left alone because its stored state cannot be read.',
  },
  positions: {
    ...gauge,
    name: 'account_positions',
    labels: ACCOUNT,
    help: 'Positions of the account as last read.',
  },
  creditLines: {
    ...gauge,
    name: 'account_credit_lines',
    labels: ACCOUNT,
    help: 'Credit lines of the account as last read.',
  },
  intentsOpen: {
    ...gauge,
    name: 'intents_open',
    labels: [...ACCOUNT, 'mode'],
    help: 'Intents that are not finished; those of mode observe are only recorded.',
  },
  intentAge: {
    ...gauge,
    name: 'oldest_intent_age_seconds',
    unit: 'seconds',
    labels: [...ACCOUNT, 'mode'],
    help: 'Age of the oldest intent that is not finished; 0 without any.',
  },
  intentOverdue: {
    ...gauge,
    name: 'intent_overdue_seconds',
    unit: 'seconds',
    labels: [...ACCOUNT, 'mode'],
    help: 'For how long the most overdue intent that is not finished has been past its deadline; 0 without any.',
  },
  pausedEverywhere: {
    ...gauge,
    name: 'paused',
    labels: [],
    help: '1 while a pause holds back all actions of all accounts.',
  },
} as const satisfies MetricTable;

export type StateMetric = keyof typeof STATE_METRICS;
