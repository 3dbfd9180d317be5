import type { AuditEvent } from '../../../../src/core/audit/audit-event.ts';
import type { LaneState, PlaceStep } from '../../../../src/core/lanes/lane-state.ts';
import type { ReadObservation } from '../../../../src/core/lanes/market-read.ts';
import type { AccountSettings } from '../../../../src/core/quantities/settings.ts';
import { type Seen, Violation } from './tally.ts';
import { lotsOf, MARKET } from './views.ts';

/** Checks the events and state of a lane at every change: targets, ends and their alarms, client order ids. */
export class Watch {
  readonly events: AuditEvent[] = [];
  /** Keys of intents that have ended for another reason than their time to live. */
  readonly ended = new Set<string>();
  readonly #settings: AccountSettings;
  readonly #seen: Seen;
  readonly #targets = new Map<string, string>();
  readonly #smallestSeen = new Set([lotsOf('0.001')]);
  readonly #sizesSeen = new Map<string, Set<number>>();
  readonly #rebuilt = new Map<string, number>();
  readonly #ids = new Map<string, string>();

  constructor(settings: AccountSettings, seen: Seen) {
    this.#settings = settings;
    this.#seen = seen;
  }

  noteSizes(observation: ReadObservation): void {
    for (const position of observation.byMarket.get(MARKET) ?? []) {
      const key = `${position.positionId}/${position.openDate ?? 0}`;
      const sizes = this.#sizesSeen.get(key) ?? new Set<number>();
      sizes.add(lotsOf(position.sizeBase));
      this.#sizesSeen.set(key, sizes);
    }
  }

  noteEvent(event: AuditEvent): void {
    this.events.push(event);
    this.#seen(`event:${event.kind}`);
    if (event.reason === 'expired:rebuilt' && event.key !== undefined) {
      this.#rebuilt.set(event.key, (this.#rebuilt.get(event.key) ?? 0) + 1);
    }
    if (event.kind === 'intentEnded') {
      this.#seen(`end:${event.reason}`);
      if (!event.reason.startsWith('expired') && event.key !== undefined) this.ended.add(event.key);
      const isWatched = event.reason === 'failed:refused:observeMode';
      if (event.reason.startsWith('failed') && event.alarm === isWatched)
        throw new Violation('a failure without an alarm, or an alarm for what was only watched');
    }
  }

  /** Targets by, to and toNotional never change, untilDistance never rises; by and to are a share of a size seen. */
  checkTargets(state: LaneState): void {
    for (const intent of state.intents) {
      const { targetBase, basis } = intent;
      if (targetBase === null || basis === null) continue;
      const times = this.#rebuilt.get(intent.key) ?? 0;
      const key = `${state.epoch}|${intent.key}|${basis.openDate}|${intent.source}|${times}`;
      const before = this.#targets.get(key);
      if (before === targetBase) continue;
      this.#targets.set(key, targetBase);
      if (before === undefined) this.#checkFirstTarget(intent);
      else if (intent.target.kind !== 'untilDistance' || Number(targetBase) > Number(before)) {
        throw new Violation(`target of ${key} went from ${before} to ${targetBase}`);
      }
    }
  }

  #checkFirstTarget(intent: LaneState['intents'][number]): void {
    const { target, positionId, basis } = intent;
    const sizes = [...(this.#sizesSeen.get(`${positionId}/${basis?.openDate ?? 0}`) ?? [])];
    const got = lotsOf(intent.targetBase ?? '0');
    const share = target.kind === 'by' ? 1 - target.fraction : target.kind === 'to' ? target.fraction : null;
    if (share === null) return;
    const isByRule = intent.source === 'rule';
    const least = isByRule ? 1 - this.#settings.largestReduction : 0;
    // A reload may have changed the smallest amount since the target was set.
    const now = lotsOf(this.#settings.marketSettings(MARKET)?.minAmount ?? '0.001');
    const smallest = [...this.#smallestSeen.add(now)];
    const lots = (size: number): number => Math.ceil(Math.round(size * 1e6) / 1e6);
    const aimOf = (size: number, seen: number, fewest: number): number => {
      const aim = lots(size * share);
      // Where rounding up would leave a position as it is, it is rounded down.
      const isLost = isByRule && size * share < seen && seen - aim < fewest;
      return Math.max(isLost ? Math.min(aim, Math.max(0, seen - fewest)) : aim, lots(size * least));
    };
    const isRight = sizes.some((size) =>
      sizes.some((seen) => smallest.some((fewest) => aimOf(size, seen, fewest) === got)),
    );
    if (!isRight) throw new Violation(`target ${got} is not ${share} of any size seen (${sizes.join(', ')})`);
  }

  /** No two orders share an id; only an order with an unknown outcome is sent again under its own. */
  checkId(step: PlaceStep): void {
    const { clientOrderId } = step.request;
    const text = JSON.stringify(step.request);
    const before = this.#ids.get(clientOrderId);
    if (before !== undefined && (before !== text || !step.isResend))
      throw new Violation(`id ${clientOrderId} twice`);
    if (step.isResend) this.#seen('resend');
    this.#ids.set(clientOrderId, text);
  }
}
