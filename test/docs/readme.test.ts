import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { ENDPOINTS } from '../../src/exchange/endpoints.ts';
import { runCommandLine } from '../support/cli.ts';

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');

describe('the README', () => {
  test('names every endpoint by its path', () => {
    for (const { path } of Object.values(ENDPOINTS)) {
      expect(readme).toContain(`\`${path.replace('/api/v4/', '')}\``);
    }
  });

  test('lists the existing commands, and every exit code', async () => {
    const help = (await runCommandLine(['--help'])).stdout;
    const rows = [...readme.matchAll(/^\| `breakwater (\w+`(?:, `\w+`)*) \|/gm)];
    const shown = rows.flatMap(([, names = '']) => names.match(/\w+/g) ?? []);
    const commands = [...help.matchAll(/^ {2}([a-z]+)\b[^\n]* {2,}\S/gm)].map(([, name = '']) => name);
    expect(shown.toSorted()).toEqual(commands.filter((name) => name !== 'help').toSorted());
    for (const code of Object.values(EXIT))
      expect(readme).toMatch(new RegExp(`^\\|[ 0-9,]*\\b${code}\\b`, 'm'));
  });

  test('shows a valid config', async () => {
    const [, config = ''] = /```yaml\n([\s\S]*?)```/.exec(readme) ?? [];
    const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-readme-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const secret = path.join(folder, 'secret');
    writeFileSync(secret, 'https://hooks.example/T0/B0', { mode: 0o600 });
    const file = path.join(folder, 'breakwater.yaml');
    writeFileSync(file, config.replaceAll(/\/run\/secrets\/[\w-]+/g, secret));
    const env = { REDIS_URL: 'redis://127.0.0.1:6379', DESK1_API_KEY: 'key' };
    const { exitCode, stdout, stderr } = await runCommandLine(['check', file, '--json'], { env });
    expect({ exitCode, stderr, ...JSON.parse(stdout) }).toMatchObject({ exitCode: EXIT.ok, problems: [] });
  });

  test('links only to existing files', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.filter((link) => !existsSync(new URL(link, root)))).toEqual([]);
  });
});
