import type { DecimalString } from '../../core/quantities/decimal.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';
import type { LoanSpec, PositionSpec } from '../../world/spec.ts';

export interface StartingAccount {
  readonly id: string;
  /** By asset; empty for an account that only borrows. */
  readonly collateral: Readonly<Record<string, DecimalString>>;
  /** Whole number from 1; the exchange's default if absent. */
  readonly leverage?: number;
  readonly hedgeMode: boolean;
  readonly positions: readonly StartingPosition[];
  readonly loans: readonly LoanSpec[];
}

export interface StartingPosition extends PositionSpec {
  /** Base asset, above zero. */
  readonly amount: DecimalString;
  /** Entry price; the first price of the replay if absent. */
  readonly entry?: DecimalString;
}

/** The parts of the config that a positions file is checked against. */
export interface ConfiguredAccount {
  readonly id: string;
  readonly settings: Pick<AccountSettings, 'bothSign' | 'marketSettings'>;
}

/** A starting account, with the mark prices of its figures if the source has them. */
export interface StartingBook extends StartingAccount {
  readonly markPrices: Readonly<Record<string, number>>;
}
