import type { SourceName } from '../core/fields/field-catalogue.ts';
import type { AccountSettings, MarketSettings } from '../core/quantities/settings.ts';
import type { Mode, RuleSpec } from '../core/rules/rule.ts';
import type { CompiledChannel } from './channels.ts';
import type { CompiledDepositLink } from './deposit-link.ts';
import type { CompiledDigest } from './digest.ts';
import type { EgressSettings, ExchangeSettings } from './exchange.ts';
import type { Exposure } from './exposures.ts';
import type { CompiledHeartbeat } from './heartbeat.ts';
import type { NotifySettings } from './notify.ts';
import type { OperatorSettings } from './operators.ts';
import type { RedisSettings } from './redis.ts';
import type { Secret } from './secret.ts';
import type { CompiledStress } from './stress.ts';
import type { LogSettings, WebSettings } from './web.ts';

/** The whole config: checked, with defaults filled in and references resolved, and frozen. */
export interface CompiledConfig {
  readonly file: string;
  /** SHA-256 of the file's text, in hex. */
  readonly checksum: string;
  readonly mode: Mode;
  /** What may use plain text, or no password. */
  readonly insecure: readonly Exposure[];
  readonly exchange: ExchangeSettings;
  /** Absent: this process keeps everything by itself. */
  readonly redis?: RedisSettings;
  /** Absolute path of the directory; absent: the default of the environment. */
  readonly stateDir?: string;
  readonly egress: Readonly<Record<string, EgressSettings>>;
  /** By market or glob, as written; `AccountSettings.marketSettings` resolves them. */
  readonly markets: Readonly<Record<string, MarketSettings>>;
  readonly accounts: readonly CompiledAccount[];
  /** In the order of the file, without the built-in channel `log`. */
  readonly channels: readonly CompiledChannel[];
  readonly notify: NotifySettings;
  readonly web: WebSettings;
  readonly operators: OperatorSettings;
  /** Without `headsFile`, heads are only in the log. */
  readonly audit: { readonly headsFile?: string };
  readonly log: LogSettings;
  readonly heartbeat?: CompiledHeartbeat;
  readonly stress?: CompiledStress;
  readonly digest?: CompiledDigest;
}

export interface CompiledAccount {
  readonly id: string;
  readonly apiKey: Secret;
  readonly apiSecret: Secret;
  /** Nonces are at least this. */
  readonly nonceStart?: number;
  readonly settings: AccountSettings;
  readonly rules: readonly RuleSpec[];
  readonly watch: WatchSettings;
  readonly egress: string;
  /** The account's link, or that of the file if the account's credit lines are watched. */
  readonly depositLink?: CompiledDepositLink;
}

export interface WatchSettings {
  /** In the order of `SOURCE_NAMES`. */
  readonly sources: readonly SourceName[];
  /** Assets of the main balance to show: those listed and those that rules ask for. */
  readonly balances: readonly string[];
}
