import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type ConfigChange, compareConfigs, isUnchanged } from '../config/compare-configs.ts';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { type LoadResult, loadConfig } from '../config/load-config.ts';
import { nodeSurroundings } from '../config/node-files.ts';
import { formatProblem, type Problem } from '../config/problem.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { examineConfig } from './examine-config.ts';

export interface ConfigWatchOptions {
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly needsKeys: boolean;
  readonly telemetry: Telemetry;
  /** Mark of the file, taken before it was read for the config in force. */
  readonly mark: string;
  /** Puts a new config into force. If it rejects, the config is not in force. */
  readonly adopt: (config: CompiledConfig, change: ConfigChange) => Promise<void>;
}

export type ReloadResult =
  | { readonly kind: 'adopted'; readonly change: ConfigChange }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

const STOPPING: ReloadResult = { kind: 'refused', problems: ['the daemon is stopping'] };

const STILL_LOOKS = 2;

/** The config in force. An unusable file never replaces it. */
export class ConfigWatch {
  readonly #options: ConfigWatchOptions;
  #config: CompiledConfig;
  #seen: string;
  /** The file at the last look, and how many looks have found it the same since. */
  #looked: string;
  #stillLooks = 0;
  #reloading: Promise<unknown> = Promise.resolve();
  readonly #over = new AbortController();

  constructor(options: ConfigWatchOptions, config: CompiledConfig) {
    this.#options = options;
    this.#config = config;
    this.#seen = options.mark;
    this.#looked = options.mark;
  }

  get config(): CompiledConfig {
    return this.#config;
  }

  /** Reads the file and its secrets again. Reloads run one at a time. */
  reload(): Promise<ReloadResult> {
    const result = this.#reloading.then(() => this.#reload());
    this.#reloading = result.catch(() => undefined);
    return result;
  }

  /** Prevents further reloads. Resolves when a reload under way has ended. */
  async close(): Promise<void> {
    this.#over.abort(new Error('the daemon is stopping'));
    await this.#reloading;
  }

  /**
   * Reloads if the file was replaced or written since the last reload, and has not changed for a few looks: an editor
   * or a copy may write it in parts, and its first part may be a valid config with fewer accounts.
   */
  async look(): Promise<void> {
    const mark = await markOf(this.#options.file);
    this.#stillLooks = mark === this.#looked ? this.#stillLooks + 1 : 0;
    this.#looked = mark;
    if (mark === this.#seen || this.#stillLooks < STILL_LOOKS) return;
    this.#seen = mark;
    if (mark !== 'absent') await this.reload();
  }

  async #reload(): Promise<ReloadResult> {
    const { file, env, needsKeys, telemetry, adopt } = this.#options;
    if (this.#over.signal.aborted) return STOPPING;
    // After a reload on request, the next look must not read the file once more.
    this.#seen = await markOf(file);
    const { signal } = this.#over;
    const loaded = await examineConfig(file, env, signal, needsKeys).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (loaded === undefined) return STOPPING;
    if (loaded.kind === 'refused') return this.#refuse(errorWords(loaded.problems));
    const change = compareConfigs(this.#config, loaded.config);
    const accounts = loaded.config.accounts.length;
    if (isUnchanged(change)) {
      telemetry.emit({ kind: 'configReloaded', accounts, result: 'unchanged', warnings: [], lost: [] });
      return { kind: 'unchanged' };
    }
    try {
      await adopt(loaded.config, change);
    } catch (error) {
      return this.#refuse([`the new config could not be put into force: ${(error as Error).message}`]);
    }
    this.#config = loaded.config;
    const warnings = [
      ...loaded.warnings.map(problemWords),
      ...change.needsRestart.map((section) => `a restart is needed for what changed in ${section}`),
    ];
    const lost = lostBy(change, loaded.config);
    telemetry.emit({ kind: 'configReloaded', accounts, result: 'changed', warnings, lost });
    return { kind: 'adopted', change };
  }

  #refuse(problems: readonly string[]): ReloadResult {
    this.#options.telemetry.emit({ kind: 'configRefused', problems });
    return { kind: 'refused', problems };
  }
}

/** Says what a change no longer watches, judges or does. */
function lostBy({ removed, changed }: ConfigChange, { accounts }: CompiledConfig): readonly string[] {
  const observing = new Set(
    accounts.filter(({ settings }) => settings.mode === 'observe').map(({ id }) => id),
  );
  return [
    ...removed.map((id) => `account ${id} is no longer watched`),
    ...changed.flatMap(({ accountId, rules, settings }) => [
      ...(rules.removed.length === 0 ? [] : [`account ${accountId} has lost ${rules.removed.join(', ')}`]),
      ...(settings.includes('mode') && observing.has(accountId)
        ? [`account ${accountId} is only observed now`]
        : []),
    ]),
  ];
}

/** Changes whenever the file is replaced or written. */
export async function markOf(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return [mtimeMs, size, ino].join(' ');
  } catch {
    return 'absent';
  }
}

/** Formats a problem as `check` formats an error, warnings included. */
export function problemWords(found: Problem): string {
  return formatProblem({ ...found, severity: 'error' });
}

function errorWords(problems: readonly Problem[]): readonly string[] {
  return problems.filter(({ severity }) => severity === 'error').map(problemWords);
}

/** A config file that cannot be used at start. */
export class ConfigUnusableError extends Error {
  readonly code = 'config-refused';
  readonly problems: readonly string[];
  readonly cure: string;
  constructor(problems: readonly string[], cure: string) {
    super(`the config cannot be used: ${problems.join('; ')}`);
    this.name = 'ConfigUnusableError';
    this.problems = problems;
    this.cure = cure;
  }
}

export function loadOrThrow(
  file: string,
  env: ConfigWatchOptions['env'],
  needsKeys = true,
): Extract<LoadResult, { kind: 'loaded' }> {
  const loaded = loadConfig(file, nodeSurroundings(env), needsKeys);
  if (loaded.kind === 'loaded') return loaded;
  const cure = existsSync(file)
    ? `See: breakwater check ${file}`
    : `Name another with --config, or make it: breakwater init --out ${file}`;
  throw new ConfigUnusableError(errorWords(loaded.problems), cure);
}
