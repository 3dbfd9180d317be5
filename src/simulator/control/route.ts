import { z } from 'zod';
import { type Decimal, isDecimalString, toDecimal, ZERO } from '../../core/quantities/decimal.ts';
import type { Outcome, Rejection } from '../model/types.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';

/** One operation of the control API: what the listing at `GET /` says, and what it does. */
export interface ControlRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `:name` for a part of the path. */
  readonly path: string;
  readonly doc: string;
  /** An example of the body, for the listing. */
  readonly example?: unknown;
  /** Answers what becomes the JSON body. */
  readonly run: (request: ControlRequest) => unknown;
}

export interface ControlRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/** A decimal as text; numbers are refused, because they may have lost digits before they got here. */
export const decimalText = z
  .string()
  .refine(isDecimalString, 'must be a decimal as a string, such as "0.5"')
  .transform((text): Decimal => toDecimal(text));
export const positiveDecimal = decimalText.refine((value) => value.gt(ZERO), 'must be greater than 0');

export const milliseconds = z
  .number()
  .int()
  .min(0)
  .max(365 * 24 * 3_600_000);

/** A moment of exchange time. */
export const unixMilliseconds = z.number().int().min(0).max(8.64e15);

/** Numbers of a query string are text. */
export const queryInteger = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number);

export function parseWith<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const place = issue.path.length === 0 ? what : `${what}.${issue.path.join('.')}`;
    return `${place}: ${issue.message}`;
  });
  throw new SimulatorError('invalid-input', problems.join('; '));
}

/** The account a path names. */
export function accountIdOf(exchange: SimulatedExchange, request: ControlRequest): string {
  const id = request.params['account'] ?? '';
  if (!exchange.accounts.has(id)) throw new SimulatorError('not-found', `no account ${JSON.stringify(id)}`);
  return id;
}

export function marketOf(exchange: SimulatedExchange, name: string): string {
  if (exchange.model.market(name) !== undefined) return name;
  const known = exchange.model.markets().map((market) => market.spec.name);
  throw new SimulatorError('not-found', `no market ${JSON.stringify(name)}; there are ${known.join(', ')}`);
}

export function integerOf(text: string | undefined, what: string): number {
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
  throw new SimulatorError('invalid-input', `${what} must be a whole number, got ${JSON.stringify(text)}`);
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

/** What an operation of the model brought, or its refusal as an error. */
export function accepted<T>(outcome: Outcome<T>): Omit<T & { readonly ok: true }, 'ok'> {
  if (!outcome.ok) throw new RefusedError(outcome);
  const { ok: _ok, ...rest } = outcome;
  return rest;
}
