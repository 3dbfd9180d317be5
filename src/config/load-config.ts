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

/**
 * For an operator's hands: as `loadConfig`, but a secret that is not at hand and what is not protected is only a warning,
 * because pausing or looking must not need the keys of the exchange, nor wait until a file is in order. Such secrets are
 * empty, optional ones absent.
 */
export function loadWithoutSecrets(file: string, surroundings: ConfigSurroundings) {
  const { config, problems } = examine(file, surroundings, 'warning', 'warning');
  if (config === undefined) return { kind: 'refused', problems } as const;
  return { kind: 'usable', config: deepFreeze(withoutSources(config)), problems } as const;
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
  const found = new FoundProblems();
  const compile = (): UncheckedConfig | undefined => {
    for (const problem of yamlProblems) found.add(problem);
    const meant = withMeantKeys(sectionsSchema, document, found.add);
    const compiled = compileConfig({
      document: meant,
      surroundings,
      missing: missingSecrets,
      report: found.add,
    });
    if (compiled === undefined) return undefined;
    if (reading.othersMayWrite) found.add(problemAt(document, [], WRITABLE));
    for (const warning of warningsOf(compiled, surroundings.env)) found.add(warning);
    return compiled;
  };
  const config = found.until(compile);
  const acts = config?.accounts.some(mayAct) === true && unprotected === 'error';
  const judged = found.problems.map((problem) => judgeProtection(problem, acts));
  const sorted = sortProblems(judged, [file]);
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

/** Secrets that are not there, and who may read what, are no mistakes of the file: they hide none of it. */
function isOfFile({ code }: Problem): boolean {
  return code !== 'secret-missing' && !OF_PROTECTION.has(code);
}

/** Nobody mends more at once, and a reload must not hold a process that protects for a file that it refuses. */
const MOST_MISTAKES = 50;

/** What is wrong with a file, each once: several accounts can meet the same mistake. */
class FoundProblems {
  readonly #found = new Map<string, Problem>();
  #mistakes = 0;

  get problems(): readonly Problem[] {
    return [...this.#found.values()];
  }

  /** Throws what `until` catches at the last mistake that is looked for. */
  readonly add = (problem: Problem): void => {
    const id = JSON.stringify([problem.place, problem.path, problem.message]);
    if (this.#found.has(id)) return;
    this.#found.set(id, problem);
    if (problem.severity !== 'error' || !isOfFile(problem)) return;
    this.#mistakes += 1;
    if (this.#mistakes === MOST_MISTAKES) throw new TooManyMistakes();
  };

  /** What `compile` returns; `undefined` (reported) when it found so many mistakes that it did not look on. */
  until<T>(compile: () => T | undefined): T | undefined {
    try {
      return compile();
    } catch (error) {
      if (!(error instanceof TooManyMistakes)) throw error;
      const last = this.problems.findLast(({ severity }) => severity === 'error');
      if (last === undefined) throw error;
      const message = `expected fewer than ${MOST_MISTAKES} mistakes; the file was not checked any further`;
      const { place } = last;
      this.#found.set('', { severity: 'error', code: 'too-many-mistakes', place, path: '', message });
      return undefined;
    }
  }
}

class TooManyMistakes extends Error {}

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
