import { setImmediate } from 'node:timers';
import { Heap } from '../simulator/model/heap.ts';

/** The owner of an event decides what becomes of it when it is due. */
export interface EventOwner {
  /** Runs the event now, keeps it for later, or drops it. */
  admit(call: () => void): void;
}

interface QueuedEvent {
  readonly atMs: number;
  readonly seq: number;
  readonly owner: EventOwner | undefined;
  /** Absent: cancelled. */
  call: (() => void) | undefined;
}

/** After this many events the platform's event loop turns once, so that signals and messages get through. */
const EVENTS_PER_TURN = 2_000;

/** Future events, by time, then by insertion. Between two events all promise callbacks run. */
export class EventQueue {
  readonly #heap = new Heap<QueuedEvent>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.seq < b.seq));
  #nowMs = 0;
  #seq = 0;
  #isRunning = false;

  /** Milliseconds since the start. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Calls `call` at a time, or as soon as possible if that has passed; returns a function that cancels the call. */
  at(atMs: number, call: () => void, owner?: EventOwner): () => void {
    if (Number.isNaN(atMs)) throw new RangeError('the time of an event is a number of milliseconds');
    const event: QueuedEvent = { atMs: Math.max(atMs, this.#nowMs), seq: this.#seq, owner, call };
    this.#seq += 1;
    this.#heap.push(event);
    return () => {
      event.call = undefined;
    };
  }

  after(delayMs: number, call: () => void, owner?: EventOwner): () => void {
    return this.at(this.#nowMs + delayMs, call, owner);
  }

  /** Runs until `untilMs`, or until `isOver` holds; resolves to whether it held. @throws what an event throws */
  run(untilMs: number, isOver: () => boolean): Promise<boolean> {
    if (this.#isRunning) throw new Error('this world is running already');
    this.#isRunning = true;
    let left = EVENTS_PER_TURN;
    return new Promise<boolean>((resolve, reject) => {
      const step = (): void => {
        try {
          if (isOver()) return resolve(true);
          if (!this.#handleNext(untilMs)) {
            this.#nowMs = Math.max(this.#nowMs, untilMs);
            return resolve(false);
          }
        } catch (error) {
          return reject(error);
        }
        left -= 1;
        if (left > 0) return queueMicrotask(later);
        left = EVENTS_PER_TURN;
        return void setImmediate(step);
      };
      // A tick requested by a promise callback runs after all promise callbacks, including those added meanwhile: as
      // reliable as a turn of the event loop, at a tenth of its cost.
      const later = (): void => process.nextTick(step);
      setImmediate(step);
    }).finally(() => {
      this.#isRunning = false;
    });
  }

  /** Runs the next event; false: none is due by then. */
  #handleNext(untilMs: number): boolean {
    for (let event = this.#heap.peek(); event !== undefined; event = this.#heap.peek()) {
      if (event.call !== undefined && event.atMs > untilMs) return false;
      this.#heap.pop();
      const { call, owner, atMs } = event;
      if (call === undefined) continue;
      this.#nowMs = atMs;
      if (owner === undefined) call();
      else owner.admit(call);
      return true;
    }
    return false;
  }
}
