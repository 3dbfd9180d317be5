import type { Timers } from '../../../src/core/ports/clock.ts';
import type { CallOptions } from '../../../src/core/ports/exchange.ts';
import type { CallEvent, ExchangeObserver } from '../../../src/exchange/call/observer.ts';
import { Connections } from '../../../src/exchange/call/transport.ts';
import { createExchangeClient, type ExchangeClient } from '../../../src/exchange/client.ts';
import type { NonceMode } from '../../../src/exchange/nonce/nonce-modes.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';
import { Dice } from '../../support/dice.ts';
import { API_KEY, API_SECRET, decimalText, STOP } from '../fixtures.ts';
import { MAX_REPLY_BYTES, PlayedWire, type Sent } from './played-wire.ts';

/** Two clients of one key in virtual time, over random connections and a random exchange. */

const START_MS = 1_767_225_600_000;
const STEPS = 40;
const ATTEMPT_MS = 500;
export const CALL_MS = 3_000;
/** Concurrent requests of a client, without the slot reserved for protective ones. */
const CONNECTIONS = 2;
export const MOST_IN_FLIGHT = CONNECTIONS + 1;
/** Time after the last step until every call has ended. */
const AFTERMATH_MS = 10_000;
/** Time until no pause of a limit is left. */
const RECOVERY_MS = 600_000;

const ADDRESSES = ['https://one.example', 'https://two.example/api//', 'http://three.example:8080/x/'];

export interface Circumstances {
  readonly mode: NonceMode;
  readonly addresses: 1 | 2 | 3;
  readonly isProxied?: true;
  /** How much too fast the client's clocks run, in millionths. */
  readonly driftPpm?: number;
  /** The kind of observer; default: one that works. */
  readonly observer?: 'throws' | 'none';
}

export interface Asked {
  readonly who: number;
  readonly what: Operation;
  /** A name in the bodies of the call's requests. */
  readonly name: string;
  readonly startedMs: number;
  readonly timeoutMs: number;
  readonly options: CallOptions;
  endedMs: number;
  outcome: {
    readonly kind: string;
    readonly error?: { readonly name: string; readonly effect: string };
  } | null;
}

export interface PlayedCalls {
  readonly asked: readonly Asked[];
  readonly sent: readonly Sent[];
  readonly events: readonly (CallEvent & { readonly who: number })[];
  /** The outcomes of calls once no faults occur any more. */
  readonly afterwards: readonly string[];
  /** Timers left then, with no call under way. */
  readonly timersLeft: number;
  /** Open connections after all clients were closed. */
  readonly openLeft: number;
  readonly lines: readonly string[];
}

const OPERATIONS = [
  'ping',
  'openPositions',
  'mainBalance',
  'cancelAll',
  'reduceOnlyStop',
  'stopLimit',
  'deposit',
] as const;

type Operation = (typeof OPERATIONS)[number];

export async function playCalls(how: Circumstances, seed: number): Promise<PlayedCalls> {
  return await new Game(how, new Dice(seed)).play();
}

class Game {
  readonly #how: Circumstances;
  readonly #dice: Dice;
  readonly #queue = new EventQueue();
  readonly #host: Machine;
  readonly #time: MachineProcess;
  readonly #wire: PlayedWire;
  readonly #clients: readonly ExchangeClient[];
  readonly #asked: Asked[] = [];
  readonly #events: (CallEvent & { readonly who: number })[] = [];
  readonly #lines: string[] = [];
  readonly #timers = new Set<symbol>();
  #open = 0;

  constructor(how: Circumstances, dice: Dice) {
    this.#how = how;
    this.#dice = dice;
    this.#host = new Machine(this.#queue, START_MS, how);
    this.#time = new MachineProcess(this.#queue, this.#host);
    const say = (words: string): void => this.#say(words);
    this.#wire = new PlayedWire(this.#queue, new Dice(dice.next() * 2 ** 32), START_MS, say);
    this.#clients = this.#begin();
  }

