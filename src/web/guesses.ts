import type { Clock } from '../core/ports/clock.ts';

/** Wrong tokens that a client may send at once, and how long until it may send another one. */
const BURST = 20;
export const ANOTHER_AFTER_MS = 3000;
/** The clients that are remembered; the one that was quiet longest is forgotten first. */
const MOST_CLIENTS = 5000;
const MOST_NAMES = 20;

interface Client {
  /** Wrong tokens that it may still send. */
  left: number;
  atMs: number;
  /** Whose tokens it has sent. */
  readonly names: Set<string>;
}

/**
 * Slows down who tries tokens. A client that has sent too many wrong ones is answered without an answer to whether its
 * token is right; only those who came in from there before still do.
 */
export class TokenGuesses {
  readonly #clients = new Map<string, Client>();
  readonly #clock: Pick<Clock, 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** `name`: whose token it is; undefined: nobody's. */
  judge(address: string, name: string | undefined): 'right' | 'wrong' | 'slowedDown' {
    const client = this.#clientAt(address);
    if (name !== undefined && client.names.has(name)) return 'right';
    if (client.left < 1) return 'slowedDown';
    if (name === undefined) {
      client.left -= 1;
      return 'wrong';
    }
    if (client.names.size < MOST_NAMES) client.names.add(name);
    return 'right';
  }

  #clientAt(address: string): Client {
    const nowMs = this.#clock.monotonicMs();
    const client = this.#clients.get(address) ?? { left: BURST, atMs: nowMs, names: new Set() };
    client.left = Math.min(BURST, client.left + (nowMs - client.atMs) / ANOTHER_AFTER_MS);
    client.atMs = nowMs;
    this.#clients.delete(address);
    const [quietest] = this.#clients.keys();
    if (this.#clients.size >= MOST_CLIENTS && quietest !== undefined) this.#clients.delete(quietest);
    this.#clients.set(address, client);
    return client;
  }
}
