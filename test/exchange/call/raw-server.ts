import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export type Answer = (request: Received, response: ServerResponse) => void | Promise<void>;

export interface RawServer {
  readonly baseUrl: string;
  readonly received: Received[];
  answer: Answer;
  close(): Promise<void>;
}

/** A plain HTTP server whose answers the test writes; it knows nothing of the exchange. */
export async function startServer(answer: Answer): Promise<RawServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      const entry = { path: request.url ?? '', headers: request.headers, text, body };
      received.push(entry);
      void started.answer(entry, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const started: RawServer = {
    baseUrl: `http://127.0.0.1:${port}`,
    received,
    answer,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return started;
}

export function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(text);
}

/** Answers every request alike. */
export const always =
  (status: number, body: unknown, headers = {}): Answer =>
  (_request, response) =>
    send(response, status, body, headers);
