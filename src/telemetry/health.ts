import type { Clock } from '../core/ports/clock.ts';
import type { DaemonEvent } from '../core/ports/telemetry.ts';

/** Ways in which a process works, but not as it should; also values of a label. */
export const DEGRADED_REASONS = ['redis', 'exchange_store', 'schedule', 'notify', 'log'] as const;
export type DegradedReason = (typeof DEGRADED_REASONS)[number];

/** Ticks that begin later than this are a disturbance, not a busy moment. */
const LATE_TICK_MS = 5_000;
/** A disturbance of the schedule or the log counts for so long after it was seen. */
const MEMORY_MS = 60_000;

/** What is wrong with this process now, as far as its events tell. */
export class Health {
  readonly #clock: Clock;
  #isRedisLost = false;
  /** Stores of the exchange's clients that do not answer, by account. */
  readonly #lostStores = new Map<string, Set<string>>();
  #scheduleTroubleMs = Number.NEGATIVE_INFINITY;
  #logLostMs = Number.NEGATIVE_INFINITY;
  /** Channels whose last message could not be delivered. */
  readonly #failedChannels = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(event: DaemonEvent): void {
    switch (event.kind) {
      case 'redis':
        this.#isRedisLost = !event.available;
        return;
      case 'exchangeStore':
        this.#noteStore(event.accountId, event.store, event.available);
        return;
      case 'ticked':
        if (event.lagMs > LATE_TICK_MS) this.#scheduleTroubleMs = this.#clock.monotonicMs();
        return;
      case 'schedulesAsserted':
        if (event.why === 'repair') this.#scheduleTroubleMs = this.#clock.monotonicMs();
        return;
      case 'logLost':
        this.#logLostMs = this.#clock.monotonicMs();
        return;
      case 'delivered':
        this.#noteDelivery(event.report.channel, event.report.delivery.kind);
        return;
      default:
    }
  }

  #noteStore(accountId: string, store: string, available: boolean): void {
    const lost = this.#lostStores.get(accountId) ?? new Set();
    if (available) lost.delete(store);
    else lost.add(store);
    if (lost.size === 0) this.#lostStores.delete(accountId);
    else this.#lostStores.set(accountId, lost);
  }

  #noteDelivery(channel: string, outcome: string): void {
    if (outcome === 'failed') this.#failedChannels.add(channel);
    else if (outcome === 'delivered') this.#failedChannels.delete(channel);
  }

  retain(accountIds: ReadonlySet<string>, channels: ReadonlySet<string>): void {
    for (const id of this.#lostStores.keys()) if (!accountIds.has(id)) this.#lostStores.delete(id);
    for (const channel of this.#failedChannels) {
      if (!channels.has(channel)) this.#failedChannels.delete(channel);
    }
  }

  has(reason: DegradedReason): boolean {
    switch (reason) {
      case 'redis':
        return this.#isRedisLost;
      case 'exchange_store':
        return this.#lostStores.size > 0;
      case 'schedule':
        return this.#clock.monotonicMs() - this.#scheduleTroubleMs < MEMORY_MS;
      case 'notify':
        return this.#failedChannels.size > 0;
      case 'log':
        return this.#clock.monotonicMs() - this.#logLostMs < MEMORY_MS;
    }
  }

  reasons(): readonly DegradedReason[] {
    return DEGRADED_REASONS.filter((reason) => this.has(reason));
  }
}
