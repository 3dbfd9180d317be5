import type { AccountQuantities } from '../quantities/account.ts';
import type { FieldParameter, SubjectKind } from '../rules/rule.ts';
import { type FieldSpec, findField } from './field-catalogue.ts';
import {
  ACCOUNT_VALUES,
  type Compute,
  CREDIT_LINE_VALUES,
  type CreditLineSubject,
  type FieldQuantity,
  POSITION_VALUES,
  type PositionSubject,
} from './field-values.ts';

export interface SubjectOf {
  readonly position: PositionSubject;
  readonly creditLine: CreditLineSubject;
  readonly account: AccountQuantities;
}

const VALUES: { readonly [K in SubjectKind]: Readonly<Record<string, Compute<SubjectOf[K]>>> } = {
  position: POSITION_VALUES,
  creditLine: CREDIT_LINE_VALUES,
  account: ACCOUNT_VALUES,
};

export interface FieldSlot {
  readonly spec: FieldSpec;
  readonly parameter: FieldParameter;
}

/** What a condition needs of the field cache: slots at compile time, values at evaluation. */
export interface FieldReader {
  readonly slots: readonly FieldSlot[];
  slot(field: string, parameter?: FieldParameter): number;
  read(slot: number): FieldQuantity;
}

const NO_PARAMETER: FieldParameter = {};

/** Computes each field that conditions use at most once per subject; one instance serves all subjects of its kind. */
export class FieldCache<K extends SubjectKind> implements FieldReader {
  readonly slots: FieldSlot[] = [];
  readonly #on: K;
  readonly #computes: Compute<SubjectOf[K]>[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #values: (FieldQuantity | undefined)[] = [];
  #subject: SubjectOf[K] | undefined;

  constructor(on: K) {
    this.#on = on;
  }

  /**
   * Returns the slot of a field; conditions on the same field and parameter share it.
   * @throws TypeError if the field does not exist or a required parameter is missing
   */
  slot(field: string, parameter: FieldParameter = NO_PARAMETER): number {
    const key = JSON.stringify([field, parameter.asset, parameter.source, parameter.windowMs]);
    const existing = this.#indexes.get(key);
    if (existing !== undefined) return existing;
    const spec = findField(this.#on, field);
    const compute = spec === undefined ? undefined : VALUES[this.#on][field];
    if (spec === undefined || compute === undefined) {
      throw new TypeError(`no field ${JSON.stringify(field)} for subjects of kind ${this.#on}`);
    }
    const missing = spec.parameters.find(({ name, required }) => required && parameter[name] === undefined);
    if (missing !== undefined) throw new TypeError(`field ${field} needs the parameter ${missing.name}`);
    this.slots.push({ spec, parameter });
    this.#computes.push(compute);
    this.#values.push(undefined);
    this.#indexes.set(key, this.slots.length - 1);
    return this.slots.length - 1;
  }

  load(subject: SubjectOf[K]): void {
    this.clear();
    this.#subject = subject;
  }

  /** Releases the subject: the rules live longer than the account data it refers to. */
  clear(): void {
    this.#subject = undefined;
    const values = this.#values;
    for (let index = 0; index < values.length; index++) values[index] = undefined;
  }

  read(slot: number): FieldQuantity {
    return this.#values[slot] ?? this.#compute(slot);
  }

  #compute(slot: number): FieldQuantity {
    const compute = this.#computes[slot];
    const field = this.slots[slot];
    if (compute === undefined || field === undefined || this.#subject === undefined) {
      throw new TypeError(`no field in slot ${slot}, or no subject loaded`);
    }
    const value = compute(this.#subject, field.parameter);
    this.#values[slot] = value;
    return value;
  }
}
