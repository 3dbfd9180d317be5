import { type Decimal, maxDecimal, minDecimal, ZERO } from '../../core/quantities/decimal.ts';
import { directionOf } from './margin.ts';
import { CODES, reject } from './rejection.ts';
import type { ExchangeState, Position } from './state.ts';
import type { Rejection, Side } from './types.ts';

/** Reduce-only rule 4 of specification 4.4; under two readings other open orders must also leave room. */
export function checkReduceOnly(
  world: ExchangeState,
  position: Position | undefined,
  { side, amount }: { readonly side: Side; readonly amount: Decimal },
): Rejection | undefined {
  if (position === undefined || position.direction === directionOf(side))
    return reject(CODES.reduceOnly, 'reduceOnly', 'Reduce-only order would not reduce');
  const room = reducible(world, position);
  const needsAll = world.readings.reduceOnlyRoom === 'refused';
  const fits = needsAll ? room.gte(minDecimal(amount, position.size)) : room.gt(ZERO);
  return fits
    ? undefined
    : reject(CODES.reduceOnly, 'reduceOnly', 'Open reduce-only orders cover the position already');
}

/** Reduce-only rule 2 of specification 4.4. */
export function trimmed(world: ExchangeState, position: Position | undefined, amount: Decimal): Decimal {
  return position === undefined ? amount : minDecimal(amount, reducible(world, position));
}

/** How much of a position a new reduce-only order may close. */
function reducible(world: ExchangeState, position: Position): Decimal {
  if (world.readings.reduceOnlyRoom === 'position') return position.size;
  let room = position.size;
  for (const order of position.account.openOrders.values()) {
    const competes =
      order.reduceOnly &&
      order.ofPosition === null &&
      order.market === position.market &&
      order.positionSide === position.positionSide &&
      directionOf(order.side) !== position.direction;
    if (competes) room = room.minus(order.left);
  }
  return maxDecimal(ZERO, room);
}
