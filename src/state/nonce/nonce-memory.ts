import type { Clock } from '../../core/ports/clock.ts';
import type {
  LaneEntry,
  LaneRenewal,
  LaneRequest,
  LaneSignal,
  NonceStore,
  ReservedSequence,
  WindowReservation,
} from '../../core/ports/nonce.ts';
import { type ReservedRun, reserveFromRuns } from './nonce-window.ts';

interface Lane {
  holder: { owner: string; until: number } | undefined;
  urgent: { owner: string; until: number } | undefined;
  /** Until when somebody other than the holder is known to wait. */
  contendedUntil: number;
}

/** Nonces and lanes within one process: for tests, the simulated exchange's demo, and life without Redis. */
export function createMemoryNonceStore(clock: Clock): NonceStore {
  return new MemoryNonceStore(clock);
}

class MemoryNonceStore implements NonceStore {
  readonly #clock: Clock;
  readonly #sequences = new Map<string, number>();
  readonly #runs = new Map<string, ReservedRun[]>();
  readonly #lanes = new Map<string, Lane>();
  readonly #listeners = new Set<(signal: LaneSignal) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async reserve(key: string, floor: number, count: number): Promise<ReservedSequence> {
    return this.#reserve(key, floor, count);
  }

  async reserveWindow(key: string, fromMs: number, toMs: number, count: number): Promise<WindowReservation> {
    let runs = this.#runs.get(key);
    if (runs === undefined) this.#runs.set(key, (runs = []));
    return reserveFromRuns(runs, fromMs, toMs, count);
  }

  async enterLane(key: string, request: LaneRequest): Promise<LaneEntry> {
    const now = this.#clock.monotonicMs();
    const lane = this.#lane(key, now);
    const { owner, leaseMs } = request;
    const foreignUrgent = lane.urgent !== undefined && lane.urgent.owner !== owner ? lane.urgent : undefined;
    const foreignHolder = lane.holder !== undefined && lane.holder.owner !== owner ? lane.holder : undefined;
    if (foreignHolder !== undefined || (foreignUrgent !== undefined && !request.urgent)) {
      lane.contendedUntil = now + leaseMs;
      if (lane.holder?.owner === owner) {
        lane.holder = undefined;
        this.#signal({ key, kind: 'free' });
      }
      if (request.urgent && foreignUrgent === undefined) {
        lane.urgent = { owner, until: now + leaseMs };
        this.#signal({ key, kind: 'urgent' });
      }
      return { kind: 'busy', retryInMs: Math.max(1, (foreignHolder ?? foreignUrgent)!.until - now) };
    }
    if (lane.urgent?.owner === owner) lane.urgent = undefined;
    const contended = lane.contendedUntil > now || foreignUrgent !== undefined;
    lane.holder = { owner, until: now + leaseMs };
    return { kind: 'granted', sequence: this.#reserve(key, request.floor, 1).first, contended };
  }

  async renewLane(key: string, owner: string, leaseMs: number): Promise<LaneRenewal> {
    const now = this.#clock.monotonicMs();
    const lane = this.#lane(key, now);
    if (lane.holder?.owner !== owner) return 'lost';
    lane.holder.until = now + leaseMs;
    return lane.urgent !== undefined && lane.urgent.owner !== owner ? 'urgentWaiting' : 'held';
  }

  async leaveLane(key: string, owner: string): Promise<void> {
    const lane = this.#lanes.get(key);
    if (lane === undefined) return;
    if (lane.urgent?.owner === owner) lane.urgent = undefined;
    if (lane.holder?.owner === owner) {
      lane.holder = undefined;
      lane.contendedUntil = 0;
    }
    this.#signal({ key, kind: 'free' });
  }

  onLaneSignal(listener: (signal: LaneSignal) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #reserve(key: string, floor: number, count: number): ReservedSequence {
    const previous = this.#sequences.get(key) ?? 0;
    const first = Math.max(floor, previous + 1);
    this.#sequences.set(key, first + count - 1);
    return { first, count, previous };
  }

  /** The lane with what has expired taken off. */
  #lane(key: string, now: number): Lane {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      this.#lanes.set(key, (lane = { holder: undefined, urgent: undefined, contendedUntil: 0 }));
    }
    if (lane.holder !== undefined && lane.holder.until <= now) lane.holder = undefined;
    if (lane.urgent !== undefined && lane.urgent.until <= now) lane.urgent = undefined;
    return lane;
  }

  #signal(signal: LaneSignal): void {
    for (const listener of this.#listeners) listener(signal);
  }
}
