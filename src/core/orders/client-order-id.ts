import type { DecimalString } from '../quantities/decimal.ts';
import { sha256Hex } from './sha256.ts';

/** What makes an order one of a kind (design: client order id); the market too, as it may be renamed. */
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

/** No stated bound in the specification; short enough for any database column one would expect. */
export const MAX_CLIENT_ORDER_ID_LENGTH = 48;

const PLAIN_PREFIX = 'bw1';
const HASHED_PREFIX = 'bw2';

/**
 * At most 48 letters, digits, dashes, dots and underscores (specification 4.4): written out, else 160 bits of SHA-256.
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

/** Everything but letters, digits and dashes as `_` + code units in hex + `_`, so that parts never run together. */
function escapePart(part: string): string {
  return part.replace(/[^A-Za-z0-9-]/g, (unit) => `_${unit.charCodeAt(0).toString(16)}_`);
}
