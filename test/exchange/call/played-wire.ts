import { gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { TransportSettings, WireDispatcher } from '../../../src/exchange/call/sockets.ts';
import { ENDPOINTS } from '../../../src/exchange/endpoints.ts';
import type { EventQueue } from '../../../src/world/event-queue.ts';
import type { Dice } from '../../support/dice.ts';
import { PLACED_ORDER, POSITION } from '../fixtures.ts';

/** Connections of clients in virtual time, and the exchange at their end, with all faults a request may meet. */

export const MAX_REPLY_BYTES = 4_000;

export interface Sent {
  readonly atMs: number;
  readonly origin: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Name in the request's body; empty if there is none. */
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Number of connections that have carried the request. */
  writes: number;
  /** Whether the exchange has carried out the request. */
  isDone: boolean;
  endedMs: number;
}

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

interface Reply {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

const failure = (code: string, message = code): Error => Object.assign(new Error(message), { code });

export class PlayedWire {
  readonly sent: Sent[] = [];
  /** Ends all faults. */
  isCalm = false;
  /** Open dispatchers by origin. */
  readonly open = new Map<string, number>();
  readonly #queue: EventQueue;
  readonly #dice: Dice;
  readonly #say: (words: string) => void;
  readonly #startMs: number;

  constructor(queue: EventQueue, dice: Dice, startMs: number, say: (words: string) => void) {
    this.#queue = queue;
    this.#dice = dice;
    this.#startMs = startMs;
    this.#say = say;
  }

  dispatcher(origin: string, settings: TransportSettings): WireDispatcher {
    this.#say(`opens ${origin}, at most ${settings.connections ?? 'any'}`);
    this.open.set(origin, (this.open.get(origin) ?? 0) + 1);
    return {
      dispatch: (options: Dispatcher.DispatchOptions, handler: Handler) => this.#dispatch(options, handler),
      close: () => {
        this.#say(`closes ${origin}`);
        this.open.set(origin, (this.open.get(origin) ?? 0) - 1);
        return Promise.resolve();
      },
    };
  }

  #dispatch(options: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const [names, text] = [options.headers as string[], (options.body as Buffer | null)?.toString() ?? ''];
    const pairs = names.flatMap((name, index) => (index % 2 === 0 ? [[name, names[index + 1] ?? '']] : []));
    const sent: Sent = {
      atMs: this.#queue.nowMs,
      origin: String(options.origin),
      path: options.path,
      method: options.method,
      headers: Object.fromEntries(pairs) as Record<string, string>,
      text,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      writes: 0,
      isDone: false,
      endedMs: Infinity,
    };
    const name = `#${this.sent.push(sent)}`;
    this.#say(`${name} ${sent.method} ${sent.origin}${sent.path} ${text} ${pairs.length} headers`);
    if (options.idempotent !== false || options.reset === true) this.#say(`${name} may be repeated`);
    new Exchange(sent, handler, this.#queue, (words) => this.#say(`${name} ${words}`)).play(this.#fate(sent));
    return true;
  }

  #fate(sent: Sent): Fate {
    const dice = this.#dice;
    const opens = { opensMs: dice.of(0, 0, 0, 5, 50), takesMs: dice.of(0, 5, 5, 25, 25, 50, 100) };
    const good = goodReply(sent, new Date(this.#startMs + this.#queue.nowMs).toUTCString());
    const whole = { ...opens, reply: good, pieces: 1, ends: 'whole' } as const;
    if (this.isCalm || dice.hits(0.55)) return whole;
    if (dice.hits(0.55)) return { ...whole, reply: badReply(dice, good), pieces: dice.of(1, 1, 2, 3) };
    if (dice.hits(0.3)) {
      const code = dice.of(
        'ECONNREFUSED',
        'ENOTFOUND',
        'CERT_HAS_EXPIRED',
        'UND_ERR_CONNECT_TIMEOUT',
        'EPIPE',
      );
      const error = failure(code, dice.of(code, code, 'Proxy response (407) !== 200 when HTTP Tunneling'));
      return { ...opens, opensMs: dice.of(0, 5, 100, 600), refusedBy: error, isThrown: dice.hits(0.3) };
    }
    return {
      ...whole,
      opensMs: dice.of(0, 5, 50, 400, 600),
      takesMs: dice.of(5, 100, 400, 499, 500, 501, 700, 2_500),
      pieces: dice.of(1, 2),
      isOfferedTwice: dice.hits(0.2),
      ends: dice.of('whole', 'broken', 'never', 'half'),
    };
  }
}

type Fate =
  | { readonly opensMs: number; readonly refusedBy: Error; readonly isThrown: boolean }
  | {
      readonly opensMs: number;
      readonly takesMs: number;
      readonly reply: Reply;
      readonly pieces: number;
      readonly isOfferedTwice?: boolean;
      /** `half`: the connection breaks within the body. */
      readonly ends: 'whole' | 'broken' | 'never' | 'half';
    };

/** A request on its way, as undici carries it. */
class Exchange {
  readonly #sent: Sent;
  readonly #handler: Handler;
  readonly #queue: EventQueue;
  #isOver = false;
  readonly #controller: Controller;

  constructor(sent: Sent, handler: Handler, queue: EventQueue, say: (words: string) => void) {
    this.#sent = sent;
    this.#handler = handler;
    this.#queue = queue;
    this.#controller = {
      abort: (reason: Error) => {
        say(`is given up: ${reason.message}`);
        this.#fail(reason);
      },
    } as Controller;
  }

  play(fate: Fate): void {
    if ('refusedBy' in fate) {
      if (fate.isThrown) {
        this.#end();
        throw fate.refusedBy;
      }
      return this.#after(fate.opensMs, () => this.#fail(fate.refusedBy));
    }
    this.#after(fate.opensMs, () => {
      if (!this.#isTaken()) return;
      // The connection has broken, and another one is offered.
      if (fate.isOfferedTwice === true && !this.#isTaken()) return;
      this.#after(fate.takesMs / 2, () => {
        const { ends, reply } = fate;
        this.#sent.isDone = ends !== 'whole' || isGood(reply);
      });
      this.#after(fate.takesMs, () => this.#answer(fate));
    });
  }

  /** Offers a connection; returns false if the request is not written to it. */
  #isTaken(): boolean {
    this.#handler.onRequestStart?.(this.#controller, {});
    if (!this.#isOver) this.#sent.writes += 1;
    return !this.#isOver;
  }

  #answer({ ends, reply, pieces }: Exclude<Fate, { refusedBy: Error }>): void {
    if (ends === 'never') return;
    if (ends === 'broken') return this.#fail(failure('ECONNRESET'));
    this.#handler.onResponseStart?.(this.#controller, reply.status, { ...reply.headers });
    const bytes = Buffer.from(reply.body);
    const size = Math.ceil(bytes.length / pieces);
    for (let piece = 0; piece < pieces; piece += 1) {
      this.#after(piece * 5, () => {
        this.#handler.onResponseData?.(this.#controller, bytes.subarray(piece * size, (piece + 1) * size));
      });
    }
    this.#after(pieces * 5, () => {
      if (ends === 'half') return this.#fail(failure('UND_ERR_SOCKET', 'other side closed'));
      this.#end();
      this.#handler.onResponseEnd?.(this.#controller, {});
    });
  }

  #fail(error: Error): void {
    this.#end();
    this.#handler.onResponseError?.(this.#controller, error);
  }

  #end(): void {
    this.#isOver = true;
    this.#sent.endedMs = this.#queue.nowMs;
  }

  #after(delayMs: number, call: () => void): void {
    this.#queue.after(delayMs, () => {
      if (!this.#isOver) call();
    });
  }
}

