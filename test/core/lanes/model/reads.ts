import { isHeld } from '../../../../src/core/lanes/absence.ts';
import { observeRead, observeRequests } from '../../../../src/core/lanes/lane-observe.ts';
import type { MarketRead } from '../../../../src/core/lanes/lane-state.ts';
import type { ReadObservation } from '../../../../src/core/lanes/market-read.ts';
import { inMarket } from '../fixtures.ts';
import type { Rules } from './rules.ts';
import { readPosition } from './views.ts';
import { LATENCY_MS } from './wire.ts';
import type { World } from './world.ts';

/** How the daemon sees the exchange: late, without marks, in part, twice or out of order. */
export class Reads {
  readonly #world: World;
  readonly #rules: Rules;
  readonly #pending: ReadObservation[] = [];
  /** The open date of the position that a read showed, by read time and id. */
  readonly #dates = new Map<string, number>();
  #blindUntilMs = 0;

  constructor(world: World, rules: Rules) {
    this.#world = world;
    this.#rules = rules;
  }

  /** No read shows the mark for a while. */
  blind(forMs: number): void {
    this.#blindUntilMs = this.#world.nowMs + forMs;
    this.#world.seen('blind');
  }

  endBlindness(): void {
    this.#blindUntilMs = 0;
  }

  observation(lagMs: number, complete: boolean, isMarkKnown: boolean): ReadObservation {
    const { exchange, setup, nowMs } = this.#world;
    const snapshot = exchange.read(lagMs);
    for (const { id, openDate } of snapshot.positions) this.#dates.set(`${nowMs}/${id}`, openDate);
    const isBlind = nowMs < this.#blindUntilMs;
    const shown = complete ? snapshot.positions : snapshot.positions.slice(1);
    return {
      sentAtMs: nowMs,
      receivedAtMs: nowMs + LATENCY_MS,
      complete,
      byMarket: inMarket(
        shown.map((position) =>
          readPosition(position, snapshot, isMarkKnown && !isBlind, setup.readings.showsOpenDate),
        ),
      ),
    };
  }

  /** Open date of the position that a read showed under this id, even if the record does not show it. */
  openDateSeen(read: MarketRead | null, positionId: string): number {
    return this.#dates.get(`${read?.sentAtMs ?? 0}/${positionId}`) ?? 0;
  }

  /** A poll: a read and the evaluation. Its reply may be delivered later. */
  poll(lagMs: number, complete: boolean, isMarkKnown: boolean, isDelayed: boolean): void {
    const observation = this.observation(lagMs, complete, isMarkKnown);
    this.#world.exchange.advanceTo(this.#world.nowMs + LATENCY_MS);
    if (isDelayed) this.#pending.push(observation);
    else this.deliver(observation);
  }

  deliverLate(): void {
    for (const observation of this.#pending.splice(0)) this.deliver(observation);
    this.#world.seen('reordered');
  }

  /** Delivers a reply of a poll, and evaluates the rules. */
  deliver(observation: ReadObservation): void {
    const world = this.#world;
    world.watch.noteSizes(observation);
    const { settings } = world.setup;
    const { nowMs } = world;
    world.apply(observeRead(world.actor.state, observation, settings, nowMs));
    const { state } = world.actor;
    if (observation.complete) this.#rules.closeGone(observation, (positionId) => isHeld(state, positionId));
    const requests = this.#rules.requests();
    world.apply(observeRequests(world.actor.state, requests, observation.complete, settings, nowMs));
  }
}
