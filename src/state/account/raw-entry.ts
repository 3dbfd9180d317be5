import type { ChainHead } from '../../core/audit/audit-record.ts';
import type { CommitResult, StoredAccount, StoreEpoch } from '../../core/ports/state-store.ts';
import { DocumentError, HEADER_FIELD, laneHeadersOf, TALLY_FIELD, textsOf } from './documents.ts';
import { type Entry, emptyEntry } from './entry.ts';
import { type Header, readHeader, readTally } from './header.ts';

/** An account without its documents. @throws DocumentError for a header that this program does not read */
export function rawEntry(accountId: string, fields: ReadonlyMap<string, string>, epoch: StoreEpoch): Entry {
  const headerText = fields.get(HEADER_FIELD) ?? '';
  const header = knownHeader(accountId, headerText);
  const empty = emptyEntry(accountId, epoch);
  const account = { ...empty.account, version: header.version, danger: header.danger };
  const tally = { text: fields.get(TALLY_FIELD) ?? '', isComplete: true };
  return { ...empty, account, headerText, header, tally, texts: textsOf(fields) };
}

export function knownHeader(accountId: string, text: string): Header {
  const header = readHeader(text);
  if ('writer' in header) return header;
  const form = `the stored header of account ${JSON.stringify(accountId)} has form ${JSON.stringify(header.form)}`;
  const words = `${form}, this program reads 1 and 2: run the program that wrote it`;
  throw new DocumentError('DOCUMENT_NEWER', 'header', words);
}

export function contradiction({ accountId, version }: StoredAccount): CommitResult {
  const trail = `the audit trail of account ${JSON.stringify(accountId)}`;
  const message = `${trail} has records that its state does not know: export the trail, then move it away`;
  return {
    kind: 'refused',
    problem: { accountId, version, document: 'audit', code: 'AUDIT_CONTRADICTS', message },
  };
}

export type Trail = NonNullable<ReturnType<typeof trailOf>>;

/** Where an account's chains end and which records there are, by its state; undefined: the header cannot be read. */
export function trailOf(fields: ReadonlyMap<string, string>) {
  const header = readHeader(fields.get(HEADER_FIELD) ?? '');
  if (!('writer' in header)) return undefined;
  const tally = fields.get(TALLY_FIELD);
  const lastNumber = tally === undefined ? header.seq : readTally(tally).lastNumber;
  const lanes = [...laneHeadersOf(fields)].map(([market, { seq, head: hash }]): [string, ChainHead] => [
    market,
    { seq, hash },
  ]);
  return { header, lastNumber, lanes: new Map(lanes.sort(([a], [b]) => (a < b ? -1 : 1))) };
}
