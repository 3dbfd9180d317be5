import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { isIP } from 'node:net';
import type { Queue } from 'bullmq';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type RouteOptions,
} from 'fastify';
import { isLoopback } from '../core/text/loopback.ts';
import {
  type Access,
  AccessControl,
  type AccessOptions,
  allowedNames,
  RETRY_AFTER,
  type Scope,
  THIS_MACHINE,
} from './access.ts';
import { ApiError, causeOf, errorBody, type FailedRequest, refusalOf } from './api/errors.ts';
import { registerApi } from './api/register.ts';
import type { ApiContext } from './api/route.ts';
import type { JobChange } from './board.ts';
import { BOARD_PATH, type BoardDoor, registerBoardDoor } from './board-door.ts';
import { boundConnections, clientOf, proxyList } from './connections.ts';
import { ActionFeed } from './events/action-feed.ts';
import { registerEvents } from './events/register.ts';
import { TokenGuesses } from './guesses.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { readinessInTime } from './health.ts';
import { listenError, WebServerError } from './listen-error.ts';
import { createOverview } from './overview.ts';
import { registerPage } from './page.ts';
import { sendShared } from './parts.ts';
import { SharedScrapes } from './scrapes.ts';
import type { Readiness, WebSources } from './sources.ts';

export interface WebOptions
  extends Pick<AccessOptions, 'token' | 'controlToken' | 'users' | 'identityHeader'> {
  /** Address to bind; other than loopback it needs `token` or `users`. */
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** The command-line option that set the port, if the config did not. */
  readonly portOption?: string | undefined;
  /** Further host names that are accepted in `Host`. */
  readonly names?: readonly string[];
  /** Public address, for a proxy in front that rewrites `Host`. */
  readonly publicUrl?: string;
  /** Addresses and networks of reverse proxies. They name the client; the bound per client exempts them. */
  readonly trustedProxies?: readonly string[];
  readonly metrics: { readonly contentType: string; scrape(): Promise<Iterable<Uint8Array>> };
  readonly readiness: () => Promise<Readiness>;
  /** Data of the API; without it there is no API and no event stream. */
  readonly sources?: WebSources;
  readonly page?: string;
  /** Shown under `/queues/`. */
  readonly queues?: readonly Queue[];
  readonly onError: (error: unknown) => void;
  readonly onJobChanged: (change: JobChange) => void;
  /** Called when a client was refused; `client` is an address, or an IPv6 network. */
  readonly onRefused: (why: WebRefusal, client: string) => void;
  /** It listens nowhere: only `answerLocal` is used. */
  readonly isLocal?: boolean;
}

export type WebRefusal = 'wrongToken' | 'slowedDown' | 'connections' | 'scrapes';

export interface WebServer {
  /** Of no meaning where it listens nowhere. */
  readonly url: string;
  readonly port: number;
  /** Answers a request that came by a way which only an operator on this machine has: every scope, no token. */
  readonly answerLocal: RequestListener;
  /** Returns all routes; loads parts that are otherwise loaded on first use. */
  routes(): Promise<readonly ServedRoute[]>;
  /** Closes the server: requests in progress may finish within 2 s, then every connection is closed. */
  close(): Promise<void>;
}

export interface ServedRoute {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
}

/** Timeout of a connection without traffic: its client does not read, or waits for an answer. */
export const CONNECTION_TIMEOUT_MS = 15_000;

const HTTP_LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 3000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
} as const;
/** The largest request is a pause with its reason. */
const BODY_LIMIT = 8192;
const MAX_REQUESTS_PER_SOCKET = 1000;
const CLOSE_TIMEOUT_MS = 2000;

/**
 * Starts the web server: metrics, health, the API, the status page and the queues' page.
 * @throws WebServerError
 */
