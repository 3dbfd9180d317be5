import type { AccountLoad, CommitResult, StoredAccount, StoreEpoch } from '../../core/ports/state-store.ts';
import { type Entry, emptyEntry } from './change.ts';
import { DocumentError, HEADER_FIELD, textsOf } from './documents.ts';
import { readHeader } from './header.ts';

export type RefusedLoad = Extract<AccountLoad, { readonly kind: 'refused' }>;

export function rawEntry(accountId: string, fields: ReadonlyMap<string, string>, epoch: StoreEpoch): Entry {
  const headerText = fields.get(HEADER_FIELD) ?? '';
  const header = readHeader(headerText);
  const empty = emptyEntry(accountId, epoch);
  if (!('writer' in header))
    throw new DocumentError('DOCUMENT_NEWER', 'header', headerWords(accountId, header.form));
  const account = { ...empty.account, version: header.version, danger: header.danger };
  return { ...empty, account, headerText, header, ...textsOf(fields) };
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
    'reads 1: run the program that wrote it'
  );
}

export function contradiction({ accountId, version }: StoredAccount, seq: number): CommitResult {
  const message =
    `the audit trail of account ${JSON.stringify(accountId)} already has a record ${seq}, which its state does ` +
    'not know: export the trail, then move it away';
  return {
    kind: 'refused',
    problem: { accountId, version, document: 'audit', code: 'AUDIT_CONTRADICTS', message },
  };
}
