import { type FieldSpec, findField } from '../../core/fields/field-catalogue.ts';
import type {
  Comparison,
  ConditionSpec,
  FieldParameter,
  RuleSpec,
  SubjectKind,
} from '../../core/rules/rule.ts';
import { comparisonsOf } from '../../core/rules/rule-parts.ts';
import { durationInWords, numberInWords, valueInWords } from '../shape/units.ts';

type FieldCondition = Extract<ConditionSpec, { kind: 'field' }>;

/** Words a condition as the end of a sentence that starts with its subject: `is nearer than 5.0 % to liquidation`. */
export function conditionInWords(on: SubjectKind, condition: ConditionSpec): string {
  switch (condition.kind) {
    case 'field':
      return fieldInWords(on, condition);
    case 'not':
      return negated(on, condition.condition);
    case 'all':
      return joined(on, condition.conditions, 'and');
    case 'any':
      return joined(on, condition.conditions, 'or');
  }
}

/** Negates `is nearer than ...` as `is not nearer than ...`; quotes what cannot be negated like that. */
function negated(on: SubjectKind, condition: ConditionSpec): string {
  const words = conditionInWords(on, condition);
  if (condition.kind === 'field') {
    if (words.startsWith('is ')) return words.replace('is ', 'is not ');
    const isPlain = findField(on, condition.field)?.type === 'boolean';
    if (isPlain)
      return words.startsWith('has no ')
        ? words.replace('has no ', 'has ')
        : words.replace('has ', 'has no ');
  }
  return `does not fulfil "${words}"`;
}

function joined(on: SubjectKind, conditions: readonly ConditionSpec[], word: 'and' | 'or'): string {
  const parts = conditions.map((inner) => {
    const words = conditionInWords(on, inner);
    const nested = (inner.kind === 'all' || inner.kind === 'any') && inner.conditions.length > 1;
    return nested && conditions.length > 1 ? `(${words})` : words;
  });
  return parts.join(` ${word} `);
}

/**
 * Phrases for fields that read better than "has x below y". `{v}` is the threshold, `{p}` the parameters; `{less|more}`
 * is `less` for `below` and `more` for `above`.
 */
const PHRASES: Readonly<Record<string, string | { readonly above: string }>> = {
  'position.liquidationDistance': 'is {nearer|farther} than {v} {to|from} liquidation',
  'position.liquidationProbability': 'has a chance {below|above} {v} of liquidation {p}',
  'position.minutesToLiquidation': 'is {as likely as not|unlikely} to be liquidated within {v}',
  'position.unprotectedSeconds': { above: 'has been without a stop that covers it for more than {v}' },
  'position.marginUsage': 'uses {less|more} than {v} of its funds as margin',
  'position.notional': 'is worth {less|more} than {v}',
  'position.pnlPercent': 'has an unrealised result {below|above} {v}',
  'creditLine.currentLtv': 'has an LTV {below|above} {v}',
  'creditLine.ltvToMarginCall': 'has used up {less|more} than {v} of the way to its margin call',
  'creditLine.ltvToLiquidation': 'has used up {less|more} than {v} of the way to liquidation',
  'creditLine.collateralMayFall':
    'has collateral that may fall by {less|more} than {v} before the margin call',
  'creditLine.minutesToMarginCall': 'is {as likely as not|unlikely} to get a margin call within {v}',
  'creditLine.marginCallProbability': 'has a chance {below|above} {v} of a margin call {p}',
  'account.dataAge': '{was read within the last|has not been read for} {v} {p}',
  'account.recordsSetAside': { above: 'has more than {v} records that could not be read {p}' },
  'account.mainBalance': 'has {less|more} than {v} {p} in its main balance',
  'account.jointDistance': 'is {nearer|farther} than {v} {to|from} liquidation if all markets move together',
  'account.marginUsage': { above: 'uses more than {v} of its {p} funds as margin' },
  'account.withdrawalCount': { above: 'had more than {v} withdrawals {p}' },
  'account.unexpectedWithdrawalCount': {
    above: 'had more than {v} withdrawals to addresses outside the allow-list {p}',
  },
  'account.withdrawalAmount': { above: 'withdrew more than {v} {p}' },
  'account.spotOrderCount': { above: 'created more than {v} spot orders {p}' },
  'account.spotFees': { above: 'paid more than {v} {p} in spot fees' },
  'account.spotTurnover': { above: 'traded more than {v} {p} on spot' },
};

function phraseOf(field: string, op: 'below' | 'above'): string | undefined {
  const phrase = PHRASES[field];
  if (typeof phrase === 'object') return op === 'above' ? phrase.above : undefined;
  return phrase?.replaceAll(/\{([^{|}]+)\|([^{}]+)\}/g, op === 'below' ? '$1' : '$2');
}

const LOOKS_AHEAD: ReadonlySet<string> = new Set(['liquidationProbability', 'marginCallProbability']);

function fieldInWords(on: SubjectKind, { field: name, parameter, comparison }: FieldCondition): string {
  const field = findField(on, name);
  if (field === undefined) return `has ${name} ${comparison.op}`;
  const parameters = parameterInWords(name, parameter);
  if (comparison.op === 'equals' || comparison.op === 'in')
    return exactInWords(field, comparison, parameters);
  const phrase = phraseOf(`${on}.${name}`, comparison.op) ?? `has ${name} {p} ${comparison.op} {v}`;
  return phrase
    .replace('{v}', thresholdInWords(field, comparison.threshold))
    .replace('{p}', parameters)
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function parameterInWords(field: string, parameter: FieldParameter | undefined): string {
  if (parameter === undefined) return '';
  const { asset, source, windowMs } = parameter;
  const direction = LOOKS_AHEAD.has(field) ? 'within the next' : 'within';
  return [
    asset,
    source === undefined ? undefined : `(${source})`,
    windowMs === undefined ? undefined : `${direction} ${durationInWords(windowMs)}`,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

/** Returns where comparisons with hysteresis clear: `liquidationDistance above 7.0 %`. */
export function clearancesInWords(rule: Pick<RuleSpec, 'on' | 'when'>): readonly string[] {
  return [...comparisonsOf(rule.when)].flatMap(({ field: name, comparison }): readonly string[] => {
    const field = findField(rule.on, name);
    if (field === undefined) return [];
    if (comparison.op === 'below' && comparison.clearAbove !== undefined) {
      return [`${name} above ${thresholdInWords(field, comparison.clearAbove)}`];
    }
    if (comparison.op === 'above' && comparison.clearBelow !== undefined) {
      return [`${name} below ${thresholdInWords(field, comparison.clearBelow)}`];
    }
    return [];
  });
}

function exactInWords(
  field: FieldSpec,
  comparison: Extract<Comparison, { op: 'equals' | 'in' }>,
  parameters: string,
): string {
  const values = comparison.op === 'equals' ? [comparison.value] : comparison.values;
  if (field.type === 'boolean') {
    return `${values.includes(true) ? 'has' : 'has no'} ${field.name}`;
  }
  const shown = values.map((value) =>
    typeof value === 'number' ? thresholdInWords(field, value) : String(value),
  );
  return `has ${[field.name, parameters].join(' ').trim()} ${listInWords(shown, 'or')}`;
}

function thresholdInWords(field: FieldSpec, value: number): string {
  return field.type === 'number' ? valueInWords(field, value) : numberInWords(value);
}

/** Joins items: `a`, `a and b`, `a, b and c`. */
export function listInWords(items: readonly string[], word: 'and' | 'or' = 'and'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1) ?? ''}`;
}
