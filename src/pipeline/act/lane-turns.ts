import type { Clock } from '../../core/ports/clock.ts';
import type { LaneRef } from '../../core/ports/lane-dispatcher.ts';
import { type DecimalString, formatDecimal, toDecimal } from '../../core/quantities/decimal.ts';
import type { Fall, Falls } from '../poll/falls.ts';
import { laneKey } from './lane-key.ts';

/** Decides when this process may act while other processes may act too and cannot be asked. */
export interface ActingTurns {
  /** Other processes may act on the same accounts, and this one cannot see them. */
  readonly othersAct: boolean;
  /** This process acts only where those before it do not. */
  readonly standsIn: boolean;
  /** Monotonic clock: lanes taken before this are no longer held, regardless of their leases. */
  readonly lanesSinceMs: number;
  /** Work done alone is about to be handed back: runs end between two steps; polls begin none, and ask again. */
  readonly isSettling: boolean;
  /** Whether this process acts on the account at present. */
  mayAct(accountId: string): boolean;
  /** Whether the next request of a lane may be sent now. The first call starts the lane's wait. */
  isTurn(lane: LaneRef): boolean;
  /** The lane has nothing to do. */
  rest(lane: LaneRef): void;
  /** A request of the lane leaves. */
  noteSent(lane: LaneRef): void;
  /** An answer shows that another process acts on the lane: it has its turn. */
  yieldTurn(lane: LaneRef): void;
  /** Whether this process sent a request of the lane a moment ago, and so completes what it began. */
  carries(lane: LaneRef): boolean;
  /** Position sizes before recent reductions that seem to be by others, by position id. */
  sizesBefore(accountId: string): ReadonlyMap<string, DecimalString>;
}

const NO_SIZES: ReadonlyMap<string, DecimalString> = new Map();

/** For a process that always sees the others. */
export const ALWAYS: ActingTurns = {
  othersAct: false,
  standsIn: false,
  lanesSinceMs: Number.NEGATIVE_INFINITY,
  isSettling: false,
  mayAct: () => true,
  isTurn: () => true,
  rest: () => undefined,
  noteSent: () => undefined,
  yieldTurn: () => undefined,
  carries: () => true,
  sizesBefore: () => NO_SIZES,
};

/** Tells whether other processes may act. */
export interface Company {
  readonly isAlone: boolean;
  readonly hasCompany: boolean;
  readonly watchesOnly: string | undefined;
  isKnown(accountId: string): boolean;
}

export interface LaneTurnsParts {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly company: Company;
  /** Place of this process in line: lower ordinals act first. */
  readonly ordinal: number;
  readonly falls: () => Falls | undefined;
  /** Longest time until a request of another process shows, milliseconds. */
  readonly shownWithinMs: (accountId: string) => number;
}

interface WaitingLane {
  readonly dueMs: number;
  /** Since when the lane has had nothing to do. */
  readonly restingMs: number | undefined;
}

/** A turn is this much longer than a request may take to show. */
const MARGIN_MS = 1_000;
/** A lane that has been idle for less is not finished. */
const SHORT_REST_MS = 2_000;
/** For this long after this process has handed back, others may still be alone, their work not handed back yet. */
const OTHERS_HAND_BACK_MS = 15_000;
/** A fall within this time after one of our orders may be its fill. */
const OWN_FILL_MS = 60_000;

/**
 * The first in line acts at once. Every other process waits, lane by lane, one turn for each process before it,
 * counted from when the lane first had something to do. It acts once a read shows that no position has fallen for a
 * whole turn: a fall means that somebody acts. It then goes on until a turn has passed without a request.
 */
export class LaneTurns implements ActingTurns {
  readonly #parts: LaneTurnsParts;
  readonly #waiting = new Map<string, WaitingLane>();
  readonly #sentMs = new Map<string, number>();
  lanesSinceMs = Number.NEGATIVE_INFINITY;
  isSettling = false;
  #aloneSinceMs = Number.NEGATIVE_INFINITY;
  /** It started alone, with its state from before its last end. */
  #wasRestored = false;

  constructor(parts: LaneTurnsParts) {
    this.#parts = parts;
  }

  /** From now on the others cannot be seen. `wasRestored`: another process may have taken the place of this one. */
  begin(wasRestored: boolean): void {
    this.#aloneSinceMs = this.#parts.clock.monotonicMs();
    this.#wasRestored = wasRestored;
    this.#waiting.clear();
  }

  /** Drops the lanes taken alone, which no other process sees. */
  handBack(): void {
    this.lanesSinceMs = this.#parts.clock.monotonicMs();
  }

  get othersAct(): boolean {
    const { company, ordinal } = this.#parts;
    return company.isAlone && (company.hasCompany || ordinal > 0);
  }

  get standsIn(): boolean {
    return this.othersAct && !this.#isFirst;
  }

