import type { Clock } from '../core/ports/clock.ts';

/** Number of wrong tokens that a client may send at once, and the time until it may send another. */
const BURST = 20;
export const ANOTHER_AFTER_MS = 3000;
/** Number of clients remembered; the one that was quiet longest is forgotten first. */
const MOST_CLIENTS = 5000;
const MOST_NAMES = 20;

interface Client {
  left: number;
  atMs: number;
  /** Names of the owners of the right tokens that it has sent. */
  readonly names: Set<string>;
}

/**
 * Slows down guessing of tokens. A client that has sent too many wrong tokens is refused without learning whether its
 * token is right, unless the same owner's token was accepted from that client before.
 */
export class TokenGuesses {
  readonly #clients = new Map<string, Client>();
  readonly #clock: Pick<Clock, 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** `name`: the owner of the token; undefined if the token is wrong. */
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
