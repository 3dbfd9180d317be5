import type { Clock, Timers } from '../core/ports/clock.ts';
import type { EventOwner, EventQueue } from './event-queue.ts';

export interface ClockSpec {
  /** How far ahead of the world's time the wall clock is at the start; negative: behind. */
  readonly skewMs?: number;
  /** How much too fast both clocks run, in millionths. */
  readonly driftPpm?: number;
}

/** What a host has a way to. */
export type LinkEnd = 'store' | 'exchange';
/** `down`: nothing gets through; `deaf`: what the host sends arrives, and no answer comes back. */
export type LinkState = 'up' | 'down' | 'deaf';

/** A host with clocks and ways of its own. Its monotonic clock says nothing about those of others. */
export class Machine {
  readonly links: Record<LinkEnd, LinkState> = { store: 'up', exchange: 'up' };
  /** What its disk holds, by name. */
  readonly files = new Map<string, string>();
  readonly #queue: EventQueue;
  readonly #startMs: number;
  readonly #rate: number;
  readonly #bootMs: number;
  #skewMs: number;

  /** @param startMs of the world, Unix milliseconds; `bootMs`: what the monotonic clock shows then */
  constructor(
    queue: EventQueue,
    startMs: number,
    { skewMs = 0, driftPpm = 0 }: ClockSpec = {},
    bootMs = BOOT_MS,
  ) {
    this.#queue = queue;
    this.#startMs = startMs;
    this.#rate = 1 + driftPpm / 1e6;
    this.#bootMs = bootMs;
    this.#skewMs = skewMs;
  }

  wallMs(): number {
    return Math.floor(this.#startMs + this.#queue.nowMs * this.#rate + this.#skewMs);
  }

  monotonicMs(): number {
    return this.#bootMs + this.#queue.nowMs * this.#rate;
  }

  /** Sets the wall clock; the monotonic one goes on. */
  stepWall(byMs: number): void {
    this.#skewMs += byMs;
  }

  /** As timers of the platform: at least a millisecond, in whole ones. */
  after(delayMs: number, call: () => void, owner?: EventOwner): () => void {
    if (Number.isNaN(delayMs)) throw new RangeError('a delay is a number of milliseconds');
    return this.#queue.after(Math.max(1, Math.ceil(delayMs / this.#rate)), call, owner);
  }

  /** When everything has been handled that is there now. */
  afterTurn(call: () => void, owner?: EventOwner): () => void {
    return this.#queue.after(0, call, owner);
  }
}

/** What the monotonic clock of the first machine shows at the start. */
export const BOOT_MS = 1_000_000;

/** A process on a machine, from its start to its end. What belongs to it waits while it is suspended. */
export class MachineProcess implements EventOwner {
  readonly machine: Machine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly #queue: EventQueue;
  #state: 'running' | 'suspended' | 'dead' = 'running';
  #held: (() => void)[] = [];

  constructor(queue: EventQueue, machine: Machine) {
    this.#queue = queue;
    this.machine = machine;
    this.timers = {
      after: (delayMs, call) => machine.after(delayMs, call, this),
      afterTurn: (call) => machine.afterTurn(call, this),
    };
    this.clock = {
      nowMs: () => machine.wallMs(),
      monotonicMs: () => machine.monotonicMs(),
      sleep: (delayMs, signal) => sleep(this.timers, delayMs, signal),
    };
  }

  get state(): 'running' | 'suspended' | 'dead' {
    return this.#state;
  }

  admit(call: () => void): void {
    if (this.#state === 'running') call();
    else if (this.#state === 'suspended') this.#held.push(call);
  }

  suspend(): void {
    if (this.#state === 'running') this.#state = 'suspended';
  }

  /** What came due meanwhile happens now, in its order. */
  resume(): void {
    if (this.#state !== 'suspended') return;
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    for (const call of held) this.#queue.after(0, call, this);
  }

  /** Nothing of it happens any more. */
  kill(): void {
    this.#state = 'dead';
    this.#held = [];
  }
}

function sleep(timers: Timers, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const onAbort = (): void => {
      callOff();
      reject(signal?.reason as Error);
    };
    const callOff = timers.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
