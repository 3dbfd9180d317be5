import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Authored } from '../../core/controls/controls.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { canonicalJson } from '../canonical.ts';

export interface SealOptions {
  /** `operators.key` of the config as it is now; undefined: there is none. */
  readonly key: () => string | undefined;
  /** Redis asks for a password, as far as it could be asked. */
  readonly isGuarded: boolean;
}

const UNSEALED =
  'it lacks the seal of operators.key: it was written by somebody without the key, or by a command without --config';
const UNGUARDED =
  'Redis asks for no password and the config has no operators.key: anybody could have written it';

/**
 * A seal is an HMAC-SHA256, in hex, of canonical JSON: of account and what was said, or of an audit record. Pauses and
 * silences need none where there is no key: they only hold back, and have to work when nothing else does.
 */
export function createOperatorTrust({ key, isGuarded }: SealOptions): OperatorTrust {
  const isSealed = (secret: string, accountId: string | null, { seal, ...said }: Authored): boolean =>
    seal !== undefined && isSame(sealOf(secret, canonicalJson([accountId, said])), seal);
  return {
    sealed(accountId, said) {
      const secret = key();
      return secret === undefined
        ? said
        : { ...said, seal: sealOf(secret, canonicalJson([accountId, said])) };
    },
    orderFault(accountId, order) {
      const secret = key();
      if (secret !== undefined) return isSealed(secret, accountId, order) ? undefined : UNSEALED;
      return isGuarded || holdsBack(order) ? undefined : UNGUARDED;
    },
    controlFault(accountId, control) {
      const secret = key();
      return secret === undefined || isSealed(secret, accountId, control) ? undefined : UNSEALED;
    },
    recordSeal(text) {
      const secret = key();
      return secret === undefined ? undefined : sealOf(secret, text);
    },
    recordProof({ seal, ...record }) {
      const secret = key();
      if (secret === undefined) return 'unchecked';
      if (seal === undefined) return 'unsealed';
      return isSame(sealOf(secret, canonicalJson(record)), seal) ? 'sealed' : 'forged';
    },
  };
}

/** A veto only holds back, as a pause does. */
function holdsBack(order: Authored): boolean {
  const { kind, decision } = order as { readonly kind?: unknown; readonly decision?: unknown };
  return kind === 'answer' && decision === 'veto';
}

function sealOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text, 'utf8').digest('hex');
}

function isSame(wanted: string, found: string): boolean {
  return wanted.length === found.length && timingSafeEqual(Buffer.from(wanted), Buffer.from(found));
}
