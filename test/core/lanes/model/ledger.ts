import type { LaneState } from '../../../../src/core/lanes/lane-state.ts';
import type { AccountSettings } from '../../../../src/core/quantities/settings.ts';
import { type Seen, Violation } from './tally.ts';
import type { Fill, ModelOrder, ModelPosition } from './terms.ts';
import { lotsOf } from './views.ts';

/** What the model remembers of our order, for judging its fills. */
export interface OrderTag {
  readonly role: 'reduce' | 'cover';
  readonly floorLots: number;
  readonly overshoot: boolean;
  readonly basisMs: number;
  readonly positionId: string;
  readonly openDate: number;
  filledMs: number | null;
  /** Amount of a trial order, which only shows whether orders are taken; else 0. */
  readonly trialLots: number;
  readonly clientOrderId: string;
  /** The market's net exposure in the read by which the order was sized. */
  readonly netLots: number;
}

interface OwnerReduction {
  readonly atMs: number;
  readonly positionId: string;
  readonly lots: number;
}

const RECENT_MS = 60_000;

/** The smallest target of a position; infinite if none is open. */
export function floorOf(state: LaneState, positionId: string): number {
  const targets = state.intents
    .filter((intent) => intent.positionId === positionId && intent.end === null && intent.targetBase !== null)
    .map((intent) => lotsOf(intent.targetBase ?? '0'));
  return Math.min(...targets);
}

/** Invariants 1 and 4, on the exchange's ledger: what every fill did to its position, and whether that was allowed. */
export class Ledger {
  /** An operator has flattened: that may raise a net exposure. */
  flattened = false;
  ownerAddedMs = -1;
  readonly #settings: AccountSettings;
  readonly #seen: Seen;
  readonly #placed: OrderTag[] = [];
  readonly #reductions: OwnerReduction[] = [];
  /** Positions without any guarantee: after an audited overshoot, or a mistake that no read shows. */
  readonly #overshot = new Set<number>();
  /** Orders that the lane takes for filled. */
  readonly #believed = new Set<string>();
  #trialLots = 0;
  /** Whether a cancel removes every order. */
  readonly #areReached: boolean;

  constructor(settings: AccountSettings, seen: Seen) {
    this.#settings = settings;
    this.#seen = seen;
    this.#areReached = settings.cancelCoversStops && settings.cancel === 'always';
  }

  noteReduction(atMs: number, positionId: string, lots: number): void {
    this.#reductions.push({ atMs, positionId, lots });
  }

