import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import { loadWithoutSecrets } from '../config/load-config.ts';
import { nodeSurroundings } from '../config/node-files.ts';
import type { Problem } from '../config/problem.ts';
import { Secret } from '../config/secret.ts';
import type { AccountAccess } from '../simulator/accounts.ts';

/** A world's config cannot be used. */
export class WorldConfigError extends Error {
  readonly code = 'config-refused';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const errors = problems.filter(({ severity }) => severity === 'error');
    super(
      errors.map(({ place, path, message }) => `${place.file}:${place.line}: ${path}: ${message}`).join('\n'),
    );
    this.name = 'WorldConfigError';
    this.problems = problems;
  }
}

function withKeys(account: CompiledAccount, { apiKey, apiSecret }: AccountAccess): CompiledAccount {
  return { ...account, apiKey: new Secret(apiKey), apiSecret: new Secret(apiSecret) };
}

/** How a world reads configs: the file that relative paths start from, and the keys of its exchange. */
export interface WorldConfigs {
  readonly file: string;
  readonly accessOf: (accountId: string) => AccountAccess | undefined;
}

/** Compiles a config text with the keys of the world's exchange. @throws WorldConfigError */
export function loadWorldConfig(text: string, { file, accessOf }: WorldConfigs): CompiledConfig {
  const surroundings = nodeSurroundings({});
  const loaded = loadWithoutSecrets(file, {
    ...surroundings,
    readFile: (path) =>
      path === file
        ? { kind: 'read', text, worldReadable: false, othersMayWrite: false }
        : surroundings.readFile(path),
  });
  if (loaded.kind === 'refused') throw new WorldConfigError(loaded.problems);
  const { config } = loaded;
  return {
    ...config,
    accounts: config.accounts.map((account) => {
      const access = accessOf(account.id);
      return access === undefined ? account : withKeys(account, access);
    }),
  };
}
