import type { DecimalString } from '../../core/quantities/decimal.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';

/** What an account holds when a replay begins. */
export interface StartingAccount {
  readonly id: string;
  /** By asset; empty for an account that only borrows. */
  readonly collateral: Readonly<Record<string, DecimalString>>;
  /** Whole number from 1; the exchange's default if absent. */
  readonly leverage?: number;
  readonly hedgeMode: boolean;
  readonly positions: readonly StartingPosition[];
  readonly loans: readonly StartingLoan[];
}

export interface StartingPosition {
  readonly market: string;
  readonly side: 'long' | 'short';
  /** Base asset, above zero. */
  readonly amount: DecimalString;
  /** Entry price; the first price of the replay if absent. */
  readonly entry?: DecimalString;
}

export interface StartingLoan {
  readonly asset: string;
  readonly amount: DecimalString;
  readonly collateralAsset: string;
  readonly collateralAmount: DecimalString;
}

/** What of the config a positions file is checked against. */
export interface ConfiguredAccount {
  readonly id: string;
  readonly settings: Pick<AccountSettings, 'bothSign' | 'marketSettings'>;
}

/** A starting account, and the mark prices its figures were computed at, where the source has them. */
export interface StartingBook extends StartingAccount {
  readonly markPrices: Readonly<Record<string, number>>;
}
