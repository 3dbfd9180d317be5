import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { startHeartbeat } from '../../src/app/heartbeat.ts';
import { Secret } from '../../src/config/secret.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createEmail } from '../../src/notify/email.ts';
import { type Draw, mutatedText, oneOf } from './mutate.ts';
import { judgeAttempt, OUTGOING } from './receivers.ts';
import type { Boundary } from './target.ts';

/** Byte streams of a receiver, below HTTP and SMTP; `receivers` changes only the content of replies. */

interface Wire {
  readonly url: string;
  /** Handles every connection from now on. */
  serve(talk: (socket: Socket) => void): void;
  close(): Promise<void>;
}

async function openWire(scheme: 'http' | 'smtp'): Promise<Wire> {
  let talk = (socket: Socket): unknown => socket.destroy();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    talk(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(next) {
      for (const socket of sockets) socket.destroy();
      talk = next;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const STATUS_LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 204 No Content',
  'HTTP/1.0 404 Not Found',
  'HTTP/1.1 301 Moved Permanently\r\nLocation: http://127.0.0.1:1/',
  'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1000000000',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Service Unavailable',
];
const BODIES = [
  'Content-Length: 2\r\n\r\nOK',
  'Transfer-Encoding: chunked\r\n\r\n2\r\nOK\r\n0\r\n\r\n',
  'Content-Type: application/json\r\nConnection: close\r\n\r\n{"ok":false,"error":"not found"}',
  'Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nOK',
];

function httpText(draw: Draw): string {
  const whole = `${oneOf(draw, STATUS_LINES)}\r\n${oneOf(draw, BODIES)}`;
  const text = draw() < 0.9 ? mutatedText(draw, whole, 'abTE:;, 0129\r\n\t\u0000\u00e9') : whole;
  return draw() < 0.05 ? text + 'a:'.repeat(oneOf(draw, [10_000, 1_000_000])) : text;
}

/** A dead-man service may answer anything: the ping counts as taken or as refused, with a short word. */
export const HEARTBEAT: Boundary = {
  name: 'heartbeat',
  async open() {
    const wire = await openWire('http');
    const url = new Secret(`${wire.url}/ping/SECRETSECRET`);
    return {
      make(draw) {
        const replies = [httpText(draw), httpText(draw)] as const;
        const isReset = draw() < 0.1;
        return {
          text: JSON.stringify(replies).slice(0, 3_000),
          async run() {
            let turn = 0;
            wire.serve((socket) => {
              const reply = replies[turn++ % 2] ?? '';
              socket.once('data', () => socket.end(reply, () => isReset && socket.destroy()));
            });
            for (const event of await beaten(url)) judgeBeat(event);
          },
        };
      },
      close: () => wire.close(),
    };
  },
};

/** The result of one check: the start, and that all is well. */
async function beaten(url: Secret): Promise<readonly DaemonEvent[]> {
  const events: DaemonEvent[] = [];
  const looked = Promise.withResolvers<void>();
  const heartbeat = startHeartbeat({
    settings: () => ({ url, everyMs: 60_000 }),
    readiness: async () => ({ ready: true, checks: [{ name: 'accounts', ok: true, why: 'in time' }] }),
    conceal: (text) => text,
    clock: {
      ...systemClock,
      sleep: (_ms, signal) => {
        looked.resolve();
        return new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        });
      },
    },
    telemetry: { emit: (event) => void events.push(event) },
  });
  await looked.promise;
  await heartbeat.stop();
  if (events.length !== 2) throw new Error(`${events.length} events of two pings`);
  return events;
}

function judgeBeat(event: DaemonEvent): void {
  if (event.kind === 'workerError') throw event.error;
  const { refused = 'x' } = event as Extract<DaemonEvent, { kind: 'heartbeat' }>;
  if (refused === '' || refused.length > 300) throw new Error(`words of ${refused.length} characters`);
}

