import { checkConfig } from '../../src/config/load-config.ts';
import { formatProblem } from '../../src/config/problem.ts';
import type { ConfigSurroundings } from '../../src/config/surroundings.ts';
import { ruleInWords } from '../../src/config/words/rules.ts';
import type { AccountSettings } from '../../src/core/quantities/settings.ts';

/** A config in a document; the block after it is the output for that config. */
const EXAMPLE = /```yaml example\n([\s\S]*?)```\n\n```text\n[\s\S]*?```/g;

/** Returns the document with the output of `check --print` below each example. */
export function withExampleOutput(document: string, surroundings: ConfigSurroundings): string {
  return document.replaceAll(EXAMPLE, (_whole, yaml: string) => {
    const output = exampleOutput(yaml, surroundings).join('\n');
    return `\`\`\`yaml example\n${yaml}\`\`\`\n\n\`\`\`text\n${output}\n\`\`\``;
  });
}

/** Returns the example's rules in words, or its errors if it has any. */
export function exampleOutput(yaml: string, surroundings: ConfigSurroundings): readonly string[] {
  const text = `${EXAMPLE_FRAME}${yaml.includes('accounts:') ? yaml : `${EXAMPLE_ACCOUNT(idsOf(yaml))}${yaml}`}`;
  const checked = checkConfig(EXAMPLE_FILE, {
    ...surroundings,
    env: { API_KEY: 'key', API_SECRET: 'secret' },
    readFile: (path) =>
      path === EXAMPLE_FILE
        ? { kind: 'read', text, worldReadable: false, othersMayWrite: false }
        : surroundings.readFile(path),
  });
  const errors = checked.problems.filter(({ severity }) => severity === 'error');
  if (checked.accounts === undefined) return errors.map(formatProblem);
  return checked.accounts.flatMap(({ settings, rules }) =>
    rules.map(
      (rule) => `${rule.id} (${rule.severity}${shownMode(rule.mode, settings)}): ${ruleInWords(rule)}.`,
    ),
  );
}

function shownMode(mode: string | undefined, settings: Pick<AccountSettings, 'mode'>): string {
  return mode === undefined || mode === settings.mode ? '' : `, ${mode}`;
}

function idsOf(yaml: string): readonly string[] {
  return [...yaml.matchAll(/^ *- id: (\S+)$/gm)].map(([, id = '']) => id);
}

const EXAMPLE_FILE = 'example.yaml';

const EXAMPLE_FRAME = `redis: { url: { env: REDIS_URL } }
exchange: { baseUrls: [https://api.exchange.example] }
acting: { cancel: always }
markets:
  "*": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% }
`;

const EXAMPLE_ACCOUNT = (ids: readonly string[]): string => `accounts:
  - { id: desk-1, apiKey: { env: API_KEY }, apiSecret: { env: API_SECRET }, rules: [${ids.join(', ')}] }
`;
