import type { z } from 'zod';
import type { ExchangeModel } from '../model/exchange-model.ts';
import type { Outcome, Rejection } from '../model/types.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One operation of the control API: what the listing at `GET /` says, and what it does. */
export interface ControlRoute {
  readonly method: Method;
  /** With `:name` for a part of the path. */
  readonly path: string;
  readonly doc: string;
  /** An example of the body, for the listing. */
  readonly example?: unknown;
  /** Answers what becomes the JSON body. @throws SimulatorError for what cannot be done. */
  readonly run: (exchange: SimulatedExchange, request: ControlRequest) => unknown;
}

export interface ControlRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/** What the named parts of paths stand for; each is checked before the input is read. */
const PARAMETERS = {
  account: (exchange: SimulatedExchange, id: string): string => {
    if (exchange.accounts.has(id)) return id;
    throw new SimulatorError('not-found', `no account ${JSON.stringify(id)}`);
  },
  market: marketOf,
  id: wholeNumber('id'),
  loan: wholeNumber('loan'),
  order: wholeNumber('order'),
  /** Of a base address. */
  index: (exchange: SimulatedExchange, text: string): number => {
    const index = wholeNumber('index')(exchange, text);
    if (exchange.front.regions[index] !== undefined) return index;
    throw new SimulatorError('not-found', `no base address ${index}`);
  },
  name: (_exchange: SimulatedExchange, text: string): string => text,
  token: (_exchange: SimulatedExchange, text: string): string => text,
};

type Parameters = typeof PARAMETERS;
type NamesIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** What an operation works on: the exchange, its input, and every named part of its path. */
type Context<Path extends string, Input> = {
  readonly [Name in NamesIn<Path> & keyof Parameters]: ReturnType<Parameters[Name]>;
} & {
  readonly exchange: SimulatedExchange;
  readonly input: Input;
  /** Changes the model and answers what that brought. @throws RefusedError */
  readonly change: <T>(effect: (model: ExchangeModel) => Outcome<T>) => Accepted<T>;
};

/** An operation whose path and input are checked before it runs. */
export function route<const Endpoint extends `${Method} /${string}`, Input = unknown>(operation: {
  readonly endpoint: Endpoint;
  readonly doc: string;
  /** Of the query for GET, of the body otherwise. */
  readonly input?: z.ZodType<Input>;
  readonly example?: unknown;
  readonly run: (context: Context<Endpoint, Input>) => unknown;
}): ControlRoute {
  const { endpoint, doc, input, example, run } = operation;
  const [method, path] = endpoint.split(' ') as [Method, string];
  const what = method === 'GET' ? 'query' : 'body';
  return {
    method,
    path,
    doc,
    ...(example === undefined ? {} : { example }),
    run: (exchange, request) => {
      const named = Object.entries(request.params).map(([name, text]) => [
        name,
        PARAMETERS[name as keyof Parameters](exchange, text),
      ]);
      const context = {
        ...Object.fromEntries(named),
        exchange,
        input: input === undefined ? undefined : parseWith(input, request[what], what),
        change: (effect: (model: ExchangeModel) => Outcome<object>) =>
          exchange.change((model) => accepted(effect(model))),
      };
      return run(context as Context<Endpoint, Input>);
    },
  };
}

export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const place = issue.path.length === 0 ? what : `${what}.${issue.path.join('.')}`;
    return `${place}: ${issue.message}`;
  });
  throw new SimulatorError('invalid-input', problems.join('; '));
}

/** The name itself. @throws SimulatorError for a market that does not exist */
export function marketOf(exchange: SimulatedExchange, name: string): string {
  if (exchange.model.market(name) !== undefined) return name;
  const known = exchange.model.markets().map((market) => market.spec.name);
  throw new SimulatorError('not-found', `no market ${JSON.stringify(name)}; there are ${known.join(', ')}`);
}

function wholeNumber(what: string) {
  return (_exchange: SimulatedExchange, text: string): number => {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new SimulatorError('invalid-input', `${what} must be a whole number, got ${JSON.stringify(text)}`);
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

type Accepted<T> = Omit<T & { readonly ok: true }, 'ok'>;

/** What an operation of the model brought, or its refusal as an error. */
export function accepted<T>(outcome: Outcome<T>): Accepted<T> {
  if (!outcome.ok) throw new RefusedError(outcome);
  const { ok: _ok, ...rest } = outcome;
  return rest;
}
