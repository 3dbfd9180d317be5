import { createHash, timingSafeEqual } from 'node:crypto';
import fastify, { type FastifyInstance } from 'fastify';
import { plain } from '../schemas.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { ACCOUNT_ROUTES } from './account-routes.ts';
import { CONDITION_ROUTES } from './condition-routes.ts';
import { FAULT_ROUTES } from './fault-routes.ts';
import { MARKET_ROUTES } from './market-routes.ts';
import { RECORD_ROUTES } from './record-routes.ts';
import { type ControlRequest, type ControlRoute, RefusedError, routes } from './route.ts';
import { WALLET_ROUTES } from './wallet-routes.ts';

/** Enough for the candle files of a whole day. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

const STATUS_OF: Readonly<Record<string, number>> = {
  'token-needed': 401,
  'foreign-page': 403,
  'not-found': 404,
  'account-exists': 409,
  'positions-open': 409,
  refused: 422,
};

const ROUTES: readonly ControlRoute[] = [
  ...MARKET_ROUTES,
  ...CONDITION_ROUTES,
  ...FAULT_ROUTES,
  ...ACCOUNT_ROUTES,
  ...WALLET_ROUTES,
  ...RECORD_ROUTES,
];

/**
 * The control API: a second port on which a person or a test controls the exchange. On the loopback interface it needs
 * no authentication; elsewhere it needs a token, except for `/health`. It always refuses pages of other sites.
 */
export function controlServer(
  exchange: SimulatedExchange,
  describe: () => unknown,
  token: string | undefined,
): FastifyInstance {
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true });
  app.addHook('onRequest', (request, _reply, done) => {
    const { host, origin, authorization } = request.headers;
    const isOwnPage = origin === undefined || origin === `http://${host}`;
    if (!isOwnPage || (token === undefined && !isLoopback(host))) return done(FOREIGN);
    const isOpen = token === undefined || request.routeOptions.url === '/health';
    done(isOpen || isGiven(token, authorization) ? undefined : TOKEN_NEEDED);
  });
  const all = [...statusRoutes(describe), ...ROUTES];
  const listing = all.map(({ run: _run, ...listed }) => listed);
  app.get('/', () => ({ endpoints: listing }));
  for (const { method, path, run } of all) {
    app.route({
      method,
      url: path,
      handler: (request) => plain(run(exchange, request as ControlRequest)),
    });
  }
  app.setErrorHandler((error: unknown, _request, reply) => {
    const { status, body } = problemOf(error);
    void reply.status(status).send(body);
  });
  app.setNotFoundHandler((request, reply) => {
    const message = `no ${request.method} ${request.url}; GET / lists what there is`;
    void reply.status(404).send({ error: { code: 'not-found', message } });
  });
  return app;
}

const HERE: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);
const FOREIGN = new SimulatorError(
  'foreign-page',
  'the control API answers no page of another site, and without a token only to 127.0.0.1 or localhost',
);

const TOKEN_NEEDED = new SimulatorError(
  'token-needed',
  'off the loopback the control API needs its token: Authorization: Bearer ...',
);

function isGiven(token: string, authorization = ''): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(`Bearer ${token}`), digest(authorization));
}

/**
 * Without a token a host name that resolves to the port would let pages of other sites in: a browser reveals the name
 * in `Host`. They cannot know a token. Their forms are recognized by `Origin`.
 */
const isLoopback = (host = ''): boolean => HERE.has(URL.parse(`http://${host}`)?.hostname ?? '');

function statusRoutes(describe: () => unknown): readonly ControlRoute[] {
  return routes({
    'GET /health': {
      doc: 'Whether the exchange works: internal errors count as not.',
      run: ({ exchange: { internalErrors } }) => ({
        status: internalErrors.length === 0 ? 'ok' : 'failing',
        internalErrors: internalErrors.map(String),
      }),
    },
    'GET /state': {
      doc: 'Everything at a glance: addresses, time, prices, accounts, readings, faults, counters.',
      run: ({ exchange }) => {
        exchange.catchUp();
        return describe();
      },
    },
  });
}

function problemOf(error: unknown): { readonly status: number; readonly body: unknown } {
  if (error instanceof SimulatorError) {
    const { code, message } = error;
    const rejection = error instanceof RefusedError ? { rejection: error.rejection } : {};
    return { status: STATUS_OF[code] ?? 400, body: { error: { code, message, ...rejection } } };
  }
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  const message = error instanceof Error ? error.message : String(error);
  return {
    status: status >= 400 && status < 600 ? status : 500,
    body: { error: { code: status < 500 ? 'invalid-input' : 'internal', message } },
  };
}
