import type { DeliveryFailure, Message, Receipts } from '../core/ports/delivery.ts';

/** One attempt at one message. `permanent`: repeating it would give the same. */
export type DeliveryAttempt =
  | { readonly kind: 'delivered'; readonly reference?: string }
  | {
      readonly kind: 'failed';
      readonly reason: DeliveryFailure;
      readonly words: string;
      readonly permanent: boolean;
      /** The receiver asks for this much patience, for all messages. */
      readonly retryAfterMs?: number;
    };

export interface Outgoing {
  readonly message: Message;
  /** Of other accounts, for the same cause: said in one with it. */
  readonly along: readonly Message[];
  /** Of the thread so far, on this channel. */
  readonly receipts: Receipts;
  /** Channels that could not be reached, and why: this one is told instead. */
  readonly insteadOf: readonly { readonly channel: string; readonly words: string }[];
  /** With which whoever gets it acts; nothing to fill in. */
  readonly actions: readonly { readonly title: string; readonly url: string }[];
  /** The beginning of the episode was never told on this channel. */
  readonly beginningUntold: boolean;
}

/** The receiver's own name for the first message of a thread. */
export function firstReference(receipts: Receipts): string | undefined {
  const told = Object.values(receipts).flatMap((receipt) => (receipt.kind === 'delivered' ? [receipt] : []));
  const [first] = told.toSorted((a, b) => a.atMs - b.atMs);
  return first?.reference;
}

/** A way to reach people. Never throws for what a receiver does or does not do. */
export interface Channel {
  readonly name: string;
  readonly type: string;
  /** People are told in one of what has one cause; a machine is told of each by itself; a pager gets people up. */
  readonly audience: 'people' | 'machine' | 'pager';
  /** The receiver ends what is not repeated in time. */
  readonly endsBySilence?: true;
  send(outgoing: Outgoing, signal?: AbortSignal): Promise<DeliveryAttempt>;
  close(): Promise<void>;
}

/** Bounds that every channel over HTTP has. */
export interface ChannelLimits {
  /** One attempt, milliseconds. */
  readonly timeoutMs: number;
  /** From the first attempt to giving up, waiting for its turn included. */
  readonly giveUpAfterMs: number;
}
