import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runBaseline } from './baseline.ts';
import type { Row } from './compare.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'breakwater-baseline-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(args: readonly string[], signal = new AbortController().signal) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const isTty = { stdin: false, stdout: false, stderr: false };
  const code = await runBaseline(args, { stdout, stderr, isTty, env: {}, signal });
  const [output, said] = [stdout, stderr].map((stream) => String(stream.read() ?? ''));
  return { code, output: output ?? '', said: said ?? '' };
}

function rowsOf(output: string): readonly Row[] {
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

test('stores figures, finds the same again, and names the first world that differs', async () => {
  const file = path.join(folder, 'figures.jsonl');
  const all = ['--file', file, '--seeds', '2'];
  const written = await run([
    '--write',
    ...all,
    '--worlds',
    '2',
    '--cases',
    '1',
    '--only',
    'rooms,walk,worlds,grid',
  ]);
  expect(written).toMatchObject({ code: 0, output: expect.stringMatching(/^PART +WHAT +NOW\n/) });

  const same = await run(['--compare', ...all, '--only', 'rooms,walk,grid', '--json']);
  expect(rowsOf(same.output).filter(({ verdict }) => verdict !== 'equal')).toEqual([]);
  const parts = new Set(rowsOf(same.output).map(({ part }) => part));
  expect([...parts]).toEqual(['rooms', 'walk', 'grid']);
  expect(same.code).toBe(0);

  const figures = readFileSync(file, 'utf8').replace(/("what":"random 2, audit","value":")\w+/, '$10123');
  writeFileSync(file, figures);
  const different = await run(['--compare', ...all, '--only', 'worlds', '--json']);
  expect(different.code).toBe(1);
  expect(rowsOf(different.output)).toMatchObject([
    { what: '2 random worlds, hashes of the ledger', now: '2 the same', verdict: 'equal' },
    {
      what: '2 random worlds, hashes of the audit',
      now: '1 different, the first random 2',
      verdict: 'worse',
    },
    { what: 'random 2, audit', before: '0123', verdict: 'worse' },
    { what: '1 contended world, hashes of the ledger', verdict: 'equal' },
    { what: '1 contended world, hashes of the audit', verdict: 'equal' },
  ]);
  expect(different.said).toContain('Not the same: 2 random worlds, hashes of the audit; random 2, audit');
  // Other parts are not lost when one is measured again.
  await run(['--write', ...all, '--only', 'rooms']);
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(figures.split('\n').length);
});

test('stores nothing after Ctrl-C', async () => {
  const file = path.join(folder, 'stopped.jsonl');
  const stopped = await run(['--write', '--only', 'rooms,walk', '--file', file], AbortSignal.abort());
  expect(stopped).toMatchObject({ code: 130, said: expect.stringContaining('Stopped early') });
  expect(() => readFileSync(file)).toThrow('ENOENT');
});

describe('ends with 2 and says why for', () => {
  const none = { part: 'worlds', what: 'random 1, ledger', value: 'a' };

  test.each<[string, readonly string[], string]>([
    ['neither of its two tasks', [], 'expected one of --write and --compare'],
    ['both of them', ['--write', '--compare'], 'expected one of --write and --compare'],
    ['an unknown part', ['--write', '--only', 'lines,rain'], '--only rain: expected some of lines, rooms,'],
    ['no number', ['--write', '--worlds', 'many'], '--worlds many: expected a whole number'],
    ['an unknown option', ['--compare', '--wurlds', '1'], "Unknown option '--wurlds'"],
    [
      'a file that is not there',
      ['--compare', '--file', 'nowhere.jsonl'],
      'There are no figures in nowhere.jsonl',
    ],
    ['a part without figures', ['--compare', '--file', '<one>', '--only', 'grid'], 'has no figures of grid'],
    [
      'more worlds than are stored',
      ['--compare', '--file', '<one>', '--only', 'worlds', '--worlds', '2'],
      '--worlds 2 cannot be compared: there are figures of 1',
    ],
    ['a file of something else', ['--compare', '--file', '<other>'], 'other.jsonl:1 is not a figure'],
  ])('%s', async (_what, args, words) => {
    writeFileSync(path.join(folder, 'one.jsonl'), `${JSON.stringify(none)}\n`);
    writeFileSync(path.join(folder, 'other.jsonl'), '{"part":"weather"}\n');
    const own = args.map((arg) =>
      arg.replace(/^<(\w+)>$/, (_all, name) => path.join(folder, `${name}.jsonl`)),
    );
    const { code, output, said } = await run(own);
    expect({ code, output }).toEqual({ code: 2, output: '' });
    expect(said).toContain(words);
  });
});

test('the help names every part and the exit codes', async () => {
  const { code, output } = await run(['--help']);
  expect(code).toBe(0);
  for (const words of ['lines ', 'rooms ', 'walk ', 'worlds ', 'grid ', 'bench ', '130 after Ctrl-C'])
    expect(output).toContain(words);
});
