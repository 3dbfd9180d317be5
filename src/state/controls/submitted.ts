import type { OperatorOrder } from '../../core/controls/controls.ts';
import type { Backend } from '../account/account-backend.ts';
import { readRecord } from '../audit/audit-chain.ts';
import { recordsBetween } from '../audit/audit-prune.ts';
import { sha256Hex } from '../canonical.ts';

const ID_LENGTH = 20;

/** The id of whatever is submitted under a key: letters and digits, the same for the same key and account. */
export function idOfKey(accountId: string, key: string): string {
  return sha256Hex(JSON.stringify([accountId, key])).slice(0, ID_LENGTH);
}

/** An order that was submitted, begun or not, as far back as the account's audit goes. */
export async function findSubmitted(
  backend: Backend,
  accountId: string,
  orderId: string,
): Promise<OperatorOrder | undefined> {
  for await (const raw of recordsBetween(backend, accountId, 1, Number.POSITIVE_INFINITY)) {
    if (!raw.text.includes(orderId)) continue;
    const { content } = readRecord(accountId, raw).record;
    if (content.kind === 'operatorOrder' && content.order.id === orderId) return content.order;
  }
  return undefined;
}
