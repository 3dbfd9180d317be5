import type { Clock } from '../../core/ports/clock.ts';
import type { LaneRef } from '../../core/ports/lane-dispatcher.ts';
import { type DecimalString, formatDecimal, toDecimal } from '../../core/quantities/decimal.ts';
import type { Fall, Falls } from '../poll/falls.ts';

/** When this process may act where others may, too, and none can ask the others. */
export interface ActingTurns {
  /** Others may act on the same accounts, and this process cannot see them. */
  readonly othersAct: boolean;
  /** It acts only where others before it do not. */
  readonly standsIn: boolean;
  /** By the monotonic clock: lanes that were taken before are not held any more, whatever their leases say. */
  readonly lanesSinceMs: number;
  /** What was done alone is to be handed back: runs end between two steps, and polls begin none, and ask again. */
  readonly isSettling: boolean;
  /** Whether it acts on the account at all at present. */
  mayAct(accountId: string): boolean;
  /** Whether the next request of a lane may be sent now. From the first time that this is asked on the lane waits. */
  isTurn(lane: LaneRef): boolean;
  /** The lane has nothing to do. */
  rest(lane: LaneRef): void;
  /** A request of the lane leaves. */
  noteSent(lane: LaneRef): void;
  /** Another process acts on the lane, as an answer says: it has its turn. */
  yieldTurn(lane: LaneRef): void;
  /** Whether this process has sent a request of the lane a moment ago, and so completes what it began. */
  carries(lane: LaneRef): boolean;
  /** Sizes of positions before others, as it seems, reduced them a moment ago, by position. */
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

/** What tells whether others may act. */
export interface Company {
  readonly isAlone: boolean;
  readonly hasCompany: boolean;
  readonly watchesOnly: string | undefined;
  isKnown(accountId: string): boolean;
}

export interface LaneTurnsParts {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly company: Company;
  /** Which of several processes this is: those before it act first. */
  readonly ordinal: number;
  readonly falls: () => Falls | undefined;
  /** How long a request of another process may take to show, milliseconds. */
  readonly shownWithinMs: (accountId: string) => number;
}

interface WaitingLane {
  readonly dueMs: number;
  /** Since when it has had nothing to do again. */
  readonly restingMs: number | undefined;
}

/** So much longer than a request may take to show is a turn. */
const MARGIN_MS = 1_000;
/** A lane that is idle for less has not ended what it was about. */
const SHORT_REST_MS = 2_000;
/** So long after this process has handed back, others may still be alone, and what they did not be handed back. */
const OTHERS_HAND_BACK_MS = 15_000;
/** A fall within this time after one of our orders may be its fill. */
const OWN_FILL_MS = 60_000;

/**
 * The first in line acts at once. Every other one waits, in each lane by itself, a turn for each before it from when
 * the lane first had something to do, until a read of the positions shows that none has fallen for a whole turn: as it
 * would have if somebody acted. What it then does it goes on with, until a turn has passed without a request.
 */
export class LaneTurns implements ActingTurns {
  readonly #parts: LaneTurnsParts;
  readonly #waiting = new Map<string, WaitingLane>();
  readonly #sentMs = new Map<string, number>();
  lanesSinceMs = Number.NEGATIVE_INFINITY;
  isSettling = false;
  #aloneSinceMs = Number.NEGATIVE_INFINITY;
  /** It began alone, with what it knew before its last end. */
  #wasRestored = false;

  constructor(parts: LaneTurnsParts) {
    this.#parts = parts;
  }

  /** From now on nothing tells of the others. `wasRestored`: somebody may have taken the place of this process. */
  begin(wasRestored: boolean): void {
    this.#aloneSinceMs = this.#parts.clock.monotonicMs();
    this.#wasRestored = wasRestored;
    this.#waiting.clear();
  }

  /** What was done alone is handed back: nobody else sees the lanes that were taken alone. */
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
    const key = keyOf(lane);
    const known = this.#waiting.get(key);
    const isOver =
      known === undefined || (known.restingMs !== undefined && nowMs - known.restingMs >= SHORT_REST_MS);
    const dueMs = isOver ? nowMs : known.dueMs;
    this.#waiting.set(key, { dueMs, restingMs: undefined });
    return dueMs;
  }

  #holdsTurn(lane: LaneRef, nowMs: number): boolean {
    const sentMs = this.#sentMs.get(keyOf(lane));
    return sentMs !== undefined && sentMs >= this.#aloneSinceMs && nowMs - sentMs < this.#turnMs(lane);
  }

  /** A restored first one waits one turn in all; others do for each action. */
  #comes(lane: LaneRef, dueMs: number, nowMs: number): boolean {
    const { ordinal, falls } = this.#parts;
    const turnMs = this.#turnMs(lane);
    const firstMs = ordinal === 0 ? this.#aloneSinceMs + turnMs : dueMs + ordinal * turnMs;
    const fellMs = this.#fallsOfOthers(lane.accountId, turnMs).at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    const fromMs = Math.max(firstMs, fellMs + turnMs);
    // A turn begins with a read.
    return nowMs >= fromMs && (falls()?.lastReadMs(lane.accountId, lane.market) ?? -1) >= fromMs;
  }

  #turnMs({ accountId }: Pick<LaneRef, 'accountId'>): number {
    return this.#parts.shownWithinMs(accountId) + MARGIN_MS;
  }

  #fallsOfOthers(accountId: string, ownWithinMs: number): readonly Fall[] {
    return (this.#parts.falls()?.of(accountId) ?? []).filter(({ market, atMs }) =>
      [market, null].every((name) => {
        const sentMs = this.#sentMs.get(keyOf({ accountId, market: name }));
        return sentMs === undefined || sentMs > atMs || atMs - sentMs >= ownWithinMs;
      }),
    );
  }

  rest(lane: LaneRef): void {
    const known = this.#waiting.get(keyOf(lane));
    if (known === undefined || known.restingMs !== undefined) return;
    this.#waiting.set(keyOf(lane), { ...known, restingMs: this.#parts.clock.monotonicMs() });
  }

  noteSent(lane: LaneRef): void {
    this.#sentMs.set(keyOf(lane), this.#parts.clock.monotonicMs());
  }

  yieldTurn(lane: LaneRef): void {
    this.#sentMs.delete(keyOf(lane));
    this.#waiting.delete(keyOf(lane));
    this.#noteDue(lane, this.#parts.clock.monotonicMs());
  }

  carries(lane: LaneRef): boolean {
    if (!this.#parts.company.isAlone) return true;
    const sentMs = this.#sentMs.get(keyOf(lane)) ?? Number.NEGATIVE_INFINITY;
    return this.#parts.clock.monotonicMs() - sentMs < this.#turnMs(lane);
  }

  sizesBefore(accountId: string): ReadonlyMap<string, DecimalString> {
    const nowMs = this.#parts.clock.monotonicMs();
    const mayBeApart = this.#parts.company.hasCompany && nowMs - this.lanesSinceMs < OTHERS_HAND_BACK_MS;
    if (!this.othersAct && !mayBeApart) return NO_SIZES;
    const sinceMs = nowMs - this.#turnMs({ accountId });
    // What was sent alone may be in no state that is in force: then this process is one of the others.
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

function keyOf({ accountId, market }: LaneRef): string {
  return JSON.stringify([accountId, market]);
}
