import { DISTANCE, HEADROOM, type Panel, PROBABILITY, subjects, type ValueColumn } from './panels.ts';
import {
  COVER_WORDS,
  each,
  LOAN,
  LOAN_COLUMNS,
  POSITION,
  POSITION_COLUMNS,
  STATE_WORDS,
} from './subjects.ts';

/** @param scope label matchers */
export function positionsTable(scope: string): Panel {
  return subjects({
    title: 'Positions',
    description: 'The nearest to liquidation first. Click an account for its own dashboard.',
    size: [24, 10],
    noValue: 'no positions',
    labels: POSITION_COLUMNS,
    values: positionValues(scope),
    sortBy: 'To liquidation',
  });
}

function positionValues(scope: string): readonly ValueColumn[] {
  return [
    {
      name: 'distance',
      title: 'To liquidation',
      expr: each('min', POSITION, `position_liquidation_distance_ratio{${scope}}`),
      unit: 'percentunit',
      decimals: 2,
      steps: DISTANCE,
    },
    {
      name: 'probability',
      title: 'Within 1 h',
      expr: each('max', POSITION, `position_liquidation_probability_ratio{${scope}}`),
      unit: 'percentunit',
      decimals: 1,
      steps: PROBABILITY,
    },
    {
      name: 'notional',
      title: 'Notional',
      expr: each('max', POSITION, `position_notional{${scope}}`),
      unit: 'short',
      decimals: 2,
    },
    {
      name: 'pnl',
      title: 'Unrealized P&L',
      expr: each('max', POSITION, `position_unrealized_pnl{${scope}}`),
      unit: 'short',
      decimals: 2,
      steps: [
        [null, 'red'],
        [0, 'green'],
      ],
    },
    {
      name: 'marginUsage',
      title: 'Margin used',
      expr: each('max', POSITION, `position_margin_usage_ratio{${scope}}`),
      unit: 'percentunit',
      decimals: 0,
    },
    {
      name: 'unprotected',
      title: 'Without stop',
      expr: each('max', POSITION, `position_unprotected_seconds{${scope}}`),
      unit: 's',
      decimals: 0,
      steps: [
        [null, 'green'],
        [1, 'yellow'],
        [600, 'orange'],
      ],
    },
    {
      name: 'state',
      title: 'State',
      shows: 'label',
      expr: `${each('max', [...POSITION, 'state'], `position_liquidation_state{${scope}}`)} == 1`,
      mappings: STATE_WORDS,
    },
    {
      name: 'cover',
      title: 'Stop',
      shows: 'label',
      expr: `${each('max', [...POSITION, 'cover'], `position_stop_cover{${scope}}`)} == 1`,
      mappings: COVER_WORDS,
    },
  ];
}

/** @param scope label matchers */
export function loansTable(scope: string): Panel {
  return subjects({
    title: 'Credit lines',
    description: 'The least room until margin call first. The daemon cannot repay: a person has to.',
    size: [24, 7],
    noValue: 'no credit lines',
    labels: LOAN_COLUMNS,
    values: [
      {
        name: 'headroom',
        title: 'Collateral may fall',
        expr: each('min', LOAN, `credit_line_headroom_ratio{${scope}}`),
        unit: 'percentunit',
        decimals: 1,
        steps: HEADROOM,
      },
      {
        name: 'ltv',
        title: 'LTV',
        expr: each('max', LOAN, `credit_line_ltv_ratio{${scope}}`),
        unit: 'percentunit',
        decimals: 1,
      },
      {
        name: 'marginCall',
        title: 'Margin call at',
        expr: each('min', LOAN, `credit_line_margin_call_ltv_ratio{${scope}}`),
        unit: 'percentunit',
        decimals: 1,
      },
      {
        name: 'liquidation',
        title: 'Liquidation at',
        expr: each('min', LOAN, `credit_line_liquidation_ltv_ratio{${scope}}`),
        unit: 'percentunit',
        decimals: 1,
      },
      {
        name: 'until',
        title: 'Margin call in',
        expr: each('min', LOAN, `credit_line_margin_call_seconds{${scope}}`),
        unit: 's',
        decimals: 0,
        steps: [
          [null, 'red'],
          [1800, 'orange'],
          [7200, 'green'],
        ],
      },
      {
        name: 'debt',
        title: 'Debt',
        expr: each('max', LOAN, `credit_line_debt{${scope}}`),
        unit: 'short',
        decimals: 2,
      },
    ],
    sortBy: 'Collateral may fall',
  });
}
