import { type ChainHead, GENESIS_HASH } from '../../core/audit/audit-record.ts';
import type { AccountLoad, CommitResult, StoredAccount, StoreEpoch } from '../../core/ports/state-store.ts';
import { DocumentError, HEADER_FIELD, TALLY_FIELD, textsOf } from './documents.ts';
import { type Entry, emptyEntry } from './entry.ts';
import { type Header, readHeader, readLaneHeader, readTally } from './header.ts';

export type RefusedLoad = Extract<AccountLoad, { readonly kind: 'refused' }>;

export function rawEntry(accountId: string, fields: ReadonlyMap<string, string>, epoch: StoreEpoch): Entry {
  const headerText = fields.get(HEADER_FIELD) ?? '';
  const header = readHeader(headerText);
  const empty = emptyEntry(accountId, epoch);
  if (!('writer' in header))
    throw new DocumentError('DOCUMENT_NEWER', 'header', headerWords(accountId, header.form));
  const account = { ...empty.account, version: header.version, danger: header.danger };
  const tally = { text: fields.get(TALLY_FIELD) ?? '', isComplete: true };
  return { ...empty, account, headerText, header, tally, ...textsOf(fields) };
}

export function refusedHeader(accountId: string, form: string): RefusedLoad {
  const message = headerWords(accountId, form);
  return {
    kind: 'refused',
    problem: { accountId, version: 0, document: 'header', code: 'DOCUMENT_NEWER', message },
  };
}

function headerWords(accountId: string, form: string): string {
  return (
    `the stored header of account ${JSON.stringify(accountId)} has form ${JSON.stringify(form)}, this program ` +
    'reads 1 and 2: run the program that wrote it'
  );
}

export function contradiction({ accountId, version }: StoredAccount): CommitResult {
  const message =
    `the audit trail of account ${JSON.stringify(accountId)} has records that its state does not know: export the ` +
    'trail, then move it away';
  return {
    kind: 'refused',
    problem: { accountId, version, document: 'audit', code: 'AUDIT_CONTRADICTS', message },
  };
}

/** Where the chains of an account's audit trail end, and which records there are, by its state. */
export interface Trail {
  readonly header: Header;
  readonly lastNumber: number;
  /** By market. */
  readonly lanes: ReadonlyMap<string, ChainHead>;
}

export function trailOf(fields: ReadonlyMap<string, string>): Trail | undefined {
  const header = readHeader(fields.get(HEADER_FIELD) ?? '');
  if (!('writer' in header)) return undefined;
  const tally = fields.get(TALLY_FIELD);
  const lastNumber = tally === undefined ? header.seq : readTally(tally).lastNumber;
  const lanes = [...textsOf(fields).laneHeaders].map(([market, text]): [string, ChainHead] => {
    const { seq, head } = readLaneHeader(text) ?? { seq: 0, head: GENESIS_HASH };
    return [market, { seq, hash: head }];
  });
  return { header, lastNumber, lanes: new Map(lanes.sort(([a], [b]) => (a < b ? -1 : 1))) };
}

export function dangerOf(load: AccountLoad): number {
  return load.kind === 'loaded' ? load.account.danger : Number.NEGATIVE_INFINITY;
}
