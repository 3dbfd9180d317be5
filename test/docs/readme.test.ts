import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { simulatorVocabulary } from '../../src/app.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { ENDPOINTS } from '../../src/exchange/endpoints.ts';
import { runCommandLine } from '../support/cli.ts';

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');

describe('the README', () => {
  test('names every scenario, fault and reading of the simulated exchange', async () => {
    const words = Object.values(await simulatorVocabulary()).flatMap((entries) => Object.keys(entries));
    const missing = words
      .map((word) => word.split('=')[0] ?? word)
      .filter((word) => !readme.includes(`\`${word}\``));
    expect(missing).toEqual([]);
  });

  test('names every value of every reading', async () => {
    const { readings } = await simulatorVocabulary();
    for (const reading of Object.keys(readings).filter((text) => text.includes('|'))) {
      const [name = '', values = ''] = reading.split('=');
      const row = readme.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
      expect(row).toBe(
        `| \`${name}\` | ${values
          .split('|')
          .map((value) => `\`${value}\``)
          .join(', ')} |`,
      );
    }
  });

  test('names every endpoint by its path', () => {
    for (const { path } of Object.values(ENDPOINTS)) {
      expect(readme).toContain(`\`${path.replace('/api/v4/', '')}\``);
    }
  });

  test('lists the commands that there are, and every exit code', async () => {
    const help = (await runCommandLine(['--help'])).stdout;
    const shown = [...readme.matchAll(/^\| `breakwater (\w+)` \|/gm)].map((match) => match[1]);
    const commands = [...help.matchAll(/^ {2}(\w+)\b.* {2}/gm)].map((match) => match[1]);
    expect(commands).toEqual(expect.arrayContaining(shown));
    expect(shown.length).toBeGreaterThan(0);
    for (const code of Object.values(EXIT))
      expect(readme).toMatch(new RegExp(`^\\|[ 0-9,]*\\b${code}\\b`, 'm'));
  });

  test('links only to what is there', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.filter((link) => !existsSync(new URL(link, root)))).toEqual([]);
  });
});
