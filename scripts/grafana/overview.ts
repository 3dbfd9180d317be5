import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { ACCOUNT, dashboardOf, MARKET, UIDS } from './frame.ts';
import {
  ANY_IS_BAD,
  ANY_IS_ODD,
  curves,
  DISTANCE,
  figure,
  HEADROOM,
  NEUTRAL,
  type Panel,
  PROBABILITY,
  subjects,
} from './panels.ts';
import { stressPanels } from './stress.ts';
import { each, FIRING_WORDS, LOAN, POSITION, RULE, SEVERITY_WORDS, TO_ACCOUNT } from './subjects.ts';
import { loansTable, positionsTable } from './tables.ts';

const SCOPE = 'account=~"$account"';
const POSITIONS = `${SCOPE}, market=~"$market"`;

/** Distance to liquidation, without the positions whose figures contradict each other. */
const DISTANCE_OF_POSITIONS = `(${each('min', POSITION, `position_liquidation_distance_ratio{${POSITIONS}}`)} unless ${each('max', POSITION, 'position_disagreement')} == 1)`;

/** Positions and accounts in danger, over all accounts. */
export function overview(): Dashboard {
  return dashboardOf({
    uid: UIDS.overview,
    title: 'Breakwater / Overview',
    description: 'What is in danger now, what is being done about it, and whether anybody would know.',
    variables: [ACCOUNT, MARKET],
    from: 'now-3h',
    sections: [
      { title: 'In danger now', panels: [...dangers(), ...doings(), ...seeing()] },
      { title: 'Who', panels: [positionsTable(POSITIONS), loansTable(SCOPE), firing(), alerts()] },
      { title: 'How it came', panels: history() },
      { title: 'If a crash came now', panels: stressPanels() },
    ],
  });
}

/** Shows 0 rather than "no data" for an empty result. */
function count(expr: string): string {
  return `count(${expr}) or vector(0)`;
}

function dangers(): readonly Panel[] {
  return [
    figure({
      title: 'Nearest to liquidation',
      description: 'Smallest distance from mark to liquidation price, of all positions that have one.',
      queries: [{ expr: `min(${DISTANCE_OF_POSITIONS} < +Inf)` }],
      unit: 'percentunit',
      decimals: 1,
      steps: DISTANCE,
      size: [4, 4],
      noValue: 'none',
    }),
    figure({
      title: 'Margin call or liquidation',
      description: 'Positions in a liquidation state other than none.',
      queries: [
        { expr: count(each('max', POSITION, `position_liquidation_state{state!="none", ${POSITIONS}}`)) },
      ],
      steps: ANY_IS_BAD,
      size: [4, 4],
    }),
    figure({
      title: 'Room of credit lines',
      description: 'By how much the collateral of the worst credit line may fall until margin call.',
      queries: [{ expr: `min(breakwater_credit_line_headroom_ratio{${SCOPE}})` }],
      unit: 'percentunit',
      decimals: 1,
      steps: HEADROOM,
      size: [4, 4],
      noValue: 'no loans',
    }),
    figure({
      title: 'Critical rules firing',
      description: 'Rules of severity critical that fire, once per subject.',
      queries: [
        {
          expr: count(
            `${each('max', ['account', 'rule', 'subject'], `rule_state{severity="critical", ${SCOPE}}`)} == 2`,
          ),
        },
      ],
      steps: ANY_IS_BAD,
      size: [4, 4],
    }),
  ];
}

function doings(): readonly Panel[] {
  return [
    figure({
      title: 'Reductions under way',
      description: 'Intents that have not reached their target.',
      queries: [{ expr: `sum(${each('max', ['account', 'mode'], `intents_open{${SCOPE}}`)})` }],
      steps: ANY_IS_ODD,
      size: [4, 4],
    }),
    figure({
      title: 'Without a working stop',
      description: 'Positions without a confirmed stop on the right side of liquidation.',
      queries: [
        { expr: count(`${each('max', POSITION, `position_unprotected_seconds{${POSITIONS}}`)} > 0`) },
      ],
      steps: ANY_IS_ODD,
      size: [4, 4],
    }),
    figure({
      title: 'Accounts that act',
      description: 'Accounts in enforce mode that are not paused.',
      queries: [
        {
          expr: count(
            `${each('min', ['account'], `account_enforcing{${SCOPE}}`)} == 1 unless ${each('max', ['account'], 'account_paused')} == 1`,
          ),
        },
      ],
      steps: NEUTRAL,
      size: [3, 4],
    }),
    figure({
      title: 'Paused accounts',
      description: 'Nothing is sent for them until somebody resumes.',
      queries: [{ expr: `sum(${each('max', ['account'], `account_paused{${SCOPE}}`)})` }],
      steps: ANY_IS_ODD,
      size: [3, 4],
    }),
    figure({
      title: 'Watched',
      description: 'Positions and credit lines of all accounts, as last read.',
      queries: [
        { expr: `sum(${each('max', ['account'], `account_positions{${SCOPE}}`)})`, legend: 'positions' },
        {
          expr: `sum(${each('max', ['account'], `account_credit_lines{${SCOPE}}`)})`,
          legend: 'credit lines',
        },
      ],
      size: [4, 4],
    }),
  ];
}

