import { z } from 'zod';
import { optional, wholeNumberText } from '../schemas.ts';

/** One request as the exchange saw it. Bodies are not kept, because they can contain personal data. */
export interface RequestRecord {
  readonly seq: number;
  /** Exchange time of arrival, Unix milliseconds. */
  readonly atMs: number;
  /** Exchange time of processing; later than `atMs` if delayed, `null` if it was never processed. */
  readonly handledAtMs: number | null;
  readonly region: number;
  readonly address: string;
  readonly httpMethod: string;
  readonly path: string;
  /** Endpoint name; empty for a path that does not exist. */
  readonly endpoint: string;
  readonly account: string | null;
  readonly nonce: string | null;
  readonly outcome: RequestOutcome;
  /** HTTP status of the reply, even if undelivered; `null` if no reply was made. */
  readonly status: number | null;
  readonly code: number | null;
  readonly message: string | null;
  readonly fields: Readonly<Record<string, readonly string[]>> | null;
  /** Client order id of an order request, to find it in the ledger. */
  readonly clientOrderId: string | null;
  /** Kinds of the faults that hit the request. */
  readonly faults: readonly string[];
  /** Whether the client got the reply undamaged. */
  readonly delivered: boolean;
}

/**
 * `served`: processed and answered with success; `refused`: answered with an error, no effect; `unseen`: never
 * processed; `pending`: delayed, not yet processed.
 */
const OUTCOME = z.enum(['served', 'refused', 'unseen', 'pending']);
export type RequestOutcome = z.infer<typeof OUTCOME>;

const EXACT = {
  account: z.string(),
  endpoint: z.string(),
  outcome: OUTCOME,
  status: wholeNumberText,
  nonce: z.string(),
  clientOrderId: z.string(),
};

/** The query of `GET /requests`. */
export const REQUEST_FILTER = z.strictObject(
  optional({
    ...EXACT,
    /** Only records after this sequence number. */
    after: wholeNumberText,
    /** Only the newest matches, at most this many. */
    limit: wholeNumberText,
  }),
);
export type RequestFilter = Readonly<z.infer<typeof REQUEST_FILTER>>;

/** The newest `capacity` requests, in order of arrival. */
export class RequestLog {
  readonly #capacity: number;
  #records: RequestRecord[] = [];
  #start = 0;
  #nextSeq = 1;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(record: Omit<RequestRecord, 'seq'>): number {
    const seq = this.#nextSeq++;
    if (this.#capacity === 0) return seq;
    this.#records.push({ seq, ...record });
    if (this.#records.length - this.#start > this.#capacity) this.#start += 1;
    // Dropping one element from the front costs the length of the array, so half is dropped at once, rarely.
    if (this.#start >= this.#capacity) {
      this.#records = this.#records.slice(this.#start);
      this.#start = 0;
    }
    return seq;
  }

  /** Completes a pending record; does nothing if the record has been dropped. */
  update(seq: number, change: Partial<Omit<RequestRecord, 'seq'>>): void {
    const first = this.#records[0]?.seq;
    if (first === undefined || seq < first) return;
    const record = this.#records[seq - first];
    if (record !== undefined) this.#records[seq - first] = { ...record, ...change };
  }

  get total(): number {
    return this.#nextSeq - 1;
  }

  /** Number of records dropped to stay within the capacity. */
  get dropped(): number {
    return this.total - (this.#records.length - this.#start);
  }

  list(filter: RequestFilter = {}): RequestRecord[] {
    const found: RequestRecord[] = [];
    const limit = filter.limit ?? Number.POSITIVE_INFINITY;
    for (let index = this.#records.length - 1; index >= this.#start && found.length < limit; index -= 1) {
      const record = this.#records[index];
      if (record !== undefined && isWanted(record, filter)) found.push(record);
    }
    return found.reverse();
  }
}

function isWanted(record: RequestRecord, { after = 0, limit: _limit, ...exact }: RequestFilter): boolean {
  const fields = Object.entries(exact) as [keyof typeof EXACT, unknown][];
  return record.seq > after && fields.every(([field, value]) => record[field] === value);
}
