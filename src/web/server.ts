import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';

export interface Readiness {
  readonly ready: boolean;
  /** What was looked at: `redis`, `firstEvaluation`, `dataFresh`. */
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly why: string }[];
}

export interface WebOptions {
  /** Address to bind; anything beyond loopback needs `token`. */
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Names besides those of the address itself under which it may be asked for. */
  readonly names?: readonly string[];
  readonly token?: string;
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly readiness: () => Promise<Readiness>;
  readonly onError?: (error: unknown) => void;
}

export interface WebServer {
  /** `http://127.0.0.1:9642`. */
  readonly url: string;
  readonly port: number;
  /** Lets requests in progress end, within a bound, and closes every connection. */
  close(): Promise<void>;
}

/** What keeps a server from starting; `message` says what to change. */
export class WebServerError extends Error {
  readonly code: 'WEB_TOKEN_MISSING' | 'WEB_ADDRESS_IN_USE' | 'WEB_ADDRESS_REFUSED';

  constructor(code: WebServerError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WebServerError';
    this.code = code;
  }
}

const LIMITS = {
  bodyLimit: 1024,
  connectionTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5000,
  maxRequestsPerSocket: 1000,
} as const;
const MAX_HEADER_BYTES = 8192;
/** A probe that hangs must not hang whoever asks. */
const READINESS_TIMEOUT_MS = 3000;
const METRICS_TIMEOUT_MS = 8000;
const CLOSE_TIMEOUT_MS = 2000;

/**
 * `/metrics`, `/healthz` (this process answers) and `/readyz` (it can do its work), for reading only.
 * @throws WebServerError
 */
export async function startWebServer(options: WebOptions): Promise<WebServer> {
  const { host, port, token, metrics } = options;
  if (token === undefined && !isLoopback(host)) {
    const message = `web.host ${host} can be reached from other machines: set web.token, or listen on 127.0.0.1`;
    throw new WebServerError('WEB_TOKEN_MISSING', message);
  }
  const app = fastify({
    logger: false,
    ...LIMITS,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: LIMITS.requestTimeout },
    forceCloseConnections: 'idle',
  });
  const names = allowedNames(host, options.names ?? []);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (!names.has(nameOf(request.headers.host))) return await refuse(reply, 403, HOST_REFUSED);
    if (isOpen(request) || isAllowed(request, token)) return undefined;
    reply.header('www-authenticate', 'Bearer');
    return await refuse(reply, 401, 'this needs the read token: Authorization: Bearer ...');
  });
  app.get('/healthz', (_request, reply) => reply.type('text/plain').send('ok\n'));
  app.get('/readyz', async (request, reply) => {
    const found = await inTime(options.readiness(), READINESS_TIMEOUT_MS).catch(
      (error: unknown): Readiness => {
        options.onError?.(error);
        return { ready: false, checks: [{ name: 'readiness', ok: false, why: 'it could not be found out' }] };
      },
    );
    // Why it is not ready is for those who may read; whether it is, for every probe.
    const shown = isAllowed(request, token) ? found : { ready: found.ready };
    return await reply.code(found.ready ? 200 : 503).send(shown);
  });
  app.get('/metrics', async (_request, reply) => {
    const text = await inTime(metrics.text(), METRICS_TIMEOUT_MS);
    return await reply.header('content-type', metrics.contentType).send(text);
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'no such page'));
  app.setErrorHandler((error: { readonly statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) options.onError?.(error);
    return refuse(
      reply,
      status,
      status >= 500 ? 'this could not be answered; the log says why' : 'a bad request',
    );
  });
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw listenError(error, host, port);
  }
  const bound = boundPort(app.server.address());
  return {
    url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      const closing = app.close();
      const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
      await closing.finally(() => clearTimeout(timer));
    },
  };
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

const HOST_REFUSED = 'this name is not one of this server; add it to web.names';

async function refuse(reply: FastifyReply, status: number, message: string): Promise<FastifyReply> {
  return await reply.code(status).send({ error: message });
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/.test(host);
}

/**
 * A page on the web can make a browser ask us under a name of its own that leads to our address; what it then
 * says in `Host` is not ours. Bound to all addresses, only numbers and the names given are ours.
 */
function allowedNames(host: string, names: readonly string[]): { has(name: string): boolean } {
  const known = new Set([host, ...names].map((name) => name.toLowerCase()));
  if (isLoopback(host)) for (const name of ['localhost', '127.0.0.1', '::1']) known.add(name);
  const isAny = host === '0.0.0.0' || host === '::';
  return { has: (name) => known.has(name) || (isAny && isIP(name) !== 0) };
}

/** The host without its port, without the brackets of IPv6. */
function nameOf(header: string | undefined): string {
  const text = (header ?? '').toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text);
  return bracketed?.[1] ?? text.replace(/:\d+$/, '');
}

/** What probes ask, which have no token and learn nothing but yes or no. */
function isOpen({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/healthz' || routeOptions.url === '/readyz';
}

function isAllowed(request: FastifyRequest, token: string | undefined): boolean {
  if (token === undefined) return true;
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** Of equal length, whatever was given. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

async function inTime<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    // Whoever waits has a connection open; when the server closes without an answer, nobody does.
    timer.unref();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function listenError(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    const message = `port ${port} of ${host} is in use: set another web.port, or stop what uses it`;
    return new WebServerError('WEB_ADDRESS_IN_USE', message, { cause: error });
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES' || code === 'ENOTFOUND') {
    const message = `this machine cannot listen on ${host}:${port} (${code}): change web.host or web.port`;
    return new WebServerError('WEB_ADDRESS_REFUSED', message, { cause: error });
  }
  return error;
}

function boundPort(address: ReturnType<ReturnType<typeof fastify>['server']['address']>): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
