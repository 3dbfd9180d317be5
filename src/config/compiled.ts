import type { SourceName } from '../core/fields.ts';
import type { Mode, RuleSpec } from '../core/rule.ts';
import type { AccountSettings, MarketSettings } from '../core/settings.ts';
import type { Secret } from './secret.ts';

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
  /** Names of the channels that `notify` actions can name. */
  readonly channels: readonly string[];
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

export interface CompiledAccount {
  readonly id: string;
  readonly apiKey: Secret;
  readonly apiSecret: Secret;
  readonly settings: AccountSettings;
  readonly rules: readonly RuleSpec[];
  readonly watch: WatchSettings;
  readonly egress: string;
}

export interface WatchSettings {
  /** In the order of the field catalogue's sources. */
  readonly sources: readonly SourceName[];
  /** Assets of the main balance to show: those listed and those that rules ask for. */
  readonly balances: readonly string[];
}
