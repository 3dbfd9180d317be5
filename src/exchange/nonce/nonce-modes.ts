import type { Clock, Random } from '../../core/ports/clock.ts';
import type { NonceStore } from '../../core/ports/nonce-store.ts';
import { BoundedStore } from '../bounded-store.ts';
import type { ScopeTime } from '../call/call-scope.ts';
import {
  NonceMutex,
  type NonceMutexSettings,
  type NonceRequest,
  type NonceResult,
  type NonceTicket,
} from './nonce-mutex.ts';
import { type SequenceSettings, Sequences } from './nonce-sequences.ts';

export type NonceMode = 'unique' | 'increasing' | 'window';

export interface NonceSettings
  extends Pick<NonceMutexSettings, 'key' | 'owner' | 'leaseMs'>,
    Pick<SequenceSettings, 'start' | 'ordinal'> {
  readonly mode: NonceMode;
  /** Shared by all clients of the key. */
  readonly store: NonceStore;
  /** Most processes, 1 to 50. */
  readonly ordinals: number;
  readonly random: Random;
  readonly storeTimeoutMs: number;
  readonly onStoreChange: (available: boolean) => void;
}

export interface NonceSource {
  readonly mode: NonceMode;
  take(request: NonceRequest): Promise<NonceResult>;
  /** The exchange refused a nonce, `repeats` times in a row. Later nonces jump ahead. */
  refused(repeats: number): void;
  /** Fetches fresh nonces, unless some are at hand or they come with the mutex. */
  prefetch(): void;
  /** A refusal was judged a rate limit. In case the nonce was the cause, the next nonce must be newer. */
  doubted(): void;
  /** Takes a reply's evidence of the exchange's clock: its Date header, and when it was sent and received. */
  observeDate(serverDateMs: number, sentAtMs: number, receivedAtMs: number): void;
  close(): void;
}

/** Reserved milliseconds lapse after this time: they have to arrive near the exchange's time. */
const WINDOW_VALIDITY_MS = 200;
const MAX_BLOCK = 256;
/** Bounds of `window` mode around the exchange's time; it accepts 5 s to either side. */
const WINDOW_BACK_MS = 1000;
const WINDOW_AHEAD_MS = 2000;
/** The exchange's dates are whole seconds, so two processes that follow them may differ by that much. */
const DATE_ERROR_MS = 1000;
/** How far a second refusal in a row jumps ahead, to pass the clock of any other user of the key. */
const REFUSED_JUMP_MS = 500_000;
/** Two runs of a process that each leap up to this far collide once in thousands of cases. */
const LONGEST_LEAP_MS = 100_000;

/** Nonces for one API key (specification 5, rule 1) in one of the three modes. */
export function createNonceSource(time: ScopeTime, settings: NonceSettings): NonceSource {
  const { clock } = time;
  const { mode, random } = settings;
  const store = new BoundedStore(settings.store, {
    ...time,
    timeoutMs: settings.storeTimeoutMs,
    onChange: settings.onStoreChange,
  });
  if (mode === 'window') return new WindowSource(clock, settings, store);
  // Where values must rise, the values of a process that leaps would get those of all others refused.
  const leapMs = (): number => (mode === 'unique' ? random() * LONGEST_LEAP_MS : 0);
  const sequences = new Sequences(clock, { ...settings, leapMs }, store);
  const source = {
    mode,
    refused: (repeats: number) => sequences.jump(repeats > 1 ? REFUSED_JUMP_MS : 1),
    observeDate: nothing,
  };
  if (mode === 'increasing') {
    const mutex = new NonceMutex(time, store, {
      ...settings,
      floor: () => sequences.floor(),
      nonceOf: (sequence) => (sequence === undefined ? sequences.local() : sequences.format(sequence)),
      signals: settings.store,
    });
    return {
      ...source,
      take: (request) => mutex.take(request),
      prefetch: nothing,
      doubted: nothing,
      close: () => mutex.close(),
    };
  }
  return {
    ...source,
    async take({ kind, protective, scope }) {
      // A command may not survive a refused nonce, and a protective call has no time to lose.
      const needsFresh = kind === 'command' || protective;
      const nonce = await scope.within(sequences.next(needsFresh));
      return nonce === undefined ? undefined : ticketOf(nonce);
    },
    prefetch: () => sequences.prefetch(),
    doubted: () => sequences.doubt(),
    close: nothing,
  };
}

const nothing = (): void => undefined;
const always = (): boolean => true;
const ticketOf = (nonce: string): NonceTicket => ({
  nonce,
  onPreempt: nothing,
  isCurrent: always,
  release: nothing,
});

class WindowSource implements NonceSource {
  readonly mode = 'window';
  readonly doubted = nothing;
  readonly close = nothing;
  readonly #clock: Clock;
  readonly #settings: NonceSettings;
  readonly #store: BoundedStore<NonceStore>;
  /** Wall clock minus monotonic clock at the start, so that later steps of the wall clock do not matter. */
  readonly #anchorMs: number;
  readonly #startedMs: number;
  /** The exchange's clock minus the local one, moved only as far as replies prove. */
  #skewMs = 0;
  /** When the first reply with a Date was received, monotonic. */
  #datedMs: number | undefined;
  #next = 0;
  #end = 0;
  #validUntilMs = 0;
  #blockSize = 1;
  #waiting = 0;
  #refilling: Promise<number> | undefined;
  readonly #undated = { digit: UNDATED_DIGIT, last: 0 };
  readonly #dated = { digit: DATED_DIGIT, last: 0 };
  /** This process uses no value below this again, even if the store lost its memory. */
  #floor = 0;

