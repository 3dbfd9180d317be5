import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { ACCOUNT, dashboardOf, MARKET, UIDS } from './frame.ts';
import {
  ANY_IS_BAD,
  ANY_IS_ODD,
  curves,
  DISTANCE,
  figure,
  HEADROOM,
  type Panel,
  PROBABILITY,
  states,
  subjects,
  words,
} from './panels.ts';
import {
  COVER_NAMES,
  COVER_NUMBERS,
  each,
  FIRING_WORDS,
  LOAN,
  numbered,
  POSITION,
  RULE,
  SEVERITY_WORDS,
  STATE_NAMES,
  STATE_NUMBERS,
} from './subjects.ts';
import { loansTable, positionsTable } from './tables.ts';

const SCOPE = 'account=~"$account"';
const POSITIONS = `${SCOPE}, market=~"$market"`;
const BY_POSITION = '{{market}} {{direction}} {{position}}';
const BY_LOAN = '{{asset}} {{loan}}';

/** One account in detail: positions, loans and rules. */
export function account(): Dashboard {
  return dashboardOf({
    uid: UIDS.account,
    title: 'Breakwater / Account',
    description: 'One account: positions, credit lines, what the rules say, and how well it is seen.',
    variables: [{ ...ACCOUNT, one: true }, MARKET],
    from: 'now-3h',
    sections: [
      { title: '$account', panels: [...standing(), ...activity()] },
      { title: 'Positions', panels: [positionsTable(POSITIONS), ...positionCurves(), ...positionStates()] },
      { title: 'Credit lines', panels: [loansTable(SCOPE), ...loans()] },
      { title: 'Rules', panels: rules() },
      { title: 'How well it is seen, and acted on', panels: watching() },
    ],
  });
}

const YES_NO_GOOD = words({ '0': ['observing only', 'blue'], '1': ['acting', 'green'] });
const PAUSED = words({ '0': ['no', 'green'], '1': ['PAUSED', 'orange'] });

function own(metric: string): string {
  return `max(breakwater_${metric}{${SCOPE}})`;
}

function standing(): readonly Panel[] {
  return [
    figure({
      title: 'Mode',
      description: 'In enforce mode it acts; in observe mode it records what it would do.',
      queries: [{ expr: own('account_enforcing') }],
      mappings: YES_NO_GOOD,
      size: [3, 4],
    }),
    figure({
      title: 'Paused',
      description: 'A pause holds back every order and cancel.',
      queries: [{ expr: own('account_paused') }],
      mappings: PAUSED,
      steps: ANY_IS_ODD,
      size: [3, 4],
    }),
    figure({
      title: 'Nearest to liquidation',
      description: 'Smallest distance from mark to liquidation price.',
      queries: [{ expr: `min(breakwater_position_liquidation_distance_ratio{${POSITIONS}} < +Inf)` }],
      unit: 'percentunit',
      decimals: 2,
      steps: DISTANCE,
      size: [3, 4],
      noValue: 'none',
    }),
    figure({
      title: 'Rules firing',
      description: 'Of any severity, once per subject.',
      queries: [{ expr: own('rules_firing') }],
      steps: ANY_IS_BAD,
      size: [3, 4],
    }),
  ];
}

function activity(): readonly Panel[] {
  return [
    figure({
      title: 'Reductions under way',
      description: 'Intents that have not reached their target, and the age of the oldest.',
      queries: [{ expr: `sum(${each('max', ['mode'], `intents_open{${SCOPE}}`)})` }],
      steps: ANY_IS_ODD,
      size: [3, 4],
    }),
    figure({
      title: 'Last judged',
      description: 'Time since its rules were last evaluated.',
      queries: [{ expr: `time() - ${own('account_last_judged_timestamp_seconds')}` }],
      unit: 's',
      decimals: 0,
      steps: [
        [null, 'green'],
        [30, 'yellow'],
        [120, 'red'],
      ],
      size: [3, 4],
    }),
    figure({
      title: 'Danger',
      description: 'How near the account is to harm, which decides who is looked at first: larger is nearer.',
      queries: [{ expr: own('account_danger') }],
      decimals: 2,
      size: [3, 4],
    }),
    figure({
      title: 'Stored state',
      description: 'An account whose stored state cannot be read is left alone.',
      queries: [{ expr: own('account_refused') }],
      mappings: words({ '0': ['readable', 'green'], '1': ['REFUSED', 'red'] }),
      steps: ANY_IS_BAD,
      size: [3, 4],
    }),
  ];
}

