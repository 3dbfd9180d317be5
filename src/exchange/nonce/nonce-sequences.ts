import type { Clock } from '../../core/ports/clock.ts';
import { type NonceStore, SEQUENCES_PER_MS as PER_MS } from '../../core/ports/nonce-store.ts';
import type { BoundedStore } from '../bounded-store.ts';

export interface SequenceSettings {
  /** Names the API key in the store. */
  readonly key: string;
  /** Least nonce. */
  readonly start: number;
  /** Tells apart processes while the store is lost: low digits of every nonce of this process, 0 to 49. */
  readonly ordinal: number;
  /** Extra distance when a process starts to take values from memory that are ahead of the clock, ms. */
  readonly leapMs: () => number;
}

/** The low digits of a nonce hold the ordinal: a nonce is ms * 1000 and stays below 2^53 until 2255. */
const ORDINAL_SPAN = 100;
/** Added to the ordinal of values from memory. */
const FROM_MEMORY = 50;
/** Further ahead of the clock than this, the start time of a process does not keep its values apart from others. */
const AHEAD_MS = 1000;
const TAIL_SPAN = 1_000_000;
const MAX_BLOCK = 256;
/** Fetched at once before an action: cancel, read and place follow each other closely. */
const STEPS_AHEAD = 3;
/** How long blocks stay fresh and valid; see `Sequences`. */
const FRESH_MS = 200;
const ALONE_SHARE = 0.5;
const ALONE_MAX_MS = 10_000;
/** After a refusal the key counts as shared for this time. */
const DOUBT_MS = 600_000;

/**
 * Rising sequence values of one key, in blocks from the store, or from memory while the store is lost.
 *
 * No value is used twice. The store hands out each value once. If a store that was emptied or lost hands one out again,
 * the ordinals in the low digits differ. Within a process a new block begins above every value used. The store does not
 * know the values from memory, which may be ahead of the clock after refusals or a clock step. They have other low
 * digits, so that the next process of that ordinal does not get them from the store. That process may be without the
 * store too, so each process leaps ahead by a random distance.
 *
 * Age affects only the order, which some exchanges require: values of an old block are below those that another process
 * has reserved since. So a block lasts for half of the time that the process has been alone, up to 10 s after the
 * request for it, and at least 200 ms after its arrival. A process is alone while the `previous` of each reservation is
 * the end of its own last block. When another process joins, lower values are handed out no longer than that.
 * A refusal ends the block and keeps blocks short for ten minutes: somebody may use the key without the store. Commands
 * and protective calls use only values that arrived in the last 200 ms.
 */
export class Sequences {
  readonly #clock: Clock;
  readonly #settings: SequenceSettings;
  readonly #store: BoundedStore<NonceStore>;
  #next = 0;
  #end = 0;
  /** Values in the block when it was reserved. */
  #count = 0;
  #isFromMemory = false;
  #freshUntilMs = 0;
  #validUntilMs = 0;
  /** This process hands out no value below this again. */
  #floor: number;
  /** The last value that the store has reserved for this process, if known. */
  #reservedTo: number | undefined;
  /** Since when nobody else is known to have used the key, monotonic; in the future after a refusal. */
  #aloneFromMs = 0;
  #blockSize = 1;
  #waiting = 0;
  #refilling: Promise<void> | undefined;
  #head = 0;
  #headText = '';

  constructor(clock: Clock, settings: SequenceSettings, store: BoundedStore<NonceStore>) {
    this.#clock = clock;
    this.#settings = settings;
    this.#floor = Math.ceil(settings.start / ORDINAL_SPAN);
    this.#store = store;
  }

