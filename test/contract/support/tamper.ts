import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeAfterTest } from './world.ts';

export interface WireAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Tampering {
  /** Changes the body of a private request, which is then signed again. */
  readonly params?: (params: Record<string, unknown>) => Record<string, unknown>;
  /** Changes the headers, after signing. */
  readonly headers?: (headers: Record<string, string>) => Record<string, string>;
  readonly path?: (path: string) => string;
  /** Sends the body with spaces, and the payload as it was signed. */
  readonly spaced?: boolean;
  readonly reply?: (answer: WireAnswer) => WireAnswer;
}

export interface TamperingProxy {
  readonly url: string;
  tampering: Tampering;
  /** The bodies that clients sent, as text. */
  readonly bodies: string[];
}

/**
 * Stands between a client and the exchange and changes what passes: the exchange gets requests that this client never
 * sends, signed as if it had, and the client gets undocumented replies.
 */
export async function startTampering(target: string, apiSecret: string): Promise<TamperingProxy> {
  const agent = new Agent({ keepAlive: true });
  const bodies: string[] = [];
  const proxy = { url: '', tampering: {} as Tampering, bodies };
  const server = createServer((incoming, response) => {
    void (async () => {
      const body = await textOf(incoming);
      bodies.push(body);
      const { tampering } = proxy;
      const sent = outgoing(incoming, body, tampering, apiSecret);
      const path = tampering.path?.(incoming.url ?? '') ?? incoming.url ?? '';
      const answer = await forward(target + path, incoming.method ?? 'GET', sent, agent);
      const changed = tampering.reply?.(answer) ?? answer;
      response.writeHead(changed.status, { 'content-type': 'application/json', ...changed.headers });
      response.end(changed.text);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closeAfterTest(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    agent.destroy();
  });
  return proxy;
}

function outgoing(incoming: IncomingMessage, body: string, tampering: Tampering, apiSecret: string) {
  const passed = ['content-type', 'x-txc-apikey', 'x-txc-payload', 'x-txc-signature'];
  let headers: Record<string, string> = {};
  for (const name of passed) {
    const value = incoming.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  let sent = body;
  if (tampering.params !== undefined && body !== '') {
    sent = JSON.stringify(tampering.params(JSON.parse(body) as Record<string, unknown>));
    const payload = Buffer.from(sent).toString('base64');
    const signature = createHmac('sha512', apiSecret).update(payload).digest('hex');
    headers = { ...headers, 'x-txc-payload': payload, 'x-txc-signature': signature };
  }
  if (tampering.spaced === true) sent = JSON.stringify(JSON.parse(body), null, 1);
  return { body: sent, headers: tampering.headers?.(headers) ?? headers };
}

function forward(
  url: string,
  method: string,
  sent: { readonly body: string; readonly headers: Record<string, string> },
  agent: Agent,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: sent.headers, agent }, (response) => {
      textOf(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    request.on('error', reject);
    request.end(sent.body);
  });
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export interface CannedServer {
  readonly url: string;
  answer: WireAnswer;
  requests: number;
}

/**
 * Answers every request with the same text. With `apiKey` it counts only requests of that key, as a client of another
 * test may still ask for an earlier server on this port.
 */
export async function startCanned(answer: WireAnswer, apiKey?: string): Promise<CannedServer> {
  const canned = { url: '', answer, requests: 0 };
  const server = createServer((incoming, response) => {
    incoming.resume();
    incoming.on('end', () => {
      if (apiKey === undefined || incoming.headers['x-txc-apikey'] === apiKey) canned.requests += 1;
      const { status, text, headers } = canned.answer;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  canned.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closeAfterTest(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return canned;
}
