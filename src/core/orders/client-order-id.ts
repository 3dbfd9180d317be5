import { sha256Hex } from '../audit/sha256.ts';
import type { Cover, LaneState } from '../lanes/lane-state.ts';
import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';

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
