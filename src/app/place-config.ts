import type { CompiledConfig } from '../config/compiled-config.ts';
import { type ConfigHandles, loadHandles } from '../config/handles.ts';
import { loadWithoutSecrets } from '../config/load-config.ts';
import { nodeSurroundings } from '../config/node-files.ts';
import { formatProblem, type Problem } from '../config/problem.ts';
import { secretValues } from '../config/secret.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The parts of a config file that a command for people uses. */
export interface PlaceConfig extends ConfigHandles {
  /** Absent: the file has a mistake, and only the other members could be read. */
  readonly config?: CompiledConfig;
  /** The mistake and its consequences, for people. */
  readonly fault?: string;
}

/** Loads a config as far as it is usable without secrets. @throws an Error with a `cure`: `config-refused` */
export function readConfig(file: string, env: Env): CompiledConfig {
  const result = loadWithoutSecrets(file, nodeSurroundings(env));
  if (result.kind === 'usable') return result.config;
  throw refusal(file, result.problems);
}

/**
 * Like readConfig, for holding daemons back, which a mistake must not prevent: returns what is readable.
 * @throws an Error with a `cure`: `config-refused`, if not even the place of Redis could be read
 */
export function readPlaceConfig(file: string, env: Env, needsRedis: boolean): PlaceConfig {
  const surroundings = nodeSurroundings(env);
  const result = loadWithoutSecrets(file, surroundings);
  if (result.kind === 'usable') {
    const { config } = result;
    const accountIds = config.accounts.map(({ id }) => id);
    const isWithoutRedis = config.redis === undefined;
    return { ...config, isWithoutRedis, accountIds, secrets: secretValues(config), config };
  }
  const handles = loadHandles(file, surroundings);
  const lacksRedis = handles?.redis === undefined && handles?.isWithoutRedis !== true;
  if (handles === undefined || (needsRedis && lacksRedis)) throw refusal(file, result.problems);
  return { ...handles, fault: faultWords(handles, firstError(file, result.problems)) };
}

/** Like readPlaceConfig, for a daemon named by its URL: without a readable file only its tokens are missing. */
export function readForUrl(file: string | undefined, env: Env): PlaceConfig {
  if (file === undefined) return NO_FILE;
  try {
    return readPlaceConfig(file, env, false);
  } catch (error) {
    return { ...NO_FILE, fault: `${(error as Error).message}.` };
  }
}

const NO_FILE: PlaceConfig = { isWithoutRedis: false, accountIds: [], secrets: [] };

function faultWords({ operators }: ConfigHandles, problem: string): string {
  const key = operators === undefined ? ', not even operators.key' : '';
  const end = problem.endsWith('?') ? '' : '.';
  return `${problem}${end} Of this file only what says how daemons are reached is used${key}; a running daemon goes on with the one before.`;
}

function firstError(file: string, problems: readonly Problem[]): string {
  const first = problems.find(({ severity }) => severity === 'error');
  return first === undefined ? `${file} cannot be used` : formatProblem(first);
}

function refusal(file: string, problems: readonly Problem[]): Error {
  return problem(
    'config-refused',
    firstError(file, problems),
    `Name another with --config, a daemon with --url (status, and what changes something), or only Redis with --redis (what looks); all that is wrong: breakwater check ${file}`,
  );
}

export function problem(code: string, message: string, cure: string): Error {
  return Object.assign(new Error(message), { code, cure });
}
