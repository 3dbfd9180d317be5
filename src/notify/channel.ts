import type { DeliveryFailure, Message, Receipts } from '../core/ports/delivery.ts';

/** The result of one attempt to send a message. `permanent`: a retry would fail in the same way. */
export type DeliveryAttempt = { readonly kind: 'delivered'; readonly reference?: string } | FailedAttempt;

export interface FailedAttempt {
  readonly kind: 'failed';
  readonly reason: DeliveryFailure;
  readonly words: string;
  readonly permanent: boolean;
  /** The receiver asks for a pause of this length before any further message. */
  readonly retryAfterMs?: number;
}

export interface Outgoing {
  readonly message: Message;
  /** Messages of other accounts with the same cause, sent in one with `message`. */
  readonly along: readonly Message[];
  /** Receipts of the thread so far, on this channel. */
  readonly receipts: Receipts;
  /** Channels that could not be reached, and why; this channel stands in for them. */
  readonly insteadOf: readonly { readonly channel: string; readonly words: string }[];
  /** The beginning of the episode was never delivered on this channel. */
  readonly beginningUntold: boolean;
}

/** Returns the receiver's id of the first message of a thread. */
export function firstReference(receipts: Receipts): string | undefined {
  const told = Object.values(receipts).flatMap((receipt) => (receipt.kind === 'delivered' ? [receipt] : []));
  const [first] = told.toSorted((a, b) => a.atMs - b.atMs);
  return first?.reference;
}

/** A way to reach people. `send` returns a receiver's failures as values; it throws only when aborted. */
export interface Channel {
  readonly name: string;
  readonly type: string;
  /** `people` get one message for many accounts with one cause, a `machine` gets each; a `pager` wakes people. */
  readonly audience: 'people' | 'machine' | 'pager';
  /** The receiver ends an alert that is not repeated in time. */
  readonly endsBySilence?: true;
  send(outgoing: Outgoing, signal?: AbortSignal): Promise<DeliveryAttempt>;
  close(): Promise<void>;
}

export interface ChannelLimits {
  /** One attempt, milliseconds. */
  readonly timeoutMs: number;
  /** Total time for a message, including the wait for its turn. */
  readonly giveUpAfterMs: number;
}
