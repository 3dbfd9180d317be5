import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { benchFigures } from './bench.ts';
import { compareFigures } from './compare.ts';
import type { Figure, Part } from './figures.ts';
import { measureLines, measureRooms } from './rooms.ts';
import { measureWalk, walkOf } from './walk.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'breakwater-rooms-'));
  const files = {
    'src/app.ts': "import './core/one/a.ts';\n",
    'src/core/one/a.ts': "import type { B } from '../two/b.ts';\nexport type A = B;\n",
    'src/core/two/b.ts': "export * from './c.ts';\nexport type B = 1; // import './none.ts'\n",
    'src/core/two/c.ts': "export type C = import('../one/d.ts').D;\n",
    'src/core/one/d.ts': "export type D = 1;\nexport const d = () => import('../three/e.ts');\n",
    'src/core/three/e.ts': "export const e = 1;\nexport const f = () => import('../two/b.ts');\n",
    'src/core/two/g.ts': "export { e } from '../three/e.ts';\n",
    'workers/poll.ts': "import '../src/app.ts';\n",
    'test/poll.test.ts': '\n',
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
});
afterAll(() => rmSync(root, { recursive: true }));

test('counts pairs of rooms that import each other, by any kind of import, and circles of files', () => {
  expect(measureRooms(root).map(({ value }) => value)).toEqual([
    2,
    'one+two three+two',
    1,
    'src/core/one/d.ts+src/core/three/e.ts+src/core/two/b.ts+src/core/two/c.ts',
  ]);
});

test('counts lines and files of each room', () => {
  const counts = Object.fromEntries(measureLines(root).map(({ what, value }) => [what, value]));
  expect(counts).toEqual({
    'src and workers': 12,
    'src and workers, files': 8,
    'src, beside its rooms': 1,
    'src, beside its rooms, files': 1,
    'src/core/one': 4,
    'src/core/one, files': 2,
    'src/core/two': 4,
    'src/core/two, files': 3,
    'src/core/three': 2,
    'src/core/three, files': 1,
    workers: 1,
    'workers, files': 1,
    test: 1,
    'test, files': 1,
  });
});

test('a walk counts a function once, and a file again when the walk comes back to it', () => {
  const entered = ['tick.ts a', 'read.ts b', 'tick.ts c', 'tick.ts d', 'read.ts b', 'end.ts e', 'read.ts f'];
  const places = entered.map((words) => {
    const [file = '', name = ''] = words.split(' ');
    return { file, name };
  });
  expect(walkOf(places)).toEqual({ functions: 6, files: 3, returns: 2 });
});

test('a tick enters dozens of files, and more of them when a rule acts', async () => {
  const figures = await measureWalk(new AbortController().signal);
  const of = (what: string): number => Number(figures.find((figure) => figure.what === what)?.value);
  expect(of('a calm tick: files')).toBeGreaterThan(30);
  expect(of('a calm tick: functions')).toBeGreaterThan(of('a calm tick: files'));
  expect(of('a calm tick: returns to a file already left')).toBeGreaterThan(0);
  expect(of('a tick that decides to reduce: files')).toBeGreaterThan(of('a calm tick: files'));
});

test('a line of a bench becomes figures with their unit; targets and what is set do not', () => {
  const line =
    '{"figure":"memory: installed daemon, MB","accounts":3,"residentMb":115,"targetResidentMb":120}';
  expect(benchFigures('memory', line)).toEqual([
    { part: 'bench', what: 'memory: installed daemon, MB (3 accounts): residentMb', value: 115, unit: 'MB' },
  ]);
  const nested = '{"bench":"state","alone":{"redisUs":22,"nodeUs":60},"accountPolls":10000}';
  expect(benchFigures('state', nested).map(({ what, value, unit }) => [what, value, unit])).toEqual([
    ['state: alone.redisUs', 22, 'us'],
    ['state: alone.nodeUs', 60, 'us'],
  ]);
  const reaction =
    '{"figure":"reaction: breach to order, ms (limits overridden)","p50":4,"requests":3,"waves":4}';
  expect(benchFigures('reaction', reaction).map(({ what, unit }) => [what, unit])).toEqual([
    ['reaction: breach to order, ms: p50', 'ms'],
    ['reaction: breach to order, ms: requests', undefined],
  ]);
  expect(benchFigures('start', 'built in 3 s')).toEqual([]);
});

function verdicts(part: Part, before: Readonly<Record<string, Figure['value']>>, now: typeof before) {
  const of = (values: typeof before): readonly Figure[] =>
    Object.entries(values).map(([what, value]) => ({ part, what, value }));
  return Object.fromEntries(
    compareFigures(part, of(before), of(now)).map(({ what, verdict }) => [what, verdict]),
  );
}

test('an id that is lost or harmed anew is worse, even when others are not lost any more', () => {
  const grid = (cases: string, scenarios: string, controls: string) => ({
    'seed 1, cases': cases,
    'seed 1, scenarios': scenarios,
    'seed 1, controls': controls,
    'seed 1, unexpected errors': 0,
  });
  const before = grid('plupppp', 'lp', 'fh');
  expect(verdicts('grid', before, grid('lpupppp', 'pp', 'ff'))).toEqual({
    'seed 1: preventable cases': 'equal',
    'seed 1: prevented': 'equal',
    'seed 1: prevented, share': 'equal',
    'seed 1: lost': 'worse',
    'seed 1: accounts that needed nothing, harmed': 'better',
    'seed 1: unexpected errors': 'equal',
  });
  // Fewer cases are compared with the first of those that are stored.
  expect(verdicts('grid', before, grid('pp', 'l', 'f'))).toMatchObject({
    'seed 1: preventable cases': 'equal',
    'seed 1: prevented': 'better',
    'seed 1: lost': 'better',
    'seed 1: accounts that needed nothing, harmed': 'equal',
  });
});

test('a bench is noise within the tolerance; more per second is better, more of all else worse', () => {
  const before = {
    'a: ms': 100,
    'b: ms': 100,
    'c: pollsPerSecond': 100,
    'd: ms': 100,
    'e: ms': 0,
    'f: ms': 7,
  };
  const now = { 'a: ms': 119, 'b: ms': 130, 'c: pollsPerSecond': 130, 'd: ms': 70, 'e: ms': 1 };
  expect(verdicts('bench', before, now)).toEqual({
    'a: ms': 'noise',
    'b: ms': 'worse',
    'c: pollsPerSecond': 'better',
    'd: ms': 'better',
    'e: ms': 'noise',
    'f: ms': 'noise',
  });
});

test('rooms and pairs that are new or gone have a row; more tests are not worse', () => {
  expect(verdicts('lines', { 'src/a': 9, test: 5 }, { 'src/b': 8, test: 6 })).toEqual({
    'src/a': 'better',
    'src/b': 'worse',
    test: 'noise',
  });
  expect(
    verdicts('rooms', { pairs: 2, 'the pairs': 'a+b a+c' }, { pairs: 2, 'the pairs': 'a+c b+c' }),
  ).toEqual({
    pairs: 'equal',
    'pair b+c': 'worse',
    'pair a+b': 'better',
  });
});
