import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { runInThisContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseAst } from 'vitest/node';
import { mutantsOf } from './operators.ts';
import { ROOMS, ROOT, sourceFiles, testFilesOf } from './rooms.ts';
import { allMutants, drawSample } from './sample.ts';
import { numbered, SWITCH_NAME, weave } from './weave.ts';

const TEXT = `import { other } from './other.ts';
type Size = 'small' | 'large';
export function isNear(distance: number, limit?: { readonly at: number }): boolean {
  if (distance < 0) return false;
  const bound = limit?.at ?? 5;
  other('words for people', distance);
  return distance < bound && bound !== 7;
}
`;

/** What a file does with some of its mutants on. */
function runWith(text: string, isOn: (number: number) => boolean): (distance: number) => boolean {
  const code = text
    .replace(/^const __isMutated = .*?; /, '')
    .replace(/import .*\n/, '')
    .replace(/type .*\n/, '')
    .replace(
      'export function isNear(distance: number, limit?: { readonly at: number }): boolean',
      'return (distance, limit) =>',
    );
  const load = runInThisContext(`(function (__isMutated, other) { ${code} })`) as (
    ...given: readonly unknown[]
  ) => (distance: number) => boolean;
  return load(isOn, () => undefined);
}

function resultOf(call: () => boolean): string {
  try {
    return call() ? 'near' : 'far';
  } catch {
    return 'throws';
  }
}

describe('mutants of a file', () => {
  const mutants = mutantsOf('src/x.ts', TEXT);
  const changes = mutants.map(({ from, to }) => `${from} -> ${to}`);

  test('are of what decides, and leave types, imports and words alone', () => {
    expect(changes).toContain('distance < bound -> distance <= bound');
    expect(changes).toContain('distance < bound && bound !== 7 -> (distance < bound) || (bound !== 7)');
    expect(changes).toContain('limit?.at ?? 5 -> 5');
    expect(changes).toContain('limit?.at -> limit.at');
    expect(changes).toContain('distance < 0 -> false');
    expect(changes).toContain("other('words for people', distance); -> null");
    expect(mutants.filter(({ from }) => /small|words for people'$|other\.ts/.test(from))).toEqual([]);
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
  });

  test('are one compilation, in which each is switched on by itself', () => {
    const woven = weave(TEXT, numbered(mutants));
    const distances = [-1, 0, 4, 5, 6];
    const results = [-1, ...mutants.keys()].map((on) => {
      const isNear = runWith(woven, (number) => number === on);
      return distances.map((distance) => resultOf(() => isNear(distance))).join(' ');
    });
    expect(results[0]).toBe('far near near far far');
    const boundary = changes.indexOf('distance < bound -> distance <= bound');
    expect(results[boundary + 1]).toBe('far near near near far');
    expect(new Set(results).size).toBeGreaterThan(4);
  });
});

test('all sources can be woven and belong to a room, and each room has mutants and tests', () => {
  const all = allMutants();
  expect([...sourceFiles().keys()].length).toBeGreaterThan(200);
  for (const [file, mutants] of Map.groupBy(all, (mutant) => mutant.file)) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    const woven = weave(text, numbered(mutants));
    expect(() => parseAst(woven, { lang: 'ts' })).not.toThrow();
  }
  for (const room of ROOMS) {
    expect(all.filter((mutant) => mutant.room === room).length).toBeGreaterThan(100);
    expect(testFilesOf(room).length).toBeGreaterThan(30);
  }
  const sample = drawSample(all, 600, 7);
  expect(sample.length).toBeGreaterThanOrEqual(600);
  expect(drawSample(all, 600, 7)).toEqual(sample);
  expect(drawSample(all, 600, 8)).not.toEqual(sample);
});

test('one of them is tried in a process of its own, is killed, and leaves nothing over', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'mutants-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const inGate = allMutants().filter(({ file }) => file === 'src/core/intents/gate.ts');
  const killed = inGate.find(({ from, to }) => from === "'paused'" && to === "''");
  const { stdout, status } = spawnSync(
    process.execPath,
    [
      'test/mutants/main.ts',
      '--json',
      '--only',
      'test/core/intents/gate.test.ts',
      '--mutant',
      killed?.id ?? '',
    ],
    { cwd: ROOT, encoding: 'utf8', timeout: 500_000, env: { ...process.env, TMPDIR: folder } },
  );
  const { mutants, broken } = JSON.parse(stdout) as {
    mutants: { id: string; killedBy: { file: string } | null }[];
    broken: string[];
  };
  expect(broken).toEqual([]);
  expect(mutants[0]).toMatchObject({ id: killed?.id, killedBy: { file: 'test/core/intents/gate.test.ts' } });
  expect(status).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
  expect(readFileSync(path.join(ROOT, 'src/core/intents/gate.ts'), 'utf8')).not.toContain(SWITCH_NAME);
});