/** A server's answer to each command; DATA is answered before and after the message. */
const ANSWERS: Readonly<Record<string, string>> = {
  HELO: '250 mail.example\r\n',
  EHLO: '250-mail.example\r\n250-SIZE 35882577\r\n250-8BITMIME\r\n250-AUTH PLAIN LOGIN\r\n250 HELP\r\n',
  AUTH: '235 2.7.0 Accepted\r\n',
  MAIL: '250 2.1.0 Ok\r\n',
  RCPT: '250 2.1.5 Ok\r\n',
  DATA: '354 End data with <CR><LF>.<CR><LF>\r\n',
  '.': '250 2.0.0 Ok: queued as 4C1\r\n',
  QUIT: '221 2.0.0 Bye\r\n',
  STARTTLS: '220 Go ahead\r\n',
};
const GREETING = '220 mail.example ESMTP\r\n';
const REFUSALS = [
  '421 4.3.2 Shutting down\r\n',
  '450 4.2.0 Try again later\r\n',
  '535 5.7.8 Bad credentials SECRETSECRET\r\n',
  '550-5.7.1 No\r\n550 5.7.1 No\r\n',
];
const STEPS = ['GREETING', ...Object.keys(ANSWERS)];

interface Dialogue {
  readonly greeting: string;
  readonly answers: Readonly<Record<string, string>>;
}

function dialogueOf(draw: Draw): Dialogue {
  const said: Record<string, string> = { GREETING, ...ANSWERS };
  for (let changes = 1 + Math.floor(draw() * 2); changes > 0; changes -= 1) {
    const step = oneOf(draw, STEPS);
    const answer = draw() < 0.3 ? oneOf(draw, REFUSALS) : (said[step] ?? '');
    const changed = draw() < 0.8 ? mutatedText(draw, answer, '0123459- \r\n=<>@:\u0000\u00e9aE') : answer;
    said[step] = draw() < 0.05 ? `250-${'x'.repeat(100)}\r\n`.repeat(20_000) + changed : changed;
  }
  const { GREETING: greeting = '', ...answers } = said;
  return { greeting, answers };
}

/** A changed answer may be incomplete: the server then closes, so that the reader does not wait long. */
const SILENCE_MS = 20;

function talk(socket: Socket, { greeting, answers }: Dialogue): void {
  let [rest, isMessage] = ['', false];
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  socket.write(greeting);
  socket.on('data', (chunk: Buffer) => {
    rest += chunk.toString('latin1');
    for (let end = rest.indexOf('\r\n'); end !== -1; end = rest.indexOf('\r\n')) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 2);
      if (isMessage && line !== '.') continue;
      const command = isMessage ? '.' : line.split(' ')[0]?.toUpperCase();
      isMessage = command === 'DATA';
      if (socket.writable) socket.write(answers[command ?? ''] ?? '500 What?\r\n');
    }
  });
}

/** A mail server may answer anything: the attempt ends with a short error, which shows no password. */
export const SMTP: Boundary = {
  name: 'smtp',
  async open() {
    const wire = await openWire('smtp');
    const mail = {
      from: 'desk@example.org',
      to: ['ann@example.org', 'ben@example.org'],
      timeoutMs: 2_000,
      user: 'desk',
      password: 'SECRETSECRET',
    };
    const http = { post: () => Promise.reject(new Error('no HTTP')), close: async () => undefined };
    const parts = { name: 'ops', links: [], http, nowMs: () => 1_700_000_000_000 };
    return {
      make(draw) {
        const dialogue = dialogueOf(draw);
        return {
          text: JSON.stringify(dialogue).slice(0, 3_000),
          async run() {
            wire.serve((socket) => talk(socket, dialogue));
            const channel = createEmail({ ...mail, serverUrl: wire.url }, parts);
            try {
              judgeAttempt(await channel.send(OUTGOING));
            } finally {
              await channel.close();
            }
          },
        };
      },
      close: () => wire.close(),
    };
  },
};