  constructor(clock: Clock, settings: NonceSettings, store: BoundedStore<NonceStore>) {
    this.#clock = clock;
    this.#settings = settings;
    this.#store = store;
    this.#startedMs = clock.monotonicMs();
    this.#anchorMs = clock.nowMs() - this.#startedMs;
  }

  prefetch(): void {
    if (this.#next < this.#end && this.#clock.monotonicMs() < this.#validUntilMs) return;
    void (this.#refilling ??= this.#refill());
  }

  async take({ scope }: NonceRequest): Promise<NonceResult> {
    const atHand = this.#fromBlock(this.#clock.monotonicMs());
    if (atHand !== undefined) return ticketOf(atHand);
    for (;;) {
      this.#waiting += 1;
      const waitMs = await scope.within((this.#refilling ??= this.#refill()));
      this.#waiting -= 1;
      if (waitMs === undefined || scope.isOver()) return undefined;
      const nonce = this.#fromBlock(this.#clock.monotonicMs());
      if (nonce !== undefined) return ticketOf(nonce);
      if (waitMs < 0) {
        const local = this.#fromMemory();
        if (local.nonce !== undefined) return ticketOf(local.nonce);
        await scope.sleep(local.waitMs);
      } else if (waitMs > 0) {
        await scope.sleep(waitMs);
      }
      if (scope.isOver()) return undefined;
    }
  }

  refused(repeats: number): void {
    this.#end = this.#next;
    // A store that lost its memory may hand out values that others have used; skip most of them.
    if (repeats > 1) this.#floor = Math.max(this.#floor, this.#now() + WINDOW_AHEAD_MS / 2);
  }

  observeDate(serverDateMs: number, sentAtMs: number, receivedAtMs: number): void {
    const least = serverDateMs - (this.#anchorMs + receivedAtMs);
    const most = serverDateMs + 1000 - (this.#anchorMs + sentAtMs);
    const skewMs = Math.min(most, Math.max(least, this.#skewMs));
    this.#datedMs ??= receivedAtMs;
    if (skewMs === this.#skewMs) return;
    this.#skewMs = skewMs;
    this.#end = this.#next;
  }

  #now(): number {
    return Math.floor(this.#anchorMs + this.#clock.monotonicMs() + this.#skewMs);
  }

  #fromBlock(nowMs: number): string | undefined {
    if (nowMs >= this.#validUntilMs) return undefined;
    while (this.#next < this.#end) {
      this.#next += 1;
      const value = this.#next - 1;
      this.#floor = Math.max(this.#floor, this.#next);
      if (value % 10 < UNDATED_DIGIT) return String(value);
    }
    return undefined;
  }

  /** Reserves a block. Resolves to 0, to the ms to wait if none is free, or to -1 if the store is lost. */
  async #refill(): Promise<number> {
    await Promise.resolve();
    try {
      const usedUpInTime = this.#validUntilMs > this.#clock.monotonicMs();
      this.#blockSize = usedUpInTime ? Math.min(MAX_BLOCK, this.#blockSize * 2) : 2;
      const count = Math.max(Math.ceil(this.#waiting * 1.2), this.#blockSize);
      const to = this.#now() + WINDOW_AHEAD_MS;
      // A floor far beyond the window comes from a clock that has since been corrected.
      const floor = this.#floor <= to + WINDOW_BACK_MS ? this.#floor : 0;
      if (floor > to) return floor - to;
      const from = Math.max(to - WINDOW_AHEAD_MS - WINDOW_BACK_MS, floor);
      const block = await this.#store.use((store) =>
        store.reserveWindow(this.#settings.key, from, to, count),
      );
      if (block === undefined) return -1;
      if (block.kind === 'exhausted') return Math.max(1, block.waitMs);
      this.#next = block.first;
      this.#end = block.first + block.count;
      this.#validUntilMs = this.#clock.monotonicMs() + WINDOW_VALIDITY_MS;
      return 0;
    } finally {
      this.#refilling = undefined;
    }
  }

  /**
   * Returns a nonce while the store is lost, or how long to wait for one. Of every 10 * ordinals milliseconds two
   * belong to this process alone, and nonces from the store never use them. An earlier process of this ordinal may have
   * used any of them up to `WINDOW_AHEAD_MS` beyond its end, so this one begins after that. This requires that both
   * follow the same clock: one millisecond is used before a reply has shown the exchange's time, the other after.
   */
  #fromMemory(): { nonce?: string; waitMs: number } {
    const isDated = this.#datedMs !== undefined;
    const local = isDated ? this.#dated : this.#undated;
    const period = 10 * this.#settings.ordinals;
    const own = 10 * this.#settings.ordinal + local.digit;
    const now = this.#now();
    const ageMs = Math.floor(this.#clock.monotonicMs() - (this.#datedMs ?? this.#startedMs));
    const unused = now - ageMs + WINDOW_AHEAD_MS + (isDated ? DATE_ERROR_MS : 0) + 1;
    const least = Math.max(now - 2 * WINDOW_BACK_MS, unused, local.last + 1);
    const value = least + ((own - (least % period) + period) % period);
    if (value > now + WINDOW_AHEAD_MS) return { waitMs: value - now - WINDOW_AHEAD_MS };
    local.last = value;
    return { nonce: String(value), waitMs: 0 };
  }
}

/** Last digit of nonces by the host's clock, which may be wrong. */
const UNDATED_DIGIT = 8;
/** Last digit of nonces by the exchange's clock. */
const DATED_DIGIT = 9;
