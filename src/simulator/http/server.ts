import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Delays } from './delays.ts';
import type { Dispatched, IncomingRequest, ServedEndpoint } from './dispatch.ts';
import { damagedBody, type FaultPlan, faultReply, NO_FAULTS, planOf } from './fault-plan.ts';
import type { FaultBook, LostConnection } from './faults.ts';
import { privateError, publicError, type Reply } from './reply.ts';
import type { RequestLog, RequestOutcome } from './request-log.ts';

/** The state of one base address as a whole. `down`: connections are reset; `hang`: nothing is answered. */
export type RegionState =
  | { readonly mode: 'up' | 'down' | 'hang' | 'unavailable' }
  | { readonly mode: 'slow'; readonly delayMs: number };

export interface ServerParts {
  readonly endpoints: ReadonlyMap<string, ServedEndpoint>;
  readonly dispatch: (request: IncomingRequest, staleMs: number) => Dispatched;
  /** Account of a key, for faults aimed at one; nothing is verified here. */
  readonly accountOfKey: (apiKey: string) => string | undefined;
  readonly faults: FaultBook;
  readonly log: RequestLog;
  /** Exchange time, for the log. */
  readonly nowMs: () => number;
  /** Time in the Date header, Unix milliseconds. */
  readonly serverTimeMs: () => number;
  /** What is not the API: the pages that a browser sees. */
  readonly page: (request: IncomingRequest) => Reply | undefined;
  /** How long after its lost reply a request takes effect (a reading); 0 for before. */
  readonly lateArrivalMs: () => number;
}

/** Largest request body that is read; a real front end has such a bound too. */
const MAX_BODY_BYTES = 64 * 1024;
/** The payload header repeats the body in base64. */
const MAX_HEADER_BYTES = 2 * MAX_BODY_BYTES;
const NO_BODY = Buffer.alloc(0);

