import { UIDS } from './frame.ts';
import { type Column, words } from './panels.ts';

/** Labels of positions, loans and rules, and the texts of their values, the same in every panel. */

export const POSITION = ['account', 'market', 'position', 'direction'] as const;
export const LOAN = ['account', 'asset', 'loan'] as const;
export const RULE = ['account', 'rule', 'subject', 'severity'] as const;

/** Merges the series of several processes into one per subject. */
export function each(how: 'min' | 'max', labels: readonly string[], selector: string): string {
  return `${how} by (${labels.join(', ')}) (breakwater_${selector})`;
}

/** Link from a cell with an account's name. */
export const TO_ACCOUNT = `/d/${UIDS.account}?var-account=\${__value.raw}&\${__url_time_range}`;

export const POSITION_COLUMNS: readonly Column[] = [
  { name: 'account', title: 'Account', to: TO_ACCOUNT },
  { name: 'market', title: 'Market' },
  { name: 'position', title: 'Position' },
  { name: 'direction', title: 'Direction', width: 90 },
];

export const LOAN_COLUMNS: readonly Column[] = [
  { name: 'account', title: 'Account', to: TO_ACCOUNT },
  { name: 'asset', title: 'Asset' },
  { name: 'loan', title: 'Loan' },
];

export const STATE_WORDS = words({
  none: ['none', 'green'],
  margin_call: ['margin call', 'red'],
  liquidation: ['liquidation', 'dark-red'],
  unrecognised: ['unrecognised', 'red'],
});

export const COVER_WORDS = words({
  ok: ['ok', 'green'],
  missing: ['missing', 'orange'],
  beyondLiquidation: ['beyond liquidation', 'red'],
  unconfirmed: ['unconfirmed', 'yellow'],
});

export const SEVERITY_WORDS = words({
  critical: ['critical', 'red'],
  warning: ['warning', 'orange'],
  info: ['info', 'blue'],
});

export const FIRING_WORDS = words({
  '0': ['inactive', 'green'],
  '1': ['pending', 'yellow'],
  '2': ['firing', 'red'],
});

export const STATE_NAMES = ['none', 'margin_call', 'liquidation', 'unrecognised'] as const;
export const COVER_NAMES = ['ok', 'missing', 'beyondLiquidation', 'unconfirmed'] as const;

/** Turns a label into a number, its index in `names`, because a timeline shows only numbers. */
export function numbered(names: readonly string[], label: string, selector: string): string {
  return names
    .map((name, index) => `${each('max', POSITION, `${selector}, ${label}="${name}"}`)} * ${index}`)
    .join(' or ');
}

export const STATE_NUMBERS = words({
  '0': ['none', 'green'],
  '1': ['margin call', 'red'],
  '2': ['liquidation', 'dark-red'],
  '3': ['unrecognised', 'red'],
});

export const COVER_NUMBERS = words({
  '0': ['ok', 'green'],
  '1': ['missing', 'orange'],
  '2': ['beyond liquidation', 'red'],
  '3': ['unconfirmed', 'yellow'],
});