  async play(): Promise<PlayedCalls> {
    for (let step = 0; step < STEPS; step += 1) {
      await this.#pass(this.#dice.of(0, 0, 5, 25, 50, 100, 100, 200, 500, 1_000));
      this.#step();
    }
    await this.#pass(AFTERMATH_MS, () => this.#open === 0);
    this.#wire.isCalm = true;
    await this.#pass(RECOVERY_MS);
    const afterwards = await this.#allIsWell();
    const timersLeft = this.#timers.size;
    this.#wire.isCalm = false;
    await this.#close();
    const openLeft = [...this.#wire.open.values()].reduce((sum, count) => sum + count, 0);
    const [asked, events, lines] = [this.#asked, this.#events, this.#lines];
    return { asked, sent: this.#wire.sent, events, afterwards, timersLeft, openLeft, lines };
  }

  /** Closes clients while they are at work. */
  async #close(): Promise<void> {
    const askAll = (): void => {
      for (const who of [0, 1]) {
        for (const what of OPERATIONS) void this.#ask(who, what, {});
      }
    };
    askAll();
    await this.#pass(this.#dice.of(0, 5, 25));
    const closed = this.#clients.map(async (client, who) => {
      await client.close();
      this.#say(`${who} is closed`);
    });
    for (const client of this.#clients) client.prefetch('cancelAll');
    await this.#pass(this.#dice.of(0, 5));
    askAll();
    await this.#pass(AFTERMATH_MS);
    await Promise.all(closed);
  }

  #begin(): readonly ExchangeClient[] {
    const { mode, addresses, isProxied } = this.#how;
    const { clock } = this.#time;
    const timers = this.#countedTimers();
    const store = this.#reached('nonces', createMemoryNonceStore(clock));
    const limits = this.#reached('permits', createMemoryRateLimitStore(clock));
    const open = (origin: string, settings: Parameters<PlayedWire['dispatcher']>[1]) =>
      this.#wire.dispatcher(origin, settings);
    const sharedConnections = new Connections({ open, timers });
    return [0, 1].map((who) => {
      const random = new Dice(this.#dice.next() * 2 ** 32);
      return createExchangeClient({
        baseUrls: ADDRESSES.slice(0, addresses),
        credentials: { apiKey: API_KEY, apiSecret: API_SECRET },
        nonce: { mode, store, owner: `client-${who}`, ordinal: who, leaseMs: 300 },
        limiter: {
          store: limits,
          fallback: limits,
          limits: { positions: { limit: 8, periodMs: 2_000 }, order: { limit: 12, periodMs: 2_000 } },
        },
        timeouts: { attemptMs: ATTEMPT_MS, callMs: CALL_MS },
        retry: { maxAttempts: 4, firstBackoffMs: 100, maxBackoffMs: 350 },
        pool: { connections: CONNECTIONS, maxReplyBytes: MAX_REPLY_BYTES },
        ...(isProxied === true ? { proxy: 'http://user:word@proxy.example:3128' } : {}),
        ...(who === 0 ? { version: '1.2.3' } : {}),
        clock,
        timers,
        // Often the same, so that compared values are often equal.
        random: () => random.of(0, 0, 0.5, 0.75),
        observer: this.#observer(who),
        sharedConnections,
      });
    });
  }

  /** A store that sometimes answers late. */
  #reached<T extends object>(what: string, store: T): T {
    const slow = new Proxy(store, {
      get: (target, name: string) => {
        const method = (target as Record<string, (...given: readonly unknown[]) => unknown>)[name];
        return (...given: readonly unknown[]) => {
          const answer = method?.apply(target, [...given]);
          if (name.startsWith('on')) return answer;
          this.#say(`${what}: ${name} ${JSON.stringify(given)}`);
          const takesMs = this.#wire.isCalm ? 0 : this.#dice.of(0, 0, 0, 0, 5, 50, 200, 400);
          if (takesMs === 0) return answer;
          return new Promise((resolve) => void this.#queue.after(takesMs, () => resolve(answer)));
        };
      },
    });
    return slow;
  }

  #countedTimers(): Timers {
    const { timers } = this.#time;
    return {
      ...timers,
      after: (delayMs, call) => {
        const id = Symbol('timer');
        this.#timers.add(id);
        const callOff = timers.after(delayMs, () => {
          this.#timers.delete(id);
          call();
        });
        return () => {
          this.#timers.delete(id);
          callOff();
        };
      },
    };
  }

