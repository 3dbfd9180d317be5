import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Message } from '../../src/core/ports/delivery.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  readonly json: Record<string, unknown>;
}

export interface Reply {
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `silent`: takes the request and never answers. `reset`: breaks the connection. */
export type Answer = Reply | 'silent' | 'reset';

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Answers of the next requests in turn; the last one stays. */
  answer(...answers: readonly Answer[]): void;
  /** Answers like a service that judges and remembers requests. */
  behave(service: (request: Received) => Answer): void;
  close(): Promise<void>;
}

/** A real HTTP server on the loopback that records its requests. */
export async function startReceiver(first: Answer = {}): Promise<Receiver> {
  const received: Received[] = [];
  let answers: Answer[] = [first];
  const inTurn = (): Answer => (answers.length > 1 ? answers.shift() : answers[0]) ?? {};
  let service: (request: Received) => Answer = inTurn;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString('utf8');
      const json = (raw === '' ? {} : JSON.parse(raw)) as Record<string, unknown>;
      const { method = '', url = '', headers } = request;
      const got: Received = { method, path: url, headers, raw, json };
      received.push(got);
      reply(service(got), response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    answer(...next) {
      answers = [...next];
      service = inTurn;
    },
    behave(next) {
      service = next;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function reply(answer: Answer, response: ServerResponse): void {
  if (answer === 'silent') return;
  if (answer === 'reset') {
    response.destroy();
    return;
  }
  response.writeHead(answer.status ?? 200, answer.headers ?? {});
  response.end(answer.body ?? '');
}

export const AT = Date.UTC(2026, 0, 31, 12, 30, 45, 123);

export function message(changes: Partial<Message> = {}): Message {
  return {
    version: 1,
    id: 'id-1',
    key: 'desk-1|["near","abc","position:42",7,0,0]',
    kind: 'firing',
    accountId: 'desk-1',
    ruleId: 'near-liquidation',
    subject: 'position:42',
    market: 'BTC_PERP',
    episode: 7,
    stage: 0,
    severity: 'critical',
    mode: 'enforce',
    labels: { desk: 'arb' },
    words: 'liquidationDistance 4.1 % is below 5 %',
    sinceMs: AT - 65_000,
    atMs: AT,
    channels: [],
    cures: [],
    ...changes,
  };
}
