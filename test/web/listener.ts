import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { expect } from 'vitest';
import type { WebServer } from '../../src/web/server.ts';

export interface SentEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of `/api/v1/events` that records what it receives. */
export interface EventListener {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly events: SentEvent[];
  readonly comments: string[];
  readonly closed: Promise<void>;
  /** Waits for a matching event, and returns the first. */
  until(fits: (event: SentEvent) => boolean): Promise<SentEvent>;
  close(): Promise<void>;
}

export async function listenTo(
  server: Pick<WebServer, 'port'>,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<EventListener> {
  const request: ClientRequest = httpRequest({
    host: '127.0.0.1',
    port: server.port,
    path: `/api/v1/events${query}`,
    agent: false,
    headers,
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const events: SentEvent[] = [];
  const comments: string[] = [];
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? [];
      if (event === undefined || data === undefined) comments.push(part);
      else events.push({ event, data: JSON.parse(data) as SentEvent['data'] });
    }
  });
  const closed = new Promise<void>((resolve) => response.once('close', resolve));
  response.on('error', () => undefined);
  request.on('error', () => undefined);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    comments,
    closed,
    async until(fits) {
      await expect.poll(() => events.some(fits), { interval: 20 }).toBe(true);
      return events.find(fits) as SentEvent;
    },
    async close() {
      request.destroy();
      await closed;
    },
  };
}
