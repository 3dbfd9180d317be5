import type { CallOptions, ExchangeError, SetAsideRecord } from '../../core/ports/exchange.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import type { Endpoint } from '../endpoints.ts';
import type { Parsed } from '../schemas/replies.ts';

/** One request as an endpoint wants it. */
export interface CallPlan<T> {
  readonly endpoint: Endpoint;
  /** The body's fields besides `request` and `nonce`. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly options: CallOptions | undefined;
  /** Reads a successful reply. `undefined` stands for an empty body. */
  readonly read: (body: unknown) => Parsed<T>;
  /** What of a valid reply was not as documented: told to the observer. */
  readonly setAside?: (value: T) => readonly SetAsideRecord[];
  /** Turns an error that is a normal result of this endpoint into its value. */
  readonly recover?: (error: ExchangeError) => { readonly value: T } | undefined;
  /** The error that a valid reply under a success status tells: a command it answers is rejected. */
  readonly refusal?: (value: T) => ExchangeError | undefined;
  /** Sent once even where the nonce was refused: were that a mistake, nothing would stop a second effect. */
  readonly sendOnce?: true;
  /** An empty body under a 2xx status is a success. */
  readonly emptyAllowed?: boolean;
  /** Takes out more than the client's secrets. */
  readonly redact?: Conceal;
}
