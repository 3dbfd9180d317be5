import { createHash } from 'node:crypto';
import { compileConfig, type UncheckedConfig } from './compile-config.ts';
import type { CompiledConfig } from './compiled-config.ts';
import type { CompiledHeartbeat } from './heartbeat.ts';
import { type Problem, type ProblemCode, type ProblemSeverity, sortProblems } from './problem.ts';
import { sectionsSchema } from './root.ts';
import type { RuleSet } from './rules/rule-sets.ts';
import { problemAt, withMeantKeys } from './shape/read.ts';
import type { ConfigSurroundings } from './surroundings.ts';
import { mayAct } from './warnings/accounts.ts';
import { warningsOf } from './warnings.ts';
import { parseYaml } from './yaml/parse.ts';

export type LoadResult =
  | { readonly kind: 'loaded'; readonly config: CompiledConfig; readonly warnings: readonly Problem[] }
  /** At least one error; warnings are among the problems as far as the file could be understood. */
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

/** Reads, checks and compiles a config file. Never throws on what a file, a variable or a secret holds. */
export function loadConfig(file: string, surroundings: ConfigSurroundings): LoadResult {
  const { config, problems } = examine(file, surroundings, 'error');
  if (config === undefined) return { kind: 'refused', problems };
  return { kind: 'loaded', config: deepFreeze(withoutSources(config)), warnings: problems };
}

/** What can be said of a config without having its secrets at hand. */
export interface CheckedConfig {
  readonly problems: readonly Problem[];
  /** Rules as they would be; absent when there is an error. */
  readonly accounts?: readonly Pick<
    CompiledConfig['accounts'][number],
    'id' | 'settings' | 'rules' | 'watch'
  >[];
  readonly ruleSets?: readonly RuleSet[];
  readonly heartbeat?: Pick<CompiledHeartbeat, 'everyMs'>;
}

/** As `loadConfig`, but a secret that is not at hand is only a warning, and none is handed out. */
export function checkConfig(file: string, surroundings: ConfigSurroundings): CheckedConfig {
  const { config, problems } = examine(file, surroundings, 'warning');
  if (config === undefined) return { problems };
  const { accounts, ruleSets, heartbeat } = config;
  return {
    problems,
    accounts: accounts.map(({ id, settings, rules, watch }) => ({ id, settings, rules, watch })),
    ruleSets,
    ...(heartbeat === undefined ? {} : { heartbeat: { everyMs: heartbeat.everyMs } }),
  };
}

export type UsableResult =
  | {
      readonly kind: 'usable';
      /** Secrets that are not at hand are empty, optional ones absent. */
      readonly config: CompiledConfig;
      /** Warnings; a secret that is not at hand is one of them (code `secret-missing`). */
      readonly problems: readonly Problem[];
    }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] };

/**
 * For an operator's hands: as `loadConfig`, but a secret that is not at hand and what is not protected is only a warning,
 * because pausing or looking must not need the keys of the exchange, nor wait until a file is in order.
 */
export function loadWithoutSecrets(file: string, surroundings: ConfigSurroundings): UsableResult {
  const { config, problems } = examine(file, surroundings, 'warning', 'warning');
  if (config === undefined) return { kind: 'refused', problems };
  return { kind: 'usable', config: deepFreeze(withoutSources(config)), problems };
}

type CompiledFrom = UncheckedConfig & Pick<CompiledConfig, 'checksum'>;

/** `config` is absent when there is an error. */
function examine(
  file: string,
  surroundings: ConfigSurroundings,
  missingSecrets: ProblemSeverity,
  unprotected: ProblemSeverity = 'error',
): { config?: CompiledFrom; problems: readonly Problem[] } {
  const reading = surroundings.readFile(file);
  if (reading.kind === 'failed') {
    const message = `expected a config file here, got ${reading.why}`;
    const place = { file, line: 1, column: 1 };
    return { problems: [{ severity: 'error', code: 'file-unreadable', place, path: '', message }] };
  }
  const { document, problems: yamlProblems } = parseYaml(reading.text, file);
  if (document === undefined) return { problems: yamlProblems };
  const problems: Problem[] = [...yamlProblems];
  const report = (problem: Problem): void => {
    problems.push(problem);
  };
  const meant = withMeantKeys(sectionsSchema, document, report);
  const config = compileConfig({ document: meant, surroundings, missing: missingSecrets, report });
  if (config !== undefined) {
    if (reading.othersMayWrite) report(problemAt(document, [], WRITABLE));
    for (const warning of warningsOf(config, surroundings.env)) report(warning);
  }
  const acts = config?.accounts.some(mayAct) === true && unprotected === 'error';
  const judged = problems.map((problem) => judgeProtection(problem, acts));
  const sorted = sortProblems(unique(judged), [file]);
  const isRefused = config === undefined || sorted.some(({ severity }) => severity === 'error');
  if (isRefused) return { problems: sorted };
  const checksum = createHash('sha256').update(reading.text).digest('hex');
  return { config: { ...config, checksum }, problems: sorted };
}

const WRITABLE = {
  code: 'writable-by-others',
  message: 'expected a config file that only its owner can change, got one that others can: chmod go-w',
} as const;
const OF_PROTECTION: ReadonlySet<ProblemCode> = new Set([
  'unencrypted',
  'redis-without-password',
  'secret-world-readable',
  WRITABLE.code,
]);

/** What others can read or change is refused where orders are sent, and warned of elsewhere. */
function judgeProtection(problem: Problem, acts: boolean): Problem {
  if (!OF_PROTECTION.has(problem.code)) return problem;
  return { ...problem, severity: acts ? 'error' : 'warning' };
}

/** Several accounts can meet the same mistake. */
function unique(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Map(
    problems.map((problem) => [JSON.stringify([problem.place, problem.path, problem.message]), problem]),
  );
  return [...seen.values()];
}

function withoutSources(config: CompiledFrom): CompiledConfig {
  const { document: _document, ruleSets: _ruleSets, referencePrices: _prices, accounts, ...rest } = config;
  return {
    ...rest,
    accounts: accounts.map(
      ({ path: _path, written: _written, used: _used, isWhole: _isWhole, ...account }) => account,
    ),
  };
}

/** Freezes plain data through and through; class instances and functions are left to themselves. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  const plain = Array.isArray(value) || prototype === Object.prototype || prototype === null;
  if (!plain) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
