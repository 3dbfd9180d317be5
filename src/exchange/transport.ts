import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Clock } from '../core/ports/clock.ts';
import type { CallScope } from './call-scope.ts';

export interface TransportSettings {
  readonly baseUrls: readonly string[];
  /** Most connections per base URL. */
  readonly connections: number;
  readonly keepAliveTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** A reply longer than this, in bytes, is given up. */
  readonly maxReplyBytes: number;
  /** `http://[user:password@]host:port` of a proxy. */
  readonly proxy?: string | undefined;
  /** Certificates (PEM) to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
}

interface WireRequest {
  readonly baseUrlIndex: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer | null;
  readonly timeoutMs: number;
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
  | 'connectFailed'
  | 'connectionLost'
  | 'attemptTimeout'
  | 'cancelled'
  | 'preempted'
  | 'replyTooLarge'
  | 'proxyRefused';

/** No reply. `left: false` is certain: not one byte of the request was written. */
export interface WireFailure {
  readonly kind: 'failure';
  readonly reason: WireFailureReason;
  readonly left: boolean;
}

type WireResult = WireReply | WireFailure;

/** An exchange of bytes in progress. */
interface Flight {
  readonly result: Promise<WireResult>;
  /** Ends it; the result says whether the request may have left. */
  end(reason: WireFailureReason): void;
}

export interface Transport {
  send(request: WireRequest, scope: CallScope): Flight;
  /** Lets requests in flight end, then closes the connections. */
  close(): Promise<void>;
}

interface Origin {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  /** Path of the base URL, without a slash at the end. */
  readonly prefix: string;
}

/** HTTP/1.1 over undici pools, one per base URL. */
export function createTransport(settings: TransportSettings, clock: Clock): Transport {
  const origins = settings.baseUrls.map((baseUrl) => openOrigin(baseUrl, settings));
  return {
    send(request, scope) {
      const target = origins[request.baseUrlIndex];
      if (target === undefined) throw new RangeError(`no base URL ${request.baseUrlIndex}`);
      const flight = new HttpFlight(request.timeoutMs, settings.maxReplyBytes, clock, scope);
      flight.dispatch(target, request);
      return flight;
    },
    async close() {
      await Promise.all(origins.map(({ dispatcher }) => dispatcher.close()));
    },
  };
}

function openOrigin(baseUrl: string, settings: TransportSettings): Origin {
  const url = new URL(baseUrl);
  const tls = settings.ca === undefined ? undefined : { ca: settings.ca as string | string[] };
  const options = {
    connections: settings.connections,
    keepAliveTimeout: settings.keepAliveTimeoutMs,
    connectTimeout: settings.connectTimeoutMs,
    // Timeouts are the flight's own; HTTP/2 would repeat streams by itself, which a command must not be.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  };
  const dispatcher =
    settings.proxy === undefined
      ? new Pool(url.origin, { ...options, connect: { ...tls, timeout: settings.connectTimeoutMs } })
      : new ProxyAgent({
          ...options,
          uri: settings.proxy,
          ...(tls === undefined ? {} : { requestTls: tls, proxyTls: tls }),
        });
  return { dispatcher, origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/** Error codes that prove that no connection for the request existed. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_CONN',
  'UND_ERR_PRX_TLS',
]);

class HttpFlight implements Flight, Dispatcher.DispatchHandler {
  readonly result: Promise<WireResult>;
  readonly #clock: Clock;
  readonly #scope: CallScope;
  readonly #maxBytes: number;
  readonly #timer: NodeJS.Timeout;
  #settle: ((result: WireResult) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #sentAtMs = 0;
  #status = 0;
  #date: string | undefined;
  #retryAfter: string | undefined;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(timeoutMs: number, maxBytes: number, clock: Clock, scope: CallScope) {
    this.#clock = clock;
    this.#scope = scope;
    this.#maxBytes = maxBytes;
    this.result = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#timer = setTimeout(() => this.end('attemptTimeout'), timeoutMs);
    scope.onAbort(() => this.end('cancelled'));
  }

  dispatch({ dispatcher, origin, prefix }: Origin, request: WireRequest): void {
    const { method, headers, body } = request;
    const path = prefix + request.path;
    try {
      dispatcher.dispatch({ origin, path, method, headers, body, idempotent: false }, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  end(reason: WireFailureReason): void {
    if (this.#settle === undefined) return;
    const left = this.#controller !== undefined;
    this.#finish({ kind: 'failure', reason, left });
    this.#controller?.abort(new Error(reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while it waited for a connection, or offered to a second connection: nothing is written.
    if (this.#settle === undefined || this.#controller !== undefined) {
      controller.abort(new Error('given up'));
      if (this.#settle !== undefined) this.#finish({ kind: 'failure', reason: 'connectionLost', left: true });
      return;
    }
    this.#controller = controller;
    this.#sentAtMs = this.#clock.monotonicMs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    this.#date = single(headers['date']);
    this.#retryAfter = single(headers['retry-after']);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) this.end('replyTooLarge');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#finish({
      kind: 'reply',
      status: this.#status,
      body: body.toString('utf8'),
      date: this.#date,
      retryAfter: this.#retryAfter,
      sentAtMs: this.#sentAtMs,
      receivedAtMs: this.#clock.monotonicMs(),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #fail(error: unknown): void {
    const code = String((error as { code?: unknown } | null)?.code);
    const left = this.#controller !== undefined && !NEVER_CONNECTED.has(code);
    const proxy = error instanceof Error && /proxy/i.test(error.message);
    const reason = proxy ? 'proxyRefused' : left ? 'connectionLost' : 'connectFailed';
    this.#finish({ kind: 'failure', reason, left });
  }

  #finish(result: WireResult): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    this.#settle = undefined;
    clearTimeout(this.#timer);
    this.#scope.onAbort(undefined);
    settle(result);
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
