import { findField, SOURCE_NAMES, type SourceName } from '../core/fields/field-catalogue.ts';
import type { RuleSpec } from '../core/rules/rule.ts';
import { actionsOf, comparisonsOf } from '../core/rules/rule-parts.ts';

/** Returns the sources that must be read so that a rule can be judged and can act. */
export function sourcesOf(rule: RuleSpec): ReadonlySet<SourceName> {
  const sources = new Set<SourceName>();
  if (rule.on === 'position') sources.add('positions');
  if (rule.on === 'creditLine') sources.add('creditLine');
  for (const { field, parameter } of comparisonsOf(rule.when)) {
    const source = parameter?.source ?? findField(rule.on, field)?.source;
    const known = SOURCE_NAMES.find((name) => name === source);
    const aboutReading = parameter?.source !== undefined || !ABOUT_ALL_READS.has(field);
    if (known !== undefined && aboutReading) sources.add(known);
  }
  if (actionsOf(rule).some(({ kind }) => kind === 'reduce' || kind === 'protect')) sources.add('positions');
  return sources;
}

/** Fields that are about all sources that are read, unless they name one. */
const ABOUT_ALL_READS: ReadonlySet<string> = new Set(['dataAge', 'recordsSetAside']);

/** Returns the tickers of the main balance that a rule uses. */
export function balancesOf(rule: RuleSpec): readonly string[] {
  return [...comparisonsOf(rule.when)].flatMap(({ field, parameter }) =>
    field === 'mainBalance' && parameter?.asset !== undefined ? [parameter.asset] : [],
  );
}
