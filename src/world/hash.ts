import { createHash } from 'node:crypto';
import { OPERATOR_CHAIN } from '../core/audit/audit-record.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { ExchangeModel } from '../simulator/model/exchange-model.ts';

const ENTRIES_AT_ONCE = 10_000;
/** More than an account keeps. */
const MOST_RECORDS = 1_000_000;

/** SHA-256, in hex, of everything that happened: each ledger entry, and each audit record. */
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
  for (const id of [...accountIds, OPERATOR_CHAIN]) {
    const records = await audit.tail(id, MOST_RECORDS);
    hash.update(`${id} ${records.length}\n`);
    for (const record of records) hash.update(`${record.number} ${record.hash}\n`);
  }
  return hash.digest('hex');
}
