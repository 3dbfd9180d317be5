import { createHash } from 'node:crypto';
import { compileConfig, type UncheckedConfig } from './compile-config.ts';
import type { CompiledConfig } from './compiled-config.ts';
import { type Problem, type ProblemCode, type ProblemSeverity, sortProblems } from './problem.ts';
import { withoutRemovedKeys } from './removed-keys.ts';
import { sectionsSchema } from './root.ts';
import { problemAt, withMeantKeys } from './shape/read.ts';
import type { ConfigSurroundings } from './surroundings.ts';
import { accountWarnings, exchangeWarnings, mayAct, sharedKeys } from './warnings/accounts.ts';
import { exposureProblems, proxyWarnings, tlsProblems } from './warnings/exposure.ts';
import { marketWarnings } from './warnings/markets.ts';
import { ruleWarnings } from './warnings/rules.ts';
import { stressWarnings } from './warnings/stress.ts';
import { parseYaml } from './yaml/parse.ts';

export type LoadResult = ReturnType<typeof loadConfig>;

/**
 * Reads, checks and compiles a config file. It never throws because of the content of a file, variable or secret.
 * Without `needsKeys`, accounts whose key of the exchange is missing have an empty one. A refused one has at least one
 * error; `problems` also has the warnings that could be determined.
 */
export function loadConfig(file: string, surroundings: ConfigSurroundings, needsKeys = true) {
  const { config, problems } = examine(file, surroundings, { needsKeys });
  if (config === undefined) return { kind: 'refused', problems } as const;
  return { kind: 'loaded', config: deepFreeze(withoutSources(config)), warnings: problems } as const;
}

/**
 * Checks a config like `loadConfig`, but a missing secret is only a warning, and the result contains no secrets. After
 * an error it has only the problems.
 */
export function checkConfig(file: string, surroundings: ConfigSurroundings) {
  const { config, problems } = examine(file, surroundings, { missing: 'warning' });
  return {
    problems,
    accounts: config?.accounts.map(({ id, settings, rules }) => ({ id, settings, rules })),
    heartbeat: config?.heartbeat && { everyMs: config.heartbeat.everyMs },
  };
}

/**
 * Loads a config for operator commands. Unlike in `loadConfig`, missing secrets and missing protection are only
 * warnings: a pause must not need the keys of the exchange, nor wait until a file's permissions are right. Missing
 * required secrets are empty, optional ones absent.
 */
export function loadWithoutSecrets(file: string, surroundings: ConfigSurroundings) {
  const { config, problems } = examine(file, surroundings, { missing: 'warning', unprotected: 'warning' });
  if (config === undefined) return { kind: 'refused', problems } as const;
  return { kind: 'usable', config: deepFreeze(withoutSources(config)), problems } as const;
}

type CompiledFrom = UncheckedConfig & Pick<CompiledConfig, 'checksum'>;

interface Demands {
  readonly missing?: ProblemSeverity;
  readonly unprotected?: ProblemSeverity;
  readonly needsKeys?: boolean;
}

/** `config` is absent if there is an error. */
function examine(
  file: string,
  surroundings: ConfigSurroundings,
  { missing = 'error', unprotected = 'error', needsKeys = true }: Demands,
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
    const known = withoutRemovedKeys(document, found.add);
    const meant = withMeantKeys(sectionsSchema, known, found.add);
    const compiled = compileConfig({
      document: meant,
      surroundings,
      missing,
      needsKeys,
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
  const sorted = sortProblems(judged, file);
  const isRefused = config === undefined || sorted.some(({ severity }) => severity === 'error');
  if (isRefused) return { problems: sorted };
  const checksum = createHash('sha256').update(reading.text).digest('hex');
  return { config: { ...config, checksum }, problems: sorted };
}

const WRITABLE = {
  code: 'writable-by-others',
  message:
    'expected a config file that only this user or root can change, got one that others can: chmod go-w, and chown if it is not yours',
} as const;
const OF_PROTECTION: ReadonlySet<ProblemCode> = new Set([
  'unencrypted',
  'redis-without-password',
  'secret-world-readable',
  'secret-writable-by-others',
  WRITABLE.code,
]);

/** Missing protection is an error if the config sends orders, otherwise a warning. */
function judgeProtection(problem: Problem, acts: boolean): Problem {
  if (!OF_PROTECTION.has(problem.code)) return problem;
  return { ...problem, severity: acts ? 'error' : 'warning' };
}

/** Missing secrets and missing protection are not mistakes of the file, so they do not count towards the limit. */
function isOfFile({ code }: Problem): boolean {
  return code !== 'secret-missing' && !OF_PROTECTION.has(code);
}

/** Bounds the check: nobody fixes more at once, and a reload must not keep the daemon busy with a file it refuses. */
const MOST_MISTAKES = 50;

/** Collects problems without duplicates: several accounts can meet the same mistake. */
class FoundProblems {
  readonly #found = new Map<string, Problem>();
  #mistakes = 0;

  get problems(): readonly Problem[] {
    return [...this.#found.values()];
  }

  /** Throws `TooManyMistakes`, which `until` catches, at the last allowed mistake. */
  readonly add = (problem: Problem): void => {
    const id = JSON.stringify([problem.place, problem.path, problem.message]);
    if (this.#found.has(id)) return;
    this.#found.set(id, problem);
    if (problem.severity !== 'error' || !isOfFile(problem)) return;
    this.#mistakes += 1;
    if (this.#mistakes === MOST_MISTAKES) throw new TooManyMistakes();
  };

  /** Returns the result of `compile`; undefined, with a problem, if it stopped because of too many mistakes. */
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
  const { document: _document, referencePrices: _prices, accounts, ...rest } = config;
  return {
    ...rest,
    accounts: accounts.map(
      ({ path: _path, written: _written, used: _used, isWhole: _isWhole, ...account }) => account,
    ),
  };
}

/** Freezes plain data deeply; class instances and functions stay as they are. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  const plain = Array.isArray(value) || prototype === Object.prototype || prototype === null;
  if (!plain) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

/**
 * Returns the warnings about a config that could be read as a whole, and the errors that need the whole: two accounts
 * that act with one key, missing encryption, and acting without certificate checks.
 */
function warningsOf(
  config: UncheckedConfig,
  env: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  return [
    ...tlsProblems(config, env),
    ...sharedKeys(config),
    ...exposureProblems(config),
    ...exchangeWarnings(config),
    ...marketWarnings(config),
    ...stressWarnings(config),
    ...proxyWarnings(config),
    ...config.accounts.flatMap((account) => [
      ...accountWarnings(account, config),
      ...account.rules.flatMap((rule, index) => {
        const used = account.used[index];
        return used === undefined ? [] : ruleWarnings(rule, used, account);
      }),
    ]),
  ];
}
