import { type Decimal, parseDecimal } from '../../core/quantities/decimal.ts';
import type { RequestParams } from '../http/authenticate.ts';
import type { FieldErrors } from '../http/reply.ts';

/** Reads parameters out of a request body and collects everything that is wrong with them. */
export class ParamReader {
  readonly #params: RequestParams;
  readonly #problems = new Map<string, string[]>();

  constructor(params: RequestParams) {
    this.#params = params;
  }

  get hasProblems(): boolean {
    return this.#problems.size > 0;
  }

  get problems(): FieldErrors {
    return Object.fromEntries(this.#problems);
  }

  problem(field: string, message: string): undefined {
    const messages = this.#problems.get(field);
    if (messages === undefined) this.#problems.set(field, [message]);
    else messages.push(message);
    return undefined;
  }

  raw(name: string): unknown {
    return this.#params[name];
  }

  /** `field` is the key of the problem where the specification spells it otherwise than the parameter. */
  requiredString(name: string, field = name): string | undefined {
    if (isMissing(this.#params[name])) return this.problem(field, `The ${field} field is required.`);
    return this.optionalString(name, field);
  }

  optionalString(name: string, field = name): string | undefined {
    const value = this.#params[name];
    if (value === undefined || value === null) return undefined;
    return typeof value === 'string' ? value : this.problem(field, `The ${field} must be a string.`);
  }

  requiredBoolean(name: string): boolean | undefined {
    if (isMissing(this.#params[name])) return this.problem(name, `The ${name} field is required.`);
    return this.optionalBoolean(name);
  }

  optionalBoolean(name: string): boolean | undefined {
    const value = this.#params[name];
    if (value === undefined || value === null) return undefined;
    return typeof value === 'boolean' ? value : this.problem(name, `The ${name} must be true or false.`);
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.optionalString(name);
    if (value === undefined) return undefined;
    if ((allowed as readonly string[]).includes(value)) return value as T;
    return this.problem(name, `The ${name} must be one of: ${allowed.join(', ')}.`);
  }

  integer(name: string, min: number, max: number, whenAbsent: number): number {
    const value = this.#params[name];
    if (value === undefined || value === null) return whenAbsent;
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      this.problem(name, `The ${name} must be an integer.`);
    } else if (value < min || value > max) {
      this.problem(name, `The ${name} must be between ${min} and ${max}.`);
    } else {
      return value;
    }
    return whenAbsent;
  }

  /** Amounts and prices are JSON strings (specification 1, rule 4); their size is for the exchange to judge. */
  requiredDecimal(name: string): Decimal | undefined {
    if (isMissing(this.#params[name])) return this.problem(name, `The ${name} field is required.`);
    return this.optionalDecimal(name);
  }

  optionalDecimal(name: string): Decimal | undefined {
    const text = this.optionalString(name);
    return text === undefined ? undefined : this.#decimal(name, text);
  }

  #decimal(name: string, text: string): Decimal | undefined {
    return parseDecimal(text) ?? this.problem(name, `The ${name} must be a number.`);
  }

  /** An array of at most `max` elements that all pass; at least one. */
  optionalList<T>(name: string, max: number, isElement: (value: unknown) => value is T): T[] | undefined {
    const value = this.#params[name];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value) || !value.every(isElement)) {
      return this.problem(name, `The ${name} must be an array of valid values.`);
    }
    if (value.length === 0) return this.problem(name, `The ${name} must not be empty.`);
    if (value.length > max) return this.problem(name, `The ${name} may not have more than ${max} items.`);
    return value;
  }
}

export function isString(value: unknown): value is string {
  return typeof value === 'string';
}

export function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
