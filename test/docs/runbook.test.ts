import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCommandLine } from '../support/cli.ts';

const NAMES = ['docs/runbook.md', 'docs/deployment.md'];
/** Further files whose command lines people copy. */
const MORE = [
  'README.md',
  'SECURITY.md',
  '.github/ISSUE_TEMPLATE/bug.yml',
  '.github/ISSUE_TEMPLATE/did-not-protect.yml',
];
const placeOf = (name: string): URL => new URL(`../../${name}`, import.meta.url);

/** Command lines, in blocks and within sentences; a line break in a sentence counts as a space. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.split('\n'));
  const prose = text.replaceAll(/```[\s\S]*?```/g, '').replaceAll('\n', ' ');
  const inline = [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...inline]
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => /^breakwater [a-z]/.test(line));
}

test.each([...NAMES, ...MORE])('every command in %s exists, with its options', async (name) => {
  const commands = commandsOf(readFileSync(placeOf(name), 'utf8'));
  expect(commands.length).toBeGreaterThan(1);
  for (const line of commands) {
    const words = line.split(/\s+/).slice(1);
    const names = ['audit', 'notify'].includes(words[0] ?? '') ? words.slice(0, 2) : words.slice(0, 1);
    const { stdout } = await runCommandLine([...names, '--help']);
    expect({ line, usage: stdout.split('\n')[0] }).toEqual({
      line,
      usage: expect.stringMatching(`breakwater ${names.join(' ')}(\\|[a-z]+)? `) as string,
    });
    for (const option of words.filter((word) => word.startsWith('-'))) {
      expect({ line, options: stdout.split(/[\s,]+/) }).toMatchObject({
        options: expect.arrayContaining([option]) as string[],
      });
    }
  }
});

test.each(NAMES)('%s links only to existing files', (name) => {
  const text = readFileSync(placeOf(name), 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)/g)].map(([, link = '']) => link);
  expect(links.filter((link) => link !== '' && !existsSync(new URL(link, placeOf(name))))).toEqual([]);
});