function seeing(): readonly Panel[] {
  return [
    figure({
      title: 'Longest not judged',
      description: 'Time since the account that waits longest was last judged by its rules.',
      queries: [
        {
          expr: `time() - min(${each('max', ['account'], `account_last_judged_timestamp_seconds{${SCOPE}}`)})`,
        },
      ],
      unit: 's',
      decimals: 0,
      steps: [
        [null, 'green'],
        [30, 'yellow'],
        [120, 'red'],
      ],
      size: [4, 4],
    }),
    figure({
      title: 'Oldest positions or loans read',
      description: 'Age of the oldest last good read; rules freeze when it is too old.',
      queries: [
        {
          expr: `max(${each('min', ['account', 'source'], `data_age_seconds{source=~"positions|creditLine", ${SCOPE}}`)})`,
        },
      ],
      unit: 's',
      decimals: 0,
      steps: [
        [null, 'green'],
        [15, 'yellow'],
        [60, 'red'],
      ],
      size: [4, 4],
    }),
    figure({
      title: 'Actions refused, last hour',
      description: 'Orders and cancels that the exchange did not accept.',
      queries: [{ expr: 'sum(increase(breakwater_actions_total{outcome!="accepted"}[1h])) or vector(0)' }],
      decimals: 0,
      steps: ANY_IS_ODD,
      size: [3, 4],
      to: `/d/${UIDS.operations}`,
    }),
    figure({
      title: 'Degraded',
      description: 'Things it stands on that have failed: Redis, shared stores, schedule, channels.',
      queries: [{ expr: 'sum(max by (reason) (breakwater_degraded))' }],
      steps: ANY_IS_BAD,
      size: [3, 4],
      to: `/d/${UIDS.operations}`,
    }),
  ];
}

function firing(): Panel {
  return subjects({
    title: 'Rules pending or firing',
    description: 'Each rule once per subject, with the time it has been so.',
    size: [12, 8],
    noValue: 'no rule is pending or firing',
    labels: [
      { name: 'severity', title: 'Severity', mappings: SEVERITY_WORDS, width: 90 },
      { name: 'account', title: 'Account', to: TO_ACCOUNT },
      { name: 'rule', title: 'Rule' },
      { name: 'subject', title: 'Subject' },
    ],
    values: [
      {
        name: 'state',
        title: 'State',
        expr: `${each('max', RULE, `rule_state{${SCOPE}}`)} > 0`,
        mappings: FIRING_WORDS,
      },
      {
        name: 'since',
        title: 'For',
        expr: each('max', RULE, `rule_state_seconds{${SCOPE}}`),
        unit: 's',
        decimals: 0,
      },
    ],
    sortBy: 'State',
    descending: true,
  });
}

function alerts(): Panel {
  return subjects({
    title: 'Alerts',
    description:
      'Alerts of config/prometheus/rules, pending or firing. What to do is in docs/runbook.md, under the name.',
    size: [12, 8],
    noValue: 'no alerts',
    labels: [
      { name: 'severity', title: 'Severity', mappings: SEVERITY_WORDS, width: 90 },
      { name: 'alertname', title: 'Alert' },
      { name: 'alertstate', title: 'State' },
    ],
    values: [
      {
        name: 'count',
        title: 'How many',
        expr: 'count by (severity, alertname, alertstate) (ALERTS{alertname=~"Breakwater.+"})',
      },
    ],
    sortBy: 'Severity',
  });
}

function history(): readonly Panel[] {
  return [
    curves({
      title: 'Distance to liquidation',
      description: 'Of the nearest position of each account. Dashed: thresholds of the alerts.',
      queries: [{ expr: `min by (account) (${DISTANCE_OF_POSITIONS} < +Inf)`, legend: '{{account}}' }],
      unit: 'percentunit',
      min: 0,
      lines: true,
      steps: DISTANCE,
      size: [12, 9],
    }),
    curves({
      title: 'Chance of liquidation within an hour',
      description: 'Of the most endangered position of each account.',
      queries: [
        {
          expr: `max by (account) (breakwater_position_liquidation_probability_ratio{${POSITIONS}})`,
          legend: '{{account}}',
        },
      ],
      unit: 'percentunit',
      min: 0,
      max: 1,
      lines: true,
      steps: PROBABILITY,
      size: [12, 9],
    }),
    curves({
      title: 'LTV to margin call',
      description: 'LTV of each credit line as a part of its margin call LTV: 100 % is margin call.',
      queries: [
        {
          expr: `${each('max', LOAN, `credit_line_ltv_ratio{${SCOPE}}`)} / ${each('min', LOAN, `credit_line_margin_call_ltv_ratio{${SCOPE}}`)}`,
          legend: '{{account}} {{asset}} {{loan}}',
        },
      ],
      unit: 'percentunit',
      lines: true,
      steps: [
        [null, 'green'],
        [0.9, 'orange'],
        [1, 'red'],
      ],
      size: [12, 8],
    }),
    curves({
      title: 'Orders and cancels',
      description: 'What was sent to the exchange, by what became of it.',
      queries: [
        {
          expr: 'sum by (kind, outcome) (increase(breakwater_actions_total[$__rate_interval]))',
          legend: '{{kind}} {{outcome}}',
        },
      ],
      bars: true,
      stacked: true,
      min: 0,
      size: [12, 8],
    }),
  ];
}
