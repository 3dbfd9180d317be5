import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { inTurn } from '../support/slice.ts';

/** Each test builds the whole project at least once. */
export const builds = inTurn(['image', 'release', 'package'], 3, 'things that are built');

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Inputs of the build, the package and a release. */
const SOURCES =
  'src workers scripts config docs package.json package-lock.json tsconfig.json tsconfig.types.json ' +
  'README.md CHANGELOG.md SECURITY.md LICENSE Dockerfile .dockerignore .gitignore .gitattributes';

/** Programs find this Node first, and npm neither contacts a registry nor leaves files behind. */
export function environment(folder: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`,
    npm_config_cache: path.join(folder, '.npm-cache'),
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
  };
}

/** A copy of the project without tests and history: building there disturbs nobody. */
export async function copyProject(target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  for (const name of SOURCES.split(' ')) {
    await cp(path.join(ROOT, name), path.join(target, name), { recursive: true });
  }
  await symlink(path.join(ROOT, 'node_modules'), path.join(target, 'node_modules'));
}

/** An external project with a packed Breakwater and only its declared dependencies. */
export async function installPacked(tarball: string, target: string): Promise<void> {
  const modules = path.join(target, 'node_modules');
  const own = path.join(modules, 'breakwater');
  await mkdir(path.join(modules, '.bin'), { recursive: true });
  await mkdir(own);
  await promisify(execFile)('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
  const manifest = JSON.parse(await readFile(path.join(own, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
    bin: Readonly<Record<string, string>>;
  };
  for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true });
    await symlink(path.join(ROOT, 'node_modules', name), path.join(modules, name));
  }
  for (const [name, file] of Object.entries(manifest.bin)) {
    await symlink(path.join('..', 'breakwater', file), path.join(modules, '.bin', name));
  }
  await writeFile(path.join(target, 'package.json'), '{ "name": "somebody", "type": "module" }\n');
}