export async function startWebServer(options: WebOptions): Promise<WebServer> {
  const { host, port, portOption, isLocal = false } = options;
  const local = new WeakSet<IncomingMessage>();
  const control = accessOf(options, local);
  if (!isLocal && control.isReadOpen && !isLoopback(host)) {
    const message = `web.host ${host} can be reached from other machines: set web.token, or listen on 127.0.0.1`;
    throw new WebServerError('WEB_TOKEN_MISSING', message);
  }
  const asked: Asked = new WeakMap();
  const app = createApp(options, control, asked);
  const collected = collectRoutes(app);
  const board = boardDoor(app, options, () => createApp(options, control, asked));
  const closeEvents = await registerAll(app, options, control);
  await app.ready();
  const routes = collected();
  try {
    if (!isLocal) await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw listenError(error, 'web', { host, port, portOption });
  }
  const bound = boundPort(app.server.address());
  return {
    url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound}`,
    port: bound,
    answerLocal(request, response) {
      local.add(request);
      app.routing(request, response);
    },
    async routes() {
      const own = routes.filter(({ url }) => !url.startsWith(BOARD_PATH));
      return [...own, ...((await board?.routes()) ?? [])];
    },
    async close() {
      closeEvents();
      const closing = Promise.all([app.close(), board?.close()]);
      const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_TIMEOUT_MS);
      await closing.finally(() => clearTimeout(timer));
    },
  };
}

function accessOf(options: WebOptions, local: WeakSet<IncomingMessage>) {
  return new AccessControl({
    ...options,
    isLocal: (request) => local.has(request),
    proxies: proxyList(options.trustedProxies ?? []),
    guesses: new TokenGuesses({ monotonicMs: () => performance.now() }),
  });
}

/** Callers by request: a request that passes two apps is identified once, so that a wrong token counts once. */
type Asked = WeakMap<IncomingMessage, ReturnType<AccessControl['identify']>>;

function createApp(options: WebOptions, control: AccessControl, asked: Asked): FastifyInstance {
  const { host, publicUrl, onError, onRefused, trustedProxies = [] } = options;
  const proxies = proxyList(trustedProxies);
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT,
    // Fastify calls this once per address: a name such as localhost has several.
    serverFactory(handler) {
      const server = createServer(HTTP_LIMITS, handler);
      server.setTimeout(CONNECTION_TIMEOUT_MS);
      server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
      boundConnections(server, { proxies, onRefused: (client) => onRefused('connections', client) });
      return server;
    },
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    forceCloseConnections: 'idle',
    // zod validates. This avoids loading Fastify's compilers (110 files).
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    // Malformed URLs, which fail before any hook runs.
    frameworkErrors: (_error, _request, reply: FastifyReply) => {
      void reply.headers(SECURITY_HEADERS).code(400).send(errorBody('badRequest', 'a bad request'));
    },
  });
  app.removeContentTypeParser('text/plain');
  app.decorateRequest('caller');
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl);
  const ownNames = [...(options.names ?? []), ...(publicOrigin === undefined ? [] : [publicOrigin.hostname])];
  const names = allowedNames(host, ownNames);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    if (!isPlain(request)) throw new ApiError(400, 'badRequest', 'a bad request');
    const { caller, isSlowedDown } = asked.get(request.raw) ?? control.identify(request);
    asked.set(request.raw, { caller, isSlowedDown });
    if (caller.identity !== THIS_MACHINE && !names.has(request.headers.host))
      throw new ApiError(403, 'hostRefused', HOST_REFUSED);
    // Unknown routes need `read`, so that others do not learn which routes exist.
    const { access = 'read' } = request.routeOptions.config;
    request.caller = caller;
    const refused = control.admit(request, access, isSlowedDown, publicOrigin?.origin);
    // Before the body: what nobody takes must not be waited for.
    if (refused === undefined && request.is404) throw new ApiError(404, 'notFound', 'there is nothing here');
    if (refused === undefined) return;
    if (refused.status === 401) reply.header('www-authenticate', challengeFor(request.url));
    if (refused.status === 429) reply.header('retry-after', RETRY_AFTER);
    throw refused;
  });
  app.setNotFoundHandler((_request, reply) => {
    void reply.code(404).send(errorBody('notFound', 'there is nothing here'));
  });
  app.setErrorHandler((error: FailedRequest, _request, reply) => {
    const { status, code, message } = refusalOf(error);
    if (status >= 500) onError(causeOf(error));
    return reply.code(status).send(errorBody(code, message));
  });
  return app;
}

/** A route with a JSON schema keeps the server from starting. */
function noCompiler(): never {
  throw new Error('routes are checked by zod, not by JSON schemas');
}

/** Requires at most one `Host` header and a path as the target, not a whole URL as sent to proxies. */
function isPlain({ raw }: FastifyRequest): boolean {
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length < 2 && raw.url?.startsWith('/') === true;
}

const HOST_REFUSED = 'this name is not one of this server; add it to web.names';

/** Basic for the queues' page, so that browsers ask for the token. */
function challengeFor(url: string): string {
  return url.startsWith(BOARD_PATH) ? 'Basic realm="Breakwater queues", charset="UTF-8"' : 'Bearer';
}

/**
 * Collects the routes. The returned function throws if a route has no `access`, which keeps the server from starting.
 * It is called after all routes exist, because some parts set `access` for the routes of their plugins.
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

/** Registers the queues' page behind its door. Its routes are known once it is open. */
function boardDoor(
  app: FastifyInstance,
  { queues, onError, onJobChanged }: WebOptions,
  create: () => FastifyInstance,
): (Pick<BoardDoor, 'close'> & Pick<WebServer, 'routes'>) | undefined {
  if (queues === undefined) return undefined;
  let served: readonly ServedRoute[] = [];
  const door = registerBoardDoor(app, async () => {
    const { registerBoard } = await import('./board.ts');
    const behind = create();
    const collected = collectRoutes(behind);
    await registerBoard(behind, queues, { onError, onJobChanged });
    await behind.ready();
    served = collected();
    return behind;
  });
  return {
    close: () => door.close(),
    async routes() {
      await door.open();
      return served;
    },
  };
}

/** Registers all parts; the returned function ends the event streams. */
async function registerAll(
  app: FastifyInstance,
  options: WebOptions,
  control: AccessControl,
): Promise<() => void> {
  const { sources, page, onError } = options;
  registerHealth(app, options, control);
  if (page !== undefined) await registerPage(app, page);
  if (sources === undefined) return () => undefined;
  const can = (scope: Scope): boolean => control.can(scope);
  const views = async () => (await sources.views.read()).map(({ view }) => view);
  const context: ApiContext = {
    ...sources,
    overview: createOverview(sources, can, views),
    actions: new ActionFeed(sources.audit),
  };
  registerApi(app, context);
  return registerEvents(app, context, onError).close;
}

function registerHealth(
  app: FastifyInstance,
  { metrics, readiness, onError, onRefused }: WebOptions,
  control: AccessControl,
) {
  const open = { config: { access: 'open' } } as const;
  app.get('/healthz', open, (_request, reply) => reply.type('text/plain').send('ok\n'));
  app.get('/readyz', open, async (request, reply) => {
    const found = await readinessInTime({ readiness, onError });
    // Every probe sees whether it is ready; only readers see why not.
    const shown = control.mayRead(request.caller) ? found : { ready: found.ready };
    return await reply.code(found.ready ? 200 : 503).send(shown);
  });
  const scrapes = new SharedScrapes(() => metrics.scrape(), onError);
  app.get('/metrics', { config: { access: 'read' } }, async (request, reply): Promise<FastifyReply> => {
    const client = clientOf(request.ip);
    const leave = scrapes.enter(client);
    if (leave === undefined) {
      onRefused('scrapes', client);
      void reply.header('retry-after', '1');
      throw new ApiError(503, 'tooManyScrapes', 'too many ask for metrics at the same time: try again later');
    }
    reply.raw.once('close', leave);
    await sendShared(request, reply.type(metrics.contentType), () => scrapes.text());
    return reply;
  });
}

function boundPort(address: ReturnType<FastifyInstance['server']['address']>): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}
