import type { CallOptions, ExchangeError, SetAsideRecord } from '../../core/ports/exchange.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import type { Endpoint } from '../endpoints.ts';
import type { Parsed } from '../schemas/replies.ts';

/** One call to an endpoint: its request, and how to read its reply. */
export interface CallPlan<T> {
  readonly endpoint: Endpoint;
  /** The body's fields except `request` and `nonce`. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly options: CallOptions | undefined;
  /** Reads a successful reply. `undefined` stands for an empty body. */
  readonly read: (body: unknown) => Parsed<T>;
  /** Parts of a valid reply that were not as documented, for the observer. */
  readonly setAside?: (value: T) => readonly SetAsideRecord[];
  /** Turns an error that is a normal result of this endpoint into its value. */
  readonly recover?: (error: ExchangeError) => { readonly value: T } | undefined;
  /** The error in a valid reply with a success status: the command counts as rejected. */
  readonly refusal?: (value: T) => ExchangeError | undefined;
  /** Not repeated even after a refused nonce: if the refusal was misread, nothing would prevent a second effect. */
  readonly sendOnce?: true;
  /** An empty body with a 2xx status is a success. */
  readonly emptyAllowed?: boolean;
  /** Removes more than the client's secrets. */
  readonly redact?: Conceal;
}
