import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import type { Clock, Random, Timers } from '../core/ports/clock.ts';
import type { NonceStore } from '../core/ports/nonce-store.ts';
import type { RateLimitStore } from '../core/ports/rate-limit-store.ts';
import type { Connections } from '../exchange/call/transport.ts';
import { createExchangeClient } from '../exchange/client.ts';
import { LastPriceReader } from '../exchange/last-prices.ts';
import { clientAccess, NO_KEY } from './client-access.ts';

export interface ReaderParts {
  readonly clock: Clock;
  /** Default: the timers of this machine. */
  readonly timers?: Timers;
  readonly random: Random;
  readonly nonces: NonceStore;
  readonly fallbackLimits: RateLimitStore;
}

/**
 * One reader of last prices for all accounts of an egress group. It has a client of its own: what becomes of public
 * requests tells nothing of an account's key, budget, nonces or addresses, and must not hold up a request of theirs.
 */
export class LastPriceReaders {
  readonly #parts: ReaderParts;
  readonly #connections: Connections;
  #readers = new Map<string, LastPriceReader>();
  readonly #closing = new Set<Promise<void>>();

  constructor(parts: ReaderParts, connections: Connections) {
    this.#parts = parts;
    this.#connections = connections;
  }

  of(account: CompiledAccount, config: CompiledConfig): LastPriceReader {
    const key = keyOf(account, config);
    const reader = this.#readers.get(key) ?? this.#open(account, config);
    this.#readers.set(key, reader);
    return reader;
  }

  /** Closes the readers that no account of the config uses. */
  keep(config: CompiledConfig): void {
    const used = new Set(config.accounts.map((account) => keyOf(account, config)));
    for (const [key, reader] of this.#readers) {
      if (used.has(key)) continue;
      this.#readers.delete(key);
      const closed = reader.close().finally(() => this.#closing.delete(closed));
      this.#closing.add(closed);
    }
  }

  async close(): Promise<void> {
    const readers = [...this.#readers.values()];
    this.#readers.clear();
    await Promise.all([...this.#closing, ...readers.map((reader) => reader.close())]);
  }

  #open(account: CompiledAccount, config: CompiledConfig): LastPriceReader {
    const { clock, timers, random, nonces, fallbackLimits: store } = this.#parts;
    const client = createExchangeClient({
      ...clientAccess(account, config),
      credentials: NO_KEY,
      nonce: { mode: 'unique', store: nonces, owner: 'public data' },
      limiter: { store, fallback: store, egress: `public data, ${account.egress}` },
      sharedConnections: this.#connections,
      retry: { maxAttempts: 1 },
      clock,
      ...(timers === undefined ? {} : { timers }),
      random,
    });
    return new LastPriceReader(client, clock);
  }
}

function keyOf(account: CompiledAccount, config: CompiledConfig): string {
  const { credentials: _, ...access } = clientAccess(account, config);
  return JSON.stringify([account.egress, access]);
}
