import type { FastifyInstance } from 'fastify';
import { ApiError } from '../api/errors.ts';
import type { ApiContext } from '../api/route.ts';
import { SECURITY_HEADERS } from '../headers.ts';
import { EventClient } from './client.ts';
import { StateFeed } from './state-feed.ts';

const MOST_ACCOUNTS = 100;
const MOST_CLIENTS = 200;

/** Registers `/api/v1/events`; `close` ends all streams. */
export function registerEvents(
  app: FastifyInstance,
  context: ApiContext,
  onError: (error: unknown) => void,
): { readonly close: () => void } {
  const { views, overview, actions, process, nowMs } = context;
  const feed = new StateFeed({ views, overview, actions, onError });
  const clients = new Set<EventClient>();
  app.get<{ Querystring: { readonly accounts?: unknown; readonly rows?: unknown } }>(
    '/api/v1/events',
    { config: { access: 'read' }, exposeHeadRoute: false },
    (request, reply) => {
      const accountIds = readIds(request.query.accounts);
      const rows = readRows(request.query.rows);
      if (clients.size >= MOST_CLIENTS) {
        throw new ApiError(503, 'tooManyListeners', `${MOST_CLIENTS} listen already: try again later`);
      }
      reply.hijack();
      const response = reply.raw;
      // No socket timeout, because quiet is normal here: `EventClient` closes stalled connections.
      response.socket?.setTimeout(0);
      response.writeHead(200, {
        ...SECURITY_HEADERS,
        'content-type': 'text/event-stream; charset=utf-8',
        'x-accel-buffering': 'no',
      });
      const hello = { version: process.version, atMs: nowMs() };
      const client = new EventClient({ response, feed, actions, accountIds, rows, hello });
      clients.add(client);
      response.once('close', () => clients.delete(client));
      client.start();
    },
  );
  return {
    close() {
      for (const client of clients) client.close();
    },
  };
}

function readRows(given: unknown): string | undefined {
  if (given === undefined || given === 'false') return undefined;
  if (typeof given === 'string' && /^(true|[\w.]{1,64})$/.test(given)) return given;
  throw new ApiError(400, 'badRequest', 'rows: must be true, or the cursor of the rows that came before');
}

function readIds(given: unknown): readonly string[] {
  if (given === undefined || given === '') return [];
  const ids = typeof given === 'string' ? [...new Set(given.split(','))] : [];
  if (ids.length === 0 || ids.length > MOST_ACCOUNTS || ids.some((id) => id === '' || id.length > 100)) {
    throw new ApiError(
      400,
      'badRequest',
      `accounts: must be at most ${MOST_ACCOUNTS} ids, separated by commas`,
    );
  }
  return ids;
}
