import type { AuditEvent } from '../audit/audit-event.ts';
import type { ChainHead } from '../audit/audit-record.ts';
import type { SourceName } from '../fields/field-catalogue.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { Snapshot } from '../quantities/snapshot.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import type { StressOutcome } from '../view/stress-result.ts';
import type { ChannelReport, DeliveryFailure, Message } from './delivery.ts';
import type { CommandOutcome } from './exchange.ts';
import type { LaneRef } from './lane-dispatcher.ts';
import type { Notice } from './notifier.ts';
import type { CommitResult, EpochStart, RefusedAccount } from './state-store.ts';

/** What happens, for logs and metrics: read at once, not copied. What an observer throws is ignored. */
export interface Telemetry {
  emit(event: DaemonEvent): void;
}

export type DaemonEvent = PollEvent | ActEvent | NotifyEvent | QueueEvent | ProcessEvent | StressEvent;

export interface StressEvent {
  readonly kind: 'stressed';
  readonly outcome: StressOutcome;
  readonly durationMs: number;
  /** Accounts that were played. */
  readonly accounts: number;
  /** Accounts that the worst case liquidates, with their rules. */
  readonly liquidated: number;
  /** Why it is not complete; empty when it is. */
  readonly words: string;
  readonly error?: unknown;
}

export type NotifyEvent =
  /** A daily digest, by its day and time: handed over, to be tried again, or given up. */
  | {
      readonly kind: 'digested';
      readonly outcome: 'handed' | 'retried' | 'failed';
      readonly name: string;
      /** What it says, or why it was not sent. */
      readonly words: string;
    }
  | { readonly kind: 'delivered'; readonly message: Message; readonly report: ChannelReport }
  | {
      readonly kind: 'deliveryRetried';
      readonly message: Message;
      readonly channel: string;
      readonly reason: DeliveryFailure;
      readonly inMs: number;
    }
  /** The channel `log`: the line itself. */
  | {
      readonly kind: 'said';
      readonly message: Message;
      readonly text: string;
      readonly insteadOf: readonly string[];
    };

export type PollEvent =
  /** One tick of one bucket has ended. */
  | {
      readonly kind: 'ticked';
      readonly bucket: number;
      /** From the time it was meant to begin. */
      readonly lagMs: number;
      readonly durationMs: number;
      readonly due: number;
      /** Due, but still being polled by this process. */
      readonly inFlight: number;
    }
  | {
      readonly kind: 'read';
      readonly accountId: string;
      readonly source: SourceName;
      readonly outcome: 'ok' | 'failed' | 'aborted';
      /** Name from the exchange's error catalogue. */
      readonly error?: string;
      readonly durationMs: number;
      /** Records that were not valid and were left out. */
      readonly setAside: number;
    }
  | {
      readonly kind: 'evaluated';
      readonly accountId: string;
      readonly settings: AccountSettings;
      readonly snapshot: Snapshot;
      readonly evaluation: Evaluation;
      /** From the beginning of the reads to the durable decision. */
      readonly durationMs: number;
    }
  | {
      readonly kind: 'commit';
      readonly accountId: string;
      readonly by: 'poll' | 'act';
      readonly result: CommitResult['kind'];
    }
  /** Given up for this time; due again after the claim. */
  | {
      readonly kind: 'pollFailed';
      readonly accountId: string;
      readonly why: 'contended' | 'aborted' | 'error';
      readonly error?: unknown;
    }
  | { readonly kind: 'accountRefused'; readonly problem: RefusedAccount }
  | {
      readonly kind: 'epochStarted';
      readonly accountId: string;
      readonly epoch: string;
      readonly why: EpochStart;
    }
  /** What a lane or an account's lane recorded, once committed. */
  | { readonly kind: 'audited'; readonly event: AuditEvent }
  | { readonly kind: 'notice'; readonly notice: Notice };

export type ActEvent =
  | { readonly kind: 'laneDispatched'; readonly lanes: readonly LaneRef[] }
  | {
      readonly kind: 'laneRun';
      readonly accountId: string;
      readonly market: string | null;
      readonly end: LaneRunEnd;
      readonly steps: number;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'step';
      readonly accountId: string;
      readonly market: string | null;
      readonly step: 'place' | 'cancelAll' | 'readPositions';
      readonly outcome: CommandOutcome<unknown>['kind'] | 'read' | 'failed';
      readonly error?: string;
      readonly durationMs: number;
    };

/** How a run of a lane ended. `idle`: nothing to do now. `later`: it waits for longer than a run may take. */
export type LaneRunEnd =
  | 'idle'
  | 'later'
  | 'busy'
  | 'wanted'
  | 'leaseLost'
  | 'contended'
  | 'refused'
  | 'unknownAccount'
  | 'stopped';

export type QueueName = 'poll' | 'act' | 'notify';

