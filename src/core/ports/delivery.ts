import { z } from 'zod';
import { type OutputOf, timeMs } from '../schema/parts.ts';
import type { Notice } from './notifier.ts';

/** A notice on its way to the channels. Deliveries are recorded so that any process delivers it once and in order. */

/** The channel that always exists: it cannot be configured, and no other may have its name. */
export const LOG_CHANNEL = 'log';

export type Message = Omit<Notice, 'kind'> & { readonly kind: Notice['kind'] | 'test' };

/** Why a channel did not accept a message. Closed list, also a metric label. */
export const DELIVERY_FAILURES = [
  'timeout',
  'connectFailed',
  'connectionLost',
  /** 5xx and other replies that may be temporary. */
  'unavailable',
  'rateLimited',
  /** Key, token or signature rejected. */
  'unauthorized',
  /** The chat, channel or address does not exist, or no longer. */
  'notFound',
  /** The receiver does not accept this message. */
  'rejected',
  /** Undocumented reply. */
  'badReply',
  /** Waited too long for its turn. */
  'backlog',
  /** The config has no such channel, or no longer. */
  'noSuchChannel',
] as const;

export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

const tried = {
  attempts: z.number().int(),
  durationMs: z.number().describe('Until the receiver answered, or the sender gave up, milliseconds.'),
};
export const deliverySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('delivered'), atMs: timeMs(), ...tried }),
  /** Delivered before; nothing was sent. */
  z.strictObject({ kind: z.literal('duplicate'), atMs: timeMs() }),
  /** A later message of the same episode was sent first; nothing was sent. */
  z.strictObject({ kind: z.literal('superseded') }),
  z.strictObject({
    kind: z.literal('failed'),
    reason: z.enum(DELIVERY_FAILURES),
    words: z.string().describe('For people; contains no address and no secret.'),
    ...tried,
  }),
]);
export type Delivery = OutputOf<typeof deliverySchema>;

export interface ChannelReport {
  readonly channel: string;
  readonly type: string;
  /** Unreachable channels that this one stands in for. */
  readonly insteadOf: readonly string[];
  readonly delivery: Delivery;
}

export interface DeliveryReport {
  readonly channels: readonly ChannelReport[];
  /** True if a channel other than the log accepted it. */
  readonly reached: boolean;
}

export interface Deliverer {
  /**
   * Delivers in parallel to the message's channels (default: all), falling back to the next channel for each that
   * fails. Rejects when aborted or when the store is lost. Idempotent: nothing is sent twice.
   */
  deliver(message: Message, signal?: AbortSignal): Promise<DeliveryReport>;
  /** Closes connections. Abort deliveries in progress first. */
  close(): Promise<void>;
}

const moment = z.number().min(0).max(8.64e15);
export const receiptSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('delivered'),
    atMs: moment,
    /** `Notice.atMs`: older notices have nothing new to say. */
    saidAtMs: moment,
    /** The episode ended: no later notice of its kind is delivered. */
    final: z.boolean(),
    /** The receiver's own id of the message, for replies to it. */
    reference: z.string().max(1_000).exactOptional(),
  }),
  z.object({
    kind: z.literal('failed'),
    atMs: moment,
    final: z.boolean(),
    reason: z.enum(DELIVERY_FAILURES),
    words: z.string().max(4_000),
  }),
]);
export type Receipt = OutputOf<typeof receiptSchema>;

/** Receipts by `Notice.id` of one thread: one episode (`Notice.key`) on one channel. */
export type Receipts = Readonly<Record<string, Receipt>>;

export type ThreadHold =
  | { readonly kind: 'held'; readonly receipts: Receipts }
  /** Another sender holds the thread, until `retryInMs` at the latest. */
  | { readonly kind: 'busy'; readonly retryInMs: number };

/** A rejected promise means that the store is lost. */
export interface ReceiptStore {
  /** Returns the receipts of each thread, in the given order, without holding them. */
  peek(threads: readonly string[]): Promise<readonly Receipts[]>;
  /** Takes the right to send in a thread. The same owner renews its hold. */
  hold(thread: string, owner: string, leaseMs: number): Promise<ThreadHold>;
  /** Adds receipts and releases the hold. Returns false if the hold was lost; the receipts are added anyway. */
  settle(thread: string, owner: string, receipts: Receipts): Promise<boolean>;
}

/** Delivery state of notices that must reach somebody before a question waits for an answer. */
export interface NoticeDelivery {
  /** In the given order. `failed`: no channel accepted it. A rejection means that the store is lost. */
  stateOf(
    notices: readonly Pick<Notice, 'id' | 'key'>[],
  ): Promise<readonly ('delivered' | 'failed' | 'pending')[]>;
}

/** Notified of every settled channel of every message. Its exceptions are ignored. */
export interface DeliveryObserver {
  onDelivery?(message: Message, report: ChannelReport): void;
  /** An attempt failed and will be repeated. */
  onRetry?(message: Message, channel: string, reason: DeliveryFailure, inMs: number): void;
}