/** The HTTP side of the exchange: one listener per base address, in front of the same exchange. */
export class ExchangeServer {
  readonly #parts: ServerParts;
  readonly #servers: Server[] = [];
  readonly #regions: RegionState[] = [];
  readonly #delays = new Delays();
  #dateSecond = Number.NaN;
  #date = '';

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** Starts one more base address; port 0 takes a free one. Answers its URL. */
  async listen(port: number, host: string): Promise<string> {
    const region = this.#servers.length;
    const server = createServer(
      { keepAliveTimeout: 65_000, maxHeaderSize: MAX_HEADER_BYTES },
      (request, response) => {
        this.#receive(region, request, response);
      },
    );
    server.on('connection', (socket) => {
      if (this.#regions[region]?.mode === 'down') socket.resetAndDestroy();
    });
    this.#servers.push(server);
    this.#regions.push({ mode: 'up' });
    server.listen(port, host);
    await once(server, 'listening');
    return `http://${host}:${(server.address() as AddressInfo).port}`;
  }

  get regions(): readonly RegionState[] {
    return this.#regions;
  }

  setRegion(region: number, state: RegionState): void {
    this.#regions[region] = state;
    if (state.mode === 'down') this.#servers[region]?.closeAllConnections();
  }

  /** Requests held back by `appliedLate` faults without a delay. */
  get heldCount(): number {
    return this.#delays.heldCount;
  }

  releaseHeld(): number {
    return this.#delays.release();
  }

  /** Drops what still waits, closes every connection and listener. */
  async close(): Promise<void> {
    this.#delays.cancel();
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

  #receive(region: number, message: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    let size = 0;
    message.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    });
    // A client that goes away before its request is complete has asked for nothing.
    message.on('error', () => undefined);
    response.on('error', () => undefined);
    message.on('end', () => {
      const body = bodyOf(chunks, size);
      const exchange = new Exchange(region, response, incoming(message, body, size > MAX_BODY_BYTES));
      this.#arrive(exchange);
    });
  }

  #arrive(exchange: Exchange): void {
    const region = this.#regions[exchange.region] ?? { mode: 'up' };
    switch (region.mode) {
      case 'up':
        return this.#meetFaults(exchange);
      case 'slow':
        return this.#delays.after(region.delayMs, () => this.#meetFaults(exchange));
      case 'unavailable':
        return this.#answerUnseen(exchange, unavailable(exchange.isPublic), ['region:unavailable']);
      case 'down':
      case 'hang':
        this.#record(exchange, 'unseen', { faults: [`region:${region.mode}`] });
        return lose(exchange, region.mode === 'down' ? 'reset' : 'hang');
    }
  }

  #meetFaults(exchange: Exchange): void {
    const { faults } = this.#parts;
    const page = exchange.request.path.startsWith('/api/') ? undefined : this.#parts.page(exchange.request);
    if (page !== undefined) return this.#send(exchange, page, false);
    if (!faults.active) return this.#process(exchange, NO_FAULTS);
    const effects = faults.draw({
      endpoint: this.#endpointName(exchange.request),
      account: this.#accountOf(exchange.request),
      region: exchange.region,
    });
    const plan = planOf(effects, () => faults.random());
    exchange.faults = effects.map((effect) => effect.kind);
    const proceed = () => this.#proceed(exchange, plan);
    if (plan.requestDelayMs > 0) this.#delays.after(plan.requestDelayMs, proceed);
    else proceed();
  }

  #proceed(exchange: Exchange, plan: FaultPlan): void {
    if (plan.unseen !== undefined) {
      this.#record(exchange, 'unseen', {});
      return lose(exchange, plan.unseen);
    }
    if (plan.status !== undefined && plan.status.applied !== true) {
      return this.#answerUnseen(exchange, faultReply(plan.status, exchange.isPublic), exchange.faults);
    }
    const lateMs = plan.lost === undefined ? 0 : this.#parts.lateArrivalMs();
    if (plan.late !== undefined || lateMs > 0) return this.#applyLate(exchange, plan, lateMs);
    return this.#process(exchange, plan);
  }

  /** The client has lost its connection; the request is still on its way and is only looked at on arrival. */
  #applyLate(exchange: Exchange, plan: FaultPlan, lateArrivalMs: number): void {
    const lost = plan.late === undefined ? plan.lost : plan.late.connection;
    lose(exchange, lost ?? 'reset');
    const seq = this.#record(exchange, 'pending', {});
    const arrive = () => this.#complete(exchange, plan.staleMs, seq);
    const delayMs = plan.late === undefined ? lateArrivalMs : plan.late.delayMs;
    if (delayMs === undefined) this.#delays.hold(arrive);
    else this.#delays.after(delayMs, arrive);
  }

  #complete(exchange: Exchange, staleMs: number, seq: number): void {
    const handledAtMs = this.#parts.nowMs();
    const dispatched = this.#parts.dispatch(exchange.request, staleMs);
    this.#parts.log.update(seq, {
      handledAtMs,
      outcome: outcomeOf(dispatched.reply),
      ...learned(dispatched),
    });
  }

  #process(exchange: Exchange, plan: FaultPlan): void {
    const dispatched = this.#parts.dispatch(exchange.request, plan.staleMs);
    const reply = plan.status === undefined ? dispatched.reply : faultReply(plan.status, exchange.isPublic);
    const random = () => this.#parts.faults.random();
    const body = plan.damages.length === 0 ? reply.body : damagedBody(reply.body, plan, random);
    const delivered = plan.lost === undefined && !plan.cutBody && body === reply.body;
    this.#record(exchange, outcomeOf(dispatched.reply), {
      dispatched,
      delivered,
      status: reply.status,
    });
    if (plan.lost !== undefined) return lose(exchange, plan.lost);
    const finish = () => this.#send(exchange, { ...reply, body }, plan.cutBody);
    if (plan.replyDelayMs > 0) return this.#delays.after(plan.replyDelayMs, finish);
    return finish();
  }

  #answerUnseen(exchange: Exchange, reply: Reply, faults: readonly string[]): void {
    this.#record(exchange, 'unseen', { faults, status: reply.status, delivered: true });
    this.#send(exchange, reply, false);
  }

  #send({ response }: Exchange, reply: Reply, cut: boolean): void {
    if (response.destroyed) return;
    const body = Buffer.from(reply.body);
    response.sendDate = false;
    const headers = [
      'Content-Type',
      reply.contentType ?? 'application/json; charset=utf-8',
      'Content-Length',
      String(body.length),
      'Cache-Control',
      'no-store',
      'Date',
      this.#dateHeader(),
    ];
    if (reply.location !== undefined) headers.push('Location', reply.location);
    response.writeHead(reply.status, headers);
    if (!cut) response.end(body);
    else response.write(body.subarray(0, body.length >> 1), () => response.socket?.destroy());
  }

  #dateHeader(): string {
    const second = Math.floor(this.#parts.serverTimeMs() / 1_000);
    if (second !== this.#dateSecond) {
      this.#dateSecond = second;
      this.#date = new Date(second * 1_000).toUTCString();
    }
    return this.#date;
  }

  #record(
    exchange: Exchange,
    outcome: RequestOutcome,
    more: {
      readonly dispatched?: Dispatched;
      readonly delivered?: boolean;
      readonly status?: number;
      readonly faults?: readonly string[];
    },
  ): number {
    const { request } = exchange;
    const seen = outcome === 'served' || outcome === 'refused';
    const nowMs = this.#parts.nowMs();
    return this.#parts.log.add({
      atMs: nowMs,
      handledAtMs: seen ? nowMs : null,
      region: exchange.region,
      address: request.address,
      httpMethod: request.httpMethod,
      path: request.path,
      endpoint: this.#endpointName(request),
      outcome,
      account: this.#accountOf(request) ?? null,
      nonce: null,
      code: null,
      message: null,
      fields: null,
      clientOrderId: null,
      ...(more.dispatched === undefined ? {} : learned(more.dispatched)),
      status: more.status ?? null,
      faults: more.faults ?? exchange.faults,
      delivered: more.delivered ?? false,
    });
  }

  #endpointName(request: IncomingRequest): string {
    return this.#parts.endpoints.get(request.path)?.name ?? '';
  }

  #accountOf(request: IncomingRequest): string | undefined {
    return request.apiKey === undefined ? undefined : this.#parts.accountOfKey(request.apiKey);
  }
}

