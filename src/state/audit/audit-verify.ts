import {
  type AuditContent,
  type AuditRecord,
  type ChainHead,
  GENESIS_HASH,
} from '../../core/audit/audit-record.ts';
import { sha256Hex } from '../../core/audit/sha256.ts';
import type { ChainVerdict, LaneChain } from '../../core/ports/audit-reader.ts';
import { type OperatorTrust, TRUSTING } from '../../core/ports/operator-trust.ts';
import { parsedJson } from '../../core/text/parsed-json.ts';
import type { RawText } from '../account/account-backend.ts';
import { strangeForm } from './audit-chain.ts';

/** Where the chains of an account must end, according to its state. */
export interface ExpectedEnds extends ChainHead {
  /** By market. */
  readonly lanes: ReadonlyMap<string, ChainHead>;
}

type Broken = Extract<ChainVerdict, { kind: 'broken' }>;

/** One chain, as far as it was read. */
interface Chain {
  readonly first: { readonly seq: number; readonly previous: string };
  last: ChainHead;
  isBeginningProven: boolean;
  /** Hashes, by `seq`, of the records since the account's chain last named this one. */
  unfolded: Map<number, string>;
}

/** Key of the account's own chain, beside those of lanes. */
const OWN = undefined;

/** Checks a trail record by record: the account's chain, each lane's, and what the first says of the others. */
export class TrailVerifier {
  /** `seq` of a record that names the attachment, by hash. */
  readonly attachments = new Map<string, number>();
  readonly #accountId: string;
  readonly #trust: OperatorTrust;
  /** A head of the account's own chain that was noted elsewhere. */
  readonly #kept: ChainHead | undefined;
  /** Whether the last record of a chain is sealed; after the first sealed one all must be. */
  readonly #sealed = new Map<string | undefined, boolean>();
  /** Number of each chain's last record among all records. */
  readonly #numbers = new Map<string | undefined, number>();
  readonly #chains = new Map<string | undefined, Chain>();
  /** What the account's chain last said of each lane's chain. */
  readonly #folded = new Map<string, ChainHead & { readonly by: number; readonly isOld: boolean }>();
  /** Set by the first sealed record that names lanes: the lane records that later ones name have seals of their own. */
  #tellsSealed = false;
  /** Ends of chains whose records were all removed. */
  readonly #taken = new Map<string, ChainHead>();

  constructor(accountId: string, trust: OperatorTrust = TRUSTING, kept?: ChainHead) {
    this.#accountId = accountId;
    this.#kept = kept;
    this.#trust = trust;
  }

