import type { AuditEvent } from '../audit/audit-event.ts';
import type { ChainHead } from '../audit/audit-record.ts';
import type { SourceName } from '../fields/field-catalogue.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import type { Snapshot } from '../quantities/snapshot.ts';
import type { Evaluation } from '../rules/evaluate.ts';
import type { Kinds } from '../schema/parts.ts';
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

export type DaemonEvent = Kinds<PollFields & ActFields & NotifyFields & QueueFields & ProcessFields>;
export type EventOf<K extends DaemonEvent['kind']> = Extract<DaemonEvent, { readonly kind: K }>;

interface NotifyFields {
  /** A daily digest, named by its day and time: handed over, to be retried, or given up. `words`: its text, or why. */
  digested: { outcome: 'handed' | 'retried' | 'failed'; name: string; words: string };
  delivered: { message: Message; report: ChannelReport };
  deliveryRetried: { message: Message; channel: string; reason: DeliveryFailure; inMs: number };
  /** The line that the channel `log` writes. */
  said: { message: Message; text: string; insteadOf: readonly string[] };
}

interface PollFields {
  /** A tick of a bucket ended. `lagMs`: delay of its start. `inFlight`: due, but still polled by this process. */
  ticked: { bucket: number; lagMs: number; durationMs: number; due: number; inFlight: number };
  read: {
    accountId: string;
    source: SourceName;
    outcome: 'ok' | 'failed' | 'aborted';
    /** Name from the exchange's error catalogue. */
    error?: string;
    durationMs: number;
    /** Number of invalid records that were left out. */
    setAside: number;
  };
  evaluated: {
    accountId: string;
    settings: AccountSettings;
    snapshot: Snapshot;
    evaluation: Evaluation;
    /** From the start of the reads to the durable decision. */
    durationMs: number;
  };
  commit: { accountId: string; by: 'poll' | 'act'; result: CommitResult['kind'] };
  /** Given up for now; the account is due again after the claim. */
  pollFailed: { accountId: string; why: 'contended' | 'aborted' | 'error'; error?: unknown };
  accountRefused: { problem: RefusedAccount };
  epochStarted: { accountId: string; epoch: string; why: EpochStart };
  /** Recorded by a lane or an account's lane, once committed. */
  audited: { event: AuditEvent };
  notice: { notice: Notice };
}

interface ActFields {
  laneDispatched: { lanes: readonly LaneRef[] };
  laneRun: { accountId: string; market: string | null; end: LaneRunEnd; steps: number; durationMs: number };
  step: {
    accountId: string;
    market: string | null;
    step: 'place' | 'cancelAll' | 'readPositions';
    outcome: CommandOutcome<unknown>['kind'] | 'read' | 'failed';
    error?: string;
    durationMs: number;
  };
}

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

interface QueueFields {
  workerError: { queue: QueueName; error: unknown };
  jobFailed: { queue: QueueName; job: string; error: unknown };
  jobStalled: { queue: QueueName; job: string };
  jobRefused: { queue: QueueName; job: string; why: string };
  /**
   * End of an account's audit chain; kept outside of Redis, it reveals a chain that was rewritten. `unwritten`: why the
   * configured file does not have it.
   */
  auditHead: { accountId: string; head: ChainHead; unwritten?: unknown };
  /** An audit chain is shorter than its end as last noted, or another one. */
  auditCut: { words: string };
  /** A person changed a failed job on the queues' page; `author`: who, and from where. */
  jobChanged: { queue: string; job: string; change: 'repeated' | 'removed'; author: string };
  /** A stored control without a valid seal of the operators' key is ignored. */
  controlRefused: { words: string };
  /** A queued notice without a valid seal of the operators' key is delivered with a mark. */
  noticeUnproven: { queue: 'notify'; words: string };
  /** Somebody had paused the whole queue, or limited the jobs taken from it; it was resumed. */
  queueResumed: { queue: QueueName };
  /** `begun`: no ticks of the queue reach this process, which polls by its own clock. */
  ownTicks: { state: 'begun' | 'over' };
  /** Schedules that were stopped or missing were set up again. */
  schedulesAsserted: { buckets: readonly number[]; why: 'start' | 'repair' | 'reload' };
}