function curve(how: 'min' | 'max', metric: string): { expr: string; legend: string }[] {
  return [{ expr: each(how, POSITION, `${metric}{${POSITIONS}}`), legend: BY_POSITION }];
}

function positionCurves(): readonly Panel[] {
  return [
    curves({
      title: 'Distance to liquidation',
      description: 'From mark to liquidation price, as a part of the mark price. Dashed: the alerts.',
      queries: curve('min', 'position_liquidation_distance_ratio'),
      unit: 'percentunit',
      lines: true,
      steps: DISTANCE,
      size: [12, 9],
    }),
    curves({
      title: 'Chance of liquidation within an hour',
      description: 'First passage, from volatility and drift of the last samples.',
      queries: curve('max', 'position_liquidation_probability_ratio'),
      unit: 'percentunit',
      min: 0,
      max: 1,
      lines: true,
      steps: PROBABILITY,
      size: [12, 9],
    }),
    curves({
      title: 'Notional',
      description: 'Size times mark price, in the money currency of the market.',
      queries: curve('max', 'position_notional'),
      unit: 'short',
      min: 0,
      size: [8, 8],
    }),
    curves({
      title: 'Unrealized profit and loss',
      description: 'As the exchange reports it, in the money currency of the market.',
      queries: curve('max', 'position_unrealized_pnl'),
      unit: 'short',
      centred: true,
      size: [8, 8],
    }),
    curves({
      title: 'Margin used',
      description: 'Margin as a part of margin and free margin.',
      queries: curve('max', 'position_margin_usage_ratio'),
      unit: 'percentunit',
      min: 0,
      max: 1,
      size: [8, 8],
    }),
  ];
}

function positionStates(): readonly Panel[] {
  return [
    states({
      title: 'Liquidation state',
      description: 'As the exchange reports it.',
      queries: [
        {
          expr: numbered(STATE_NAMES, 'state', `position_liquidation_state{${POSITIONS}`),
          legend: BY_POSITION,
        },
      ],
      mappings: STATE_NUMBERS,
      size: [8, 7],
    }),
    states({
      title: 'Stop',
      description: 'Whether a confirmed stop stands on the right side of the liquidation price.',
      queries: [
        { expr: numbered(COVER_NAMES, 'cover', `position_stop_cover{${POSITIONS}`), legend: BY_POSITION },
      ],
      mappings: COVER_NUMBERS,
      size: [8, 7],
    }),
    curves({
      title: 'Without a working stop',
      description: 'For how long no confirmed stop has stood. Dashed: the alert.',
      queries: curve('max', 'position_unprotected_seconds'),
      unit: 's',
      min: 0,
      lines: true,
      steps: [
        [null, 'green'],
        [600, 'orange'],
      ],
      size: [8, 7],
    }),
    states({
      title: 'Contradicting figures',
      description:
        'Past the reported liquidation price, and yet in no liquidation: hedges and shared collateral.',
      queries: curve('max', 'position_disagreement'),
      mappings: words({ '0': ['consistent', 'green'], '1': ['contradicting', 'orange'] }),
      size: [24, 5],
    }),
  ];
}

