import { isCancelHeldBack, isUncertain } from '../../../../src/core/lanes/absence.ts';
import { judgeCancel } from '../../../../src/core/orders/cancel-policy.ts';
import { floorOf } from './ledger.ts';
import { Violation } from './tally.ts';
import type { World } from './world.ts';

/**
 * At rest, with a fresh read and no request on its way, the open orders cannot take a position below the smallest
 * target, and no unwanted order is open.
 */
export function checkAtRest(world: World): void {
  if (!isJudged(world)) return;
  checkTargets(world);
  checkOrphans(world);
  world.seen('atRest');
}

function isJudged(world: World): boolean {
  const { actor, exchange, isSilenced, setup } = world;
  const { settings } = setup;
  const { state } = actor;
  if (settings.mode === 'observe' || settings.cancel === 'never' || !settings.cancelCoversStops) return false;
  // Without settings the wanted orders could not be placed again after a cancel, so all orders stay.
  if (setup.config.market === undefined) return false;
  // An earlier store epoch may have left orders open: nothing is promised about those.
  if (state.priorOrdersPossible) return false;
  // No cancel may go out before an order has been accepted: the unwanted orders stay, which is recorded.
  const verdict = judgeCancel(state, world.context(), exchange.nowMs);
  if (verdict === 'unproven') return false;
  // The same holds next to a stop that the market runs towards.
  if (verdict === 'barred' && exchange.nowMs >= state.retryAtMs.cancel) return false;
  // The lane must assume that a request may still arrive.
  if (state.orders.some(({ arrivedByMs }) => arrivedByMs > exchange.nowMs)) return false;
  // A cancel is waiting, as it would take down the stops of a position that may be open.
  if (isCancelHeldBack(state)) return false;
  if (isSilenced || state.doubt !== null || exchange.inFlight > 0) return false;
  const seenFromMs = (state.read?.sentAtMs ?? 0) - settings.readLagMs;
  return seenFromMs > exchange.changedMs;
}

function checkTargets({ actor, exchange }: World): void {
  const { state } = actor;
  // The owner may trade exactly the amount of an order near its activation: no read can tell that from its fill.
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
    // Full closes may stand beside each other, and beside orders for another target: reduce-only trims them.
    if (floor > 0 && position.lots - left < floor)
      throw new Violation(`at rest ${left} of ${position.lots} open, target ${floor}`);
  }
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
