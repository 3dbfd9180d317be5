import { lookup } from 'node:dns';
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock, Timers } from '../../core/ports/clock.ts';
import { systemTimers } from '../system-clock.ts';
import type { CallScope } from './call-scope.ts';
import {
  type ConnectFailure,
  connectFailureOf,
  lastGoodLookup,
  openSockets,
  type TransportSettings,
  type WireDispatcher,
} from './sockets.ts';

interface WireRequest {
  readonly baseUrlIndex: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer | null;
  readonly timeoutMs: number;
  /** Bound on the reply, as received and as decoded. */
  readonly maxReplyBytes: number;
}

export interface WireReply {
  readonly kind: 'reply';
  readonly status: number;
  readonly body: string;
  readonly date: string | undefined;
  readonly retryAfter: string | undefined;
  /** Monotonic. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

type WireFailureReason =
  | ConnectFailure
  | 'connectionLost'
  | 'attemptTimeout'
  | 'cancelled'
  | 'preempted'
  | 'replyTooLarge'
  | 'replyUndecodable'
  | 'proxyRefused';

/** No reply. `left: false` is certain: no byte of the request was written. */
export interface WireFailure {
  readonly kind: 'failure';
  readonly reason: WireFailureReason;
  readonly left: boolean;
}

export type WireResult = WireReply | WireFailure;

/** How connections are opened and their timeouts kept. */
export interface ConnectionWays {
  readonly open: (origin: string, settings: TransportSettings) => WireDispatcher;
  readonly timers: Timers;
}

/** Connections of this machine. @param onFallback see `lastGoodLookup` */
export function systemWays(onFallback?: (hostname: string) => void): ConnectionWays {
  const resolve = lastGoodLookup(lookup, systemTimers, onFallback);
  return { open: (origin, settings) => openSockets(origin, settings, resolve), timers: systemTimers };
}

interface Origin {
  readonly dispatcher: WireDispatcher;
  readonly origin: string;
  /** Path of the base URL, without a trailing slash. */
  readonly prefix: string;
}

/**
 * Connections shared by clients with the same addresses, proxy and certificates. Sharing is safe because each request
 * carries its own signature. Without it, each account's connections would lie idle from one poll to the next.
 */
export class Connections {
  readonly #shared = new Map<string, { readonly origins: readonly Origin[]; users: number }>();
  readonly ways: ConnectionWays;

  constructor(ways: ConnectionWays = systemWays()) {
    this.ways = ways;
  }

  /** Takes the connections for these settings, opened if needed; the last `release` closes them. */
  take(settings: TransportSettings): { origins: readonly Origin[]; release: () => Promise<void> } {
    const { maxReplyBytes: _, ...rest } = settings;
    const key = JSON.stringify(Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const origins = settings.baseUrls.map((baseUrl) => this.#open(baseUrl, settings));
      shared = { origins, users: 0 };
      this.#shared.set(key, shared);
    }
    shared.users += 1;
    const { origins } = shared;
    return {
      origins,
      release: async () => {
        shared.users -= 1;
        if (shared.users > 0) return;
        this.#shared.delete(key);
        await Promise.all(origins.map(({ dispatcher }) => dispatcher.close()));
      },
    };
  }

  #open(baseUrl: string, settings: TransportSettings): Origin {
    const { origin, pathname } = new URL(baseUrl);
    return {
      dispatcher: this.ways.open(origin, settings),
      origin,
      prefix: pathname.replace(/(?<!\/)\/+$/, ''),
    };
  }
}

/** HTTP/1.1 over undici pools, one per base URL. */
export function createTransport(settings: TransportSettings, clock: Clock, connections = new Connections()) {
  const { origins, release } = connections.take(settings);
  let inFlight = 0;
  let onIdle: (() => void) | undefined;
  const ended = (): void => {
    inFlight -= 1;
    if (inFlight === 0) onIdle?.();
  };
  return {
    send(request: WireRequest, scope: CallScope) {
      const target = origins[request.baseUrlIndex];
      if (target === undefined) throw new RangeError(`no base URL ${request.baseUrlIndex}`);
      inFlight += 1;
      const flight = new HttpFlight({ settings, request, clock, scope, ended });
      flight.dispatch(target, connections.ways.timers);
      return flight;
    },
    /** Lets requests in flight end, then closes the connections. */
    async close() {
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      await release();
    },
  };
}

export type Transport = ReturnType<typeof createTransport>;

interface FlightParts {
  readonly settings: TransportSettings;
  readonly request: WireRequest;
  readonly clock: Clock;
  readonly scope: CallScope;
  readonly ended: () => void;
}

/** One request in flight. */
export class HttpFlight implements Dispatcher.DispatchHandler {
  readonly result: Promise<WireResult>;
  readonly #parts: FlightParts;
  readonly #maxBytes: number;
  #callOff: (() => void) | undefined;
  #settle: ((result: WireResult) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #sentAtMs = 0;
  #status = 0;
  #date: string | undefined;
  #retryAfter: string | undefined;
  #encoding: string | undefined;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(parts: FlightParts) {
    this.#parts = parts;
    this.#maxBytes = Math.min(parts.settings.maxReplyBytes, parts.request.maxReplyBytes);
    this.result = new Promise((resolve) => {
      this.#settle = resolve;
    });
    parts.scope.onAbort(() => this.end('cancelled'));
  }

