import type { NonceStore } from '../../../src/core/ports/nonce-store.ts';
import { CallScope } from '../../../src/exchange/call/call-scope.ts';
import {
  createNonceSource,
  type NonceMode,
  type NonceSource,
} from '../../../src/exchange/nonce/nonce-modes.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';
import { Dice } from '../../support/dice.ts';

/**
 * Three processes that share a key and a store, in virtual time. Most times are multiples of those that the code
 * compares with, so that compared values are often equal. The world's clock is the exchange's.
 */

const START_MS = 1_767_225_600_000;
const LEASE_MS = 300;
const STORE_TIMEOUT_MS = 250;
const STEPS = 70;
/** Time after the last step until everything that was asked for has arrived or was given up. */
const AFTERMATH_MS = 60_000;

export interface Taken {
  /** Since the start, by the exchange's clock. */
  readonly askedMs: number;
  readonly atMs: number;
  readonly who: number;
  readonly nonce: number;
  readonly kind: 'read' | 'command';
  readonly protective: boolean;
  /** Whether a reply has shown the process the exchange's time. */
  readonly dated: boolean;
  /** Until when the nonce was held, and whether it could still be sent when it was released. */
  releasedMs: number;
  wasCurrent: boolean;
}

export interface Played {
  readonly taken: readonly Taken[];
  readonly gaveUp: number;
  readonly lines: readonly string[];
}

export interface Circumstances {
  /** `fails`: it is sometimes lost or slow; `forgets`: it is also emptied. */
  readonly store: 'holds' | 'fails' | 'forgets';
  /** Whether the wall clocks are off and are set. */
  readonly clocksFail: boolean;
  /** Whether the exchange sometimes refuses nonces. */
  readonly refusals: boolean;
}

interface Player {
  readonly who: number;
  readonly host: Machine;
  readonly time: MachineProcess;
  readonly source: NonceSource;
  dated: boolean;
}

export async function playNonces(mode: NonceMode, seed: number, how: Circumstances): Promise<Played> {
  const game = new Game(mode, new Dice(seed), how);
  return await game.play();
}

class Game {
  readonly #mode: NonceMode;
  readonly #dice: Dice;
  readonly #how: Circumstances;
  readonly #queue = new EventQueue();
  readonly #storeTime = new MachineProcess(this.#queue, new Machine(this.#queue, START_MS));
  readonly #players: readonly Player[];
  #memory = createMemoryNonceStore(this.#storeTime.clock);
  #isLost = false;
  #takesMs = 0;
  #gaveUp = 0;
  #open = 0;
  readonly #taken: Taken[] = [];
  readonly #lines: string[] = [];

  constructor(mode: NonceMode, dice: Dice, how: Circumstances) {
    this.#mode = mode;
    this.#dice = dice;
    this.#how = how;
    this.#players = [0, 1, 42].map((ordinal, who) => this.#begin(who, ordinal));
  }

