import type { NonceStore } from '../core/ports/nonce-store.ts';
import { StoreLostError } from '../core/ports/state-store.ts';
import type { EventQueue } from './event-queue.ts';
import type { LinkState, MachineProcess } from './machine.ts';

/** Whether the shared store answers at all. */
export interface StoreState {
  isDown: boolean;
}

export interface StoreLinkParts {
  readonly queue: EventQueue;
  readonly process: MachineProcess;
  readonly store: StoreState;
  /** One way, milliseconds. */
  readonly latencyMs: () => number;
  /** No latency: calls go straight through. */
  readonly isInstant: boolean;
}

/** Time until the connection to Redis gives up. */
const GIVE_UP_MS = 2_000;

type Methods = Readonly<Record<string, unknown>>;

/**
 * One process's connection to the shared store. Keeps the order of calls; sends nothing from a dead process, and
 * delivers nothing to a suspended one.
 */
export class StoreLink {
  readonly #parts: StoreLinkParts;
  #lastSentMs = 0;
  #lastAnsweredMs = 0;

  constructor(parts: StoreLinkParts) {
    this.#parts = parts;
  }

  /** The store as the process sees it: every asynchronous method goes over the link. */
  over<T extends object>(store: T): T {
    const linked: Record<string, unknown> = {};
    for (const name of methodsOf(store)) {
      const method = (store as Methods)[name] as (...args: unknown[]) => Promise<unknown>;
      linked[name] = (...args: unknown[]) => this.#call(() => method.apply(store, args));
    }
    return linked as T;
  }

  /** Like `over`; the store's own signals come over the link too. */
  overNonces(store: NonceStore): NonceStore {
    const { queue, process } = this.#parts;
    return {
      ...this.over(store),
      onMutexSignal: (listener) =>
        store.onMutexSignal((signal) =>
          queue.after(this.#parts.latencyMs(), () => listener(signal), process),
        ),
    };
  }

  /** A small write. Draws nothing from chance, so that a world whose store is always up runs as without it. */
  async probe(): Promise<void> {
    if (this.#state !== 'up') throw new StoreLostError('probing it', undefined);
  }

  get #state(): LinkState {
    const { store, process } = this.#parts;
    return store.isDown ? 'down' : process.machine.links.store;
  }

  #call<T>(ask: () => Promise<T>): Promise<T> {
    const { queue, process, isInstant } = this.#parts;
    if (process.state === 'dead') return new Promise(() => undefined);
    if (isInstant && this.#state === 'up') return ask();
    return new Promise((resolve, reject) => {
      const lose = (): void => reject(new StoreLostError('talking to it', undefined));
      this.#lastSentMs = Math.max(this.#lastSentMs, queue.nowMs + this.#parts.latencyMs());
      queue.at(this.#lastSentMs, () => {
        const state = this.#state;
        if (state === 'up') return void this.#answer(ask(), resolve, reject);
        // The call is carried out, but its outcome never arrives.
        if (state === 'deaf') ask().catch(() => undefined);
        queue.after(GIVE_UP_MS, lose, process);
      });
    });
  }

  async #answer<T>(
    asked: Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    const { queue, process, latencyMs } = this.#parts;
    const answer = await asked.then(
      (value) => () => resolve(value),
      (error: unknown) => () => reject(error),
    );
    this.#lastAnsweredMs = Math.max(this.#lastAnsweredMs, queue.nowMs + latencyMs());
    queue.at(this.#lastAnsweredMs, answer, process);
  }
}

/** Own methods, and those of the class. */
function methodsOf(store: object): readonly string[] {
  const names = [
    ...Object.keys(store),
    ...Object.getOwnPropertyNames(Object.getPrototypeOf(store) as object),
  ];
  return [...new Set(names)].filter(
    (name) => !(name in Object.prototype) && typeof (store as Methods)[name] === 'function',
  );
}
