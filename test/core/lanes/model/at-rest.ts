import { isCancelHeldBack, isUncertain } from '../../../../src/core/lanes/absence.ts';
import type { LaneState } from '../../../../src/core/lanes/lane-state.ts';
import { floorOf } from './ledger.ts';
import { Violation } from './tally.ts';
import type { World } from './world.ts';

/**
 * At rest, with a fresh read and nothing on its way, what is open at the exchange cannot take a position below
 * the smallest target, and nothing is open that nobody wants.
 */
export function checkAtRest(world: World): void {
  if (!isJudged(world)) return;
  checkTargets(world);
  checkOrphans(world);
  world.seen('atRest');
}

function isJudged({ actor, exchange, isSilenced, setup }: World): boolean {
  const { settings } = setup;
  const { state } = actor;
  if (settings.mode === 'observe' || settings.cancel === 'never' || !settings.cancelCoversStops) return false;
  // Without settings what is wanted could not come back after a cancel: then all stays.
  if (setup.config.market === undefined) return false;
  // A cancel waits that would take down the stops of a position that may be open.
  if (isCancelHeldBack(state)) return false;
  if (isSilenced || state.doubt !== null || exchange.inFlight > 0) return false;
  const seenFromMs = (state.read?.sentAtMs ?? 0) - settings.readLagMs;
  return seenFromMs > exchange.changedMs;
}

function checkTargets({ actor, exchange }: World): void {
  const { state } = actor;
  // The owner may trade exactly the amount of an order beside its activation: no read can tell that from its fill.
  const presumed = new Set(
    state.orders.filter((order) => order.presumedFilled).map((order) => order.request.clientOrderId),
  );
  for (const position of exchange.positions) {
    const reducing = exchange.orders.filter(
      ({ tag }) =>
        tag.positionId === position.id &&
        tag.role === 'reduce' &&
        !tag.overshoot &&
        !presumed.has(tag.clientOrderId),
    );
    const left = reducing.reduce((sum, order) => sum + order.left, 0);
    const floor = Math.min(floorOf(state, position.id), position.lots);
    // What was sent for another target stands for the full close that a stop asks for with its fill: reduce-only trims it.
    const isTrimmed = floor === 0 && hasFilledStop(state, position.id);
    if (!isTrimmed && position.lots - left < floor)
      throw new Violation(`at rest ${left} of ${position.lots} open, target ${floor}`);
  }
}

function hasFilledStop({ orders }: LaneState, positionId: string): boolean {
  return orders.some(
    (order) => order.positionId === positionId && order.presumedFilled && order.role === 'cover',
  );
}

function checkOrphans({ actor, exchange, setup }: World): void {
  const { showsOpenDate } = setup.readings;
  const orphan = exchange.orders.find(
    ({ tag }) =>
      !isUncertain(actor.state, tag.positionId) &&
      !exchange.positions.some(({ id, openDate }) =>
        showsOpenDate ? openDate === tag.openDate : id === tag.positionId,
      ),
  );
  if (orphan !== undefined) throw new Violation('at rest an order of a position that is gone');
}
