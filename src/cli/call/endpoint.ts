import type { Dialect, ENDPOINTS, ExchangeRequests, Prepared } from '../../app.ts';
import type { CallOptions, CommandOutcome, FullExchange, ReadOutcome } from '../../core/ports/exchange.ts';
import type { ParameterTable, Values, ValuesOf } from './parameters.ts';
import type { ShownReply } from './replies.ts';

/** One endpoint as `breakwater call` offers it: with the parameters `P`, answered by a `T`. */
interface Endpoint<P extends ParameterTable, T> {
  readonly name: string;
  /** As the client names it. */
  readonly id: keyof typeof ENDPOINTS;
  readonly summary: string;
  /** What a call changes at the exchange; absent for a read. */
  readonly changes?: string;
  /** The file's content is one more value, `customer`. */
  readonly takesCustomer?: true;
  readonly parameters: P;
  /** Names of parameters that people will try, and what to say instead. */
  readonly hints?: Readonly<Record<string, string>>;
  /** Why a request could open exposure, judged by the body as it will be sent; `undefined` when it cannot. */
  readonly exposure?: (body: Values) => string | undefined;
  /** What else whoever confirms should know. */
  caution?(values: ValuesOf<P>): string;
  /** What to do when nobody knows whether it took effect. */
  afterUnknown?(values: ValuesOf<P>): string;
  /** The body, checked by the client's own rules; without it there are no fields. */
  prepare?(requests: ExchangeRequests, values: ValuesOf<P>, dialect: Dialect): Prepared;
  send(
    exchange: FullExchange,
    values: ValuesOf<P>,
    options: CallOptions,
  ): Promise<ReadOutcome<T> | CommandOutcome<T>>;
  reply(value: T): ShownReply;
}

/** Any endpoint: its methods take what was read by its own parameters, and its own replies. */
export type CallEndpoint = Endpoint<ParameterTable, unknown>;

/** Ties the types of one endpoint together, so that the table of all need not know them. */
export function defineEndpoint<const P extends ParameterTable, T>(endpoint: Endpoint<P, T>): CallEndpoint {
  return endpoint;
}
