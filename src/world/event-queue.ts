import { setImmediate } from 'node:timers';
import { Heap } from '../simulator/model/heap.ts';

/** Who an event belongs to: it decides what becomes of the event when its time has come. */
export interface EventOwner {
  /** Runs the event now, keeps it for later, or drops it. */
  admit(call: () => void): void;
}

interface QueuedEvent {
  readonly atMs: number;
  readonly seq: number;
  readonly owner: EventOwner | undefined;
  /** Absent: called off. */
  call: (() => void) | undefined;
}

/** After so many events the platform's own loop turns once, so that signals and messages get through. */
const EVENTS_PER_TURN = 2_000;

/** What will happen, by time, then by when it was put in. Between two events all promise callbacks have run. */
export class EventQueue {
  readonly #heap = new Heap<QueuedEvent>((a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.seq < b.seq));
  #nowMs = 0;
  #seq = 0;
  #isRunning = false;

  /** Milliseconds since the start. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Calls at a time, at once if that has passed; returns how to call it off. */
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

  /** Runs up to `untilMs` or until `isOver`; resolves to whether that held. @throws what an event throws */
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
      // A tick that is asked for by a promise callback comes when all promise callbacks have run, those too that were
      // added meanwhile: as certain as a turn of the loop, at a tenth of its cost.
      const later = (): void => process.nextTick(step);
      setImmediate(step);
    }).finally(() => {
      this.#isRunning = false;
    });
  }

  /** False: nothing is left to happen by then. */
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
