import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { closeAfterTest } from '../contract/support/world.ts';

export interface Received {
  readonly url: string;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
}

async function startServer(answer: RequestListener) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAfterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** Accepts every message; fails those to `/services/` with an error that repeats the whole request. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const { port } = await startServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { url = '', headers } = request;
      received.push({ url, body });
      response.statusCode = url.startsWith('/services/') ? 500 : 200;
      const said = `cannot take ${url} now: ${body} ${JSON.stringify(headers)}`;
      response.end(response.statusCode === 500 ? said : '{"ok":true,"result":{}}');
    });
  });
  return { url: `http://127.0.0.1:${port}`, received };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** A proxy that requires a password. A refusing one quotes the request. */
export async function startProxy(password: string, { refuses = false } = {}): Promise<string> {
  const wanted = `Basic ${Buffer.from(`desk:${password}`).toString('base64')}`;
  const isLetIn = ({ headers }: IncomingMessage): boolean =>
    !refuses && headers['proxy-authorization'] === wanted;
  const { server, port } = await startServer((request, response) => {
    const { 'proxy-authorization': given = '', ...headers } = request.headers;
    if (!isLetIn(request)) {
      response.writeHead(407).end(`not with ${given} ${JSON.stringify(request.headers)}`);
      return;
    }
    const { method = 'GET', url = '' } = request;
    const forwarded = forward(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  // Through a tunnel, as mail goes.
  server.on('connect', (request, client, head: Buffer) => {
    client.on('error', () => client.destroy());
    if (!isLetIn(request)) {
      client.end(`HTTP/1.1 407 no\r\n\r\n${JSON.stringify(request.headers)}`);
      return;
    }
    const [host = '', to] = (request.url ?? '').split(':');
    const upstream = connect(Number(to), host, () => {
      client.write('HTTP/1.1 200 connected\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  return `http://desk:${password}@127.0.0.1:${port}`;
}

export interface MailServer {
  readonly port: number;
  readonly mails: readonly string[];
}

/** Refuses the first login, and repeats the password in the error. */
export async function startMailServer(): Promise<MailServer> {
  const mails: string[] = [];
  let logins = 0;
  const server = new SMTPServer({
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onAuth({ username, password }, _session, done) {
      logins += 1;
      if (logins > 1) return done(null, { user: username });
      const words = `not now, ${String(username)} with ${String(password)}`;
      done(Object.assign(new Error(words), { responseCode: 454 }));
    },
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        mails.push(Buffer.concat(chunks).toString());
        done();
      });
    },
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  closeAfterTest(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, mails };
}
