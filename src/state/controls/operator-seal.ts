import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Authored, type OperatorOrder, slippageFault } from '../../core/controls/controls.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { canonicalJson } from '../../core/text/canonical-json.ts';

export interface SealOptions {
  /** The present `operators.key` of the config; undefined: there is none. */
  readonly key: () => string | undefined;
  /** Whether Redis asks for a password, as far as known. Read at each order: a Redis lost at first is asked later. */
  readonly isGuarded: boolean;
  /** `operators.maxSlippage` of the config; undefined: unknown here, so orders are not checked against it. */
  readonly maxSlippage?: number;
}

const UNSEALED =
  'it lacks the seal of operators.key: it was written by somebody without the key, or by a command without --config';
const UNSEALED_NOTICE =
  'it lacks the seal of operators.key: it was put into the queue by somebody without the key, or by another version';
const UNGUARDED =
  'Redis asks for no password and the config has no operators.key: anybody could have written it';

/**
 * A seal is an HMAC-SHA256, in hex, of canonical JSON: of account and what was said, or of an audit record. Without a
 * key pauses and silences need no seal: they only hold back, and must work when nothing else does.
 */
export function createOperatorTrust(options: SealOptions): OperatorTrust {
  const { key, maxSlippage } = options;
  /** The seal of a text; undefined: there is no key. */
  const sealFor = (text: () => string): string | undefined => {
    const secret = key();
    return secret === undefined ? undefined : sealOf(secret, text());
  };
  const sealOfSaid = (accountId: string | null, { seal: _seal, ...said }: Authored) =>
    sealFor(() => canonicalJson([accountId, said]));
  return {
    sealed(accountId, said) {
      const seal = sealOfSaid(accountId, said);
      return seal === undefined ? said : { ...said, seal };
    },
    orderFault(accountId, order) {
      const wanted = sealOfSaid(accountId, order);
      if (wanted !== undefined && !isSame(wanted, order.seal)) return UNSEALED;
      if (wanted === undefined && !options.isGuarded && !holdsBack(order)) return UNGUARDED;
      const steps = order.kind === 'reduce' ? order.slippageSteps : [];
      return slippageFault(steps, maxSlippage);
    },
    controlFault(accountId, control) {
      const wanted = sealOfSaid(accountId, control);
      return wanted === undefined || isSame(wanted, control.seal) ? undefined : UNSEALED;
    },
    noticeSeal: (notice) => sealFor(() => noticeText(notice)),
    noticeFault(notice, seal) {
      const wanted = sealFor(() => noticeText(notice));
      return wanted === undefined || isSame(wanted, seal) ? undefined : UNSEALED_NOTICE;
    },
    recordSeal: (text) => sealFor(() => text),
    recordProof({ seal, ...record }) {
      const wanted = sealFor(() => canonicalJson(record));
      if (wanted === undefined) return 'unchecked';
      if (seal === undefined) return 'unsealed';
      return isSame(wanted, seal) ? 'sealed' : 'forged';
    },
  };
}

/** The notice as it is after a round trip through JSON; no order and no record has the same text. */
function noticeText(notice: unknown): string {
  return canonicalJson(['notice', null, JSON.parse(JSON.stringify(notice))]);
}

/** A veto only holds back, as a pause does. */
function holdsBack(order: OperatorOrder): boolean {
  return order.kind === 'answer' && order.decision === 'veto';
}

/** Identifies the key of a process without revealing it; undefined: it has none. */
export function keyMarkOf(secret: string | undefined): string | undefined {
  return secret === undefined ? undefined : sealOf(secret, canonicalJson(['keyMark'])).slice(0, 16);
}

function sealOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text, 'utf8').digest('hex');
}

function isSame(wanted: string, found: string | undefined): boolean {
  return wanted.length === found?.length && timingSafeEqual(Buffer.from(wanted), Buffer.from(found));
}
