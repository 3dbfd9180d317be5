import type { RedisTarget } from '../queues/connection.ts';

/** Why a server cannot be used; names no password. */
export interface ContactProblem {
  readonly why: string;
  /** It does not answer now and may later; otherwise it answers, and the configuration is wrong. */
  readonly isAway: boolean;
}

const AWAY = /^(?:ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|EPIPE)$/;
const AWAY_WORDS =
  /^(?:no answer within|Command timed out|Socket timeout|LOADING|MASTERDOWN|Connection is closed|connect ETIMEDOUT)/;

type Contacted = Pick<RedisTarget, 'kind' | 'tls'>;

/** The problem that an error of the first contact shows. */
export function contactProblem(error: NodeJS.ErrnoException, target: Contacted): ContactProblem {
  return { why: reasonOf(error, target), isAway: isAway(error, target) };
}

/**
 * A reset mostly counts as away: a proxy resets connections while its server is away. A server that speaks TLS only
 * does so, too, but a daemon that does not start watches nothing. With TLS and no certificate, it more likely wants
 * one.
 */
function isAway({ code, message }: NodeJS.ErrnoException, { tls }: Contacted): boolean {
  if (code === 'ECONNRESET') return tls === undefined || tls.cert !== undefined;
  return AWAY_WORDS.test(message) || AWAY.test(code ?? '');
}

function reasonOf({ code, message }: NodeJS.ErrnoException, { kind, tls }: Contacted): string {
  if (code === undefined) return message;
  if (code === 'ECONNRESET' && tls === undefined) {
    return `${code} (does it speak TLS only? then rediss${kind === undefined ? '' : `+${kind}`}://)`;
  }
  if (/ECONNRESET|ALERT/.test(code) && tls?.cert === undefined) {
    return `${code} (does it want a certificate? then redis.cert)`;
  }
  if (/CERT|SIGNATURE|SSL/.test(code)) return `${message} (redis.ca names an authority of your own)`;
  return code;
}
