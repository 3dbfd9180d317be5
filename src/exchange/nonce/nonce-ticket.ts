import type { CallScope } from '../call/call-scope.ts';

export interface NonceRequest {
  readonly kind: 'read' | 'command';
  readonly protective: boolean;
  readonly scope: CallScope;
}

/** A nonce to be used at once, and in `increasing` mode the mutex until `release`. */
export interface NonceTicket {
  readonly nonce: string;
  /** Calls back when the mutex is wanted by something urgent and the holder should give up its read. */
  onPreempt(action: (() => void) | undefined): void;
  /** False when the mutex was lost before the request could be sent. */
  isCurrent(): boolean;
  release(): void;
}

/**
 * Whether a request must not be the one that finds out that somebody else uses the key: a command that is refused for
 * its nonce may have to be given up, and what protects has no time to lose.
 */
export const needsFresh = (kind: NonceRequest['kind'], protective: boolean): boolean =>
  kind === 'command' || protective;

/** `undefined`: cancelled while waiting. */
export type NonceResult = NonceTicket | undefined;
