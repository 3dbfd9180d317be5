import { rm, writeFile } from 'node:fs/promises';
import { checkConfigFile } from '../../app.ts';
import { CliError } from '../errors.ts';
import type { CliIo } from '../io.ts';
import type { InitDecisions } from './decide.ts';
import { renderConfig } from './render-config.ts';
import type { SecretSource } from './secret-sources.ts';

/** Only the owner may read a secret. A config that others may write is refused once it enforces. */
const MODES = { secret: 0o600, config: 0o644 };

export type Written = Awaited<ReturnType<typeof writeDecided>>;

/** Writes new secrets and the config, or nothing. @throws CliError */
export async function writeDecided(io: CliIo, decisions: InitDecisions) {
  const { file } = decisions;
  const text = renderConfig(decisions);
  await requireUsable(io, file, text);
  const files = [
    ...newSecrets(decisions).map(({ path, value }) => ({ path, text: `${value}\n`, mode: MODES.secret })),
    { path: file, text, mode: MODES.config },
  ];
  const done: string[] = [];
  try {
    for (const { path, text, mode } of files) {
      // `wx`: a file that was created in between is not overwritten either.
      await writeFile(path, text, { flag: 'wx', mode });
      done.push(path);
    }
  } catch (error) {
    await Promise.all(done.map((path) => rm(path, { force: true })));
    const { path = file, code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CliError('file-unwritable', `cannot write ${path} (${code}); nothing was written.`, {
      cause: error,
      cure: 'Name another place with --out.',
    });
  }
  /** `check`: the report of `breakwater check` on the new config. */
  return { files: done, check: await checkConfigFile(file, io.env) };
}

/** A config made from answers can still be invalid, for example by the address of a channel. @throws CliError */
async function requireUsable(io: CliIo, file: string, text: string): Promise<void> {
  const { ok, problems } = await checkConfigFile(file, io.env, text);
  if (ok) return;
  const errors = problems.filter(({ severity }) => severity === 'error');
  const said = errors.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new CliError('config-refused', `the config would not be usable, so nothing was written: ${said}.`);
}

function newSecrets(decisions: InitDecisions): readonly { path: string; value: string }[] {
  const { apiKey, apiSecret, operatorsKey, controlToken, channel } = decisions;
  const ofChannel = (channel?.keys ?? []).flatMap(([, value]): readonly SecretSource[] =>
    typeof value === 'object' ? [value] : [],
  );
  return [apiKey, apiSecret, operatorsKey, controlToken, ...ofChannel].flatMap(({ newFile, value }) =>
    newFile === undefined ? [] : [{ path: newFile, value }],
  );
}
