import { nodeSurroundings } from '../../src/config/node-files.ts';
import { RULE_SET_NAMES, readRuleSet } from '../../src/config/rules/rule-sets.ts';
import { fieldTables, keyTable, ruleKeyTable, withGenerated } from './config-tables.ts';
import { errorTable } from './error-table.ts';
import { configJsonSchema } from './json-schema.ts';
import { jsonShapeTables } from './json-tables.ts';
import { measuredSetsFile } from './measured-sets.ts';
import { prometheusRules } from './prometheus-rules.ts';
import { withExampleOutput } from './worked-examples.ts';

/** Texts of the files that are generated from the sources, by path. `scripts/generate.mjs` writes them. */
export function generatedFiles(read: (file: string) => string): Readonly<Record<string, string>> {
  const surroundings = nodeSurroundings({});
  return {
    'config/kubernetes/prometheus-rules.yaml': prometheusRules(read),
    'config/schema.json': `${JSON.stringify(configJsonSchema(), undefined, 1)}\n`,
    'src/config/rules/measured-sets.ts': measuredSetsFile(read('docs/rule-sets.md')),
    'docs/client.md': withGenerated(read('docs/client.md'), { errors: errorTable() }),
    'docs/json.md': withGenerated(read('docs/json.md'), { 'json-shapes': jsonShapeTables() }),
    'docs/config.md': withGenerated(read('docs/config.md'), { keys: keyTable() }),
    'docs/rules.md': withExampleOutput(
      withGenerated(read('docs/rules.md'), {
        fields: fieldTables(),
        'rule-keys': ruleKeyTable(),
        'rule-sets': ruleSetTable(surroundings),
      }),
      surroundings,
    ),
  };
}

function ruleSetTable(surroundings: ReturnType<typeof nodeSurroundings>): string {
  const rows = RULE_SET_NAMES.map((name) => {
    const { summary, rules } = readRuleSet(name, surroundings, () => undefined);
    return `| \`${name}\` | ${summary} | ${[...rules.keys()].map((id) => `\`${id}\``).join(', ')} |`;
  });
  return ['| Rule set | What it does | Its rules |', '|---|---|---|', ...rows].join('\n');
}
