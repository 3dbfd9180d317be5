import { type Decimal, parseDecimal } from '../../core/quantities/decimal.ts';
import type { RequestParams } from '../http/authenticate.ts';
import type { FieldErrors } from '../http/reply.ts';
import { isJsonObject } from '../schemas.ts';

/** Reads parameters from a request body and collects all problems. */
export class ParamReader {
  readonly #params: RequestParams;
  readonly #prefix: string;
  readonly #problems: Map<string, string[]>;

  constructor(params: RequestParams, prefix = '', problems = new Map<string, string[]>()) {
    this.#params = params;
    this.#prefix = prefix;
    this.#problems = problems;
  }

  get hasProblems(): boolean {
    return this.#problems.size > 0;
  }

  get problems(): FieldErrors {
    return Object.fromEntries(this.#problems);
  }

  problem(name: string, message: string): undefined {
    const field = `${this.#prefix}${name}`;
    const messages = this.#problems.get(field);
    if (messages === undefined) this.#problems.set(field, [message]);
    else messages.push(message);
    return undefined;
  }

  raw(name: string): unknown {
    return this.#params[name];
  }

  /** @param field key of the problem, if the specification spells it differently from the parameter */
  requiredString(name: string, field = name): string | undefined {
    return this.#required(name, field) ? this.optionalString(name, field) : undefined;
  }

  optionalString(name: string, field = name): string | undefined {
    return this.#optional(name, field, isString, 'must be a string');
  }

  requiredBoolean(name: string): boolean | undefined {
    return this.#required(name, name) ? this.optionalBoolean(name) : undefined;
  }

  optionalBoolean(name: string): boolean | undefined {
    return this.#optional(name, name, isBoolean, 'must be true or false');
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.optionalString(name);
    if (value === undefined || (allowed as readonly string[]).includes(value)) return value as T | undefined;
    return this.problem(name, `The ${name} must be one of: ${allowed.join(', ')}.`);
  }

  integer(name: string, min: number, max: number, whenAbsent: number): number {
    const value = this.#optional(name, name, isInteger, 'must be an integer');
    if (value === undefined || (value >= min && value <= max)) return value ?? whenAbsent;
    this.problem(name, `The ${name} must be between ${min} and ${max}.`);
    return whenAbsent;
  }

  /** Amounts and prices are JSON strings (specification 1, rule 4); the model checks their size. */
  requiredDecimal(name: string): Decimal | undefined {
    return this.#required(name, name) ? this.optionalDecimal(name) : undefined;
  }

  optionalDecimal(name: string): Decimal | undefined {
    const text = this.optionalString(name);
    if (text === undefined) return undefined;
    return parseDecimal(text) ?? this.problem(name, `The ${name} must be a number.`);
  }

  /** An array of 1 to `max` elements that all pass `isElement`. */
  optionalList<T>(name: string, max: number, isElement: (value: unknown) => value is T): T[] | undefined {
    const isList = (value: unknown): value is T[] => Array.isArray(value) && value.every(isElement);
    const value = this.#optional(name, name, isList, 'must be an array of valid values');
    if (value === undefined) return undefined;
    if (value.length === 0) return this.problem(name, `The ${name} must not be empty.`);
    if (value.length > max) return this.problem(name, `The ${name} may not have more than ${max} items.`);
    return value;
  }

  requiredObject(name: string): ParamReader | undefined {
    const value = this.#params[name];
    if (isJsonObject(value)) return new ParamReader(value, `${this.#prefix}${name}.`, this.#problems);
    return this.problem(name, `The ${this.#prefix}${name} field is required.`);
  }

  #required(name: string, field: string): boolean {
    const value = this.#params[name];
    const isThere = value !== undefined && value !== null && value !== '';
    if (!isThere) this.problem(field, `The ${this.#prefix}${field} field is required.`);
    return isThere;
  }

  #optional<T>(
    name: string,
    field: string,
    isValid: (value: unknown) => value is T,
    rule: string,
  ): T | undefined {
    const value = this.#params[name];
    if (value === undefined || value === null) return undefined;
    return isValid(value) ? value : this.problem(field, `The ${this.#prefix}${field} ${rule}.`);
  }
}

export function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

export function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value);
}
