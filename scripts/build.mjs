import { chmodSync, copyFileSync, cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { bundle } from './lib/bundle.mjs';
import { copyDeclarations } from './lib/declarations.mjs';
import { licencesOf } from './lib/licences.mjs';
import { sbomOf } from './lib/sbom.mjs';
import { runInstead } from './lib/spawn.mjs';

/**
 * `npm run build`: writes JavaScript to an emptied dist/ and makes the program executable. It does not check types:
 * `npm run check:types` does.
 */
const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(ROOT, 'dist');

rmSync(dist, { recursive: true, force: true });
const exitCode = await compile('tsconfig.types.json');
if (exitCode === 0) {
  const modules = await bundle(ROOT, dist);
  writeFileSync(path.join(dist, 'LICENSES.txt'), licencesOf(modules));
  // Type declarations only for the modules that others import.
  const types = path.join(dist, '.types');
  const entries = readdirSync(path.join(types, 'src', 'package')).map((name) => `src/package/${name}`);
  copyDeclarations(types, dist, entries);
  rmSync(types, { recursive: true });
  // Files that the program reads keep the same path relative to dist/src as to src.
  copyFileSync(path.join(ROOT, 'package.json'), path.join(dist, 'package.json'));
  cpSync(path.join(ROOT, 'config'), path.join(dist, 'config'), { recursive: true });
  // The page is served to browsers unchanged.
  cpSync(path.join(ROOT, 'src', 'web', 'page'), path.join(dist, 'src', 'web', 'page'), {
    recursive: true,
    filter: (file) => !/\.(ts|json)$/.test(file),
  });
  // The SBOM of the installed packages.
  writeFileSync(path.join(dist, 'sbom.cdx.json'), `${JSON.stringify(sbomOf(ROOT), undefined, 2)}\n`);
  chmodSync(path.join(dist, 'src', 'cli', 'main.js'), 0o755);
}
process.exitCode = exitCode;

/** @param {string} config */
function compile(config) {
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  return runInstead(process.execPath, [compiler, '-p', path.join(ROOT, config)]);
}
