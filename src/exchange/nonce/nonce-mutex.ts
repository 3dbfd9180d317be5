import type { Clock, Timers } from '../../core/ports/clock.ts';
import type { MutexEntry, NonceStore } from '../../core/ports/nonce-store.ts';
import type { BoundedStore } from '../bounded-store.ts';
import type { CallScope, ScopeTime } from '../call/call-scope.ts';

export interface NonceRequest {
  readonly kind: 'read' | 'command';
  readonly protective: boolean;
  readonly scope: CallScope;
}

/** A nonce for immediate use; in `increasing` mode also the mutex until `release`. */
export interface NonceTicket {
  readonly nonce: string;
  /** Calls `action` when an urgent request wants the mutex and the holder should give up its read. */
  onPreempt(action: (() => void) | undefined): void;
  /** False if the mutex was lost before the request could be sent. */
  isCurrent(): boolean;
  release(): void;
}

/** `undefined`: cancelled while waiting. */
export type NonceResult = NonceTicket | undefined;

export interface NonceMutexSettings {
  /** Names the API key in the store: a digest that does not reveal it. */
  readonly key: string;
  /** Names this client among those that share the key. */
  readonly owner: string;
  /** How long a dead holder keeps the mutex. */
  readonly leaseMs: number;
  readonly floor: () => number;
  /** Formats a sequence value as a nonce; `undefined` (the store is lost) yields a local one. */
  readonly nonceOf: (sequence: number | undefined) => string;
  readonly signals: NonceStore;
}

/** `local`: the store is lost, so each process works alone. */
type Entry = MutexEntry | { readonly kind: 'local' };

interface Waiter {
  readonly request: NonceRequest;
  readonly resolve: (result: NonceResult) => void;
}

interface Holder {
  readonly abortable: boolean;
  preempt: (() => void) | undefined;
  preempted: boolean;
}

/** If others wait, a process yields the mutex after this many requests or this time. */
const MAX_TURN_REQUESTS = 16;
const MAX_TURN_MS = 100;
/** Signals are hints; without one, a waiting process asks again after this time. */
const POLL_MS = 15;

/**
 * Allows one request per key at a time, across processes. The nonce is assigned inside the mutex, which is held until
 * the reply arrives or the request is given up. The nonce is also the fence: if a holder that lost its lease still
 * sends, its nonce is the smaller one and is refused. Urgent requests go first and preempt a read in flight in any
 * process.
 */
export class NonceMutex {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #store: BoundedStore<NonceStore>;
  readonly #settings: NonceMutexSettings;
  readonly #queue: Waiter[] = [];
  #urgentCount = 0;
  #holder: Holder | undefined;
  #pumping = false;
  #leaseUntilMs = 0;
  #yieldWanted = false;
  /** Some process, perhaps this one, has asked urgently for the mutex since this one last gave it up. */
  #urgentAsked = false;
  #wake: (() => void) | undefined;
  #stopListening: (() => void) | undefined;

  constructor({ clock, timers }: ScopeTime, store: BoundedStore<NonceStore>, settings: NonceMutexSettings) {
    this.#clock = clock;
    this.#timers = timers;
    this.#store = store;
    this.#settings = settings;
  }

  take(request: NonceRequest): Promise<NonceResult> {
    if (request.scope.isOver()) return Promise.resolve(undefined);
    this.#stopListening ??= this.#settings.signals.onMutexSignal((signal) => {
      if (signal.key === this.#settings.key) this.#onSignal(signal.kind);
    });
    return new Promise((resolve) => {
      const waiter: Waiter = { request, resolve };
      if (request.protective) {
        this.#queue.splice(this.#urgentCount, 0, waiter);
        this.#urgentCount += 1;
        this.#preemptRead();
        this.#wake?.();
      } else {
        this.#queue.push(waiter);
      }
      request.scope.onCancel(() => this.#withdraw(waiter));
      if (!this.#pumping) void this.#pump();
    });
  }

  close(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #onSignal(kind: 'free' | 'urgent'): void {
    if (kind === 'urgent') this.#makeWay();
    this.#wake?.();
  }

  /** An urgent request waits in another process: it goes first, unless this process has an urgent one too. */
  #makeWay(): void {
    this.#urgentAsked = true;
    if (this.#urgentCount > 0) return;
    this.#yieldWanted = true;
    this.#preemptRead();
  }

  #preemptRead(): void {
    const holder = this.#holder;
    if (holder === undefined || !holder.abortable || holder.preempted) return;
    holder.preempted = true;
    holder.preempt?.();
  }