  mayAct(accountId: string): boolean {
    const { company } = this.#parts;
    return !company.isAlone || (company.watchesOnly === undefined && company.isKnown(accountId));
  }

  isTurn(lane: LaneRef): boolean {
    const { company, clock } = this.#parts;
    if (!company.isAlone) return true;
    if (!this.mayAct(lane.accountId)) return false;
    if (this.#isFirst) return true;
    const nowMs = clock.monotonicMs();
    const dueMs = this.#noteDue(lane, nowMs);
    return this.#holdsTurn(lane, nowMs) || this.#comes(lane, dueMs, nowMs);
  }

  get #isFirst(): boolean {
    const { ordinal, company } = this.#parts;
    return ordinal === 0 && !(this.#wasRestored && company.hasCompany);
  }

  #noteDue(lane: LaneRef, nowMs: number): number {
    const key = laneKey(lane);
    const known = this.#waiting.get(key);
    const isOver =
      known === undefined || (known.restingMs !== undefined && nowMs - known.restingMs >= SHORT_REST_MS);
    const dueMs = isOver ? nowMs : known.dueMs;
    this.#waiting.set(key, { dueMs, restingMs: undefined });
    return dueMs;
  }

  #holdsTurn(lane: LaneRef, nowMs: number): boolean {
    const sentMs = this.#sentMs.get(laneKey(lane));
    return sentMs !== undefined && sentMs >= this.#aloneSinceMs && nowMs - sentMs < this.#turnMs(lane);
  }

  /** A restored first process waits one turn in all; others wait for each action. */
  #comes(lane: LaneRef, dueMs: number, nowMs: number): boolean {
    const { ordinal, falls } = this.#parts;
    const turnMs = this.#turnMs(lane);
    const firstMs = ordinal === 0 ? this.#aloneSinceMs + turnMs : dueMs + ordinal * turnMs;
    const fellMs = this.#fallsOfOthers(lane.accountId, turnMs).at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    const fromMs = Math.max(firstMs, fellMs + turnMs);
    // Positions must have been read since the turn came.
    return nowMs >= fromMs && (falls()?.lastReadMs(lane.accountId, lane.market) ?? -1) >= fromMs;
  }

  #turnMs({ accountId }: Pick<LaneRef, 'accountId'>): number {
    return this.#parts.shownWithinMs(accountId) + MARGIN_MS;
  }

  #fallsOfOthers(accountId: string, ownWithinMs: number): readonly Fall[] {
    return (this.#parts.falls()?.of(accountId) ?? []).filter(({ market, atMs }) =>
      [market, null].every((name) => {
        const sentMs = this.#sentMs.get(laneKey({ accountId, market: name }));
        return sentMs === undefined || sentMs > atMs || atMs - sentMs >= ownWithinMs;
      }),
    );
  }

  rest(lane: LaneRef): void {
    const known = this.#waiting.get(laneKey(lane));
    if (known === undefined || known.restingMs !== undefined) return;
    this.#waiting.set(laneKey(lane), { ...known, restingMs: this.#parts.clock.monotonicMs() });
  }

  noteSent(lane: LaneRef): void {
    this.#sentMs.set(laneKey(lane), this.#parts.clock.monotonicMs());
  }

  yieldTurn(lane: LaneRef): void {
    this.#sentMs.delete(laneKey(lane));
    this.#waiting.delete(laneKey(lane));
    this.#noteDue(lane, this.#parts.clock.monotonicMs());
  }

  carries(lane: LaneRef): boolean {
    if (!this.#parts.company.isAlone) return true;
    const sentMs = this.#sentMs.get(laneKey(lane)) ?? Number.NEGATIVE_INFINITY;
    return this.#parts.clock.monotonicMs() - sentMs < this.#turnMs(lane);
  }

  sizesBefore(accountId: string): ReadonlyMap<string, DecimalString> {
    const nowMs = this.#parts.clock.monotonicMs();
    const mayBeApart = this.#parts.company.hasCompany && nowMs - this.lanesSinceMs < OTHERS_HAND_BACK_MS;
    if (!this.othersAct && !mayBeApart) return NO_SIZES;
    const sinceMs = nowMs - this.#turnMs({ accountId });
    // After a hand-back, requests sent alone may be missing from the state in force: count own falls too.
    const falls = this.othersAct
      ? this.#fallsOfOthers(accountId, OWN_FILL_MS)
      : (this.#parts.falls()?.of(accountId) ?? []);
    const sizes = new Map<string, DecimalString>();
    for (const { positionId, atMs, from } of falls) {
      if (atMs < sinceMs || atMs < this.#aloneSinceMs) continue;
      const known = sizes.get(positionId);
      const size = toDecimal(from).abs();
      if (known === undefined || size.gt(toDecimal(known))) sizes.set(positionId, formatDecimal(size));
    }
    return sizes;
  }
}
