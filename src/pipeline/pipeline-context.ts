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

/** One configured account with the hands that reach its exchange. Replaced as a whole when the config changes. */
export interface WatchedAccount {
  readonly id: string;
  /** Holds the account's settings, too. */
  readonly rules: CompiledRules;
  /** What the rules are compiled from, as plain JSON: goes to the audit with each decision. */
  readonly rulesSource: RulesSource;
  readonly sources: readonly SourceName[];
  /** How far back histories are read, milliseconds; 0 where no rule looks at one. */
  readonly lookbackMs: { readonly transfers: number; readonly spotOrders: number };
  /** Shortest time between polls that the request budget allows. */
  readonly leastIntervalMs: number;
  readonly exchange: GuardedExchange;
  readonly prefetch: CallPrefetch['prefetch'];
  /** Why an order by hand must not be carried out; undefined: it may. */
  readonly orderFault: (order: OperatorOrder) => string | undefined;
}

export interface AccountBook {
  get(accountId: string): WatchedAccount | undefined;
  inBucket(bucket: number): readonly string[];
}

/** All that the steps of the pipeline work with. They do not know who calls them, nor what is behind these. */
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
  /** Without the shared store processes take turns. */
  readonly turns: ActingTurns;
}

export interface PipelineSettings {
  /** Names this process among those that share the store: owner of lanes, name of its clock. */
  readonly instance: string;
  /** A poll that has not been heard of for this time was lost with its process: the account is due again. */
  readonly claimMs: number;
  /** How long a lane is held without a sign of life. */
  readonly laneLeaseMs: number;
  /** Bound on one request: it leaves only while the lane is held for as long. */
  readonly attemptTimeoutMs: number;
  /** A run of a lane waits at most so long for a fence or a pause to pass; a later run takes it up. */
  readonly longestWaitMs: number;
  /** What still fires is said again after this time. */
  readonly reminderMs: number;
  /** Undefined: nothing goes to others. */
  readonly escalation?: Escalation | undefined;
  /** How often figures of each account are kept for curves. */
  readonly historyMs: number;
}
