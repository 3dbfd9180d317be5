import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Timers } from '../../core/ports/clock.ts';
import { createSystemTimers } from '../system-clock.ts';

export interface TransportSettings {
  readonly baseUrls: readonly string[];
  /** Most connections per base URL; absent: as many as there are requests at the same time. */
  readonly connections?: number;
  readonly keepAliveTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** A reply longer than this, in bytes, is given up. */
  readonly maxReplyBytes: number;
  /** `http://[user:password@]host:port` of a proxy. */
  readonly proxy?: string | undefined;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
}

/** What a flight needs of undici's dispatchers. */
export type WireDispatcher = Pick<Dispatcher, 'dispatch' | 'close'>;

/** Why there was no connection; nothing was sent then. */
export type ConnectFailure =
  | 'nameNotResolved'
  | 'certificateRefused'
  | 'connectionRefused'
  | 'connectTimeout'
  | 'connectFailed';

/** A name server that has not answered for this long is taken for lost, where an answer of it is remembered. */
const LOOKUP_PATIENCE_MS = 1000;

/**
 * Resolves names as `resolve` does, and falls back to its last good answer: a name server that is lost must not part
 * the daemon from an exchange that it can reach.
 * @param onFallback told of the name whenever an answer from before serves
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

/** How names are resolved on this machine; see `lastGoodLookup`. */
export function systemResolver(onFallback?: (hostname: string) => void): LookupFunction {
  return lastGoodLookup(systemLookup, createSystemTimers(), onFallback);
}

/** HTTP/1.1 connections to one origin, directly or through a proxy. */
export function openSockets(
  origin: string,
  settings: TransportSettings,
  resolve: LookupFunction,
): WireDispatcher {
  const tls = settings.ca === undefined ? undefined : { ca: settings.ca as string | string[] };
  const options = {
    ...(settings.connections === undefined ? {} : { connections: settings.connections }),
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    connectTimeout: settings.connectTimeoutMs,
    // Timeouts are the flight's own; HTTP/2 would repeat streams by itself, which a command must not be.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  };
  return settings.proxy === undefined
    ? new Pool(origin, {
        ...options,
        connect: { ...tls, timeout: settings.connectTimeoutMs, lookup: resolve },
      })
    : new ProxyAgent({
        ...options,
        uri: settings.proxy,
        ...(tls === undefined ? {} : { requestTls: tls, proxyTls: tls }),
      });
}

const CERTIFICATE = /^(ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(GET|VERIFY)_|HOSTNAME_)/;

/**
 * Why a connection could not be made, as far as the codes are certain. Several addresses may have been tried: then
 * all of them must agree.
 */
export function connectFailureOf(error: unknown): ConnectFailure {
  const reasons = new Set(causesOf(error).map(reasonOf));
  const [reason] = reasons;
  return reasons.size === 1 && reason !== undefined ? reason : 'connectFailed';
}

function causesOf(error: unknown): readonly unknown[] {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors : [error];
}

function reasonOf(error: unknown): ConnectFailure {
  const { code = '', syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall === 'getaddrinfo' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'nameNotResolved';
  if (CERTIFICATE.test(code)) return 'certificateRefused';
  if (code === 'ECONNREFUSED') return 'connectionRefused';
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' ? 'connectTimeout' : 'connectFailed';
}
