import type { Clock, Timers } from '../core/ports/clock.ts';
import type { EventOwner, EventQueue } from './event-queue.ts';

export interface ClockSpec {
  /** How far the wall clock is ahead of the world's time at the start; negative: behind. */
  readonly skewMs?: number;
  /** How much too fast both clocks run, in parts per million. */
  readonly driftPpm?: number;
}

/** What a host is connected to. */
export type LinkEnd = 'store' | 'exchange';
/** `down`: nothing gets through; `deaf`: what the host sends arrives, but no answer comes back. */
export type LinkState = 'up' | 'down' | 'deaf';

/** A host with its own clocks and links. Its monotonic clock is unrelated to those of other hosts. */
export class Machine {
  readonly links: Record<LinkEnd, LinkState> = { store: 'up', exchange: 'up' };
  /** Contents of its disk, by name. */
  readonly files = new Map<string, string>();
  readonly #queue: EventQueue;
  readonly #startMs: number;
  readonly #rate: number;
  readonly #bootMs: number;
  #skewMs: number;

  /** @param startMs start of the world, Unix milliseconds @param bootMs the monotonic clock at that moment */
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

  /** Sets the wall clock; the monotonic clock is not affected. */
  stepWall(byMs: number): void {
    this.#skewMs += byMs;
  }

  /** Like the platform's timers: whole milliseconds, at least one. */
  after(delayMs: number, call: () => void, owner?: EventOwner): () => void {
    if (Number.isNaN(delayMs)) throw new RangeError('a delay is a number of milliseconds');
    return this.#queue.after(Math.max(1, Math.ceil(delayMs / this.#rate)), call, owner);
  }

  /** Calls `call` after everything that is due now. */
  afterTurn(call: () => void, owner?: EventOwner): () => void {
    return this.#queue.after(0, call, owner);
  }
}

/** Monotonic clock of the first machine at the start. */
export const BOOT_MS = 1_000_000;

/** A process on a machine, from start to end. Its events wait while it is suspended. */
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

  /** Events that came due meanwhile run now, in order. */
  resume(): void {
    if (this.#state !== 'suspended') return;
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    for (const call of held) this.#queue.after(0, call, this);
  }

  /** Ends the process: none of its events runs any more. */
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
