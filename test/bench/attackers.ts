import { createServer, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * All attackers of the daemon in `attack.ts`, in one process that measures its processor time and pauses whenever it
 * has used more than its share. The parent controls it: `{ attack: true, webUrl }`.
 */
export interface AttackOrder {
  readonly attack: boolean;
  readonly webUrl: string;
}

/** What the attackers have done since they began. */
export interface AttackReport {
  readonly cpuShare: number;
  /** The most processor time they may use. */
  readonly cpuShareCap: number;
  readonly requests: number;
  /** Answers by status; 0: the connection was closed. */
  readonly answers: Readonly<Record<string, number>>;
  readonly connections: number;
  readonly notices: number;
}

export interface AttackersReady {
  readonly receiverUrl: string;
}

const SHARE = Number(process.env['BENCH_ATTACK_SHARE'] ?? '0.2');
const SLICE_MS = 100;
/** Linux accepts all of 127.0.0.0/8 as local addresses. */
const ADDRESSES = Array.from({ length: 6 }, (_, index) => `127.0.0.${index + 2}`);
const IDLE_EACH = 60;
const SLOW_EACH = 20;
const FLOODERS_EACH = 4;
const LISTENERS_EACH = 2;
const PATHS = [
  '/',
  '/metrics',
  '/healthz',
  '/readyz',
  '/api/v1/openapi.json',
  '/api/v1/overview',
  '/api/v1/accounts?limit=100',
  '/api/v1/accounts/a0',
  '/api/v1/accounts/a0/history?subject=position:1',
  '/api/v1/accounts/a0/story?subject=position:1',
  '/api/v1/actions?limit=100',
  '/api/v1/stress',
  '/queues/',
  '/queues/api/queues?activeQueue=poll&status=latest&page=1&jobsPerPage=100',
  '/assets/main.js',
  '/nothing',
];
const CHANGES = [
  '/api/v1/pauses',
  '/api/v1/silences',
  '/api/v1/accounts/a0/top-ups',
  '/queues/api/queues/poll/pause',
];

let cpuBefore = process.cpuUsage();
let startedMs = performance.now();
/** Aborted: no attack is running. */
let over = new AbortController();
over.abort();
let running: Promise<unknown> = Promise.resolve();
const sockets = new Set<Socket>();
let [requests, connections, notices] = [0, 0, 0];
let answers: Record<string, number> = {};

function cpuMs(): number {
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / 1_000;
}

/** Waits until the share allows more. Kept work counts towards the share, so all attackers wait here. */
async function allowed(signal: AbortSignal): Promise<void> {
  while (!signal.aborted && cpuMs() > SHARE * (performance.now() - startedMs)) await sleep(SLICE_MS);
}

function opened(webUrl: string, localAddress: string): Socket {
  const { hostname, port } = new URL(webUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  connections += 1;
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.on('close', () => sockets.delete(socket));
  return socket;
}

/** Sends nothing, or a request head that never ends; starts again when the server drops it. */
async function slow(
  order: AttackOrder,
  from: string,
  isDripping: boolean,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await allowed(signal);
    const socket = opened(order.webUrl, from);
    if (isDripping) socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-A: ');
    while (!socket.destroyed && !signal.aborted) {
      await sleep(500);
      if (isDripping && !socket.destroyed) socket.write('a');
    }
    socket.destroy();
  }
}

async function flood(order: AttackOrder, from: string, at: number, signal: AbortSignal): Promise<void> {
  for (let turn = at; !signal.aborted; turn += 1) {
    await allowed(signal);
    const isChange = turn % 3 === 0;
    const paths = isChange ? CHANGES : PATHS;
    const status = await asked(order, from, {
      path: paths[turn % paths.length] ?? '/',
      method: isChange ? 'POST' : 'GET',
      // A third of the readers also try a token.
      token: isChange || turn % 3 === 1 ? `guess-${turn}-${from}` : undefined,
    });
    answers[status] = (answers[status] ?? 0) + 1;
    if (status === 0) await sleep(20);
  }
}

interface Asked {
  readonly path: string;
  readonly method: string;
  readonly token: string | undefined;
}

async function asked(
  { webUrl }: AttackOrder,
  localAddress: string,
  { path, method, token }: Asked,
): Promise<number> {
  requests += 1;
  return await new Promise((resolve) => {
    const sent = request(`${webUrl}${path}`, {
      method,
      localAddress,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      timeout: 5_000,
    });
    sent.on('response', (response) => {
      response.resume();
      response.on('close', () => resolve(response.statusCode ?? 0));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(0));
    sent.end(method === 'POST' ? '{"author":"x","reason":"x","forMs":1}' : undefined);
  });
}

/** Keeps an event stream open and never reads it. */
async function listen(order: AttackOrder, from: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await allowed(signal);
    const socket = opened(order.webUrl, from);
    socket.write('GET /api/v1/events?accounts=a0,a1,a2 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    socket.pause();
    while (!socket.destroyed && !signal.aborted) await sleep(500);
    socket.destroy();
  }
}

const LONG = ['a:'.repeat(8_000), '://'.repeat(5_000), '['.repeat(16_000), '<'.repeat(16_000)];

/**
 * Receivers that accept every notice. Under attack they ask for patience, never answer, answer byte by byte, or send an
 * answer that takes long to parse.
 */
function receiverOfNotices(): Server {
  return createServer((message, response) => {
    message.resume();
    if (over.signal.aborted) {
      response.end('{"ok":true,"result":{"message_id":1}}');
      return;
    }
    notices += 1;
    // Rare and short: while a channel waits the daemon does less work, and the calm half must not wait.
    const kind = notices % 40 === 39 ? 'patience' : notices % 4;
    if (kind === 0) return;
    if (kind === 'patience') {
      response.writeHead(429, { 'retry-after': '2' });
      response.end('{"ok":false,"error_code":429,"parameters":{"retry_after":2}}');
    } else if (kind === 1) drip(response);
    else {
      response.writeHead(kind === 2 ? 500 : 400);
      response.end(LONG[notices % LONG.length]);
    }
  });
}

function drip(response: ServerResponse): void {
  response.writeHead(500);
  const timer = setInterval(() => response.write('x'), 300);
  response.on('close', () => clearInterval(timer));
}

function begin(order: AttackOrder): void {
  over = new AbortController();
  const { signal } = over;
  [requests, connections, notices, answers] = [0, 0, 0, {}];
  cpuBefore = process.cpuUsage();
  startedMs = performance.now();
  const all: Promise<void>[] = [];
  for (const [at, from] of ADDRESSES.entries()) {
    for (let index = 0; index < IDLE_EACH; index += 1) all.push(slow(order, from, false, signal));
    for (let index = 0; index < SLOW_EACH; index += 1) all.push(slow(order, from, true, signal));
    for (let index = 0; index < LISTENERS_EACH; index += 1) all.push(listen(order, from, signal));
    for (let index = 0; index < FLOODERS_EACH; index += 1)
      all.push(flood(order, from, at + 5 * index, signal));
  }
  running = Promise.all(all);
}

async function end(): Promise<AttackReport> {
  const cpuShare = cpuMs() / (performance.now() - startedMs);
  over.abort();
  for (const socket of sockets) socket.destroy();
  // Requests still unanswered are sent again, and accepted.
  receiver.closeAllConnections();
  await running;
  return { cpuShare, cpuShareCap: SHARE, requests, answers, connections, notices };
}

const receiver = receiverOfNotices();
receiver.listen(0, '127.0.0.1', () => {
  const { port } = receiver.address() as AddressInfo;
  process.send?.({ receiverUrl: `http://127.0.0.1:${port}` } satisfies AttackersReady);
});
process.on('message', (order: AttackOrder) => {
  if (order.attack) begin(order);
  else void end().then((report) => process.send?.(report));
});
process.on('disconnect', () => process.exit());
