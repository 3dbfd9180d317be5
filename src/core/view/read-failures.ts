import type { StateCause } from './state-line.ts';
import type { ReadFailure } from './stored-figures.ts';

/** Names of the exchange's error catalogue by their cause; all others are errors of the exchange. */
const CAUSES: Readonly<Record<string, StateCause>> = {
  ...named('keyRefused', ['unauthenticated', 'permissionDenied', 'nonceRefused', 'addressNotAllowed']),
  ...named('keyRefused', ['loansNotAvailable']),
  ...named('unreachable', ['nameNotResolved', 'certificateRefused', 'connectionRefused', 'connectTimeout']),
  ...named('unreachable', ['connectFailed', 'proxyRefused', 'timeout', 'connectionLost', 'noReply']),
  ...named('rateLimited', ['rateLimited', 'rateBudgetSpent']),
  ...named('replyUnreadable', ['replyInvalid', 'replyNotJson', 'replyTooLarge', 'replyUndecodable']),
};

function named(cause: StateCause, names: readonly string[]): Readonly<Record<string, StateCause>> {
  return Object.fromEntries(names.map((name) => [name, cause]));
}

export function causeOfFailure({ error }: Pick<ReadFailure, 'error'>): StateCause {
  return CAUSES[error] ?? 'exchangeFails';
}

/** `401: key or nonce was not accepted`. */
export function failureWords({ httpStatus, words }: Pick<ReadFailure, 'httpStatus' | 'words'>): string {
  return httpStatus === undefined ? words : `${httpStatus}: ${words}`;
}