  dispatch({ dispatcher, origin, prefix }: Origin, timers: Timers): void {
    const { method, headers, body, timeoutMs, path: suffix } = this.#parts.request;
    this.#callOff = timers.after(timeoutMs, () => this.end('attemptTimeout'));
    const path = prefix + suffix;
    try {
      dispatcher.dispatch({ origin, path, method, headers, body, idempotent: false }, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends the flight; the result says whether the request may have left. */
  end(reason: WireFailureReason): void {
    if (this.#settle === undefined) return;
    this.#lose(reason);
    this.#controller?.abort(new Error(reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while it waited for a connection, or offered to a second connection: write nothing.
    if (this.#settle === undefined || this.#controller !== undefined) {
      controller.abort(new Error('given up'));
      this.#lose('connectionLost');
      return;
    }
    this.#controller = controller;
    this.#sentAtMs = this.#parts.clock.monotonicMs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    this.#date = single(headers['date']);
    this.#retryAfter = single(headers['retry-after']);
    this.#encoding = single(headers['content-encoding']);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) this.end('replyTooLarge');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const received = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    const body =
      this.#encoding === undefined ? received : decodeBody(received, this.#encoding, this.#maxBytes);
    if (typeof body === 'string') return this.#lose(body);
    this.#finish({
      kind: 'reply',
      status: this.#status,
      body: body.toString('utf8'),
      date: this.#date,
      retryAfter: this.#retryAfter,
      sentAtMs: this.#sentAtMs,
      receivedAtMs: this.#parts.clock.monotonicMs(),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  /**
   * Only a request that was never given to a connection certainly has not left. The error code proves nothing: an
   * unreachable host also breaks connections that carried the request.
   */
  #fail(error: unknown): void {
    const left = this.#controller !== undefined;
    const proxy =
      this.#parts.settings.proxy !== undefined && error instanceof Error && /proxy/i.test(error.message);
    const reason = proxy ? 'proxyRefused' : left ? 'connectionLost' : connectFailureOf(error);
    this.#lose(reason);
  }

  #lose(reason: WireFailureReason): void {
    this.#finish({ kind: 'failure', reason, left: this.#controller !== undefined });
  }

  #finish(result: WireResult): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    this.#settle = undefined;
    this.#callOff?.();
    this.#parts.scope.onAbort(undefined);
    settle(result);
    this.#parts.ended();
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;

const ZLIB_METHOD = 8;
const hasZlibHeader = (bytes: Buffer): boolean => ((bytes[0] ?? 0) & 0x0f) === ZLIB_METHOD;

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['br', brotliDecompressSync],
  // Some servers send the raw stream under this name, without the zlib header that RFC 9110 requires.
  ['deflate', (bytes, options) => (hasZlibHeader(bytes) ? inflateSync : inflateRawSync)(bytes, options)],
  ['identity', (bytes) => bytes],
]);

/** Each step takes time for all bytes, and a header could name thousands. */
const MOST_STEPS = 3;

/**
 * Decompresses the body of a reply, or returns why that failed. Some gateways compress without being asked to.
 * @param encoding Content-Encoding as received: names in the order in which they were applied
 * @param maxBytes bound on the output of every step
 */
export function decodeBody(
  bytes: Buffer,
  encoding: string,
  maxBytes: number,
): Buffer | 'replyTooLarge' | 'replyUndecodable' {
  const names = encoding.toLowerCase().split(',', MOST_STEPS + 1);
  if (names.length > MOST_STEPS) return 'replyUndecodable';
  let body = bytes;
  for (const name of names.map((text) => text.trim()).toReversed()) {
    if (name === '' || body.length === 0) continue;
    const decode = DECODERS.get(name);
    if (decode === undefined) return 'replyUndecodable';
    try {
      body = decode(body, { maxOutputLength: maxBytes });
    } catch (error) {
      const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      return tooLarge ? 'replyTooLarge' : 'replyUndecodable';
    }
  }
  return body;
}
