import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Authored } from '../../core/controls/controls.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { canonicalJson } from '../canonical.ts';

export interface SealOptions {
  /** `operators.key` of the config as it is now; undefined: there is none. */
  readonly key: () => string | undefined;
  /** Redis asks for a password. */
  readonly isGuarded: boolean;
}

const UNSEALED =
  'it lacks the seal of operators.key: it was written by somebody without the key, or by a command without --config';
const UNGUARDED =
  'Redis asks for no password and the config has no operators.key: anybody could have written it';

/**
 * A seal is the HMAC-SHA256, in hex, of the canonical JSON of account and what was said. Pauses and silences need none
 * where there is no key: they only hold back, and have to work when nothing else does.
 */
export function createOperatorTrust({ key, isGuarded }: SealOptions): OperatorTrust {
  const isSealed = (secret: string, accountId: string | null, { seal, ...said }: Authored): boolean => {
    if (seal === undefined) return false;
    const [wanted, found] = [Buffer.from(sealOf(secret, accountId, said)), Buffer.from(seal)];
    return wanted.length === found.length && timingSafeEqual(wanted, found);
  };
  return {
    sealed(accountId, said) {
      const secret = key();
      return secret === undefined ? said : { ...said, seal: sealOf(secret, accountId, said) };
    },
    orderFault(accountId, order) {
      const secret = key();
      if (secret !== undefined) return isSealed(secret, accountId, order) ? undefined : UNSEALED;
      return isGuarded ? undefined : UNGUARDED;
    },
    controlFault(accountId, control) {
      const secret = key();
      return secret === undefined || isSealed(secret, accountId, control) ? undefined : UNSEALED;
    },
  };
}

function sealOf(secret: string, accountId: string | null, said: object): string {
  return createHmac('sha256', secret)
    .update(canonicalJson([accountId, said]), 'utf8')
    .digest('hex');
}

/** Whether one has to know a password to write to this Redis, by its address. */
export function asksForPassword(url: string): boolean {
  return (URL.parse(url)?.password ?? '') !== '';
}
