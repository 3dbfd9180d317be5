import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ENDPOINTS } from '../../src/exchange/endpoints.ts';
import { runCommandLine } from '../support/cli.ts';

const place = new URL('../../docs/operations.md', import.meta.url);
const text = readFileSync(place, 'utf8');

/** Lines of examples, without comments. */
function examples(): string[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  return blocks
    .flatMap((block) => block.split(/\n|; /))
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line.startsWith('breakwater '));
}

test('every option of every example belongs to its command', async () => {
  expect(examples().length).toBeGreaterThan(15);
  for (const line of examples()) {
    const words = line.split(/\s+/).slice(1);
    const names = words[0] === 'audit' ? words.slice(0, 2) : words.slice(0, 1);
    const { stdout } = await runCommandLine([...names, '--help']);
    for (const option of words.filter((word) => word.startsWith('-'))) {
      expect({ line, options: stdout.split(/[\s,]+/) }).toMatchObject({
        options: expect.arrayContaining([option]) as string[],
      });
    }
  }
});

test('names every endpoint that the daemon uses, and links only to existing files', () => {
  for (const id of [
    'lastPrices',
    'openPositions',
    'creditLines',
    'mainBalance',
    'transfers',
    'spotOrders',
    'stopLimit',
    'cancelAll',
  ] as const) {
    expect(text).toContain(`\`${ENDPOINTS[id].path}\``);
  }
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(3);
  expect(links.filter((link) => !existsSync(new URL(link, place)))).toEqual([]);
});
