import { z } from 'zod';
import { type Report, readShape } from '../shape/read.ts';
import { text } from '../shape/scalars.ts';
import type { ConfigSurroundings } from '../surroundings.ts';
import { parseYaml } from '../yaml/parse.ts';
import { type ReadRule, readRules } from './read-rules.ts';

/** The rule sets that come with Breakwater, in `config/rulesets/`. */
export const RULE_SET_NAMES = [
  'conservative',
  'balanced',
  'last-resort',
  'credit-line',
  'circuit-breaker',
] as const;
export type RuleSetName = (typeof RULE_SET_NAMES)[number];

export interface RuleSet {
  readonly name: RuleSetName;
  /** One sentence for people. */
  readonly summary: string;
  readonly rules: ReadonlyMap<string, ReadRule>;
}

export const ruleSetSchema = z.strictObject({
  summary: text({ expected: 'one sentence that says what the set does', maxLength: 300 }),
  rules: z.array(z.unknown()).min(1),
});

export function isRuleSetName(name: string): name is RuleSetName {
  return (RULE_SET_NAMES as readonly string[]).includes(name);
}

/** Reads one of them; a mistake in it is reported with its own file and place. */
export function readRuleSet(name: RuleSetName, surroundings: ConfigSurroundings, report: Report): RuleSet {
  const file = surroundings.ruleSetFile(name);
  const empty: RuleSet = { name, summary: '', rules: new Map() };
  const reading = surroundings.readFile(file);
  if (reading.kind === 'failed') {
    report({
      severity: 'error',
      code: 'file-unreadable',
      place: { file, line: 1, column: 1 },
      path: '',
      message: `expected the rule set ${name} here, got ${reading.why}`,
    });
    return empty;
  }
  const parsed = parseYaml(reading.text, file);
  for (const problem of parsed.problems) report(problem);
  const { document } = parsed;
  if (document === undefined) return empty;
  const shape = readShape(ruleSetSchema, document, [], report);
  return shape === undefined
    ? empty
    : { name, summary: shape.summary, rules: readRules(document, { report, channels: undefined }).rules };
}