  notePlaced(tag: OrderTag): void {
    this.#trialLots += tag.trialLots;
    if (tag.overshoot) {
      this.#overshot.add(tag.openDate);
      this.#seen('overshoot');
      if (this.#settings.overshoot === 'never') throw new Violation('overshoot although it is forbidden');
    }
    this.#placed.push(tag);
  }

  /** The lane takes an order for filled, as the position fell by its amount. */
  noteBelieved(clientOrderId: string, orders: readonly ModelOrder<OrderTag>[]): void {
    this.#believed.add(clientOrderId);
    for (const { tag } of orders) if (tag.clientOrderId === clientOrderId) this.#excuseMistaken(tag);
  }

  /**
   * The owner traded the same amount. If cancels reach the order, it is cancelled before anything is placed on top of
   * it; else it stays, and its fills pass for those of others.
   */
  #excuseMistaken(tag: OrderTag): void {
    if (this.#areReached || !this.#believed.has(tag.clientOrderId)) return;
    if (this.#reducedSince(tag.positionId, tag.basisMs) === 0) return;
    this.#overshot.add(tag.openDate);
    this.#seen('mistaken');
  }

  /**
   * Whenever an order arrives, early or late, all open orders together must not be able to take the position below the
   * smallest target they were sent for, except for what the owner did since the read by which it was sized. If cancels
   * do not reach a stop, the owner's trade may pass for its fill and the stop stays: then the exception counts from the
   * first of all those reads. A protective stop counts from its first fill on.
   */
  judgeArrival(tag: OrderTag, position: ModelPosition, orders: readonly ModelOrder<OrderTag>[]): void {
    this.#excuseMistaken(tag);
    if (tag.role === 'cover' || this.#overshot.has(position.openDate)) return;
    if (tag.openDate !== position.openDate) return;
    const open = orders.filter(
      (order) => order.tag.role === 'reduce' && order.tag.openDate === position.openDate,
    );
    const relevant = this.#placed.filter(
      (order) =>
        order.openDate === position.openDate &&
        (order.filledMs !== null || open.some((other) => other.tag === order)),
    );
    const sinceMs = this.#areReached ? tag.basisMs : Math.min(...relevant.map((order) => order.basisMs));
    const left = open.reduce((sum, order) => sum + order.left, 0);
    const size = position.lots + this.#reducedSince(position.id, sinceMs);
    const floor = Math.min(...relevant.map((order) => order.floorLots));
    // Reduce-only trims what exceeds the position.
    if (Math.max(size - left, 0) < floor)
      throw new Violation(`an order arrived: ${left} open of ${size}, target ${floor}`);
  }

  #reducedSince(positionId: string, sinceMs: number): number {
    return this.#reductions
      .filter((reduction) => reduction.positionId === positionId && reduction.atMs >= sinceMs)
      .reduce((sum, reduction) => sum + reduction.lots, 0);
  }

  judge(fill: Fill<OrderTag>, orders: readonly ModelOrder<OrderTag>[]): void {
    const { tag } = fill;
    this.#seen(`fill:${tag.role}`);
    tag.filledMs = fill.atMs;
    if (fill.after > fill.before) throw new Violation('a position grew');
    if (tag.openDate !== fill.openDate) {
      // The owner rebuilt the position while the order was open: that race cannot be won.
      this.noteReduction(fill.atMs, fill.positionId, fill.before - fill.after);
      this.#seen('fill:rebuilt');
      return;
    }
    const relevant = this.#relevantOrders(fill, orders);
    const sinceMs = Math.min(...relevant.map((order) => order.basisMs));
    const excuse = this.#reducedSince(fill.positionId, sinceMs);
    this.#judgeNet(fill, sinceMs);
    if (this.#overshot.has(fill.openDate)) return;
    const floor = Math.min(...relevant.map((order) => order.floorLots));
    if (fill.after + excuse < floor) {
      throw new Violation(
        `position ${fill.positionId} driven to ${fill.after}, target ${floor}, excuse ${excuse}`,
      );
    }
  }

  /** Orders sized together: open at some time with this one, or filled so recently that no read need show it. */
  #relevantOrders(fill: Fill<OrderTag>, orders: readonly ModelOrder<OrderTag>[]): OrderTag[] {
    const open = new Set(orders.map((order) => order.tag));
    const filledAfterMs = Math.min(fill.atMs - RECENT_MS, fill.tag.basisMs);
    return this.#placed.filter(
      (order) =>
        order.positionId === fill.positionId &&
        order.openDate === fill.openDate &&
        (order === fill.tag ||
          open.has(order) ||
          (order.filledMs ?? Number.NEGATIVE_INFINITY) > filledAfterMs),
    );
  }

  #judgeNet(fill: Fill<OrderTag>, sinceMs: number): void {
    if (this.#settings.hedge === 'perLeg') return;
    const ownerActed =
      this.#reductions.some((reduction) => reduction.atMs >= sinceMs) || this.ownerAddedMs >= sinceMs;
    if (ownerActed || this.flattened || this.#overshot.has(fill.openDate)) return;
    // The fill may take the market past flat, but not to more than there was when it was sent.
    const most = Math.max(Math.abs(fill.netBefore), fill.tag.netLots);
    // A trial may exceed the net exposure by its own, smallest amount.
    if (Math.abs(fill.netAfter) > most + this.#trialLots) throw new Violation('the net exposure rose');
  }
}
