import type { Dialect, ENDPOINTS, ExchangeRequests, Prepared } from '../../app.ts';
import type {
  CallOptions,
  CommandOutcome,
  ExchangeError,
  FullExchange,
  ReadOutcome,
} from '../../core/ports/exchange.ts';
import type { Table } from '../table.ts';
import type { Parameterized, Values } from './parameters.ts';

/** A result for people: standard output gets what was asked for, the notes go to standard error. */
export interface View {
  readonly table?: Table;
  readonly fields?: readonly (readonly [name: string, value: string])[];
  readonly text?: string;
  readonly notes?: readonly string[];
}

/** What came of a call, ready to be shown: `json` is merged into the one line of `--json`. */
export type CallResult =
  | { readonly kind: 'ok' | 'accepted'; readonly json: object; readonly view: View }
  | { readonly kind: 'failed' | 'rejected' | 'unknown'; readonly error: ExchangeError };

/** A request that is complete but not sent: what its body will be, and how to send it. */
export interface PlannedCall {
  readonly prepare: (requests: ExchangeRequests, dialect: Dialect) => Prepared;
  readonly send: (exchange: FullExchange, options: CallOptions) => Promise<CallResult>;
}

/** One endpoint as `breakwater call` offers it. */
export interface CallEndpoint extends Parameterized {
  /** As the client names it. */
  readonly id: keyof typeof ENDPOINTS;
  readonly summary: string;
  /** What a call changes at the exchange; absent for a read. */
  readonly changes?: string;
  readonly takesCustomer?: true;
  /** Why a request could open exposure, judged by the body as it will be sent; `undefined` when it cannot. */
  readonly exposure?: (body: Values) => string | undefined;
  /** What else whoever confirms should know. */
  readonly caution?: (values: Values) => string;
  /** What to do when nobody knows whether it took effect. */
  readonly afterUnknown?: (values: Values) => string;
  /** Fills in what was left out; `uuid` is fresh. */
  readonly complete?: (values: Values, uuid: string) => Values;
  readonly plan: (values: Values) => PlannedCall;
}

interface Definition<R, T> extends Omit<CallEndpoint, 'plan'> {
  readonly request: (values: Values) => R;
  readonly prepare: (requests: ExchangeRequests, request: R, dialect: Dialect) => Prepared;
  readonly send: (
    exchange: FullExchange,
    request: R,
    options: CallOptions,
  ) => Promise<ReadOutcome<T> | CommandOutcome<T>>;
  readonly json: (value: T) => object;
  readonly view: (value: T) => View;
}

/** Ties the types of one endpoint together, so that the table need not know them. */
export function defineEndpoint<R, T>(definition: Definition<R, T>): CallEndpoint {
  const { request, prepare, send, json, view, ...endpoint } = definition;
  return {
    ...endpoint,
    plan: (values) => {
      const wanted = request(values);
      return {
        prepare: (requests, dialect) => prepare(requests, wanted, dialect),
        send: async (exchange, options) => {
          const outcome = await send(exchange, wanted, options);
          if (outcome.kind !== 'ok' && outcome.kind !== 'accepted') return outcome;
          return { kind: outcome.kind, json: json(outcome.value), view: view(outcome.value) };
        },
      };
    },
  };
}