  #withdraw(waiter: Waiter): void {
    const index = this.#queue.indexOf(waiter);
    if (index === -1) return;
    this.#remove(index);
    waiter.resolve(undefined);
    this.#wake?.();
  }

  #remove(index: number): void {
    this.#queue.splice(index, 1);
    if (index < this.#urgentCount) this.#urgentCount -= 1;
  }

  /** Serves the queue until it is empty; one pump runs at a time. */
  async #pump(): Promise<void> {
    this.#pumping = true;
    try {
      while (this.#queue.length > 0) {
        const entered = await this.#enter();
        if (entered.kind === 'busy') await this.#pause(Math.min(entered.retryInMs, POLL_MS));
        else await this.#turn(entered);
      }
      // No await here: a request queued after this point starts a new pump.
    } finally {
      this.#pumping = false;
      this.#leave();
    }
  }

  async #enter(): Promise<Entry> {
    const { key, owner, leaseMs } = this.#settings;
    const urgent = this.#urgentCount > 0;
    const askedAtMs = this.#clock.monotonicMs();
    const entry = await this.#store.use((store) =>
      store.enterMutex(key, { owner, floor: this.#settings.floor(), leaseMs, urgent }),
    );
    this.#leaseUntilMs = askedAtMs + leaseMs;
    return entry ?? { kind: 'local' };
  }

  /** Serves several requests in a row, but keeps others waiting no longer than one turn. */
  async #turn(first: Exclude<Entry, { kind: 'busy' }>): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    let entry: Entry = first;
    for (let served = 1; ; served += 1) {
      if (entry.kind === 'busy') return;
      const waiter = this.#queue[0];
      if (waiter === undefined) return;
      this.#remove(0);
      waiter.request.scope.onCancel(undefined);
      await this.#serve(waiter, entry);
      const turnOver = served >= MAX_TURN_REQUESTS || this.#clock.monotonicMs() - startedMs > MAX_TURN_MS;
      const contended = entry.kind === 'granted' && entry.contended;
      // Urgent requests yield only to urgent ones, and only after their turn.
      const waitedFor = this.#urgentCount > 0 ? this.#urgentAsked : contended;
      if ((this.#urgentCount === 0 && this.#yieldWanted) || (waitedFor && turnOver)) {
        this.#yieldWanted = false;
        this.#urgentAsked = false;
        this.#leave();
        await this.#pause(POLL_MS);
        return;
      }
      if (this.#queue.length === 0) return;
      entry = await this.#enter();
    }
  }

  async #serve(waiter: Waiter, entry: Entry): Promise<void> {
    const { request } = waiter;
    const abortable = request.kind === 'read' && !request.protective;
    const holder: Holder = { abortable, preempt: undefined, preempted: false };
    this.#holder = holder;
    let callOff = (): void => undefined;
    const renewLater = (): void => {
      callOff = this.#timers.after(this.#settings.leaseMs / 3, () => {
        renewLater();
        void this.#renew();
      });
    };
    renewLater();
    try {
      const nonce = this.#settings.nonceOf(entry.kind === 'granted' ? entry.sequence : undefined);
      await new Promise<void>((released) => waiter.resolve(this.#ticket(nonce, holder, released)));
    } finally {
      callOff();
      this.#holder = undefined;
    }
  }

  #ticket(nonce: string, holder: Holder, released: () => void): NonceTicket {
    return {
      nonce,
      onPreempt: (action) => {
        holder.preempt = action;
        if (holder.preempted) action?.();
      },
      isCurrent: () => this.#clock.monotonicMs() < this.#leaseUntilMs,
      release: released,
    };
  }

  async #renew(): Promise<void> {
    const { key, owner, leaseMs } = this.#settings;
    const askedAtMs = this.#clock.monotonicMs();
    const renewal = await this.#store.use((store) => store.renewMutex(key, owner, leaseMs));
    if (renewal === undefined || renewal === 'lost') return;
    this.#leaseUntilMs = askedAtMs + leaseMs;
    if (renewal === 'urgentWaiting') this.#makeWay();
  }

  #leave(): void {
    const { key, owner } = this.#settings;
    void this.#store.use((store) => store.leaveMutex(key, owner));
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        callOff();
        this.#wake = undefined;
        resolve();
      };
      const callOff = this.#timers.after(delayMs, done);
      this.#wake = done;
    });
  }
}
