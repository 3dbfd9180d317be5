import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { boundConnections } from './connections.ts';
import { SECURITY_HEADERS } from './headers.ts';
import { listenError } from './listen-error.ts';
import type { Readiness } from './sources.ts';

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  /** The command-line option that set the port, if the config did not. */
  readonly portOption?: string | undefined;
  readonly readiness: () => Promise<Readiness>;
  readonly onError: (error: unknown) => void;
}

export interface HealthServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const LIMITS = { maxHeaderSize: 4096, headersTimeout: 3000, requestTimeout: 3000, keepAliveTimeout: 1000 };
const CHECKED_EVERY_MS = 1000;
const READINESS_TIMEOUT_MS = 3000;

export const UNKNOWN_READINESS: Readiness = {
  ready: false,
  checks: [{ name: 'readiness', ok: false, why: 'it could not be found out' }],
};

/** Returns the readiness within a time limit. Without an answer in time it is `UNKNOWN_READINESS`. */
export async function readinessInTime({
  readiness,
  onError,
}: Pick<HealthOptions, 'readiness' | 'onError'>): Promise<Readiness> {
  return await within(systemTimers, READINESS_TIMEOUT_MS, readiness()).catch((error: unknown) => {
    onError(error);
    return UNKNOWN_READINESS;
  });
}

/**
 * Serves `/healthz` and `/readyz` on a separate address, so that probes work even if the connections of the web server
 * are exhausted. It answers only yes or no, so it needs no token.
 * @throws WebServerError
 */
export async function startHealthServer(options: HealthOptions): Promise<HealthServer> {
  const { host, port, portOption } = options;
  const server = createServer(
    { ...LIMITS, connectionsCheckingInterval: CHECKED_EVERY_MS },
    (request, response) => void answer(options, request, response),
  );
  boundConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, 'web.health', { host, port, portOption })));
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const READY: [number, string] = [200, 'ready'];
const NOT_READY: [number, string] = [503, 'not ready'];

async function answer(
  options: HealthOptions,
  { method, url }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = method === 'GET' || method === 'HEAD' ? url : undefined;
  let [status, text] = [404, 'not found'];
  if (path === '/healthz') [status, text] = [200, 'ok'];
  if (path === '/readyz') [status, text] = (await readinessInTime(options)).ready ? READY : NOT_READY;
  response.writeHead(status, { ...SECURITY_HEADERS, 'content-type': 'text/plain' }).end(`${text}\n`);
}
