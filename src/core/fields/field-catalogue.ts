import type { SubjectKind } from '../rules/rule.ts';
import { ACCOUNT_FIELDS } from './account-fields.ts';
import { CREDIT_LINE_FIELDS } from './credit-line-fields.ts';
import type { FieldSpec } from './field-spec.ts';
import { POSITION_FIELDS } from './position-fields.ts';

export type { AccountFieldName } from './account-fields.ts';
export type { CreditLineFieldName } from './credit-line-fields.ts';
export type {
  EnumField,
  FieldSpec,
  FieldUnit,
  NoneMeaning,
  NumberField,
  ParameterSpec,
  SourceName,
} from './field-spec.ts';
export { EVERY_POLL, isEveryPoll, SOURCE_NAMES } from './field-spec.ts';
export type { PositionFieldName } from './position-fields.ts';

/**
 * All fields that rules can use; JSON Schema, documents and metrics are derived from it. Names are unique per subject
 * kind.
 */
export const FIELD_CATALOGUE: readonly FieldSpec[] = [
  ...POSITION_FIELDS,
  ...CREDIT_LINE_FIELDS,
  ...ACCOUNT_FIELDS,
];

const BY_KEY: ReadonlyMap<string, FieldSpec> = new Map(
  FIELD_CATALOGUE.map((field) => [`${field.on}.${field.name}`, field]),
);

export function findField(on: SubjectKind, name: string): FieldSpec | undefined {
  return BY_KEY.get(`${on}.${name}`);
}

/** Fields of one subject kind, in the order of the documentation. */
export function fieldsOf(on: SubjectKind): readonly FieldSpec[] {
  return FIELD_CATALOGUE.filter((field) => field.on === on);
}
