import type { SourceName } from '../core/fields/field-catalogue.ts';
import type { DecimalString } from '../core/quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../core/quantities/settings.ts';
import type { Mode, RuleSpec } from '../core/rules/rule.ts';
import type { Personal, Secret } from './secret.ts';

/** The whole config, checked, with defaults filled in, references resolved, and frozen. */
export interface CompiledConfig {
  readonly file: string;
  readonly mode: Mode;
  readonly exchange: ExchangeSettings;
  readonly redis: RedisSettings;
  readonly egress: Readonly<Record<string, EgressSettings>>;
  /** By market or glob, as written; `AccountSettings.marketSettings` resolves them. */
  readonly markets: Readonly<Record<string, MarketSettings>>;
  readonly accounts: readonly CompiledAccount[];
  /** In the order of the file; the channel `log`, which is always there, is not among them. */
  readonly channels: readonly CompiledChannel[];
  readonly notify: NotifySettings;
  readonly web: WebSettings;
  readonly log: LogSettings;
  /** Absent: no stress test on a schedule. */
  readonly stress?: CompiledStress;
}

export interface ExchangeSettings {
  /** Without `/api/v4` and without a slash at the end. */
  readonly baseUrls: readonly string[];
  readonly dialect: 'spec' | 'camel';
  readonly attemptTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** Budgets that differ from the documented ones; a name that is not documented has all three. */
  readonly limits: Readonly<Record<string, RateLimitOverride>>;
  readonly proxyUrl?: Secret;
  /** PEM text of additional certificate authorities. */
  readonly certificateAuthorities?: string;
}

export interface RateLimitOverride {
  readonly limit?: number;
  readonly periodMs?: number;
  readonly paths?: readonly string[];
}

/** Accounts behind one outgoing IP address share one request budget. */
export interface EgressSettings {
  readonly share: number;
  readonly reservedShare: number;
  /** The group's own, else the exchange's. */
  readonly proxyUrl?: Secret;
}

export interface RedisSettings {
  /** A `Secret`, as it may hold a password. */
  readonly url: Secret;
  readonly prefix: string;
}

interface ChannelCommon {
  readonly name: string;
  readonly timeoutMs: number;
  readonly giveUpAfterMs: number;
  readonly proxyUrl?: Secret;
}

/** A secret is absent only in a config that was checked where its secrets are not. */
export type CompiledChannel = ChannelCommon &
  (
    | { readonly type: 'webhook'; readonly url?: Secret; readonly secret?: Secret }
    | { readonly type: 'slack'; readonly url?: Secret }
    | {
        readonly type: 'telegram';
        readonly token?: Secret;
        readonly chat: string;
        readonly topic?: number;
        /** Without a slash at the end, as all addresses here. */
        readonly apiUrl: string;
      }
    | { readonly type: 'alertmanager'; readonly urls: readonly string[]; readonly authorization?: Secret }
  );

export interface NotifySettings {
  readonly remindEveryMs: number;
  /** With placeholders such as `{account}`. */
  readonly links: readonly { readonly title: string; readonly url: string }[];
}

export interface WebSettings {
  readonly host: string;
  readonly port: number;
  /** Further names under which it is reached. */
  readonly names: readonly string[];
  readonly token?: Secret;
  /** Absent: nothing can be changed through the server. */
  readonly controlToken?: Secret;
  /** Where people reach it, without a slash at the end. */
  readonly publicUrl?: string;
}

export interface LogSettings {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  readonly format: 'auto' | 'json' | 'pretty';
}

/** A stress test on a schedule. */
export interface CompiledStress {
  /** In cron form. */
  readonly at: string;
  readonly timeZone: string;
  readonly scenarios: readonly string[];
  readonly conditions: readonly ('calm' | 'crash')[];
  readonly timeLimitMs: number;
}

export interface CompiledAccount {
  readonly id: string;
  readonly apiKey: Secret;
  readonly apiSecret: Secret;
  readonly settings: AccountSettings;
  readonly rules: readonly RuleSpec[];
  readonly watch: WatchSettings;
  readonly egress: string;
  /** The account's own, else the file's if its credit lines are watched. */
  readonly depositLink?: CompiledDepositLink;
}

/** How links are made at which a person pays in. */
export interface CompiledDepositLink {
  /** The first one is the default. */
  readonly tickers: readonly string[];
  readonly provider: string;
  readonly byCard: boolean;
  readonly uniqueIdPrefix: string;
  readonly links: {
    readonly successLink?: string;
    readonly failureLink?: string;
    readonly returnLink?: string;
  };
  readonly minAmount?: DecimalString;
  readonly maxAmount?: DecimalString;
  readonly customer?: PersonalData;
}

/** Who pays in; see `DepositCustomer`. */
export interface PersonalData {
  readonly firstName: Personal;
  readonly lastName: Personal;
  readonly email: Personal;
  readonly birthDate: Personal;
  readonly address: {
    readonly line1: Personal;
    readonly line2?: Personal;
    readonly city: Personal;
    readonly zipCode: Personal;
    readonly countryCode: Personal;
  };
}

export interface WatchSettings {
  /** In the order of the field catalogue's sources. */
  readonly sources: readonly SourceName[];
  /** Assets of the main balance to show: those listed and those that rules ask for. */
  readonly balances: readonly string[];
}