export type QueueEvent =
  | { readonly kind: 'workerError'; readonly queue: QueueName; readonly error: unknown }
  | { readonly kind: 'jobFailed'; readonly queue: QueueName; readonly job: string; readonly error: unknown }
  | { readonly kind: 'jobStalled'; readonly queue: QueueName; readonly job: string }
  | { readonly kind: 'jobRefused'; readonly queue: QueueName; readonly job: string; readonly why: string }
  /** Where an account's audit chain ends: kept outside of Redis, it tells a chain that was made anew. */
  | {
      readonly kind: 'auditHead';
      readonly accountId: string;
      readonly head: ChainHead;
      /** Why it is not in the file that the config names for it. */
      readonly unwritten?: unknown;
    }
  /** Somebody did this to a failed job on the queues' page; `author` is who, and from where. */
  | {
      readonly kind: 'jobChanged';
      readonly queue: string;
      readonly job: string;
      readonly change: 'repeated' | 'removed';
      readonly author: string;
    }
  /** A stored pause or silence does not hold: nobody with the operators' key has said it. */
  | { readonly kind: 'controlRefused'; readonly words: string }
  /** A notice without the seal of the operators' key came through the queue, and is delivered with a mark. */
  | { readonly kind: 'noticeUnproven'; readonly queue: 'notify'; readonly words: string }
  /** Somebody had paused the whole queue. */
  | { readonly kind: 'queueResumed'; readonly queue: QueueName }
  /** Schedules that had stopped or were missing and were set up again. */
  | {
      readonly kind: 'schedulesAsserted';
      readonly buckets: readonly number[];
      readonly why: 'start' | 'repair' | 'reload';
    };

export type ProcessEvent =
  | {
      readonly kind: 'started';
      readonly roles: readonly string[];
      readonly accounts: number;
      readonly instance: string;
    }
  | {
      readonly kind: 'configReloaded';
      readonly accounts: number;
      /** `first`: read at the start. */
      readonly result: 'first' | 'changed' | 'unchanged';
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'configRefused'; readonly problems: readonly string[] }
  | { readonly kind: 'listening'; readonly url: string; readonly probesOnly?: boolean }
  /** The web server turned somebody away; `client` is an address, or a network of one. */
  | {
      readonly kind: 'webRefused';
      readonly why: 'wrongToken' | 'wrongLink' | 'slowedDown' | 'connections' | 'scrapes';
      readonly client: string;
    }
  | { readonly kind: 'webError'; readonly error: unknown }
  | { readonly kind: 'redisChecked'; readonly warnings: readonly string[] }
  | { readonly kind: 'redis'; readonly available: boolean; readonly error?: unknown }
  /** This process has lost the shared store and goes on from its own memory, or has handed back what it did. */
  | {
      readonly kind: 'standby';
      readonly state: 'alone';
      readonly error: unknown;
      /** Why it watches and does not act, in words; absent: it acts. */
      readonly watchesOnly?: string;
    }
  /** `unread`: it could not be read at the start. `failing`: what this process knows is not kept on disk. */
  | { readonly kind: 'mirror'; readonly state: 'unread' | 'failing'; readonly error: unknown }
  | { readonly kind: 'mirror'; readonly state: 'well' }
  /** Another process runs with the same `--instance`. */
  | { readonly kind: 'instanceTaken'; readonly ordinal: number; readonly holder: string }
  | {
      readonly kind: 'standby';
      readonly state: 'shared';
      readonly accounts: readonly {
        readonly accountId: string;
        readonly how: 'continued' | 'merged' | 'superseded';
      }[];
    }
  | {
      readonly kind: 'exchangeStore';
      readonly store: 'nonce' | 'limiter';
      readonly available: boolean;
      readonly accountId: string;
    }
  | {
      readonly kind: 'contractDrift';
      readonly accountId: string;
      readonly endpoint: string;
      readonly path: string;
      readonly expected: string;
      readonly got: string;
    }
  /**
   * Something on the way failed: name, certificate, connection, proxy, gateway. The call may have succeeded otherwise.
   */
  | {
      readonly kind: 'exchangePath';
      readonly host: string;
      /** Name from the exchange's error catalogue. */
      readonly error: string;
      readonly words: string;
    }
  /** One call of a client, with its repetitions. */
  | { readonly kind: 'call'; readonly accountId: string; readonly call: ExchangeCall }
  /** What a dead-man service was told, or did not take: that this process starts, that all is watched, or why not. */
  | {
      readonly kind: 'heartbeat';
      readonly signal: 'start' | 'success' | 'fail';
      readonly atMs: number;
      /** What was told, in words. */
      readonly words: string;
      /** Why the receiver did not take it; absent: it did. */
      readonly refused?: string;
    }
  /** What somebody said to the bot of a channel, and what became of it. */
  | {
      readonly kind: 'botTold';
      readonly channel: string;
      readonly what: 'command' | 'press' | 'other';
      readonly outcome: 'done' | 'nothing' | 'refused' | 'tooOld' | 'unknownChat' | 'ignored' | 'failed';
      /** Who, for the log; absent: nobody who is listed. */
      readonly author?: string;
      readonly words: string;
    }
  /** Whether commands of a channel are heard; `trouble`: why not. */
  | { readonly kind: 'botListens'; readonly channel: string; readonly trouble?: string }
  /** A line of the log was not written: too many wait for the output to take them, or writing failed. */
  | { readonly kind: 'logLost'; readonly why: 'full' | 'failed' }
  | { readonly kind: 'stopping'; readonly why: string }
  | { readonly kind: 'stopped'; readonly inTime: boolean; readonly durationMs: number };

/** As the exchange's client reports it; nothing secret or personal is in it. */
export interface ExchangeCall {
  readonly endpoint: string;
  readonly outcome: 'ok' | 'failed' | 'accepted' | 'rejected' | 'unknown';
  readonly error?: string;
  readonly durationMs: number;
  readonly attempts: number;
  readonly baseUrlIndex?: number;
  readonly noncesRefused: number;
  readonly limitsHit: number;
  readonly budgetWaitMs: number;
}
