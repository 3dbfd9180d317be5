import { createHash } from 'node:crypto';
import { OPERATOR_CHAIN } from '../core/audit/audit-record.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { ExchangeModel } from '../simulator/model/exchange-model.ts';

const ENTRIES_AT_ONCE = 10_000;

/** SHA-256, in hex, of everything that happened: each ledger entry, and the head of each audit chain. */
export async function hashWorld(
  model: ExchangeModel,
  audit: AuditReader,
  accountIds: readonly string[],
): Promise<string> {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(model.ledgerTotals()));
  let afterSeq = 0;
  for (;;) {
    const entries = model.ledger({ afterSeq, limit: ENTRIES_AT_ONCE });
    for (const entry of entries) hash.update(JSON.stringify(entry));
    const last = entries.at(-1);
    if (last === undefined) break;
    afterSeq = last.seq;
  }
  // A record's hash covers the hash before it.
  for (const id of [...accountIds, OPERATOR_CHAIN]) {
    const [head] = await audit.tail(id, 1);
    hash.update(`${id} ${head?.record.seq ?? 0} ${head?.hash ?? ''}\n`);
  }
  return hash.digest('hex');
}
