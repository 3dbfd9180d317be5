import type { CompiledAccount } from '../config/compiled-config.ts';
import type { ChainedRecord } from '../core/audit/audit-record.ts';
import type { QuietHoursLine } from '../core/lines/quiet-hours.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import type { QueueName } from '../core/ports/telemetry.ts';
import { moneyOf } from '../core/quantities/units.ts';
import type { Mode } from '../core/rules/rule.ts';
import { modeOf } from '../core/rules/rule-parts.ts';
import type { AccountView } from '../core/view/account-view.ts';
import type { PlaceConfig } from './place-config.ts';

/** The config's settings of an account; no secrets. */
interface KnownAccount {
  readonly id: string;
  readonly mode: Mode;
  readonly rules: readonly { readonly id: string; readonly mode: Mode }[];
  readonly calmMs: number;
  /** Least distance of an activation price from the mark, as a fraction; undefined: the market has no entry. */
  readonly gapOf: (market: string) => number | undefined;
  readonly moneyOf: (market: string) => string;
}

/** Redis does not answer, or the config does not say where it is. */
export type DeskReason = 'redis-lost' | 'config';

/** What a person can view from a shell. Rejects if Redis is lost. */
export interface Desk {
  /** In the order of the config; absent without one, or if it has a mistake. */
  readonly accounts: readonly KnownAccount[] | undefined;
  /** Ids alone, also from a config with a mistake elsewhere; absent without one. */
  readonly accountIds: readonly string[] | undefined;
  /** Why the config as a whole is unusable, for people; absent: it is usable, or none was named. */
  readonly fault?: string;
  /** The daemon that is asked in place of Redis, and why. */
  readonly through?: { readonly base: string; readonly why: DeskReason };
  readonly controls: Pick<OperatorControls, 'list'>;
  /** Queues that somebody has paused as a whole: their jobs stand still. */
  pausedQueues(): Promise<readonly QueueName[]>;
  /** Number of running daemons that poll. */
  watchers(): Promise<number>;
  /** Failures that the daemon on this machine reports; none if no daemon answers. */
  troubles(): Promise<readonly string[]>;
  /** null: they are off and no notice waits, or there is no config here. */
  quietHours(): Promise<QuietHoursLine | null>;
  /** One account as everybody sees it; of an account that is not in the config, only what is stored. */
  view(accountId: string): Promise<AccountView>;
  /** The newest audit records of an account, as far as available. */
  records(accountId: string, count: number): Promise<readonly ChainedRecord[]>;
  wasWatched(accountId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** undefined: there is no config, or only a broken one that names no accounts. */
export function idsOf({ accountIds, config }: PlaceConfig): readonly string[] | undefined {
  return accountIds.length === 0 && config === undefined ? undefined : accountIds;
}

export function knownAccount({ id, settings, rules }: CompiledAccount): KnownAccount {
  return {
    id,
    mode: settings.mode,
    rules: rules.map((rule) => ({ id: rule.id, mode: modeOf(rule, settings) })),
    calmMs: settings.cadence.calmMs,
    gapOf: (market) => settings.marketSettings(market)?.basisAllowance,
    moneyOf: (market) => moneyOf(market, settings),
  };
}
