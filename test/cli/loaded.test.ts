import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');
const HOOK = pathToFileURL(path.join(import.meta.dirname, 'fixtures/note-loaded.mjs')).href;

/** Source files that a command line loads, relative to `src`. */
function loadedBy(...args: readonly string[]): readonly string[] {
  const { stdout } = spawnSync(
    process.execPath,
    ['--import', HOOK, path.join(ROOT, 'src/cli/main.ts'), ...args],
    { encoding: 'utf8' },
  );
  const sources = `${pathToFileURL(path.join(ROOT, 'src')).href}/`;
  return stdout
    .split('\n')
    .filter((url) => url.startsWith(sources))
    .map((url) => url.slice(sources.length));
}

test('a daemon loads neither the simulator, the replay, the worlds nor any other command', () => {
  // The config is refused only after every part of the daemon was loaded.
  const loaded = loadedBy('run', '--config', path.join(import.meta.dirname, 'nowhere.yaml'));
  expect(loaded).toContain('app/daemon.ts');
  expect(loaded).toContain('cli/run-daemon.ts');
  const strange =
    /^(simulator|world|demo|doctor)\/|^replay\/(replay|run)|^app\/replay\/open|^cli\/(status|demo|init|replay|audit|operate)/;
  expect(loaded.filter((file) => strange.test(file))).toEqual([]);
});

test('a command line without a command loads all of them', () => {
  const loaded = loadedBy('--help');
  for (const file of ['cli/demo.ts', 'cli/run-daemon.ts', 'cli/status.ts']) expect(loaded).toContain(file);
  expect(loaded).not.toContain('app/daemon.ts');
});
