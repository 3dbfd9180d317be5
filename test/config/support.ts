import type { CompiledConfig } from '../../src/config/compiled-config.ts';
import { checkConfig, loadConfig } from '../../src/config/load-config.ts';
import { nodeSurroundings } from '../../src/config/node-files.ts';
import { formatProblem, type Problem } from '../../src/config/problem.ts';
import type { ConfigSurroundings, FileReading } from '../../src/config/surroundings.ts';

export const FILE = 'breakwater.yaml';

export interface Given {
  readonly files?: Readonly<Record<string, string>>;
  readonly worldReadable?: readonly string[];
  readonly othersMayWrite?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Files and environment of a test; the rule sets are the real ones. */
export function surroundings(text: string, given: Given = {}): ConfigSurroundings {
  const real = nodeSurroundings({});
  const files: Readonly<Record<string, string>> = { [FILE]: text, ...given.files };
  return {
    env: given.env ?? { API_KEY: 'key-1', API_SECRET: 'secret-1' },
    resolvePath: (_from, path) => path,
    ruleSetFile: real.ruleSetFile,
    readFile: (path): FileReading => {
      const own = Object.hasOwn(files, path) ? files[path] : undefined;
      if (own !== undefined) {
        return {
          kind: 'read',
          text: own,
          worldReadable: given.worldReadable?.includes(path) ?? false,
          othersMayWrite: given.othersMayWrite?.includes(path) ?? false,
        };
      }
      return path.includes('/rulesets/') ? real.readFile(path) : { kind: 'failed', why: 'no such file' };
    },
  };
}

export function problemsOf(text: string, given?: Given): readonly Problem[] {
  const result = loadConfig(FILE, surroundings(text, given));
  return result.kind === 'loaded' ? result.warnings : result.problems;
}

export function linesOf(text: string, given?: Given): readonly string[] {
  return problemsOf(text, given).map(formatProblem);
}

export function loaded(text: string, given?: Given): CompiledConfig {
  const result = loadConfig(FILE, surroundings(text, given));
  if (result.kind === 'loaded') return result.config;
  throw new Error(`not loaded:\n${result.problems.map(formatProblem).join('\n')}`);
}

export function checked(text: string, given?: Given): ReturnType<typeof checkConfig> {
  return checkConfig(FILE, surroundings(text, given));
}

/** A config without problems, with room for rules of an account. */
export const BASE = `exchange: { baseUrls: [https://api.exchange.example] }
acting: { cancel: always }
markets: { "*": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
insecure: [redis]
`;

export function withRules(rules: string, use: readonly string[], account = ''): string {
  return `${BASE}accounts:
  - id: desk-1
    apiKey: { env: API_KEY }
    apiSecret: { env: API_SECRET }
    rules: [${use.join(', ')}]
${account}rules:
${rules}`;
}

/** One position rule in flow style, with good values elsewhere. */
export function rule(parts: { when?: string; do?: string; more?: string; on?: string }): string {
  const when = parts.when ?? '{ liquidationDistance: { below: 5%, clearAbove: 7% } }';
  return withRules(
    `  - { id: r, on: ${parts.on ?? 'position'}, when: ${when}, do: ${parts.do ?? '[]'}${parts.more === undefined ? '' : `, ${parts.more}`} }\n`,
    ['r'],
  );
}
