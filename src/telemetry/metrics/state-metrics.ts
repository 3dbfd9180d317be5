import { gauge, type MetricTable } from './metric-spec.ts';

const POSITION = ['account', 'market', 'position', 'direction'] as const;
const LOAN = ['account', 'asset', 'loan'] as const;
const RULE = ['account', 'rule', 'subject', 'severity'] as const;
const ACCOUNT = ['account'] as const;

/**
 * What is so, as the shared state has it when somebody scrapes: any process with the role `web` tells the same,
 * and what is gone from there is gone from here. What is unknown has no series.
 */
export const STATE_METRICS = {
  liquidationDistance: gauge(
    'position_liquidation_distance_ratio',
    POSITION,
    'How far the mark price may move against a position before liquidation, as a share of it; +Inf when there is no liquidation price.',
  ),
  liquidationState: gauge(
    'position_liquidation_state',
    [...POSITION, 'state'],
    '1 for the state that the exchange reports of a position: none, margin_call, liquidation or unrecognised.',
  ),
  stopCover: gauge(
    'position_stop_cover',
    [...POSITION, 'cover'],
    '1 for how well stops cover a position before liquidation: ok, missing, beyondLiquidation or unconfirmed.',
  ),
  notional: gauge(
    'position_notional',
    POSITION,
    'Value of a position at the mark price, in the money currency of its market.',
    'money',
  ),
  unrealizedPnl: gauge(
    'position_unrealized_pnl',
    POSITION,
    'Floating profit and loss of a position, in the money currency of its market.',
    'money',
  ),
  positionMarginUsage: gauge(
    'position_margin_usage_ratio',
    POSITION,
    'Share of the funds that a position takes up as margin.',
  ),
  liquidationProbability: gauge(
    'position_liquidation_probability_ratio',
    POSITION,
    'Chance that a position is liquidated within an hour, by how its mark price has been moving.',
  ),
  unprotected: gauge(
    'position_unprotected_seconds',
    POSITION,
    'How long a position has been without a confirmed stop before liquidation; 0 while it is covered.',
  ),
  disagreement: gauge(
    'position_disagreement',
    POSITION,
    '1 while a position has passed its liquidation price and is not being liquidated.',
  ),
  currentLtv: gauge('credit_line_ltv_ratio', LOAN, 'Loan to value of a credit line.'),
  initialLtv: gauge('credit_line_initial_ltv_ratio', LOAN, 'Loan to value up to which one may borrow.'),
  marginCallLtv: gauge(
    'credit_line_margin_call_ltv_ratio',
    LOAN,
    'Loan to value at which the exchange calls for margin.',
  ),
  liquidationLtv: gauge(
    'credit_line_liquidation_ltv_ratio',
    LOAN,
    'Loan to value at which the exchange sells the collateral.',
  ),
  headroom: gauge(
    'credit_line_headroom_ratio',
    LOAN,
    'How far the collateral may fall in value before the margin call; negative past it.',
  ),
  marginCallIn: gauge(
    'credit_line_margin_call_seconds',
    LOAN,
    'Time within which the margin call becomes as likely as not, at the recent pace of the LTV; +Inf when it moves away.',
  ),
  debt: gauge('credit_line_debt', LOAN, 'What would have to be repaid now, in the asset borrowed.', 'asset'),
  ruleState: gauge('rule_state', RULE, 'State of a rule for one subject: 0 inactive, 1 pending, 2 firing.'),
  ruleStateTime: gauge(
    'rule_state_seconds',
    RULE,
    'For how long a rule has been pending or firing for a subject.',
  ),
  ruleFrozen: gauge('rule_frozen', RULE, '1 while the data do not decide a rule for a subject.'),
  firing: gauge('rules_firing', ACCOUNT, 'Rules that fire, counted once per subject.'),
  enforcing: gauge('account_enforcing', ACCOUNT, '1 when the account is in enforce mode, 0 in observe mode.'),
  paused: gauge('account_paused', ACCOUNT, '1 while a pause holds back all actions of the account.'),
  pauseTime: gauge(
    'account_pause_seconds',
    ACCOUNT,
    'For how long the pause that holds back the account has been in force; 0 without one.',
  ),
  danger: gauge(
    'account_danger',
    ACCOUNT,
    'How endangered the account is among all, by which polls are ordered: larger is nearer to harm.',
  ),
  jointDistance: gauge(
    'account_joint_distance_ratio',
    ACCOUNT,
    'How far all markets may move together, or one alone, before the account is liquidated; +Inf when there is no such move.',
  ),
  lastJudged: gauge(
    'account_last_judged_timestamp_seconds',
    ACCOUNT,
    'When the account was last judged, Unix time.',
  ),
  dataAge: gauge(
    'data_age_seconds',
    [...ACCOUNT, 'source'],
    'Time since a source of an account was last read, or since watching it began.',
  ),
  refused: gauge(
    'account_refused',
    ACCOUNT,
    '1 while the account is left alone because its stored state cannot be read.',
  ),
  positions: gauge('account_positions', ACCOUNT, 'Positions of the account as last read.'),
  creditLines: gauge('account_credit_lines', ACCOUNT, 'Credit lines of the account as last read.'),
  intentsOpen: gauge(
    'intents_open',
    [...ACCOUNT, 'mode'],
    'Intents that are not finished; those of mode observe are only recorded.',
  ),
  intentAge: gauge(
    'oldest_intent_age_seconds',
    [...ACCOUNT, 'mode'],
    'Age of the oldest intent that is not finished; 0 without any.',
  ),
  intentOverdue: gauge(
    'intent_overdue_seconds',
    [...ACCOUNT, 'mode'],
    'For how long the most overdue intent that is not finished has been past its deadline; 0 without any.',
  ),
  pausedEverywhere: gauge('paused', [], '1 while a pause holds back all actions of all accounts.'),
} as const satisfies MetricTable;

export type StateMetric = keyof typeof STATE_METRICS;
