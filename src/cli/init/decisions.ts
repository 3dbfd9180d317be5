import type { ChannelType, ProposedSet } from '../../app.ts';
import type { HeldCreditLine, HeldPosition } from './account-figures.ts';

/** Where a secret comes from, as a config writes it. */
export type WrittenReference = { readonly file: string } | { readonly env: string };

export interface SecretSource {
  readonly written: WrittenReference;
  /** Empty: it is not at hand. */
  readonly value: string;
  /** Typed in or made up: the file that is still to be made for it. */
  readonly newFile?: string;
}

/** A channel but for `log`, which is always there. */
export interface ChosenChannel {
  readonly type: ChannelType;
  /** What its keys are set to, in the order in which they are written. */
  readonly keys: readonly (readonly [key: string, value: string | number | SecretSource])[];
}

export interface ChosenSet extends ProposedSet {
  /** False: the leverage is above what it is made for. */
  readonly fits: boolean;
}

/** What the account showed; absent where the exchange was not asked. */
export interface ShownAccount {
  readonly positions: readonly HeldPosition[];
  /** What they are worth by what secures them; null: the exchange does not say. */
  readonly leverage: number | null;
  readonly creditLines: readonly HeldCreditLine[];
  /** In whole sentences. */
  readonly notes: readonly string[];
}