function loans(): readonly Panel[] {
  const of = (how: 'min' | 'max', metric: string): string =>
    each(how, LOAN, `credit_line_${metric}{${SCOPE}}`);
  return [
    curves({
      title: 'LTV and where it ends',
      description: 'The LTV, and the LTVs at which it began, of margin call and of liquidation.',
      queries: [
        { expr: of('max', 'ltv_ratio'), legend: `LTV ${BY_LOAN}` },
        { expr: of('min', 'initial_ltv_ratio'), legend: `initial ${BY_LOAN}` },
        { expr: of('min', 'margin_call_ltv_ratio'), legend: `margin call ${BY_LOAN}` },
        { expr: of('min', 'liquidation_ltv_ratio'), legend: `liquidation ${BY_LOAN}` },
      ],
      unit: 'percentunit',
      size: [12, 9],
    }),
    curves({
      title: 'Collateral may fall',
      description: 'By how much until margin call. Dashed: the alert.',
      queries: [{ expr: of('min', 'headroom_ratio'), legend: BY_LOAN }],
      unit: 'percentunit',
      lines: true,
      steps: HEADROOM,
      size: [12, 9],
    }),
    curves({
      title: 'Time to margin call',
      description: 'If the LTV goes on drifting as it does; nothing is drawn while it does not rise.',
      queries: [{ expr: `${of('min', 'margin_call_seconds')} < +Inf`, legend: BY_LOAN }],
      unit: 's',
      min: 0,
      lines: true,
      steps: [
        [null, 'red'],
        [7200, 'green'],
      ],
      size: [12, 8],
    }),
    curves({
      title: 'Debt',
      description: 'Amount and funding, in the asset of the loan.',
      queries: [{ expr: of('max', 'debt'), legend: BY_LOAN }],
      unit: 'short',
      min: 0,
      size: [12, 8],
    }),
  ];
}

function rules(): readonly Panel[] {
  return [
    states({
      title: 'Rules',
      description: 'State of each rule for each of its subjects.',
      queries: [{ expr: each('max', RULE, `rule_state{${SCOPE}}`), legend: '{{rule}} {{subject}}' }],
      mappings: FIRING_WORDS,
      size: [14, 10],
    }),
    subjects({
      title: 'Pending or firing, and frozen',
      description: 'For how long, and whether the data have ceased to decide.',
      size: [10, 10],
      noValue: 'no rules',
      labels: [
        { name: 'severity', title: 'Severity', mappings: SEVERITY_WORDS, width: 90 },
        { name: 'rule', title: 'Rule' },
        { name: 'subject', title: 'Subject' },
      ],
      values: [
        {
          name: 'state',
          title: 'State',
          expr: `max by (rule, subject, severity) (breakwater_rule_state{${SCOPE}})`,
          mappings: FIRING_WORDS,
        },
        {
          name: 'since',
          title: 'For',
          expr: `max by (rule, subject, severity) (breakwater_rule_state_seconds{${SCOPE}})`,
          unit: 's',
          decimals: 0,
        },
        {
          name: 'frozen',
          title: 'Frozen',
          expr: `max by (rule, subject, severity) (breakwater_rule_frozen{${SCOPE}})`,
          mappings: words({ '0': ['no', 'green'], '1': ['frozen', 'orange'] }),
        },
      ],
      sortBy: 'State',
      descending: true,
    }),
  ];
}

function watching(): readonly Panel[] {
  return [
    curves({
      title: 'Age of what is known',
      description: 'Time since each source was last read well. Dashed: the alert.',
      queries: [{ expr: each('min', ['source'], `data_age_seconds{${SCOPE}}`), legend: '{{source}}' }],
      unit: 's',
      min: 0,
      lines: true,
      steps: [
        [null, 'green'],
        [60, 'red'],
      ],
      size: [8, 8],
    }),
    curves({
      title: 'Oldest reduction',
      description:
        'Age of the oldest intent that is not finished, and how far one is past its deadline. Dashed: the alert.',
      queries: [
        { expr: each('max', ['mode'], `oldest_intent_age_seconds{${SCOPE}}`), legend: '{{mode}}' },
        {
          expr: each('max', ['mode'], `intent_overdue_seconds{${SCOPE}}`),
          legend: '{{mode}}, past its deadline',
        },
      ],
      unit: 's',
      min: 0,
      lines: true,
      steps: [
        [null, 'green'],
        [180, 'red'],
      ],
      size: [8, 8],
    }),
    curves({
      title: 'Paused for',
      description: 'How long the pause in force has lasted; 0 without one. Dashed: the alert.',
      queries: [{ expr: `max(breakwater_account_pause_seconds{${SCOPE}})`, legend: 'paused' }],
      unit: 's',
      min: 0,
      lines: true,
      steps: [
        [null, 'green'],
        [14_400, 'orange'],
      ],
      size: [8, 8],
    }),
  ];
}
