import { type AuditRecord, GENESIS_HASH } from '../../core/audit/audit-record.ts';
import type { ChainVerdict } from '../../core/ports/audit-reader.ts';
import type { RawRecord } from '../account/account-backend.ts';
import { sha256Hex } from '../canonical.ts';

/** Where a chain has to end, according to the account's state. */
export interface ExpectedEnd {
  readonly seq: number;
  readonly head: string;
}

type Broken = Extract<ChainVerdict, { kind: 'broken' }>;

/** Checks a chain record by record; `attachments` collects what the records name, to be checked by the caller. */
export class ChainVerifier {
  readonly attachments = new Map<string, number>();
  readonly #accountId: string;
  #first: { readonly seq: number; readonly previous: string } | undefined;
  #last: { readonly seq: number; readonly hash: string } | undefined;
  #isBeginningProven = false;

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  /** The next record; what is wrong with it, if anything. */
  add({ seq, text, hash }: RawRecord): Broken | undefined {
    if (sha256Hex(text) !== hash) return broken(seq, 'hash', 'its text does not have the hash beside it');
    let record: AuditRecord;
    try {
      record = JSON.parse(text) as AuditRecord;
    } catch {
      return broken(seq, 'form', 'it is not JSON');
    }
    if (record.version !== 1 || record.seq !== seq)
      return broken(seq, 'form', 'it is not the record it should be');
    if (record.accountId !== this.#accountId) return broken(seq, 'account', 'it is of another account');
    const wrong = this.#link(record);
    if (wrong !== undefined) return wrong;
    this.#last = { seq, hash };
    for (const attached of Object.values(record.attachments)) this.attachments.set(attached, seq);
    this.#prove(record);
    return undefined;
  }

  #link(record: AuditRecord): Broken | undefined {
    const { seq, previous } = record;
    if (this.#last === undefined) {
      this.#first = { seq, previous };
      this.#isBeginningProven = seq === 1 && previous === GENESIS_HASH;
      return undefined;
    }
    if (seq !== this.#last.seq + 1) return broken(this.#last.seq + 1, 'gap', 'it is missing');
    return previous === this.#last.hash
      ? undefined
      : broken(seq, 'link', 'it does not follow the record before');
  }

  /** A checkpoint vouches for what was taken away before the first record. */
  #prove({ content }: AuditRecord): void {
    if (content.kind !== 'checkpoint' || this.#first === undefined) return;
    const { seq, previous } = this.#first;
    if (content.lastSeq === seq - 1 && content.lastHash === previous) this.#isBeginningProven = true;
  }

  finish(expected: ExpectedEnd): ChainVerdict {
    const lastSeq = this.#last?.seq ?? 0;
    const headHash = this.#last?.hash ?? GENESIS_HASH;
    if (this.#first !== undefined && !this.#isBeginningProven) {
      return broken(this.#first.seq, 'beginning', 'records before it are missing and no checkpoint says so');
    }
    if (lastSeq !== expected.seq || headHash !== expected.head) {
      const words = `the chain ends at ${lastSeq}, the account's state says ${expected.seq}`;
      return broken(Math.min(lastSeq, expected.seq) + 1, 'head', words);
    }
    const firstSeq = this.#first?.seq ?? 0;
    return { kind: 'intact', firstSeq, lastSeq, prunedTo: Math.max(0, firstSeq - 1), headHash };
  }
}

export function broken(seq: number, why: Broken['why'], words: string): Broken {
  return { kind: 'broken', seq, why, words };
}
