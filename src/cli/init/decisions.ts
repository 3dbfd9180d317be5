import type { ChannelType, ProposedSet } from '../../app.ts';
import type { HeldCreditLine, HeldPosition } from './account-figures.ts';

/** Where a secret is, as a config writes it. */
export type WrittenReference = { readonly file: string } | { readonly env: string };

export interface SecretSource {
  readonly written: WrittenReference;
  /** Empty: it is not available here. */
  readonly value: string;
  /** The file to create for a secret that was typed or generated. */
  readonly newFile?: string;
}

/** A channel other than `log`, which always exists. */
export interface ChosenChannel {
  readonly type: ChannelType;
  /** Its keys with their values, in the order of the config. */
  readonly keys: readonly (readonly [key: string, value: string | number | SecretSource])[];
}

export interface ChosenSet extends ProposedSet {
  /** False: the leverage is above the one that the set is made for. */
  readonly fits: boolean;
}

/** What the exchange showed of the account; absent if it was not asked. */
export interface ShownAccount {
  readonly positions: readonly HeldPosition[];
  /** Worth of the positions divided by their equity; null: the exchange does not say. */
  readonly leverage: number | null;
  readonly creditLines: readonly HeldCreditLine[];
  /** Whole sentences. */
  readonly notes: readonly string[];
}
