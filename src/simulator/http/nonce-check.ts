import type { Readings } from '../model/readings.ts';
import { privateError, type Reply } from './reply.ts';

/** `unique`: specification 5. `increasing`: larger than all earlier ones of the key, as the live service requires. */
type NonceRule = Readings['nonceRule'];

/** Half width of the window that `nonceWindow: true` opens around the server's time. */
const NONCE_WINDOW_MS = 5_000;
/** Number of nonces remembered per key; the oldest are forgotten first, so memory is bounded. */
const REMEMBERED_NONCES = 1_000_000;
const INTEGER_SYNTAX = /^\d{1,40}$/;

const OUT_OF_WINDOW = 'Your nonce is more than 5 seconds lesser than the current nonce';

interface NonceUse {
  readonly apiKey: string;
  readonly nonce: string;
  /** The body carried `nonceWindow: true`. */
  readonly window: boolean;
  readonly serverTimeMs: number;
}

interface KeyNonces {
  readonly used: Set<string>;
  highest: bigint | undefined;
}

/** Remembers the used nonces of every key. A refused nonce counts as unused. */
export class NonceCheck {
  readonly #keys = new Map<string, KeyNonces>();

  /** Records the nonce and returns `undefined` if it may be used; otherwise returns the refusal. */
  use(rule: NonceRule, use: NonceUse): Reply | undefined {
    const key = this.#keys.get(use.apiKey) ?? { used: new Set(), highest: undefined };
    this.#keys.set(use.apiKey, key);
    const refusal = use.window ? checkWindow(key, use) : checkRule(rule, key, use.nonce);
    if (refusal === undefined) remember(key, use.nonce);
    return refusal;
  }

  forget(apiKey: string): void {
    this.#keys.delete(apiKey);
  }
}

function checkRule(rule: NonceRule, key: KeyNonces, nonce: string): Reply | undefined {
  if (rule === 'unique') return key.used.has(nonce) ? alreadyUsed() : undefined;
  if (!INTEGER_SYNTAX.test(nonce)) return privateError(401, 0, 'Invalid payload');
  const isStale = key.highest !== undefined && BigInt(nonce) <= key.highest;
  // The live service reports a stale nonce as if it were a rate limit.
  return isStale ? privateError(429, 0, 'Too many requests.') : undefined;
}

function checkWindow(key: KeyNonces, { nonce, serverTimeMs }: NonceUse): Reply | undefined {
  if (!INTEGER_SYNTAX.test(nonce)) return privateError(401, 0, 'Invalid payload');
  if (Math.abs(Number(nonce) - serverTimeMs) > NONCE_WINDOW_MS) return privateError(401, 0, OUT_OF_WINDOW);
  return key.used.has(nonce) ? alreadyUsed() : undefined;
}

function remember(key: KeyNonces, nonce: string): void {
  key.used.add(nonce);
  if (key.used.size > REMEMBERED_NONCES) {
    const [oldest = ''] = key.used;
    key.used.delete(oldest);
  }
  if (!INTEGER_SYNTAX.test(nonce)) return;
  const value = BigInt(nonce);
  if (key.highest === undefined || value > key.highest) key.highest = value;
}

function alreadyUsed(): Reply {
  return privateError(401, 0, 'Nonce has already been used.');
}
