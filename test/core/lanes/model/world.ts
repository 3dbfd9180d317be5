import type { AuditEvent } from '../../../../src/core/audit/audit-event.ts';
import type { LaneContext } from '../../../../src/core/intents/admission.ts';
import { type AccountLane, newAccountLane } from '../../../../src/core/lanes/account-lane.ts';
import { type LaneState, newLane } from '../../../../src/core/lanes/lane-state.ts';
import { recover, startEpoch } from '../../../../src/core/lanes/recover-lane.ts';
import { acknowledgeNoPriorOrders } from '../fixtures.ts';
import { ModelExchange } from './exchange.ts';
import { Ledger, type OrderTag } from './ledger.ts';
import type { Setup } from './setup.ts';
import { type Seen, Violation } from './tally.ts';
import { MARKET } from './views.ts';
import { Watch } from './watch.ts';
import { TIMEOUT_MS } from './wire.ts';

/** A process with its memory of the account and market. */
interface Actor {
  state: LaneState;
  account: AccountLane;
  paused: boolean;
  /** A change under way when the pause began may complete. */
  grace: boolean;
  /** When the exchange last accepted or judged one of its orders, and when it last refused one or did not answer. */
  acceptedMs: number;
  refusedMs: number;
}

const PROOF_MS = 10_000;

/** One account and market at their exchange, the two actors that take turns, and the checks. */
export class World {
  readonly setup: Setup;
  readonly seen: Seen;
  readonly ledger: Ledger;
  readonly watch: Watch;
  readonly exchange: ModelExchange<OrderTag>;
  readonly actors: Actor[];
  current = 0;
  nonce = 0;
  #epochs = 0;
  #silenced: string[] = [];

  constructor(setup: Setup, seen: Seen) {
    this.setup = setup;
    this.seen = seen;
    this.ledger = new Ledger(setup.settings, seen);
    this.watch = new Watch(setup.settings, seen);
    this.exchange = new ModelExchange(
      setup.readings,
      (fill) => this.ledger.judge(fill, this.exchange.orders),
      (positionId, lots) => this.ledger.noteReduction(this.exchange.nowMs, positionId, lots),
      (order, position) => this.ledger.judgeArrival(order.tag, position, this.exchange.orders),
    );
    this.#openPositions();
    // Longer ago than any read may lag.
    this.exchange.advanceTo(this.exchange.nowMs + 5_000);
    this.actors = [0, 1].map(() => ({
      state: this.#firstLane(),
      account: newAccountLane('desk'),
      paused: false,
      grace: false,
      acceptedMs: Number.NEGATIVE_INFINITY,
      refusedMs: Number.NEGATIVE_INFINITY,
    }));
  }

  #openPositions(): void {
    const { readings, sign, lots, otherLots, leverage } = this.setup;
    const side = readings.hedgeMode ? (sign === 1 ? 'LONG' : 'SHORT') : 'BOTH';
    this.exchange.open('1', side, sign, lots, leverage);
    if (readings.hedgeMode && otherLots > 0) {
      this.exchange.open('2', sign === 1 ? 'SHORT' : 'LONG', sign === 1 ? -1 : 1, otherLots, leverage);
    }
  }

  /** The first lane of a process; with `vouched` the operator vouches that nothing was placed before. */
  #firstLane(): LaneState {
    const lane = this.#freshLane();
    return this.setup.vouched ? acknowledgeNoPriorOrders(lane) : lane;
  }

  #freshLane(): LaneState {
    this.#epochs += 1;
    return newLane('desk', MARKET, `L${this.#epochs}`, this.exchange.nowMs);
  }

  get actor(): Actor {
    const actor = this.actors[this.current];
    if (actor === undefined) throw new Error('no such actor');
    return actor;
  }

  get nowMs(): number {
    return this.exchange.nowMs;
  }

  get isSilenced(): boolean {
    return this.#silenced.length > 0;
  }

  context(): LaneContext {
    const { settings } = this.setup;
    return {
      settings,
      gate: {
        paused: this.actor.paused,
        silencedRules: this.#silenced,
        limited: {},
        modeOf: () => settings.mode,
      },
    };
  }

  /** Checked before each request. */
  checkGate(): void {
    if (this.setup.settings.mode === 'observe') throw new Violation('a request in observe mode');
    if (this.actor.paused && !this.actor.grace) throw new Violation('a request after a pause');
  }

  /** Invariant 15: no cancel reaches a standing stop unless orders are taken. */
  checkCancel(): void {
    const { acceptedMs, refusedMs, state } = this.actor;
    const isEmpty = state.latestRead !== null && state.latestRead.positions.length === 0;
    const isProven = acceptedMs > refusedMs && this.nowMs - acceptedMs <= PROOF_MS;
    if (!isEmpty && !isProven && this.exchange.positions.length > 0)
      throw new Violation('a cancel without proof');
  }

  apply(change: { readonly state: LaneState; readonly events: readonly AuditEvent[] }): void {
    this.actor.state = change.state;
    for (const event of change.events) {
      this.watch.noteEvent(event);
      if (event.kind === 'filled' && event.order !== undefined)
        this.ledger.noteBelieved(event.order.clientOrderId, this.exchange.orders);
    }
    this.watch.checkTargets(change.state);
    if (this.actor.grace && change.state.change === null) this.actor.grace = false;
  }

  silence(): void {
    this.#silenced = this.#silenced.length === 0 ? ['rule0'] : [];
  }

  pause(): void {
    const { actor } = this;
    for (const one of this.actors) one.paused = !one.paused;
    actor.grace = actor.paused && actor.state.change !== null;
    this.seen('paused');
  }

  newStore(): void {
    this.actor.state = this.#freshLane();
    this.actor.account = newAccountLane('desk');
    this.actor.grace = false;
    this.seen('newStore');
  }

  /** Lets the other actor take over after all requests must have arrived; it starts a new store epoch. */
  takeTurns(): void {
    const { settings } = this.setup;
    this.exchange.advanceTo(this.nowMs + settings.lateArrivalMs + TIMEOUT_MS);
    this.current = 1 - this.current;
    this.#epochs += 1;
    const { state } = this.actor;
    this.actor.state = startEpoch(state, `L${this.#epochs}`, settings, this.nowMs);
    this.actor.grace = false;
    this.seen('turns');
  }

  /** The process dies between two steps, or in the middle of one. */
  crash(): void {
    this.actor.state = JSON.parse(JSON.stringify(this.actor.state)) as LaneState;
    this.apply(recover(this.actor.state, this.setup.settings, this.nowMs));
    this.seen('crash');
  }
}
