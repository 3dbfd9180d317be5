import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import type { World } from '../../src/world/open-world.ts';
import type { AuditTrail } from './audit-trail.ts';
import { isBreachedPosition, isUntold } from './breach.ts';
import type { FaultWorld } from './parts.ts';

/** Long enough for the slowest rule to fire, including its reads. */
const LONG_ENOUGH_MS = 15_000;

/** Invariant 5: a position that was breached for the last seconds has had a target. */
export class MissedCheck {
  /** Since when each position has been breached without a break, by id. */
  readonly #sinceMs = new Map<number, number>();
  readonly #faultWorld: FaultWorld;

  constructor(faultWorld: FaultWorld) {
    this.#faultWorld = faultWorld;
  }

  look(world: World): void {
    const breached = new Set(this.#positionsOf(world).map(({ positionId }) => positionId));
    for (const positionId of breached)
      if (!this.#sinceMs.has(positionId)) this.#sinceMs.set(positionId, world.elapsedMs());
    for (const positionId of this.#sinceMs.keys())
      if (!breached.has(positionId)) this.#sinceMs.delete(positionId);
  }

  violations(world: World, { events }: AuditTrail): readonly string[] {
    const meant = new Set(
      events.filter(({ kind }) => kind === 'intentOpened').map((event) => event.positionId),
    );
    return this.#positionsOf(world).flatMap(({ positionId, accountId }) => {
      const sinceMs = this.#sinceMs.get(positionId) ?? Number.POSITIVE_INFINITY;
      if (meant.has(String(positionId)) || world.elapsedMs() - sinceMs < LONG_ENOUGH_MS) return [];
      if (events.some((event) => event.accountId === accountId && isWideAnswer(event))) return [];
      return [
        `5: position ${positionId} of ${accountId} is where its rules fire since ${sinceMs} ms, and nothing was meant for it`,
      ];
    });
  }

  #positionsOf({ exchange }: World) {
    const { spec, observed } = this.#faultWorld;
    return spec.exchange.accounts
      .filter(({ id }) => !observed.includes(id))
      .flatMap(({ id }) =>
        exchange.model
          .openPositions(id)
          .filter((one) => isBreachedPosition(one) && !isUntold(exchange.model, one))
          .map(({ positionId }) => ({ positionId, accountId: id })),
      );
  }
}

/**
 * A rule on the whole account has acted, or people were told that it cannot. It takes a share of the positions that were
 * open when it fired, or what a plan takes: that closes no hedge before what it hedges.
 */
function isWideAnswer({ ruleId, kind, reason }: AuditEvent): boolean {
  return ruleId === 'account' && (kind === 'intentOpened' || reason === 'failed:planUnknown');
}
