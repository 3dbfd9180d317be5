import type { ChannelType, ProposedSet } from '../../app.ts';
import type { HeldCreditLine, HeldPosition } from './account-figures.ts';
import type { ProposedMarket } from './propose-markets.ts';

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

/** Everything that goes into the config. */
export interface InitDecisions {
  /** As it was given. */
  readonly file: string;
  readonly baseUrls: readonly string[];
  readonly nonce: 'unique' | 'increasing' | 'window';
  readonly account: string;
  readonly apiKey: SecretSource;
  readonly apiSecret: SecretSource;
  readonly redis: string | WrittenReference;
  /** Seals what people say to daemons. */
  readonly operatorsKey: SecretSource;
  /** Of the daemon's web server. */
  readonly controlToken: SecretSource;
  readonly leverage: number;
  readonly seen: ShownAccount | undefined;
  readonly markets: readonly ProposedMarket[];
  /** Whether a person looked at the figures of the markets. */
  readonly isConfirmed: boolean;
  /** Whether there was a terminal to ask on. */
  readonly wasAsked: boolean;
  readonly ruleSet: ChosenSet;
  /** As an account lists them. */
  readonly rules: readonly string[];
  readonly cancel: 'always' | 'never' | undefined;
  readonly channel: ChosenChannel | undefined;
}
