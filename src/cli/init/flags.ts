import type { PositionSetName } from '../../app.ts';

export interface InitFlags {
  readonly out: string;
  readonly exchange?: readonly string[];
  readonly account?: string;
  readonly keyFile?: string;
  readonly secretFile?: string;
  readonly keyEnv?: string;
  readonly secretEnv?: string;
  readonly nonce: 'unique' | 'increasing' | 'window';
  readonly redis?: string;
  readonly leverage?: number;
  readonly ruleSet?: PositionSetName;
  readonly cancel?: 'always' | 'never';
  readonly channel?: string;
  readonly offline?: boolean;
  readonly json?: boolean;
}

/** The same names as in `MADE_FOR_LEVERAGE` of the config, which is loaded only when the command runs. */
export const RULE_SETS: readonly PositionSetName[] = ['conservative', 'balanced', 'last-resort'];

const MOST_LEVERAGE = 200;
export const LEVERAGE_IN_WORDS = `a number from 1 to ${MOST_LEVERAGE}`;

/** `10`, `7.5` or `10x`; undefined for anything else. */
export function readLeverage(text: string): number | undefined {
  const [, digits = ''] = /^(\d{1,3}(?:\.\d{1,4})?)x?$/.exec(text) ?? [];
  const leverage = Number(digits);
  return leverage >= 1 && leverage <= MOST_LEVERAGE ? leverage : undefined;
}