interface ProcessFields {
  started: { roles: readonly string[]; accounts: number; instance: string };
  configReloaded: {
    accounts: number;
    /** `first`: read at startup. */
    result: 'first' | 'changed' | 'unchanged';
    warnings: readonly string[];
    /** What is no longer watched, judged or done since the config before; a sentence each. */
    lost: readonly string[];
  };
  configRefused: { problems: readonly string[] };
  listening: { url: string; probesOnly?: boolean };
  /** The web server rejected a client; `client` is an address, or a network. */
  webRefused: {
    why: 'wrongToken' | 'slowedDown' | 'connections' | 'scrapes';
    client: string;
  };
  webError: { error: unknown };
  redisChecked: { warnings: readonly string[] };
  redis: { available: boolean; error?: unknown };
  /**
   * `alone`: this process lost the shared store and uses its own memory; `watchesOnly`: why it does not act then.
   * `shared`: it handed back what it did.
   */
  standby:
    | { state: 'alone'; error: unknown; watchesOnly?: string }
    | { state: 'shared'; accounts: readonly HandedBackAccount[] };
  /**
   * `unread`: a file was unreadable at startup; `isStopped`: its account is not acted on. `failing`: the mirror of this
   * process cannot be written to disk.
   */
  mirror:
    | { state: 'unread'; name: string; words: string; isStopped: boolean; error: unknown }
    | { state: 'failing'; error: unknown }
    | { state: 'well' };
  /** Another process runs with the same `--instance`. */
  instanceTaken: { ordinal: number; holder: string };
  /** The state of this process is in its own directory, not in Redis. */
  journalOpened: { directory: string };
  /** Another process keeps its state in the directory of this one, which acts no more. */
  journalTaken: { directory: string; holder: string };
  /** `fault`: what is wrong between processes on the same Redis and prefix; absent: nothing any more. */
  company: { fault?: string };
  exchangeStore: { store: 'nonce' | 'limiter'; available: boolean; accountId: string };
  contractDrift: { accountId: string; endpoint: string; path: string; expected: string; got: string };
  /**
   * A fault on the way to the exchange: name, certificate, connection, proxy, gateway. The call may still succeed.
   * `error`: name from the exchange's error catalogue.
   */
  exchangePath: { host: string; error: string; words: string };
  /** One call of a client, including its retries. */
  call: { accountId: string; call: ExchangeCall };
  /**
   * A signal to a dead-man service, accepted or refused: the process starts, everything is watched, or why not.
   * `refused`: why the receiver did not take it.
   */
  heartbeat: { signal: 'start' | 'success' | 'fail'; atMs: number; words: string; refused?: string };
  /** A message or button press received by the bot of a channel, and its outcome. */
  botTold: {
    channel: string;
    what: 'command' | 'press' | 'other';
    outcome: 'done' | 'nothing' | 'refused' | 'tooOld' | 'unknownChat' | 'ignored' | 'failed';
    /** Author for the log; absent: nobody who is listed. */
    author?: string;
    words: string;
  };
  /** Whether a channel's commands are received; `trouble`: why not. */
  botListens: { channel: string; trouble?: string };
  /** A log line was not written: too many are waiting for the output, or writing failed. */
  logLost: { why: 'full' | 'failed' };
  stressed: {
    outcome: StressOutcome;
    durationMs: number;
    /** Accounts covered by the stress test. */
    accounts: number;
    /** Accounts that the worst case liquidates despite their rules. */
    liquidated: number;
    /** Why it is incomplete; empty when complete. */
    words: string;
    error?: unknown;
  };
  stopping: { why: string };
  /** `left`: what could not be handed back as Redis did not answer, in words. */
  stopped: { inTime: boolean; durationMs: number; left?: string };
}

interface HandedBackAccount {
  readonly accountId: string;
  readonly how: 'continued' | 'merged' | 'superseded';
}

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
