import { sha256Hex } from '../audit/sha256.ts';
import type { DecimalString } from '../quantities/decimal.ts';

/** Fields that identify an order uniquely (design: client order id). Includes the market, as it may be renamed. */
export type OrderIdentity = {
  readonly epoch: string;
  readonly accountId: string;
  readonly market: string;
  readonly positionId: string;
  readonly ruleId: string;
  readonly episode: number;
  readonly stage: number;
  readonly attempt: number;
  readonly generation: number;
} & (
  | { readonly role: 'reduce' }
  | { readonly role: 'cover'; readonly activationPrice: DecimalString; readonly amount: DecimalString }
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
  const parts: (string | number)[] = [
    identity.role === 'reduce' ? 'r' : 'c',
    identity.epoch,
    identity.accountId,
    identity.market,
    identity.positionId,
    identity.ruleId,
    identity.episode,
    identity.stage,
    identity.attempt,
    identity.generation,
  ];
  if (identity.role === 'cover') parts.push(identity.activationPrice, identity.amount);
  const plain = [PLAIN_PREFIX, ...parts.map((part) => escapePart(String(part)))].join('.');
  if (plain.length <= MAX_CLIENT_ORDER_ID_LENGTH) return plain;
  return `${HASHED_PREFIX}.${sha256Hex(plain).slice(0, 40)}`;
}

/** Writes all but letters, digits and dashes as `_` + code unit in hex + `_`, so that parts never run together. */
function escapePart(part: string): string {
  return part.replace(/[^A-Za-z0-9-]/g, (unit) => `_${unit.charCodeAt(0).toString(16)}_`);
}
