import { isIP } from 'node:net';
import type { Queue } from 'bullmq';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type RouteOptions,
} from 'fastify';
import { type Access, admit, allowedNames, isLoopback, mayRead, type WebTokens } from './access.ts';
import { ApiError, causeOf, errorBody, type FailedRequest, refusalOf } from './api/errors.ts';
import { registerApi } from './api/register.ts';
import type { ApiContext } from './api/route.ts';
import { BOARD_PATH, registerBoard } from './board.ts';
import { ActionFeed } from './events/action-feed.ts';
import { registerEvents } from './events/register.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { inTime } from './in-time.ts';
import { createOverview } from './overview.ts';
import { registerPage } from './page.ts';
import { sendParts } from './parts.ts';
import type { Readiness, WebSources } from './sources.ts';

export type { Readiness } from './sources.ts';

export interface WebOptions {
  /** Address to bind; anything beyond loopback needs `token`. */
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Further names that `Host` may have. */
  readonly names?: readonly string[];
  /** Where people reach it, when something stands in front of it that rewrites `Host`. */
  readonly publicUrl?: string;
  /** For reading. */
  readonly token?: string;
  /** For changing; without one nothing can be changed. */
  readonly controlToken?: string;
  readonly metrics: { readonly contentType: string; scrape(): Promise<Iterable<Uint8Array>> };
  readonly readiness: () => Promise<Readiness>;
  /** What the API shows; without it there are metrics and health only. */
  readonly sources?: WebSources;
  /** Folder with the files of the page. */
  readonly page?: string;
  /** Shown under `/queues/`. */
  readonly queues?: readonly Queue[];
  readonly onError?: (error: unknown) => void;
}

export interface WebServer {
  /** `http://127.0.0.1:9642`. */
  readonly url: string;
  readonly port: number;
  /** Everything that is served. */
  readonly routes: readonly ServedRoute[];
  /** Lets requests in progress end, within a bound, and closes every connection. */
  close(): Promise<void>;
}

export interface ServedRoute {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
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

/** For a connection on which nothing moves: its reader does not read, or waits for an answer. */
export const CONNECTION_TIMEOUT_MS = 15_000;

const LIMITS = {
  /** The largest request is a pause with its reason. */
  bodyLimit: 8192,
  connectionTimeout: CONNECTION_TIMEOUT_MS,
  requestTimeout: 10_000,
  keepAliveTimeout: 5000,
  maxRequestsPerSocket: 1000,
} as const;
const HTTP_LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 10_000,
  /** How often the two timeouts above are looked at. */
  connectionsCheckingInterval: 1000,
} as const;
const MAX_CONNECTIONS = 1000;
const READINESS_TIMEOUT_MS = 3000;
const METRICS_TIMEOUT_MS = 8000;
const CLOSE_TIMEOUT_MS = 2000;

/**
 * Metrics, health, the API, the status page and the queues' page.
 * @throws WebServerError
 */
export async function startWebServer(options: WebOptions): Promise<WebServer> {
  const { host, port, token } = options;
  if (token === undefined && !isLoopback(host)) {
    const message = `web.host ${host} can be reached from other machines: set web.token, or listen on 127.0.0.1`;
    throw new WebServerError('WEB_TOKEN_MISSING', message);
  }
  const app = createApp(options);
  app.server.maxConnections = MAX_CONNECTIONS;
  const collected = collectRoutes(app);
  const closeEvents = await registerAll(app, options);
  await app.ready();
  const routes = collected();
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
    routes,
    async close() {
      closeEvents();
      const closing = app.close();
      const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
      await closing.finally(() => clearTimeout(timer));
    },
  };
}

