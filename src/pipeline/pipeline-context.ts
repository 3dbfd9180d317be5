import type { RulesSource } from '../core/audit/recompute.ts';
import type { OperatorOrder } from '../core/controls/controls.ts';
import type { SourceName } from '../core/fields/field-catalogue.ts';
import type { Clock, Random, Timers } from '../core/ports/clock.ts';
import type { NoticeDelivery } from '../core/ports/delivery.ts';
import type { CallPrefetch, GuardedExchange } from '../core/ports/exchange.ts';
import type { LaneDispatcher } from '../core/ports/lane-dispatcher.ts';
import type { Escalation, Notifier } from '../core/ports/notifier.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { CompiledRules } from '../core/rules/compiled-rules.ts';
import type { ActingTurns } from './act/lane-turns.ts';
import type { ReadMemory } from './poll/read-memory.ts';
import type { LaneTime } from './shared-time.ts';

/** One configured account and its connection to the exchange. Replaced as a whole when the config changes. */
export interface WatchedAccount {
  readonly id: string;
  /** Holds the account's settings, too. */
  readonly rules: CompiledRules;
  /** The source of the rules, as plain JSON: recorded in the audit with each decision. */
  readonly rulesSource: RulesSource;
  readonly sources: readonly SourceName[];
  /** How far back histories are read, milliseconds; 0: no rule uses them. */
  readonly lookbackMs: { readonly transfers: number; readonly spotOrders: number };
  /** Shortest time between polls that the request budget allows. */
  readonly leastIntervalMs: number;
  readonly exchange: GuardedExchange;
  readonly prefetch: CallPrefetch['prefetch'];
  /** Why an operator order must not be carried out; undefined: it may. `epochId`: of the store that shows it. */
  readonly orderFault: (order: OperatorOrder, epochId: string) => string | undefined;
  /** Remembers that it was begun or refused: somebody may put it back. A store that has lost it begins an epoch. */
  readonly orderTaken: (order: OperatorOrder, epochId: string) => void;
}

export interface AccountBook {
  get(accountId: string): WatchedAccount | undefined;
  inBucket(bucket: number): readonly string[];
}

/** Everything the pipeline steps work with. The steps know neither their callers nor what implements these. */
export interface PipelineContext {
  readonly accounts: AccountBook;
  readonly store: StateStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly time: LaneTime;
  readonly telemetry: Telemetry;
  readonly lanes: LaneDispatcher;
  readonly notifier: Notifier;
  readonly delivery: NoticeDelivery;
  readonly memory: ReadMemory;
  readonly settings: PipelineSettings;
  /** Turns between processes while they lack the shared store. */
  readonly turns: ActingTurns;
}

export interface PipelineSettings {
  /** Name of this process among those that share the store: owner of lanes, name of its clock. */
  readonly instance: string;
  /** A poll without a sign of life for this time was lost with its process: the account is due again. */
  readonly claimMs: number;
  /** How long a lane is held without a sign of life. */
  readonly laneLeaseMs: number;
  /** Bound on one request: it leaves only if the lane is held for at least as long. */
  readonly attemptTimeoutMs: number;
  /** Longest time a run of a lane waits for a fence or a pause to pass; a later run takes it up. */
  readonly longestWaitMs: number;
  /** A rule that still fires is repeated after this time. */
  readonly reminderMs: number;
  /** Undefined: notices are not escalated. */
  readonly escalation?: Escalation | undefined;
  /** How often the figures of each account are kept for curves. */
  readonly historyMs: number;
}
