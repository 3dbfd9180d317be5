import type { LaneState } from '../lanes/lane-state.ts';
import type { OrderType, PositionSide, ReduceOnlyStopRequest } from '../ports/exchange.ts';
import { formatDecimal } from '../quantities/decimal.ts';
import { clientOrderId } from './client-order-id.ts';
import type { Want } from './want.ts';

/** Returns the request for a wanted order, with an id unique in this store epoch. */
export function requestOf(state: LaneState, want: Want): ReduceOnlyStopRequest {
  const amount = formatDecimal(want.amount);
  const identity = { ...state, ...want, positionId: want.position.positionId, attempt: state.attempt + 1 };
  const { side, activationPrice, price, inFavour } = want.prices;
  return {
    market: state.market,
    side,
    amount,
    price,
    activationPrice,
    clientOrderId:
      want.role === 'reduce'
        ? clientOrderId({ ...identity, role: 'reduce' })
        : clientOrderId({ ...identity, role: 'cover', activationPrice, amount }),
    positionSide: state.learned?.otherSide ? otherForm(want) : want.position.positionSide,
    ...(inFavour === true ? { inFavour } : {}),
  };
}

function otherForm({ position, prices }: Want): PositionSide {
  if (position.positionSide !== 'BOTH') return 'BOTH';
  return prices.side === 'sell' ? 'LONG' : 'SHORT';
}

/** The cancel-all types that reach our orders in a market. */
export function orderTypesOf(market: string): readonly OrderType[] {
  // `_PERP` names futures markets "such as" (specification 4.6), so other markets may be futures too: both types are
  // named, and the one that does not exist there cancels nothing.
  return market.endsWith('_PERP') ? ['futures'] : ['margin', 'futures'];
}