const isGood = ({ status, body }: Reply): boolean =>
  status === 200 && !/success|<html>|"CANCELED"/.test(String(body));

function goodReply({ path, body }: Sent, date: string): Reply {
  const headers = { date, 'content-type': 'application/json' };
  const is = (name: keyof typeof ENDPOINTS): boolean => path.endsWith(ENDPOINTS[name].path);
  const value = is('ping')
    ? ['pong']
    : is('openPositions')
      ? [POSITION]
      : is('mainBalance')
        ? { BTC: { main_balance: '1.5' } }
        : is('fiatDeposit')
          ? { url: 'https://pay.example/1' }
          : is('stopLimit')
            ? {
                ...PLACED_ORDER,
                market: body['market'],
                client_order_id: body['client_order_id'] ?? body['clientOrderId'] ?? '',
              }
            : [];
  return { status: 200, headers, body: JSON.stringify(value) };
}

function badReply(dice: Dice, good: Reply): Reply {
  const said = (status: number, code: number, message: string, headers = {}): Reply => ({
    status,
    headers: { ...good.headers, ...headers },
    body: JSON.stringify({ code, message, errors: {} }),
  });
  const page = (status: number, headers = {}): Reply => ({ status, headers, body: '<html>so sorry</html>' });
  const padded = (length: number): Reply => ({ ...good, body: good.body.toString().padEnd(length) });
  const packed = { ...good, headers: { ...good.headers, 'content-encoding': 'gzip' } };
  return dice.of<() => Reply>(
    () => said(429, 0, 'Too many requests.'),
    () => said(429, 0, 'Too many requests.', { 'retry-after': dice.of('0', '1', '3', '70') }),
    () => said(429, 0, 'Limit', { 'retry-after': ['2', '9'], date: ['no date', 'nor this'] }),
    () => page(429, dice.of({}, { 'retry-after': '1' }, { 'retry-after': '2' })),
    () => ({ ...good, body: good.body.toString().replace('"NEW"', '"CANCELED"') }),
    () => said(401, 0, 'Nonce has already been used.'),
    () => said(401, 0, 'Nonce has already been used.'),
    () => said(422, dice.of(30, 31, 36, 116), 'Validation failed'),
    () => said(dice.of(500, 503, 408), 0, 'busy', dice.of({}, { 'retry-after': '1' })),
    () => said(403, 0, 'IP address is not in the whitelist'),
    () => page(dice.of(302, 403, 502, 503, 200)),
    () => ({ ...good, body: JSON.stringify({ success: false, code: 0, message: 'no permission' }) }),
    () => ({ ...good, headers: {}, body: dice.of('', '{}', '[1]', 'null') }),
    () => padded(dice.of(MAX_REPLY_BYTES, MAX_REPLY_BYTES + 1)),
    () => ({ ...packed, body: gzipSync(dice.of(good, good, padded(MAX_REPLY_BYTES + 1)).body) }),
    () => ({ ...packed, body: 'not packed at all' }),
  )();
}