  floor(): number {
    return Math.max(this.#floor, Math.floor(this.#clock.nowMs()) * PER_MS);
  }

  format(sequence: number, isFromMemory = false): string {
    if (sequence >= this.#floor) this.#floor = sequence + 1;
    const low = this.#settings.ordinal + (isFromMemory ? FROM_MEMORY : 0);
    const nonce = sequence * ORDINAL_SPAN + low;
    // Formatting large doubles is slow; the leading digits stay the same for a second.
    const head = Math.floor(nonce / TAIL_SPAN);
    if (head === 0) return String(nonce);
    if (head !== this.#head) {
      this.#head = head;
      this.#headText = String(head);
    }
    return this.#headText + String(nonce - head * TAIL_SPAN + TAIL_SPAN).slice(1);
  }

  /** The exchange refused a value: later ones are above those of `byMs` from now. */
  jump(byMs: number): void {
    this.#floor = Math.max(this.#floor, this.floor() + byMs * PER_MS);
    this.doubt();
  }

  /** Assumes that somebody else uses the key. */
  doubt(): void {
    this.#drop();
    this.#aloneFromMs = this.#clock.monotonicMs() + DOUBT_MS;
  }

  /** Returns a nonce from memory alone. */
  local(): string {
    return this.format(this.floor(), true);
  }

  prefetch(): void {
    if (this.#hasAtHand(this.#clock.monotonicMs(), true)) return;
    this.#refilling ??= this.#refill(STEPS_AHEAD);
  }

  async next(fresh: boolean): Promise<string> {
    let isAtHand = this.#hasAtHand(this.#clock.monotonicMs(), fresh);
    while (!isAtHand) {
      this.#waiting += 1;
      await (this.#refilling ??= this.#refill());
      this.#waiting -= 1;
      isAtHand = this.#next < this.#end;
    }
    this.#next += 1;
    return this.format(this.#next - 1, this.#isFromMemory);
  }

  #leap(): void {
    if (this.#floor > (this.#clock.nowMs() + AHEAD_MS) * PER_MS) {
      this.#floor += Math.floor(this.#settings.leapMs() * PER_MS);
    }
  }

  #hasAtHand(nowMs: number, fresh: boolean): boolean {
    return this.#next < this.#end && nowMs < (fresh ? this.#freshUntilMs : this.#validUntilMs);
  }

  async #refill(least = 1): Promise<void> {
    // Count callers of the same turn before choosing the size.
    await Promise.resolve();
    const startedMs = this.#clock.monotonicMs();
    this.#adaptSize(startedMs);
    const count = Math.max(this.#waiting, this.#blockSize, least);
    const floor = this.floor();
    const block = await this.#store.use((store) => store.reserve(this.#settings.key, floor, count));
    if (block === undefined || block.previous !== this.#reservedTo) {
      this.#aloneFromMs = Math.max(this.#aloneFromMs, startedMs);
    }
    if (block === undefined && !this.#isFromMemory) this.#leap();
    this.#isFromMemory = block === undefined;
    this.#reservedTo = block === undefined ? undefined : block.first + block.count - 1;
    // A jump during the request wins: the store's values are below it.
    const first = block === undefined ? this.floor() : Math.max(block.first, this.#floor);
    this.#next = first;
    this.#end = block === undefined ? first + count : Math.max(first, block.first + block.count);
    this.#count = this.#end - first;
    const aloneMs = (startedMs - this.#aloneFromMs) * ALONE_SHARE;
    // Counted from the arrival: a prefetched block from a slow store must not be stale when it arrives.
    this.#freshUntilMs = this.#clock.monotonicMs() + FRESH_MS;
    this.#validUntilMs = Math.max(this.#freshUntilMs, startedMs + Math.min(ALONE_MAX_MS, aloneMs));
    this.#refilling = undefined;
  }

  /** Doubles the block size if the last block was used up in time; halves it if less than half was used. */
  #adaptSize(nowMs: number): void {
    const left = this.#end - this.#next;
    const inTime = nowMs < this.#validUntilMs;
    if (inTime && left === 0) this.#blockSize = Math.min(MAX_BLOCK, this.#blockSize * 2);
    else if (!inTime && left * 2 > this.#count) this.#blockSize = Math.max(1, this.#blockSize / 2);
  }

  #drop(): void {
    this.#next = this.#end;
    this.#count = 0;
    this.#validUntilMs = 0;
  }
}
