import type { Notice } from './notifier.ts';

/** What becomes of a notice on each channel, remembered so that it is delivered once, by any process, in order. */

export type Message = Omit<Notice, 'kind'> & {
  /** `collected`: what quiet hours held back, in one. */
  readonly kind: Notice['kind'] | 'test' | 'collected';
};

/** Why a channel did not take a message. Closed list, also a metric label. */
export const DELIVERY_FAILURES = [
  'timeout',
  'connectFailed',
  'connectionLost',
  /** 5xx and other replies that may pass. */
  'unavailable',
  'rateLimited',
  /** Key, token or signature refused. */
  'unauthorized',
  /** The chat, channel or address does not exist (any more). */
  'notFound',
  /** The receiver does not take this message. */
  'rejected',
  /** A reply that is not as documented. */
  'badReply',
  /** Its turn did not come within the bound. */
  'backlog',
  /** No such channel in the config (any more). */
  'noSuchChannel',
] as const;

export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

export type Delivery =
  | {
      readonly kind: 'delivered';
      readonly atMs: number;
      readonly attempts: number;
      readonly durationMs: number;
    }
  /** Delivered before; nothing was sent. */
  | { readonly kind: 'duplicate'; readonly atMs: number }
  /** A later message of the same episode went first; nothing was sent. */
  | { readonly kind: 'superseded' }
  /** Kept for the end of quiet hours; nothing was sent. */
  | { readonly kind: 'held' }
  | {
      readonly kind: 'failed';
      readonly reason: DeliveryFailure;
      /** For people; names no address and no secret. */
      readonly words: string;
      readonly attempts: number;
      readonly durationMs: number;
    };

export interface ChannelReport {
  readonly channel: string;
  readonly type: string;
  /** Channels that could not be reached, when this one was told instead of them. */
  readonly insteadOf: readonly string[];
  readonly delivery: Delivery;
}

export interface DeliveryReport {
  readonly channels: readonly ChannelReport[];
  /** Some channel besides the log has it. */
  readonly reached: boolean;
}

export interface Deliverer {
  /**
   * Delivers to the message's channels (none named: all) in parallel, and to the next ones instead of those that fail.
   * Rejects when aborted or with a lost store's error; repeating it is harmless: nothing is sent twice.
   */
  deliver(message: Message, signal?: AbortSignal): Promise<DeliveryReport>;
  /** Tells what was held back, once quiet hours are over. Rejects as `deliver` does; repeating it is harmless, too. */
  releaseHeld(signal?: AbortSignal): Promise<void>;
  /** Ends connections. Abort what is being delivered first. */
  close(): Promise<void>;
}

/** The newest notice of an episode that waits on one channel. */
export interface HeldNotice {
  readonly channel: string;
  readonly notice: Notice;
  /** How many there were of this episode. */
  readonly count: number;
  /** Channels that could not be reached, and why: this one was to be told instead. */
  readonly insteadOf: readonly { readonly channel: string; readonly words: string }[];
}

/** Keeps notices until quiet hours end. A rejection means that the store is lost. */
export interface HeldNotices {
  /** False: it cannot be kept, and has to be told now. */
  keep(held: Omit<HeldNotice, 'count'>): Promise<boolean>;
  all(): Promise<readonly HeldNotice[]>;
  /** How many wait; one that waits on several channels once. */
  count(): Promise<number>;
  /** They were told. A newer one that came meanwhile stays. */
  drop(told: readonly HeldNotice[]): Promise<void>;
}

export type Receipt =
  | {
      readonly kind: 'delivered';
      readonly atMs: number;
      /** `Notice.atMs`: what is older than this has nothing new to say. */
      readonly saidAtMs: number;
      /** The end of the episode: after it nothing of its kind is told. */
      readonly final: boolean;
      /** The receiver's own name for the message, to answer to it. */
      readonly reference?: string;
    }
  | {
      readonly kind: 'failed';
      readonly atMs: number;
      readonly final: boolean;
      readonly reason: DeliveryFailure;
      readonly words: string;
    };

/** Of one thread, which is one episode (`Notice.key`) on one channel; by `Notice.id`. */
export type Receipts = Readonly<Record<string, Receipt>>;

export type ThreadHold =
  | { readonly kind: 'held'; readonly receipts: Receipts }
  /** Somebody else sends in this thread, at the latest until `retryInMs`. */
  | { readonly kind: 'busy'; readonly retryInMs: number };

/** A rejected promise means that the store is lost. */
export interface ReceiptStore {
  /** The receipts of each thread, in the order asked for; takes nothing. */
  peek(threads: readonly string[]): Promise<readonly Receipts[]>;
  /** Whoever sends holds the thread. The same owner again prolongs its hold. */
  hold(thread: string, owner: string, leaseMs: number): Promise<ThreadHold>;
  /** Adds receipts and ends the hold; false: the hold was lost meanwhile. The receipts are added all the same. */
  settle(thread: string, owner: string, receipts: Receipts): Promise<boolean>;
}

/** What became of notices that somebody has to see before anything waits for an answer. */
export interface NoticeDelivery {
  /** In the order asked for. `failed`: no channel took it. A rejection means that the store is lost. */
  stateOf(
    notices: readonly Pick<Notice, 'id' | 'key'>[],
  ): Promise<readonly ('delivered' | 'failed' | 'pending')[]>;
}

/** Told about every channel of every message when it is settled. What it throws is ignored. */
export interface DeliveryObserver {
  onDelivery?(message: Message, report: ChannelReport): void;
  /** An attempt failed and is repeated. */
  onRetry?(message: Message, channel: string, reason: DeliveryFailure, inMs: number): void;
}