/** One request and the connection that waits for its reply. */
class Exchange {
  readonly region: number;
  readonly response: ServerResponse;
  readonly request: IncomingRequest;
  readonly isPublic: boolean;
  faults: readonly string[] = NONE;

  constructor(region: number, response: ServerResponse, request: IncomingRequest) {
    this.region = region;
    this.response = response;
    this.request = request;
    this.isPublic = request.path.startsWith('/api/v4/public/');
  }
}

const NONE: readonly string[] = [];

function bodyOf(chunks: readonly Buffer[], size: number): Buffer {
  if (size === 0) return NO_BODY;
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
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
    address: message.socket.remoteAddress ?? '',
  };
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

function lose({ response }: Exchange, connection: LostConnection): void {
  // A reply that waits behind another one of its connection has no socket yet; its request has.
  if (connection === 'reset') response.req.socket.resetAndDestroy();
}

function unavailable(isPublic: boolean): Reply {
  const message = 'Service is temporarily unavailable';
  return isPublic ? publicError(503, message) : privateError(503, 0, message);
}

function outcomeOf(reply: Reply): RequestOutcome {
  return reply.error === undefined ? 'served' : 'refused';
}

/** What the log keeps of a dispatched request: never its body. */
function learned({ reply, accountId, nonce, params }: Dispatched) {
  const clientOrderId = params?.['client_order_id'] ?? params?.['clientOrderId'];
  return {
    ...(accountId === undefined ? {} : { account: accountId }),
    nonce: nonce ?? null,
    status: reply.status,
    code: reply.error?.code ?? null,
    message: reply.error?.message ?? null,
    fields: reply.error?.fields ?? null,
    clientOrderId: typeof clientOrderId === 'string' ? clientOrderId : null,
  };
}