  #observer(who: number): ExchangeObserver {
    const { observer } = this.#how;
    if (observer === 'none') return {};
    const hear = (what: string, event: object): void => {
      this.#say(`${who} tells ${what} ${JSON.stringify(event)}`);
      if (observer === 'throws') throw new Error('a defect of who listens');
    };
    return {
      onCall: (event) => {
        this.#events.push({ ...event, who });
        hear('of a call', event);
      },
      onDrift: (event) => hear('of a reply', event),
      onPathFailure: (event) => hear('of the way', event),
      onStore: (event) => hear('of a store', event),
    };
  }

  #step(): void {
    const who = this.#dice.of(0, 1);
    if (this.#dice.hits(0.8)) {
      const times = this.#dice.of(1, 1, 1, 2, 3, 8);
      const what = this.#dice.of<Operation>(...OPERATIONS, 'openPositions');
      for (let index = 0; index < times; index += 1) void this.#ask(who, what, this.#options());
    } else if (this.#dice.hits(0.6)) {
      this.#clients[who]?.prefetch(this.#dice.of('reduceOnlyStop', 'cancelAll'));
    } else this.#host.stepWall(this.#dice.of(-400, 400, 5_000));
  }

  #options(): CallOptions {
    const dice = this.#dice;
    const timeoutMs = dice.of(undefined, undefined, undefined, 0, 50, 300, 1_000, 8_000);
    const answerWithinMs = dice.of(undefined, undefined, undefined, 100, 499, 600);
    const priority = dice.of(undefined, 'normal', 'watching', 'protective', 'protective');
    const abortMs = dice.hits(0.15) ? dice.of(-1, 0, 5, 50, 100, 400, 1e9) : undefined;
    const mayLeave = dice.hits(0.2) ? dice.of([true, true, true], [false], [true, false]) : undefined;
    return {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(answerWithinMs === undefined ? {} : { answerWithinMs }),
      ...(priority === undefined ? {} : { priority }),
      ...(abortMs === undefined ? {} : { signal: this.#signal(abortMs) }),
      ...(mayLeave === undefined ? {} : { mayLeave: this.#mayLeave([...mayLeave]) }),
    };
  }

  #signal(abortMs: number): AbortSignal {
    const controller = new AbortController();
    if (abortMs < 0) controller.abort();
    else this.#queue.after(abortMs, () => controller.abort());
    return controller.signal;
  }

  #mayLeave(answers: boolean[]): (timeoutMs: number) => boolean {
    return (timeoutMs) => {
      const answer = answers.shift() ?? true;
      this.#say(`may it leave for ${Math.round(timeoutMs)} ms: ${answer}`);
      return answer;
    };
  }

  async #ask(who: number, what: Operation, options: CallOptions): Promise<void> {
    const client = this.#clients[who];
    if (client === undefined) return;
    const startedMs = this.#queue.nowMs;
    const name = `m${this.#asked.length}`;
    const { timeoutMs = CALL_MS } = options;
    const asked: Asked = { who, what, name, startedMs, timeoutMs, options, endedMs: Infinity, outcome: null };
    this.#asked.push(asked);
    this.#open += 1;
    this.#say(
      `${who} ${what} ${name} ${JSON.stringify({ ...options, signal: options.signal !== undefined })}`,
    );
    asked.outcome = await this.#call(client, asked);
    asked.endedMs = this.#queue.nowMs;
    this.#open -= 1;
    this.#say(`${name} ${JSON.stringify(asked.outcome)}`);
  }

  #call(client: ExchangeClient, { what, name, options: given }: Asked) {
    const options = Object.keys(given).length === 0 ? undefined : given;
    const market = `${name.toUpperCase()}_PERP`;
    if (what === 'ping' || what === 'mainBalance') return client[what](options);
    if (what === 'openPositions') return client.openPositions({}, options);
    if (what === 'cancelAll') return client.cancelAll({ market }, options);
    if (what === 'reduceOnlyStop') {
      return client.reduceOnlyStop({ ...STOP, market, clientOrderId: name }, options);
    }
    const { clientOrderId: _, ...stop } = STOP;
    if (what === 'stopLimit') return client.stopLimit({ ...stop, market }, options);
    const deposit = { ticker: 'UAH', provider: 'BANK', amount: decimalText('5'), uniqueId: name };
    return client.fiatDepositLink(deposit, options);
  }

  async #allIsWell(): Promise<readonly string[]> {
    const from = this.#asked.length;
    for (const who of [0, 1]) {
      for (const what of ['openPositions', 'cancelAll', 'ping'] as const) {
        for (let index = 0; index < MOST_IN_FLIGHT; index += 1) void this.#ask(who, what, {});
      }
    }
    await this.#pass(AFTERMATH_MS, () => this.#open === 0);
    return this.#asked.slice(from).map(({ what, outcome }) => `${what} ${outcome?.kind}`);
  }

  async #pass(forMs: number, isOver: () => boolean = () => false): Promise<void> {
    await this.#queue.run(this.#queue.nowMs + forMs, isOver);
  }

  #say(words: string): void {
    this.#lines.push(`${this.#queue.nowMs} ${words}`);
  }
}
