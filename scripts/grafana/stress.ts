import { ANY_IS_BAD, figure, type Panel, subjects } from './panels.ts';
import { TO_ACCOUNT } from './subjects.ts';

const KEPT = { unit: 'percentunit', decimals: 1 } as const;

/** Outcome of crashes for the accounts, from the newest scheduled stress test. */
export function stressPanels(): readonly Panel[] {
  return [cases(), accounts(), ...runs()];
}

function cases(): Panel {
  const of = (metric: string, protection: string) =>
    `max by (scenario, conditions) (breakwater_stress_${metric}{protection="${protection}"})`;
  return subjects({
    title: 'Stress test',
    description:
      'What each crash would do to all accounts together, without protection and with their rules.',
    size: [12, 9],
    noValue: 'no stress test has run',
    labels: [
      { name: 'scenario', title: 'Scenario' },
      { name: 'conditions', title: 'Exchange' },
    ],
    values: [
      { name: 'without', title: 'Liquidated without', expr: of('liquidated_accounts', 'none') },
      { name: 'with', title: 'With rules', expr: of('liquidated_accounts', 'rules'), steps: ANY_IS_BAD },
      { name: 'kept', title: 'Equity kept without', expr: of('equity_kept_ratio', 'none'), ...KEPT },
      { name: 'keptWith', title: 'Kept with rules', expr: of('equity_kept_ratio', 'rules'), ...KEPT },
    ],
    sortBy: 'With rules',
    descending: true,
  });
}

function accounts(): Panel {
  const of = (metric: string) =>
    `max by (account, scenario, conditions) (breakwater_stress_account_${metric}{protection="rules", account=~"$account"})`;
  return subjects({
    title: 'Accounts under stress',
    description: 'What each crash would leave of the accounts that lose most, with their rules.',
    size: [12, 9],
    noValue: 'no stress test has run',
    labels: [
      { name: 'account', title: 'Account', to: TO_ACCOUNT },
      { name: 'scenario', title: 'Scenario' },
      { name: 'conditions', title: 'Exchange' },
    ],
    values: [
      { name: 'liquidated', title: 'Liquidated', expr: of('liquidated'), steps: ANY_IS_BAD },
      { name: 'kept', title: 'Equity kept', expr: of('equity_kept_ratio'), ...KEPT },
    ],
    sortBy: 'Equity kept',
  });
}

function runs(): readonly Panel[] {
  return [
    figure({
      title: 'Stress test played',
      description: 'Time since the stress test that is shown began.',
      queries: [{ expr: 'min(breakwater_stress_age_seconds)' }],
      unit: 's',
      decimals: 0,
      size: [6, 4],
      noValue: 'never',
    }),
    figure({
      title: 'It took',
      description: 'How long that test ran, beside the polls and at a lower priority.',
      queries: [{ expr: 'max(breakwater_stress_duration_seconds)' }],
      unit: 's',
      decimals: 0,
      size: [6, 4],
      noValue: 'never',
    }),
    figure({
      title: 'Accounts in it',
      description: 'Accounts that were played, and what could not be: the status page says why.',
      queries: [
        { expr: 'max(breakwater_stress_accounts)', legend: 'played' },
        { expr: 'max(breakwater_stress_left_out)', legend: 'left out' },
      ],
      size: [6, 4],
      noValue: 'none',
    }),
    figure({
      title: 'Stress tests, last week',
      description: 'Runs by how they ended; what is not complete failed or reached its time limit.',
      queries: [
        { expr: 'sum by (outcome) (increase(breakwater_stress_runs_total[7d]))', legend: '{{outcome}}' },
      ],
      decimals: 0,
      size: [6, 4],
      noValue: 'none',
    }),
  ];
}
