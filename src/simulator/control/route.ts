import type { z } from 'zod';
import type { ExchangeModel } from '../model/exchange-model.ts';
import type { Outcome, Rejection } from '../model/types.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One operation of the control API: its entry in the listing at `GET /`, and its handler. */
export interface ControlRoute extends Pick<Operation<unknown, unknown>, 'doc' | 'example'> {
  readonly method: Method;
  /** May contain `:name` for a parameter. */
  readonly path: string;
  /** Returns the value for the JSON body. @throws SimulatorError if the request cannot be carried out */
  readonly run: (exchange: SimulatedExchange, request: ControlRequest) => unknown;
}

export interface ControlRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/** Path parameters that are checked or converted, before the input is read. */
const PARAMETERS = {
  account(id: string, { accounts }: SimulatedExchange): string {
    if (accounts.has(id)) return id;
    throw missing(`no account ${JSON.stringify(id)}`);
  },
  market: (name: string, exchange: SimulatedExchange) => marketOf(exchange, name),
  id: wholeNumber('id'),
  loan: wholeNumber('loan'),
  order: wholeNumber('order'),
  /** Index of a base address. */
  index(text: string, { front }: SimulatedExchange): number {
    const index = wholeNumber('index')(text);
    if (front.regions[index] !== undefined) return index;
    throw missing(`no base address ${index}`);
  },
};

type Parameters = typeof PARAMETERS;
type ParameterOf<Name> = Name extends keyof Parameters ? ReturnType<Parameters[Name]> : string;
type NamesIn<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** Arguments of an operation: the exchange, the input and every path parameter. */
type Context<Path, Input> = { readonly [Name in NamesIn<Path>]: ParameterOf<Name> } & {
  readonly exchange: SimulatedExchange;
  readonly input: Input;
};

interface Operation<Endpoint, Input> {
  readonly doc: string;
  /** Schema of the query for GET, of the body otherwise. */
  readonly input?: z.ZodType<Input>;
  /** An example of the body, for the listing. */
  readonly example?: unknown;
  readonly run?: (context: Context<Endpoint, Input>) => unknown;
  /** Used instead of `run`: changes the model and returns the outcome. */
  readonly act?: (model: ExchangeModel, context: Context<Endpoint, Input>) => Outcome<object>;
  /** Makes the reply after `run` or `act`; absent: their result. */
  readonly answer?: (context: Context<Endpoint, Input>) => unknown;
}

/** Makes routes from operations by method and path. Path parameters and input are checked before an operation runs. */
export function routes<const Inputs>(
  operations: {
    readonly [Endpoint in keyof Inputs]: Operation<Endpoint, Inputs[Endpoint]>;
  },
): readonly ControlRoute[] {
  const all = operations as object as Readonly<Record<string, Operation<unknown, unknown>>>;
  return Object.entries(all).map(([endpoint, { run, act, answer, input, ...listed }]) => {
    const [method, path] = endpoint.split(' ') as [Method, string];
    const what = method === 'GET' ? 'query' : 'body';
    const runOn: ControlRoute['run'] = (exchange, request) => {
      const named = Object.entries(request.params).map(([name, text]) => [
        name,
        PARAMETERS[name as keyof Parameters]?.(text, exchange) ?? text,
      ]);
      const context: Context<unknown, unknown> = {
        ...Object.fromEntries(named),
        exchange,
        input: input && parseWith(input, request[what], what),
      };
      const result = act ? exchange.change((model) => accepted(act(model, context))) : run?.(context);
      return answer === undefined ? result : answer(context);
    };
    return Object.assign({ method, path }, listed, { run: runOn });
  });
}

export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const place = issue.path.length === 0 ? what : `${what}.${issue.path.join('.')}`;
    return `${place}: ${issue.message}`;
  });
  throw invalid(problems.join('; '));
}

/** Returns the name. @throws SimulatorError if there is no such market */
export function marketOf(exchange: SimulatedExchange, name: string): string {
  if (exchange.model.market(name) !== undefined) return name;
  const known = exchange.model.markets().map((market) => market.spec.name);
  throw missing(`no market ${JSON.stringify(name)}; there are ${known.join(', ')}`);
}

export const invalid = (message: string) => new SimulatorError('invalid-input', message);
export const missing = (message: string) => new SimulatorError('not-found', message);

function wholeNumber(what: string) {
  return (text: string): number => {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw invalid(`${what} must be a whole number, got ${JSON.stringify(text)}`);
  };
}

/** A refusal by the exchange's own rules. */
export class RefusedError extends SimulatorError {
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    const fields = Object.entries(rejection.errors).map(([field, texts]) => `${field}: ${texts.join(' ')}`);
    super('refused', [`${rejection.message} (code ${rejection.code})`, ...fields].join('; '));
    this.rejection = rejection;
  }
}

/** Returns the outcome of a model operation. @throws RefusedError if it was refused */
export function accepted<T>(outcome: Outcome<T>): Omit<T & { readonly ok: true }, 'ok'> {
  if (!outcome.ok) throw new RefusedError(outcome);
  const { ok: _ok, ...rest } = outcome;
  return rest;
}