  /** The lanes' chains, as far as they were read. */
  get lanes(): readonly (LaneChain & { readonly previousHash: string })[] {
    return [...this.#chains]
      .flatMap(([market, chain]) => (market === undefined ? [] : Object.assign({ market }, spanOf(chain))))
      .sort((a, b) => (a.market < b.market ? -1 : 1));
  }

  get own() {
    return spanOf(this.#chains.get(OWN) ?? NO_CHAIN);
  }

  /** Whether the chains end sealed; undefined: there is no key, or no record. */
  get isSealed(): boolean | undefined {
    const ends = [...this.#sealed.values()];
    return ends.length === 0 ? undefined : ends.every(Boolean);
  }

  /** Checks the next record; returns what is wrong with it. `number`: its place among all records, if known. */
  add(raw: RawText & { readonly number?: number }): Broken | undefined {
    const wrong = this.#add(raw);
    const isThis =
      wrong !== undefined && seqOf(raw.text) === wrong.seq && marketIn(raw.text) === wrong.market;
    return isThis && raw.number !== undefined ? { ...wrong, number: raw.number } : wrong;
  }

  #add({ text, hash, number }: RawText & { readonly number?: number }): Broken | undefined {
    const next = (this.#chains.get(OWN)?.last.seq ?? 0) + 1;
    if (sha256Hex(text) !== hash) {
      return broken(seqOf(text) ?? next, 'hash', 'its text does not have the hash beside it', marketIn(text));
    }
    const record = parsedJson(text) as AuditRecord | undefined;
    if (record === undefined) return broken(next, 'form', 'it is not JSON');
    if (strangeForm(record) !== undefined) return broken(next, 'form', 'it is not the record it should be');
    const { seq, market } = record;
    const isForeign = record.accountId !== this.#accountId;
    if (isForeign) return broken(seq, 'account', 'it is of another account', market);
    const wrong = this.#judgeSeal(record) ?? this.#compareKept(record, hash) ?? this.#link(record, hash);
    if (wrong !== undefined) return wrong;
    for (const attached of Object.values(record.attachments)) this.attachments.set(attached, seq);
    if (number !== undefined) this.#numbers.set(market, number);
    return market === OWN ? this.#compare(record) : undefined;
  }

  #compareKept({ market, seq }: AuditRecord, hash: string): Broken | undefined {
    if (market !== OWN || seq !== this.#kept?.seq || hash === this.#kept.hash) return undefined;
    return broken(seq, 'head', 'it is not the one that was written down: the chain was made anew');
  }

  #judgeSeal(record: AuditRecord): Broken | undefined {
    const { market, seq } = record;
    const proof = this.#trust.recordProof(record);
    if (proof === 'unchecked') return undefined;
    if (proof === 'forged') return broken(seq, 'seal', 'its seal was made with another key', market);
    if (proof === 'unsealed' && this.#sealed.get(market) === true) {
      return broken(seq, 'seal', LOST_SEAL, market);
    }
    this.#sealed.set(market, proof === 'sealed');
    return undefined;
  }

  #link({ market, seq, previous }: AuditRecord, hash: string): Broken | undefined {
    const chain = this.#chains.get(market);
    if (chain === undefined) {
      const first = { seq, previous };
      const taken = (market === undefined ? undefined : this.#taken.get(market)) ?? NO_RECORD;
      const isBeginningProven = isBefore({ first }, taken);
      const unfolded = new Map([[seq, hash]]);
      this.#chains.set(market, { first, last: { seq, hash }, isBeginningProven, unfolded });
      return market === undefined ? undefined : this.#compareFirst(market, first);
    }
    const { last } = chain;
    if (seq !== last.seq + 1) return broken(last.seq + 1, 'gap', 'it is missing', market);
    if (previous !== last.hash) return broken(seq, 'link', 'it does not follow the record before', market);
    chain.last = { seq, hash };
    chain.unfolded.set(seq, hash);
    return undefined;
  }

  /** Checks what the account's chain said of this chain before its first record that still exists. */
  #compareFirst(market: string, first: Chain['first']): Broken | undefined {
    const told = this.#folded.get(market);
    if (told === undefined || told.seq < first.seq - 1) return undefined;
    const isSame = told.seq === first.seq - 1 && told.hash === first.previous;
    return isSame ? undefined : broken(told.by, 'fold', untrue(market, told));
  }

  /** Checks what a record of the account's chain says of other chains. */
  #compare({ seq, content }: AuditRecord): Broken | undefined {
    if (content.kind === 'checkpoint') this.#prove(content);
    if (content.kind !== 'lanes') return undefined;
    for (const [market, head] of Object.entries(content.heads)) {
      const chain = this.#chains.get(market);
      const isTold = head.seq <= (this.#folded.get(market)?.seq ?? 0);
      const isUntrue = isTold || (chain !== undefined && !isIn(chain, head));
      if (isUntrue) return broken(seq, 'fold', untrue(market, head));
      this.#folded.set(market, { ...head, by: seq, isOld: !this.#tellsSealed });
      for (const known of chain?.unfolded.keys() ?? []) if (known < head.seq) chain?.unfolded.delete(known);
    }
    this.#tellsSealed ||= this.#sealed.get(OWN) === true;
    return undefined;
  }

  /** A checkpoint vouches for the records removed before the first one of each chain. */
  #prove({ lastSeq, lastHash, lanes = {} }: Extract<AuditContent, { kind: 'checkpoint' }>): void {
    const own = this.#chains.get(OWN);
    if (own !== undefined && isBefore(own, { seq: lastSeq, hash: lastHash })) own.isBeginningProven = true;
    for (const [market, taken] of Object.entries(lanes)) {
      const head = { seq: taken.lastSeq, hash: taken.lastHash };
      const chain = this.#chains.get(market);
      if (chain === undefined) this.#taken.set(market, head);
      else if (isBefore(chain, head)) chain.isBeginningProven = true;
    }
  }

