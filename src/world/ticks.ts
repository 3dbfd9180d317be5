import type { BucketTick } from '../pipeline/poll/poll-tick.ts';
import { delaysOf, phaseOf, type Schedule } from '../queues/schedules.ts';
import type { SeededRandom } from '../simulator/scenarios/random.ts';
import type { EventQueue } from './event-queue.ts';
import type { MachineProcess } from './machine.ts';
import type { StoreState } from './store-link.ts';

/** A process that takes ticks from the queue. */
export interface TickTaker {
  readonly process: MachineProcess;
  take(tick: BucketTick): void;
}

interface Planned extends Schedule {
  /** Cancelled with its schedule. */
  isOver: boolean;
}

/** Delay until the watchdogs of the others notice, at their next look, a tick that its taker does not begin. */
const REPAIRED_AFTER_MS = 1_500;

/** The poll queue of a world's daemons: each tick goes to one. A suspended process may get one tick, and only one. */
export class Ticks {
  readonly #queue: EventQueue;
  readonly #random: SeededRandom;
  readonly #store: StoreState;
  /** The store's clock, Unix milliseconds, by which ticks are planned. */
  readonly #storeMs: () => number;
  #schedules: Planned[] = [];
  readonly #takers = new Set<TickTaker>();
  readonly #stuck = new WeakSet<TickTaker>();
  #untaken: (() => void)[] = [];

  constructor(
    queue: EventQueue,
    storeMs: () => number,
    { random, store }: { readonly random: SeededRandom; readonly store: StoreState },
  ) {
    this.#queue = queue;
    this.#storeMs = storeMs;
    this.#random = random;
    this.#store = store;
  }

  /** Replaces all schedules. */
  assert(schedules: readonly Schedule[]): void {
    if (
      JSON.stringify(schedules) ===
      JSON.stringify(this.#schedules.map(({ buckets, everyMs }) => ({ buckets, everyMs })))
    )
      return;
    for (const planned of this.#schedules) planned.isOver = true;
    this.#untaken = [];
    this.#schedules = schedules.map((schedule) => ({ ...schedule, isOver: false }));
    for (const planned of this.#schedules) this.#plan(planned, 0);
  }

  join(taker: TickTaker): void {
    this.#takers.add(taker);
    this.#giveUntaken();
  }

  leave(taker: TickTaker): void {
    this.#takers.delete(taker);
  }

  #plan(planned: Planned, notBeforeMs: number): void {
    const { buckets, everyMs } = planned;
    const nowMs = this.#storeMs();
    const phaseMs = phaseOf(buckets[0] ?? 0, everyMs);
    const turns = Math.floor((nowMs + notBeforeMs - phaseMs) / everyMs) + 1;
    const meantMs = turns * everyMs + phaseMs;
    this.#queue.after(meantMs - nowMs, () => this.#give(planned, meantMs));
  }

  #give(planned: Planned, meantMs: number): void {
    if (planned.isOver) return;
    // The queue is in the store.
    if (this.#store.isDown) {
      this.#plan(planned, 0);
      return;
    }
    const taker = this.#choose();
    if (taker === undefined && this.#isSomebodyCutOff()) {
      this.#plan(planned, 0);
      return;
    }
    if (taker === undefined) {
      // The tick waits in the queue, and the later ticks behind it.
      this.#untaken.push(() => this.#give(planned, meantMs));
      return;
    }
    const isStuck = taker.process.state === 'suspended';
    if (isStuck) this.#stuck.add(taker);
    this.#plan(planned, isStuck ? REPAIRED_AFTER_MS : 0);
    const tick = { delaysMs: delaysOf(planned), everyMs: planned.everyMs, meantMs };
    const take = (): void => {
      taker.take(tick);
      if (this.#stuck.delete(taker)) this.#giveUntaken();
    };
    this.#queue.after(0, take, taker.process);
  }

  #giveUntaken(): void {
    const untaken = this.#untaken;
    this.#untaken = [];
    for (const give of untaken) give();
  }

  #isSomebodyCutOff(): boolean {
    return [...this.#takers].some(({ process }) => process.machine.links.store !== 'up');
  }

  #choose(): TickTaker | undefined {
    const asking = [...this.#takers].filter((taker) => isThere(taker) && !this.#stuck.has(taker));
    return asking.length < 2 ? asking[0] : asking[this.#random.below(asking.length)];
  }
}

function isThere({ process }: TickTaker): boolean {
  return process.state !== 'dead' && process.machine.links.store === 'up';
}
