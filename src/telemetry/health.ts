import type { Clock } from '../core/ports/clock.ts';
import type { DaemonEvent } from '../core/ports/telemetry.ts';

/** Ways in which a process works, but not as it should; also label values of the `degraded` metric. */
export const DEGRADED_REASONS = [
  'redis',
  'exchange_store',
  'schedule',
  'notify',
  'commands',
  'log',
  'config',
] as const;
export type DegradedReason = (typeof DEGRADED_REASONS)[number];

/** A tick that begins later than this is a disturbance, not a busy moment. */
const LATE_TICK_MS = 5_000;
/** A store counts as lost after this long without an answer: one slow reply is retried by the next poll. */
const STORE_LOST_MS = 10_000;
/** A disturbance of the schedule or the log counts for this long after it was seen. */
const MEMORY_MS = 60_000;

/** Derives from the events of this process what is wrong with it now. */
export class Health {
  readonly #clock: Clock;
  #isRedisLost = false;
  /** Also where Redis answers, but takes no writes, and before its client reports the loss. */
  #isAlone = false;
  /** The changed config file was refused; the previous config is in force. */
  #isConfigRefused = false;
  /** Stores of the exchange clients that do not answer, and since when; keyed by store and account. */
  readonly #lostStores = new Map<string, { readonly accountId: string; readonly sinceMs: number }>();
  /** Not a `DegradedReason`: it has its own metric. */
  #isMirrorFailing = false;
  #ticksByItself = false;
  readonly #startedMs: number;
  #scheduleTroubleMs = Number.NEGATIVE_INFINITY;
  #logLostMs = Number.NEGATIVE_INFINITY;
  /** Channels whose last message could not be delivered. */
  readonly #failedChannels = new Set<string>();
  /** Channels whose commands are not received. */
  readonly #deafChannels = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  note(event: DaemonEvent): void {
    if (event.kind === 'redis') this.#isRedisLost = !event.available;
    else if (event.kind === 'standby') this.#isAlone = event.state === 'alone';
    else if (event.kind === 'configRefused') this.#isConfigRefused = true;
    else if (event.kind === 'configReloaded') this.#isConfigRefused = false;
    else if (event.kind === 'exchangeStore') {
      const key = `${event.store} ${event.accountId}`;
      const { accountId } = event;
      if (event.available) this.#lostStores.delete(key);
      else this.#lostStores.set(key, { accountId, sinceMs: this.#clock.monotonicMs() });
    } else if (event.kind === 'ticked' && this.#isLate(event.lagMs)) this.#noteSchedule();
    else if (event.kind === 'schedulesAsserted' && event.why === 'repair') this.#noteSchedule();
    else if (event.kind === 'ownTicks') this.#ticksByItself = event.state === 'begun';
    else if (event.kind === 'mirror') this.#isMirrorFailing = event.state === 'failing';
    else if (event.kind === 'logLost') this.#logLostMs = this.#clock.monotonicMs();
    else if (event.kind === 'delivered') {
      const { channel, delivery } = event.report;
      // A channel that the config no longer has needs no repair.
      if (delivery.kind === 'failed' && delivery.reason === 'noSuchChannel') return;
      if (delivery.kind === 'failed') this.#failedChannels.add(channel);
      else if (delivery.kind === 'delivered') this.#failedChannels.delete(channel);
    } else if (event.kind === 'botListens') {
      if (event.trouble === undefined) this.#deafChannels.delete(event.channel);
      else this.#deafChannels.add(event.channel);
    }
  }

  /** A tick that was due before this process started is not late. */
  #isLate(lagMs: number): boolean {
    return lagMs > LATE_TICK_MS && this.#clock.monotonicMs() - lagMs >= this.#startedMs;
  }

  #noteSchedule(): void {
    this.#scheduleTroubleMs = this.#clock.monotonicMs();
  }

  retain(accountIds: ReadonlySet<string>, channels: ReadonlySet<string>): void {
    for (const [key, { accountId }] of this.#lostStores) {
      if (!accountIds.has(accountId)) this.#lostStores.delete(key);
    }
    for (const kept of [this.#failedChannels, this.#deafChannels]) {
      for (const channel of kept) if (!channels.has(channel)) kept.delete(channel);
    }
  }

  has(reason: DegradedReason): boolean {
    if (reason === 'redis') return this.#isRedisLost || this.#isAlone;
    if (reason === 'config') return this.#isConfigRefused;
    if (reason === 'schedule' && this.#ticksByItself) return true;
    const nowMs = this.#clock.monotonicMs();
    if (reason === 'exchange_store')
      return [...this.#lostStores.values()].some(({ sinceMs }) => nowMs - sinceMs >= STORE_LOST_MS);
    if (reason === 'notify') return this.#failedChannels.size > 0;
    if (reason === 'commands') return this.#deafChannels.size > 0;
    const troubleMs = { schedule: this.#scheduleTroubleMs, log: this.#logLostMs }[reason];
    return nowMs - troubleMs < MEMORY_MS;
  }

  reasons(): readonly (DegradedReason | 'mirror')[] {
    const labelled = DEGRADED_REASONS.filter((reason) => this.has(reason));
    return this.#isMirrorFailing ? [...labelled, 'mirror'] : labelled;
  }
}
