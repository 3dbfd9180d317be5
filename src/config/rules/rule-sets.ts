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

const ruleSetSchema = z.strictObject({
  summary: text({ expected: 'one sentence that says what the set does', maxLength: 300 }),
  rules: z.array(z.unknown()).min(1),
});

export function isRuleSetName(name: string): name is RuleSetName {
  return (RULE_SET_NAMES as readonly string[]).includes(name);
}

/** Cache of the last valid version of each file: they hardly ever change, and parsing takes a third of each load. */
const SOUND = new Map<string, { readonly text: string; readonly set: RuleSet }>();

/** Reads a rule set. Mistakes are reported at their place in its file; the set is empty if it cannot be read. */
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
  const { text } = reading;
  const known = SOUND.get(file);
  if (known?.text === text) return known.set;
  let isSound = true;
  const set = parseRuleSet({ name, file, text }, (problem) => {
    isSound = false;
    report(problem);
  });
  if (set !== undefined && isSound) SOUND.set(file, { text, set });
  return set ?? empty;
}

function parseRuleSet(
  { name, file, text: written }: { readonly name: RuleSetName; readonly file: string; readonly text: string },
  report: Report,
): RuleSet | undefined {
  const { document, problems } = parseYaml(written, file);
  for (const problem of problems) report(problem);
  if (document === undefined) return undefined;
  const shape = readShape(ruleSetSchema, document, [], report);
  if (shape === undefined) return undefined;
  return { name, summary: shape.summary, rules: readRules(document, { report, channels: undefined }).rules };
}