  async play(): Promise<Played> {
    for (let step = 0; step < STEPS; step += 1) {
      const pauseMs = this.#dice.of(0, 0, 5, 15, 25, 50, 100, 100, 200, 200, 300, 1_000, 2_500, 10_000);
      await this.#queue.run(this.#queue.nowMs + pauseMs, () => false);
      this.#step();
    }
    this.#isLost = false;
    await this.#queue.run(this.#queue.nowMs + AFTERMATH_MS, () => this.#open === 0);
    for (const { source } of this.#players) source.close();
    return { taken: this.#taken, gaveUp: this.#gaveUp, lines: this.#lines };
  }

  #begin(who: number, ordinal: number): Player {
    const skewMs = this.#how.clocksFail ? this.#dice.of(0, -700, 700, -2_500, 2_500) : 0;
    const host = new Machine(this.#queue, START_MS, { skewMs });
    const time = new MachineProcess(this.#queue, host);
    const leaps = new Dice(who + 1);
    const source = createNonceSource(time, {
      mode: this.#mode,
      store: this.#reached(),
      key: 'key',
      owner: `process-${who}`,
      start: this.#dice.of(0, 0, START_MS * 1_000 + 7_000_007),
      ordinal,
      ordinals: 100,
      random: () => leaps.next(),
      storeTimeoutMs: STORE_TIMEOUT_MS,
      leaseMs: LEASE_MS,
      onStoreChange: (isThere) => this.#say(`${who} ${isThere ? 'has' : 'has lost'} the store`),
    });
    return { who, host, time, source, dated: false };
  }

  /** The store as a process reaches it: sometimes lost, sometimes slow. */
  #reached(): NonceStore {
    const ask = async <T>(question: (store: NonceStore) => Promise<T>): Promise<T> => {
      if (this.#isLost) throw new Error('lost');
      const answer = await question(this.#memory);
      const takesMs = this.#takesMs;
      if (takesMs > 0) await new Promise<void>((resolve) => void this.#queue.after(takesMs, resolve));
      return answer;
    };
    return {
      reserve: (...args) => ask((store) => store.reserve(...args)),
      reserveWindow: (...args) => ask((store) => store.reserveWindow(...args)),
      enterMutex: (...args) => ask((store) => store.enterMutex(...args)),
      renewMutex: (...args) => ask((store) => store.renewMutex(...args)),
      leaveMutex: (...args) => ask((store) => store.leaveMutex(...args)),
      onMutexSignal: (listener) => this.#memory.onMutexSignal(listener),
    };
  }

  #step(): void {
    const player = this.#dice.of(...(this.#players as [Player, ...Player[]]));
    const { store, clocksFail, refusals } = this.#how;
    if (this.#dice.hits(0.7)) this.#askFor(player);
    else if (store !== 'holds' && this.#dice.hits(0.4)) this.#upsetStore();
    else if (clocksFail && this.#dice.hits(0.3)) {
      player.host.stepWall(this.#dice.of(-3_600_000, -5_000, -7, 7, 5_000, 3_600_000));
    } else if (refusals && this.#dice.hits(0.4)) this.#refuse(player);
    else if (this.#dice.hits(0.5)) player.source.prefetch();
    else this.#reply(player, this.#dice.of(0, 25, 400));
  }

  #askFor(player: Player): void {
    const times = this.#dice.of(1, 1, 1, 2, 3, 5, 20);
    const kind = this.#dice.of('read', 'read', 'command');
    const protective = this.#dice.hits(0.25);
    const [holdsMs, timeoutMs] = [
      this.#dice.of(0, 5, 25, 50, 100, 350),
      this.#dice.of(100, 1_000, 15_000, 15_000),
    ];
    for (let index = 0; index < times; index += 1) {
      void this.#ask(player, { kind, protective, holdsMs, timeoutMs });
    }
  }

  async #ask(player: Player, asked: Asked): Promise<void> {
    const { who, time, source } = player;
    const { kind, protective, holdsMs, timeoutMs } = asked;
    const askedMs = this.#queue.nowMs;
    this.#open += 1;
    const scope = new CallScope(time, { startedMs: time.clock.monotonicMs(), timeoutMs });
    const ticket = await source.take({ kind, protective, scope });
    scope.end();
    const words = `${who} ${kind}${protective ? '!' : ''}`;
    if (ticket === undefined) {
      this.#open -= 1;
      this.#gaveUp += 1;
      return this.#say(`${words} gives up`);
    }
    this.#say(`${words} ${ticket.nonce}`);
    const atMs = this.#queue.nowMs;
    const { dated } = player;
    const nonce = Number(ticket.nonce);
    const taken: Taken = {
      askedMs,
      atMs,
      who,
      nonce,
      kind,
      protective,
      dated,
      releasedMs: Infinity,
      wasCurrent: false,
    };
    this.#taken.push(taken);
    const release = (): void => {
      if (taken.releasedMs !== Infinity) return;
      taken.releasedMs = this.#queue.nowMs;
      taken.wasCurrent = ticket.isCurrent();
      if (!taken.wasCurrent) this.#say(`${words} ${ticket.nonce} came too late`);
      this.#open -= 1;
      ticket.release();
    };
    ticket.onPreempt(() => {
      this.#say(`${words} makes way`);
      release();
    });
    this.#queue.after(holdsMs, release);
  }

  #upsetStore(): void {
    const what =
      this.#how.store === 'forgets' && this.#dice.hits(0.25)
        ? 'emptied'
        : this.#dice.of('lost', 'back', 'slow', 'fast');
    this.#say(`the store is ${what}`);
    if (what === 'lost') this.#isLost = true;
    else if (what === 'back') this.#isLost = false;
    else if (what === 'slow') this.#takesMs = this.#dice.of(50, 200, 400);
    else if (what === 'fast') this.#takesMs = 0;
    else this.#memory = createMemoryNonceStore(this.#storeTime.clock);
  }

  #refuse(player: Player): void {
    const repeats = this.#dice.of(0, 1, 2, 3);
    this.#say(`${player.who} is refused, ${repeats} times`);
    if (repeats === 0) player.source.doubted();
    else player.source.refused(repeats);
  }

  /** A reply shows the exchange's time between sending and receiving. */
  #reply({ who, time, source }: Player, latencyMs: number): void {
    const sentMs = time.clock.monotonicMs();
    this.#queue.after(latencyMs, () => {
      const dateMs = Math.floor((START_MS + this.#queue.nowMs) / 1_000) * 1_000;
      this.#queue.after(latencyMs, () => {
        source.observeDate(dateMs, sentMs, time.clock.monotonicMs());
        const player = this.#players[who];
        if (player !== undefined) player.dated = true;
      });
    });
  }

  #say(words: string): void {
    this.#lines.push(`${this.#queue.nowMs} ${words}`);
  }
}

interface Asked {
  readonly kind: 'read' | 'command';
  readonly protective: boolean;
  readonly holdsMs: number;
  readonly timeoutMs: number;
}

/** The exchange's clock at a time since the start. */
export const exchangeTime = (sinceStartMs: number): number => START_MS + sinceStartMs;
