import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type IncomingRequest, MAX_BODY_BYTES } from './dispatch.ts';
import type { ExchangeFront, ReplyConnection } from './front.ts';
import { onTheWire } from './reply.ts';

/** Leaves room for the payload header, which repeats the body in base64. */
const MAX_HEADER_BYTES = 2 * MAX_BODY_BYTES;

/** The exchange over HTTP: one listener per base address. */
export class ExchangeServer {
  readonly #front: ExchangeFront;
  readonly #servers: Server[] = [];

  constructor(front: ExchangeFront) {
    this.#front = front;
  }

  /** Starts another base address and returns its URL; port 0 takes a free port. */
  async listen(port: number, host: string): Promise<string> {
    const server = createServer(
      { keepAliveTimeout: 65_000, maxHeaderSize: MAX_HEADER_BYTES },
      (request, response) => receive(this.#front, region, request, response),
    );
    const region = this.#front.addRegion(() => server.closeAllConnections());
    server.on('connection', (socket) => {
      if (this.#front.regions[region]?.mode === 'down') socket.resetAndDestroy();
    });
    this.#servers.push(server);
    server.listen(port, host);
    await once(server, 'listening');
    return `http://${host}:${(server.address() as AddressInfo).port}`;
  }

  /** Drops waiting requests and closes every connection and listener. */
  async close(): Promise<void> {
    this.#front.delays.cancel();
    await Promise.all(
      this.#servers.map(async (server) => {
        if (!server.listening) return;
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await closed;
      }),
    );
  }
}

function receive(
  front: ExchangeFront,
  region: number,
  message: IncomingMessage,
  response: ServerResponse,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  message.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  });
  // A client that disconnects before its request is complete has requested nothing.
  message.on('error', () => undefined);
  response.on('error', () => undefined);
  message.on('end', () => {
    const request = incoming(message, Buffer.concat(chunks), size > MAX_BODY_BYTES);
    front.receive(region, request, connectionOf(response));
  });
}

function connectionOf(response: ServerResponse): ReplyConnection {
  return {
    send(reply, dateText, isCut): void {
      if (response.destroyed) return;
      const { headers, body } = onTheWire(reply, dateText);
      response.sendDate = false;
      response.writeHead(reply.status, headers);
      if (!isCut) response.end(body);
      else response.write(body.subarray(0, body.length >> 1), () => response.socket?.destroy());
    },
    reset(): void {
      // A reply queued behind another on the same connection has no socket yet, but its request has.
      response.req.socket.resetAndDestroy();
    },
  };
}

function incoming(message: IncomingMessage, body: Buffer, oversized: boolean): IncomingRequest {
  const url = message.url ?? '/';
  const query = url.indexOf('?');
  const { headers } = message;
  return {
    httpMethod: message.method ?? '',
    path: query === -1 ? url : url.slice(0, query),
    body,
    oversized,
    contentType: headers['content-type'],
    apiKey: single(headers['x-txc-apikey']),
    payload: single(headers['x-txc-payload']),
    signature: single(headers['x-txc-signature']),
    referer: headers.referer,
    userAgent: headers['user-agent'],
    acceptEncoding: single(headers['accept-encoding']),
    address: message.socket.remoteAddress ?? '',
  };
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
