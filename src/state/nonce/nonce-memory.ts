import type { Clock } from '../../core/ports/clock.ts';
import type { MutexSignal, NonceStore, ReservedSequence } from '../../core/ports/nonce-store.ts';
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
  const sequences = new Map<string, number>();
  const runsByKey = new Map<string, ReservedRun[]>();
  const mutexes = new Map<string, HeldMutex>();
  const listeners = new Set<(signal: MutexSignal) => void>();
  const reserve = (key: string, floor: number, count: number): ReservedSequence => {
    const previous = sequences.get(key) ?? 0;
    const first = Math.max(floor, previous + 1);
    sequences.set(key, first + count - 1);
    return { first, count, previous };
  };
  /** The mutex without expired holds. */
  const mutexAt = (key: string, now: number): HeldMutex => {
    const mutex = mutexes.get(key) ?? { holder: undefined, urgent: undefined, contendedUntil: 0 };
    mutexes.set(key, mutex);
    if (mutex.holder !== undefined && mutex.holder.until <= now) mutex.holder = undefined;
    if (mutex.urgent !== undefined && mutex.urgent.until <= now) mutex.urgent = undefined;
    return mutex;
  };
  const tell = (signal: MutexSignal): void => {
    for (const listener of listeners) listener(signal);
  };
  return {
    reserve: async (key, floor, count) => reserve(key, floor, count),
    async reserveWindow(key, fromMs, toMs, count) {
      const runs = runsByKey.get(key) ?? [];
      runsByKey.set(key, runs);
      return reserveFromRuns(runs, fromMs, toMs, count);
    },
    async enterMutex(key, { owner, floor, leaseMs, urgent }) {
      const now = clock.monotonicMs();
      const mutex = mutexAt(key, now);
      const foreignUrgent = mutex.urgent?.owner === owner ? undefined : mutex.urgent;
      const foreignHolder = mutex.holder?.owner === owner ? undefined : mutex.holder;
      const blocker = foreignHolder ?? (urgent ? undefined : foreignUrgent);
      if (blocker !== undefined) {
        mutex.contendedUntil = now + leaseMs;
        if (mutex.holder?.owner === owner) {
          mutex.holder = undefined;
          tell({ key, kind: 'free' });
        }
        if (urgent && foreignUrgent === undefined) {
          const isNew = mutex.urgent === undefined;
          mutex.urgent = { owner, until: now + leaseMs };
          if (isNew) tell({ key, kind: 'urgent' });
        }
        return { kind: 'busy', retryInMs: Math.max(1, blocker.until - now) };
      }
      if (mutex.urgent?.owner === owner) mutex.urgent = undefined;
      const contended = mutex.contendedUntil > now || foreignUrgent !== undefined;
      mutex.holder = { owner, until: now + leaseMs };
      return { kind: 'granted', sequence: reserve(key, floor, 1).first, contended };
    },
    async renewMutex(key, owner, leaseMs) {
      const now = clock.monotonicMs();
      const mutex = mutexAt(key, now);
      if (mutex.holder?.owner !== owner) return 'lost';
      mutex.holder.until = now + leaseMs;
      return mutex.urgent !== undefined && mutex.urgent.owner !== owner ? 'urgentWaiting' : 'held';
    },
    async leaveMutex(key, owner) {
      const mutex = mutexes.get(key);
      if (mutex === undefined) return;
      if (mutex.urgent?.owner === owner) mutex.urgent = undefined;
      if (mutex.holder?.owner === owner) {
        mutex.holder = undefined;
        mutex.contendedUntil = 0;
      }
      tell({ key, kind: 'free' });
    },
    onMutexSignal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