function createApp(options: WebOptions): FastifyInstance {
  const { host, token: read, controlToken: control, publicUrl, onError } = options;
  const app = fastify({
    logger: false,
    ...LIMITS,
    http: HTTP_LIMITS,
    forceCloseConnections: 'idle',
    // An address that cannot be read, before anything else has looked at the request.
    frameworkErrors: (_error, _request, reply: FastifyReply) => {
      void reply.headers(SECURITY_HEADERS).code(400).send(errorBody('badRequest', 'a bad request'));
    },
  });
  app.removeContentTypeParser('text/plain');
  const tokens: WebTokens = { read, control };
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl);
  const ownNames = [...(options.names ?? []), ...(publicOrigin === undefined ? [] : [publicOrigin.hostname])];
  const names = allowedNames(host, ownNames);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    if (!isPlain(request)) throw new ApiError(400, 'badRequest', 'a bad request');
    if (!names.has(request.headers.host)) throw new ApiError(403, 'hostRefused', HOST_REFUSED);
    // Only those who may read learn which routes exist.
    const { access = 'read' } = request.routeOptions.config;
    const refused = admit(request, access, tokens, publicOrigin?.origin);
    if (refused === undefined) return;
    if (refused.status === 401) reply.header('www-authenticate', challengeFor(request.url));
    throw refused;
  });
  app.setNotFoundHandler((_request, reply) => {
    void reply.code(404).send(errorBody('notFound', 'there is nothing here'));
  });
  app.setErrorHandler((error: FailedRequest, _request, reply) => {
    const { status, code, message } = refusalOf(error);
    if (status >= 500) onError?.(causeOf(error));
    return reply.code(status).send(errorBody(code, message));
  });
  return app;
}

/** One name in one place: neither in the address, as a proxy is asked, nor twice. */
function isPlain({ raw }: FastifyRequest): boolean {
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length < 2 && raw.url?.startsWith('/') === true;
}

const HOST_REFUSED = 'this name is not one of this server; add it to web.names';

/** Browsers ask people for a name and a password where that is how they get in. */
function challengeFor(url: string): string {
  return url.startsWith(BOARD_PATH) ? 'Basic realm="Breakwater queues", charset="UTF-8"' : 'Bearer';
}

/**
 * Every route says who may have it: one that does not keeps the server from starting. Looked at when all are
 * there, as parts of the server say it of all that a plugin of theirs adds.
 */
function collectRoutes(app: FastifyInstance): () => readonly ServedRoute[] {
  const found: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void found.push(route));
  return () =>
    found.flatMap(({ method, url, config }) => {
      const access = config?.access;
      if (access === undefined)
        throw new Error(`the route ${String(method)} ${url} does not say who may have it`);
      return [method].flat().map((one) => ({ method: one, url, access }));
    });
}

/** Returns what ends those who listen. */
async function registerAll(app: FastifyInstance, options: WebOptions): Promise<() => void> {
  const { sources, page, queues } = options;
  registerHealth(app, options);
  if (page !== undefined) await registerPage(app, page);
  if (queues !== undefined) await registerBoard(app, queues, (error) => options.onError?.(error));
  if (sources === undefined) return () => undefined;
  const mayControl = (): boolean => options.controlToken !== undefined;
  const views = async () => (await sources.views.read()).map(({ view }) => view);
  const context: ApiContext = {
    ...sources,
    overview: createOverview(sources, mayControl, views),
    actions: new ActionFeed(sources.audit),
  };
  registerApi(app, context);
  return registerEvents(app, context, (error) => options.onError?.(error)).close;
}

function registerHealth(
  app: FastifyInstance,
  { token, controlToken, metrics, readiness, onError }: WebOptions,
) {
  const open = { config: { access: 'open' } } as const;
  app.get('/healthz', open, (_request, reply) => reply.type('text/plain').send('ok\n'));
  app.get('/readyz', open, async (request, reply) => {
    const found = await inTime(readiness(), READINESS_TIMEOUT_MS).catch((error: unknown): Readiness => {
      onError?.(error);
      return { ready: false, checks: [{ name: 'readiness', ok: false, why: 'it could not be found out' }] };
    });
    // Why it is not ready is for those who may read; whether it is, for every probe.
    const shown = mayRead(request, { read: token, control: controlToken }) ? found : { ready: found.ready };
    return await reply.code(found.ready ? 200 : 503).send(shown);
  });
  app.get('/metrics', { config: { access: 'read' } }, async (request, reply): Promise<FastifyReply> => {
    const parts = await inTime(metrics.scrape(), METRICS_TIMEOUT_MS);
    sendParts(request, reply.type(metrics.contentType), { parts, onError: (error) => onError?.(error) });
    return reply;
  });
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

function boundPort(address: ReturnType<FastifyInstance['server']['address']>): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