  finish(expected: ExpectedEnds): ChainVerdict {
    for (const [market, isSealed] of this.#sealed) {
      const { seq } = this.#chains.get(market)?.last ?? NO_RECORD;
      if (this.#isVouchedFor(market, seq)) continue;
      const number = this.#numbers.get(market);
      if (!isSealed) {
        return { ...broken(seq, 'unproven', NO_SEAL, market), ...(number !== undefined && { number }) };
      }
    }
    const kept = this.#kept;
    if (kept !== undefined && kept.seq > this.own.lastSeq) {
      return broken(kept.seq, 'head', 'it was written down and is not there any more');
    }
    if (kept !== undefined && kept.seq < this.own.firstSeq) {
      return broken(kept.seq, 'head', 'it was pruned: compare the head with the exports');
    }
    for (const market of new Set([OWN, ...expected.lanes.keys(), ...this.#chains.keys()])) {
      const end = market === OWN ? expected : (expected.lanes.get(market) ?? NO_RECORD);
      const wrong = this.#end(market, end);
      if (wrong !== undefined) return wrong;
    }
    for (const [market, told] of this.#folded) {
      const end = expected.lanes.get(market) ?? NO_RECORD;
      if (end.seq < told.seq) return broken(told.by, 'fold', untrue(market, told));
    }
    const lanes = [...expected.lanes].flatMap(([market, { seq, hash }]) =>
      seq === 0
        ? []
        : { market, firstSeq: this.#chains.get(market)?.first.seq ?? 0, lastSeq: seq, headHash: hash },
    );
    const { firstSeq, lastSeq, headHash } = this.own;
    return { kind: 'intact', firstSeq, lastSeq, prunedTo: Math.max(0, firstSeq - 1), headHash, lanes };
  }

  /** Whether sealed records of the account's chain cover the last record of a lane that is older than the key. */
  #isVouchedFor(market: string | undefined, seq: number): boolean {
    const told = market === OWN ? undefined : this.#folded.get(market);
    return told?.isOld === true && told.seq === seq && this.#sealed.get(OWN) === true;
  }

  #end(market: string | undefined, expected: ChainHead): Broken | undefined {
    const chain = this.#chains.get(market);
    if (chain !== undefined && !chain.isBeginningProven) {
      const words = 'records before it are missing and no checkpoint says so';
      return broken(chain.first.seq, 'beginning', words, market);
    }
    const taken = market === undefined ? undefined : this.#taken.get(market);
    const { seq, hash } = chain?.last ?? taken ?? NO_RECORD;
    if (seq === expected.seq && hash === expected.hash) return undefined;
    const of = market === undefined ? "the account's" : "the lane's";
    const words = `the chain ends at ${seq}, ${of} state says ${expected.seq}`;
    return broken(Math.min(seq, expected.seq) + 1, 'head', words, market);
  }
}

const LOST_SEAL =
  'it lacks the seal that records before it have: a daemon or command without operators.key wrote it, or somebody else';
const NO_SEAL =
  'no record has the seal of operators.key: the key is newer than all of them (restart every daemon, then pause and resume the account), or somebody without the key wrote them';
const NO_RECORD: ChainHead = { seq: 0, hash: GENESIS_HASH };
const NO_CHAIN: Pick<Chain, 'first' | 'last'> = { first: { seq: 0, previous: '' }, last: NO_RECORD };

function spanOf({ first, last }: Pick<Chain, 'first' | 'last'>) {
  return { firstSeq: first.seq, lastSeq: last.seq, previousHash: first.previous, headHash: last.hash };
}

function isBefore({ first }: Pick<Chain, 'first'>, { seq, hash }: ChainHead): boolean {
  return seq === first.seq - 1 && hash === first.previous;
}

/** Whether a chain has a record; assumed for those before the first one that still exists. */
function isIn(chain: Chain, head: ChainHead): boolean {
  if (head.seq < chain.first.seq - 1) return true;
  return isBefore(chain, head) || chain.unfolded.get(head.seq) === head.hash;
}

function untrue(market: string, { seq }: ChainHead): string {
  return `it names record ${seq} of the chain of ${market}, which is not there or another one`;
}

export function broken(seq: number, why: Broken['why'], words: string, market?: string): Broken {
  return { kind: 'broken', seq, ...(market === undefined ? {} : { market }), why, words };
}

/** Reads `seq` from a record that was changed, so it may be wrong as well. */
function seqOf(text: string): number | undefined {
  const seq = Number(/"seq":(\d+)/.exec(text)?.[1]);
  return Number.isSafeInteger(seq) ? seq : undefined;
}

function marketIn(text: string): string | undefined {
  const record = parsedJson(text) as { readonly market?: unknown } | null | undefined;
  return typeof record?.market === 'string' ? record.market : undefined;
}
