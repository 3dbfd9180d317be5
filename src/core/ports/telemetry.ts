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

/** Events for logs and metrics; observers read them at once and do not copy. Exceptions of observers are ignored. */
export interface Telemetry {
  emit(event: DaemonEvent): void;
}

export type DaemonEvent = PollEvent | ActEvent | NotifyEvent | QueueEvent | ProcessEvent | StressEvent;

export interface StressEvent {
  readonly kind: 'stressed';
  readonly outcome: StressOutcome;
  readonly durationMs: number;
  /** Accounts covered by the stress test. */
  readonly accounts: number;
  /** Accounts that the worst case liquidates despite their rules. */
  readonly liquidated: number;
  /** Why it is incomplete; empty when complete. */
  readonly words: string;
  readonly error?: unknown;
}

export type NotifyEvent =
  /** A daily digest, named by its day and time: handed over, to be retried, or given up. */
  | {
      readonly kind: 'digested';
      readonly outcome: 'handed' | 'retried' | 'failed';
      readonly name: string;
      /** Its text, or why it was not sent. */
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
  /** The line that the channel `log` writes. */
  | {
      readonly kind: 'said';
      readonly message: Message;
      readonly text: string;
      readonly insteadOf: readonly string[];
    };

export type PollEvent =
  /** A tick of a bucket ended. */
  | {
      readonly kind: 'ticked';
      readonly bucket: number;
      /** Delay of its start. */
      readonly lagMs: number;
      readonly durationMs: number;
      readonly due: number;
      /** Due, but this process is still polling them. */
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
      /** Number of invalid records that were left out. */
      readonly setAside: number;
    }
  | {
      readonly kind: 'evaluated';
      readonly accountId: string;
      readonly settings: AccountSettings;
      readonly snapshot: Snapshot;
      readonly evaluation: Evaluation;
      /** From the start of the reads to the durable decision. */
      readonly durationMs: number;
    }
  | {
      readonly kind: 'commit';
      readonly accountId: string;
      readonly by: 'poll' | 'act';
      readonly result: CommitResult['kind'];
    }
  /** Given up for now; the account is due again after the claim. */
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
  /** Recorded by a lane or an account's lane, once committed. */
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

/** How a lane run ended. `idle`: nothing to do now. `later`: it must wait longer than a run may take. */
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
  /** End of an account's audit chain; kept outside of Redis, it reveals a chain that was rewritten. */
  | {
      readonly kind: 'auditHead';
      readonly accountId: string;
      readonly head: ChainHead;
      /** Why it was not written to the configured file. */
      readonly unwritten?: unknown;
    }
  /** A person changed a failed job on the queues' page; `author`: who, and from where. */
  | {
      readonly kind: 'jobChanged';
      readonly queue: string;
      readonly job: string;
      readonly change: 'repeated' | 'removed';
      readonly author: string;
    }
  /** A stored control without a valid seal of the operators' key is ignored. */
  | { readonly kind: 'controlRefused'; readonly words: string }
  /** A queued notice without a valid seal of the operators' key is delivered with a mark. */
  | { readonly kind: 'noticeUnproven'; readonly queue: 'notify'; readonly words: string }
  /** Somebody had paused the whole queue, or limited the jobs taken from it; it was resumed. */
  | { readonly kind: 'queueResumed'; readonly queue: QueueName }
  /** `begun`: no ticks of the queue reach this process, which polls by its own clock. */
  | { readonly kind: 'ownTicks'; readonly state: 'begun' | 'over' }
  /** Schedules that were stopped or missing were set up again. */
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
      /** `first`: read at startup. */
      readonly result: 'first' | 'changed' | 'unchanged';
      readonly warnings: readonly string[];
      /** What is no longer watched, judged or done since the config before; a sentence each. */
      readonly lost: readonly string[];
    }
  | { readonly kind: 'configRefused'; readonly problems: readonly string[] }
  | { readonly kind: 'listening'; readonly url: string; readonly probesOnly?: boolean }
  /** The web server rejected a client; `client` is an address, or a network. */
  | {
      readonly kind: 'webRefused';
      readonly why: 'wrongToken' | 'wrongLink' | 'slowedDown' | 'connections' | 'scrapes';
      readonly client: string;
    }
  | { readonly kind: 'webError'; readonly error: unknown }
  | { readonly kind: 'redisChecked'; readonly warnings: readonly string[] }
  | { readonly kind: 'redis'; readonly available: boolean; readonly error?: unknown }
  /** `alone`: this process lost the shared store and uses its own memory. `shared`: it handed back what it did. */
  | {
      readonly kind: 'standby';
      readonly state: 'alone';
      readonly error: unknown;
      /** Why it only watches; absent: it acts. */
      readonly watchesOnly?: string;
    }
  /** `unread`: unreadable at startup. `failing`: the mirror of this process cannot be written to disk. */
  | { readonly kind: 'mirror'; readonly state: 'unread' | 'failing'; readonly error: unknown }
  | { readonly kind: 'mirror'; readonly state: 'well' }
  /** Another process runs with the same `--instance`. */
  | { readonly kind: 'instanceTaken'; readonly ordinal: number; readonly holder: string }
  /** `fault`: what is wrong between processes on the same Redis and prefix; absent: nothing any more. */
  | { readonly kind: 'company'; readonly fault?: string }
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
  /** A fault on the way to the exchange: name, certificate, connection, proxy, gateway. The call may still succeed. */
  | {
      readonly kind: 'exchangePath';
      readonly host: string;
      /** Name from the exchange's error catalogue. */
      readonly error: string;
      readonly words: string;
    }
  /** One call of a client, including its retries. */
  | { readonly kind: 'call'; readonly accountId: string; readonly call: ExchangeCall }
  /** A signal to a dead-man service, accepted or refused: the process starts, everything is watched, or why not. */
  | {
      readonly kind: 'heartbeat';
      readonly signal: 'start' | 'success' | 'fail';
      readonly atMs: number;
      /** Text of the signal. */
      readonly words: string;
      /** Why the receiver refused it; absent: it did not. */
      readonly refused?: string;
    }
  /** A message or button press received by the bot of a channel, and its outcome. */
  | {
      readonly kind: 'botTold';
      readonly channel: string;
      readonly what: 'command' | 'press' | 'other';
      readonly outcome: 'done' | 'nothing' | 'refused' | 'tooOld' | 'unknownChat' | 'ignored' | 'failed';
      /** Author for the log; absent: nobody who is listed. */
      readonly author?: string;
      readonly words: string;
    }
  /** Whether a channel's commands are received; `trouble`: why not. */
  | { readonly kind: 'botListens'; readonly channel: string; readonly trouble?: string }
  /** A log line was not written: too many are waiting for the output, or writing failed. */
  | { readonly kind: 'logLost'; readonly why: 'full' | 'failed' }
  | { readonly kind: 'stopping'; readonly why: string }
  | { readonly kind: 'stopped'; readonly inTime: boolean; readonly durationMs: number };

/** As reported by the exchange client; contains no secrets or personal data. */
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
