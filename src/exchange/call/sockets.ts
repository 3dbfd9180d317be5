import type { LookupFunction } from 'node:net';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Timers } from '../../core/ports/clock.ts';

export interface TransportSettings {
  readonly baseUrls: readonly string[];
  /** Most connections per base URL; absent: one for each concurrent request. */
  readonly connections?: number;
  /** Longest reply accepted, in bytes. */
  readonly maxReplyBytes: number;
  /** `http://[user:password@]host:port` of a proxy. */
  readonly proxy?: string | undefined;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
}

/** The part of undici's dispatchers that a flight uses. */
export type WireDispatcher = Pick<Dispatcher, 'dispatch' | 'close'>;

/** Why no connection was made. Nothing was sent. */
export type ConnectFailure =
  | 'nameNotResolved'
  | 'certificateRefused'
  | 'connectionRefused'
  | 'connectTimeout'
  | 'connectFailed';

/** After this time without an answer, the last good one is used if there is one. */
const LOOKUP_PATIENCE_MS = 1000;

/**
 * Resolves names like `resolve`, and falls back to its last good answer, so that a lost name server does not cut the
 * daemon off from the exchange.
 * @param onFallback called with the name whenever an earlier answer is used
 */
export function lastGoodLookup(
  resolve: LookupFunction,
  timers: Timers,
  onFallback: (hostname: string) => void = () => undefined,
): LookupFunction {
  const answers = new Map<string, Parameters<Parameters<LookupFunction>[2]>>();
  return (hostname, options, callback) => {
    const key = JSON.stringify([hostname, options.family, options.all, options.hints]);
    const known = answers.get(key);
    let answer: typeof callback | undefined = callback;
    const settle = (...result: Parameters<typeof callback>): void => {
      callOff?.();
      answer?.(...result);
      answer = undefined;
    };
    const fallBack = (to: NonNullable<typeof known>): void => {
      if (answer !== undefined) onFallback(hostname);
      settle(...to);
    };
    const callOff = known === undefined ? undefined : timers.after(LOOKUP_PATIENCE_MS, () => fallBack(known));
    resolve(hostname, options, (...result) => {
      const [error] = result;
      if (error === null) answers.set(key, result);
      if (error === null || known === undefined) settle(...result);
      else fallBack(known);
    });
  };
}

const CONNECT_TIMEOUT_MS = 3000;

/** HTTP/1.1 connections to one origin, directly or through a proxy. */
export function openSockets(
  origin: string,
  settings: TransportSettings,
  resolve: LookupFunction,
): WireDispatcher {
  const tls = settings.ca === undefined ? undefined : { ca: settings.ca as string | string[] };
  const options = {
    ...(settings.connections === undefined ? {} : { connections: settings.connections }),
    keepAliveTimeout: 30_000,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // The flight keeps its own timeouts. HTTP/2 may repeat streams by itself, but a command must not be repeated.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  };
  return settings.proxy === undefined
    ? new Pool(origin, {
        ...options,
        connect: { ...tls, timeout: CONNECT_TIMEOUT_MS, lookup: resolve },
      })
    : new ProxyAgent({
        ...options,
        uri: settings.proxy,
        ...(tls === undefined ? {} : { requestTls: tls, proxyTls: tls }),
      });
}

const CERTIFICATE = /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET|VERIFY)_|HOSTNAME_)/;

/** Why a connection failed, as far as error codes show. If several addresses were tried, all must agree. */
export function connectFailureOf(error: unknown): ConnectFailure {
  const causes: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  const reasons = new Set(causes.map(reasonOf));
  const [reason] = reasons;
  return reasons.size === 1 && reason !== undefined ? reason : 'connectFailed';
}

function reasonOf(error: unknown): ConnectFailure {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall === 'getaddrinfo' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'nameNotResolved';
  if (CERTIFICATE.test(code)) return 'certificateRefused';
  if (code === 'ECONNREFUSED') return 'connectionRefused';
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' ? 'connectTimeout' : 'connectFailed';
}
