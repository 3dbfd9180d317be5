import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Tests the check for unused code with plants: a small project under the project's own settings. */

const ROOT = path.resolve(import.meta.dirname, '../..');
const FILES = {
  'src/cli/main.ts': "import { used } from '../core/planted.ts';\nused();\n",
  'src/core/planted.ts': 'export function used(): void {}\nexport function onlyTested(): void {}\n',
  'src/core/only-tested.ts': 'export const lonely = 1;\n',
  'test/core/planted.test.ts':
    "import { lonely } from '../../src/core/only-tested.ts';\nimport { onlyTested } from '../../src/core/planted.ts';\nonlyTested();\nlonely.toFixed();\n",
};
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'breakwater-unused-'));
  for (const file of ['knip.jsonc', 'tsconfig.json', 'package.json']) {
    cpSync(path.join(ROOT, file), path.join(folder, file));
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  for (const [file, text] of Object.entries(FILES)) {
    const full = path.join(folder, file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, text);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reported unused names in `src`: exports, or files. */
async function unused(...mode: string[]): Promise<string> {
  const program = path.join(ROOT, 'node_modules/knip/bin/knip.js');
  const args = [program, '--include', 'files,exports', '--reporter', 'compact', ...mode];
  const run = promisify(execFile)(process.execPath, args, { cwd: folder });
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  return stdout;
}

describe('code that only tests use', () => {
  it('passes the check in its default mode', async () => {
    expect(await unused()).not.toMatch(/onlyTested|only-tested/);
  });

  it('fails it in production mode, both as an export and as a file', async () => {
    const report = await unused('--production');
    expect(report).toMatch(/planted\.ts: onlyTested/);
    expect(report).toMatch(/only-tested\.ts/);
    expect(report).not.toMatch(/\bused\b/);
  });
});
