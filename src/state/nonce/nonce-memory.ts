import type { Clock } from '../../core/ports/clock.ts';
import type {
  MutexEntry,
  MutexRenewal,
  MutexRequest,
  MutexSignal,
  NonceStore,
  ReservedSequence,
  WindowReservation,
} from '../../core/ports/nonce-store.ts';
import { type ReservedRun, reserveFromRuns } from './nonce-window.ts';

interface Hold {
  readonly owner: string;
  until: number;
}

interface HeldMutex {
  holder: Hold | undefined;
  urgent: Hold | undefined;
  /** Until when another owner is known to wait. */
  contendedUntil: number;
}

/** Nonces and mutexes within one process: for tests, the simulated exchange's demo, and a process without Redis. */
export function createMemoryNonceStore(clock: Clock): NonceStore {
  return new MemoryNonceStore(clock);
}

class MemoryNonceStore implements NonceStore {
  readonly #clock: Clock;
  readonly #sequences = new Map<string, number>();
  readonly #runs = new Map<string, ReservedRun[]>();
  readonly #mutexes = new Map<string, HeldMutex>();
  readonly #listeners = new Set<(signal: MutexSignal) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async reserve(key: string, floor: number, count: number): Promise<ReservedSequence> {
    return this.#reserve(key, floor, count);
  }

  async reserveWindow(key: string, fromMs: number, toMs: number, count: number): Promise<WindowReservation> {
    const runs = this.#runs.get(key) ?? [];
    this.#runs.set(key, runs);
    return reserveFromRuns(runs, fromMs, toMs, count);
  }

  async enterMutex(key: string, request: MutexRequest): Promise<MutexEntry> {
    const now = this.#clock.monotonicMs();
    const mutex = this.#mutex(key, now);
    const { owner, leaseMs } = request;
    const foreignUrgent = mutex.urgent?.owner === owner ? undefined : mutex.urgent;
    const foreignHolder = mutex.holder?.owner === owner ? undefined : mutex.holder;
    const blocker = foreignHolder ?? (request.urgent ? undefined : foreignUrgent);
    if (blocker !== undefined) {
      mutex.contendedUntil = now + leaseMs;
      if (mutex.holder?.owner === owner) {
        mutex.holder = undefined;
        this.#signal({ key, kind: 'free' });
      }
      if (request.urgent && foreignUrgent === undefined) {
        const isNew = mutex.urgent === undefined;
        mutex.urgent = { owner, until: now + leaseMs };
        if (isNew) this.#signal({ key, kind: 'urgent' });
      }
      return { kind: 'busy', retryInMs: Math.max(1, blocker.until - now) };
    }
    if (mutex.urgent?.owner === owner) mutex.urgent = undefined;
    const contended = mutex.contendedUntil > now || foreignUrgent !== undefined;
    mutex.holder = { owner, until: now + leaseMs };
    return { kind: 'granted', sequence: this.#reserve(key, request.floor, 1).first, contended };
  }

  async renewMutex(key: string, owner: string, leaseMs: number): Promise<MutexRenewal> {
    const now = this.#clock.monotonicMs();
    const mutex = this.#mutex(key, now);
    if (mutex.holder?.owner !== owner) return 'lost';
    mutex.holder.until = now + leaseMs;
    return mutex.urgent !== undefined && mutex.urgent.owner !== owner ? 'urgentWaiting' : 'held';
  }

  async leaveMutex(key: string, owner: string): Promise<void> {
    const mutex = this.#mutexes.get(key);
    if (mutex === undefined) return;
    if (mutex.urgent?.owner === owner) mutex.urgent = undefined;
    if (mutex.holder?.owner === owner) {
      mutex.holder = undefined;
      mutex.contendedUntil = 0;
    }
    this.#signal({ key, kind: 'free' });
  }

  onMutexSignal(listener: (signal: MutexSignal) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #reserve(key: string, floor: number, count: number): ReservedSequence {
    const previous = this.#sequences.get(key) ?? 0;
    const first = Math.max(floor, previous + 1);
    this.#sequences.set(key, first + count - 1);
    return { first, count, previous };
  }

  /** The mutex without expired holds. */
  #mutex(key: string, now: number): HeldMutex {
    const mutex = this.#mutexes.get(key) ?? { holder: undefined, urgent: undefined, contendedUntil: 0 };
    this.#mutexes.set(key, mutex);
    if (mutex.holder !== undefined && mutex.holder.until <= now) mutex.holder = undefined;
    if (mutex.urgent !== undefined && mutex.urgent.until <= now) mutex.urgent = undefined;
    return mutex;
  }

  #signal(signal: MutexSignal): void {
    for (const listener of this.#listeners) listener(signal);
  }
}
