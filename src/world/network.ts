import type { Dispatcher } from 'undici';
import type { WireDispatcher } from '../exchange/call/sockets.ts';
import { type IncomingRequest, MAX_BODY_BYTES } from '../simulator/http/dispatch.ts';
import type { ExchangeFront, ReplyConnection } from '../simulator/http/front.ts';
import { onTheWire, type Reply } from '../simulator/http/reply.ts';
import type { EventQueue } from './event-queue.ts';
import type { MachineProcess } from './machine.ts';

export interface NetworkParts {
  readonly queue: EventQueue;
  readonly front: ExchangeFront;
  /** One way, milliseconds. */
  readonly toExchangeMs: () => number;
  readonly toDaemonMs: () => number;
}

/** Connects processes with the exchange's base addresses, without sockets; latencies are events of the queue. */
export class Network {
  readonly #parts: NetworkParts;
  readonly #open: Set<Exchange>[] = [];

  constructor(parts: NetworkParts, regions: number) {
    this.#parts = parts;
    for (let index = 0; index < regions; index++) {
      const open = new Set<Exchange>();
      this.#open.push(open);
      parts.front.addRegion(() => {
        for (const exchange of open) exchange.reset();
      });
    }
  }

  /** Stands in for a client's connections to one base address. */
  dispatcher(region: number, from: MachineProcess, address: string): WireDispatcher {
    const open = this.#open[region];
    if (open === undefined) throw new RangeError(`there is no base address ${region}`);
    const { queue, front, toExchangeMs } = this.#parts;
    return {
      dispatch: (options, handler) => {
        if (from.state === 'dead') return true;
        const exchange = new Exchange(this.#parts, from, handler, open);
        handler.onRequestStart?.(exchange, undefined);
        if (exchange.aborted) return true;
        // A request under way arrives even if its sender ends.
        const request = incoming(options, address);
        queue.after(toExchangeMs(), () => {
          if (from.machine.links.exchange !== 'down') front.receive(region, request, exchange);
        });
        return true;
      },
      close: () => Promise.resolve(),
    };
  }
}

/** One request and its reply. */
class Exchange implements ReplyConnection, Dispatcher.DispatchController {
  readonly #parts: NetworkParts;
  readonly #to: MachineProcess;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #open: Set<Exchange>;
  readonly paused = false;
  reason: Error | null = null;

  constructor(
    parts: NetworkParts,
    to: MachineProcess,
    handler: Dispatcher.DispatchHandler,
    open: Set<Exchange>,
  ) {
    this.#parts = parts;
    this.#to = to;
    this.#handler = handler;
    this.#open = open;
    open.add(this);
  }

  get aborted(): boolean {
    return this.reason !== null;
  }

  abort(reason: Error): void {
    this.reason = reason;
    this.#open.delete(this);
  }

  pause(): void {}

  resume(): void {}

  send(reply: Reply, dateText: string, isCut: boolean): void {
    this.#answer(() => {
      const handler = this.#handler;
      const { headers, body } = onTheWire(reply, dateText);
      handler.onResponseStart?.(this, reply.status, headers);
      handler.onResponseData?.(this, isCut ? body.subarray(0, body.length >> 1) : body);
      if (this.aborted) return;
      if (isCut) handler.onResponseError?.(this, new Error('the connection broke'));
      else handler.onResponseEnd?.(this, {});
    });
  }

  reset(): void {
    this.#answer(() => this.#handler.onResponseError?.(this, new Error('the connection was reset')));
  }

  /** The first answer counts; after a reset nothing else arrives. */
  #answer(arrive: () => void): void {
    if (!this.#open.delete(this)) return;
    const { queue, toDaemonMs } = this.#parts;
    const call = (): void => {
      if (!this.aborted && this.#to.machine.links.exchange === 'up') arrive();
    };
    queue.after(toDaemonMs(), call, this.#to);
  }
}

const NO_BODY = Buffer.alloc(0);

function incoming(options: Dispatcher.DispatchOptions, address: string): IncomingRequest {
  const { method, path, body } = options;
  const query = path.indexOf('?');
  const headers = headersOf(options.headers as readonly string[]);
  const bytes = Buffer.isBuffer(body) ? body : NO_BODY;
  return {
    httpMethod: method,
    path: query === -1 ? path : path.slice(0, query),
    body: bytes,
    oversized: bytes.length > MAX_BODY_BYTES,
    contentType: headers.get('content-type'),
    apiKey: headers.get('x-txc-apikey'),
    payload: headers.get('x-txc-payload'),
    signature: headers.get('x-txc-signature'),
    referer: undefined,
    userAgent: headers.get('user-agent'),
    acceptEncoding: headers.get('accept-encoding'),
    address,
  };
}

/** Takes alternating names and values. */
function headersOf(list: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let index = 0; index + 1 < list.length; index += 2) {
    headers.set((list[index] ?? '').toLowerCase(), list[index + 1] ?? '');
  }
  return headers;
}
