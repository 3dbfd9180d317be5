import { sha256Hex } from '../audit/sha256.ts';
import type { Cover, LaneState } from '../lanes/lane-state.ts';
import type { OrderType, PositionSide, ReduceOnlyStopRequest } from '../ports/exchange.ts';
import { formatDecimal } from '../quantities/decimal.ts';
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

/** Fields that identify an order uniquely (design: client order id). Includes the market, as it may be renamed. */
export type OrderIdentity = Pick<LaneState, 'epoch' | 'accountId' | 'market' | 'attempt' | 'generation'> &
  Pick<Cover, 'positionId' | 'ruleId' | 'episode' | 'stage'> &
  (
    | { readonly role: 'reduce' }
    | ({ readonly role: 'cover' } & Pick<ReduceOnlyStopRequest, 'activationPrice' | 'amount'>)
  );

/** The specification states no bound; this is short enough for any usual database column. */
export const MAX_CLIENT_ORDER_ID_LENGTH = 48;

const PLAIN_PREFIX = 'bw1';
const HASHED_PREFIX = 'bw2';

/**
 * Returns an id of at most 48 letters, digits, dashes, dots and underscores (specification 4.4): the fields written
 * out, or 160 bits of their SHA-256 if that is too long.
 */
export function clientOrderId(identity: OrderIdentity): string {
  const { epoch, accountId, market, positionId, ruleId, episode, stage, attempt, generation } = identity;
  const numbers = [episode, stage, attempt, generation];
  const role = identity.role === 'reduce' ? 'r' : 'c';
  const parts = [role, epoch, accountId, market, positionId, ruleId, ...numbers];
  if (identity.role === 'cover') parts.push(identity.activationPrice, identity.amount);
  const plain = [PLAIN_PREFIX, ...parts.map((part) => escapePart(String(part)))].join('.');
  if (plain.length <= MAX_CLIENT_ORDER_ID_LENGTH) return plain;
  return `${HASHED_PREFIX}.${sha256Hex(plain).slice(0, 40)}`;
}

/** Writes all but letters, digits and dashes as `_` + code unit in hex + `_`, so that parts never run together. */
function escapePart(part: string): string {
  return part.replace(/[^A-Za-z0-9-]/g, (unit) => `_${unit.charCodeAt(0).toString(16)}_`);
}
