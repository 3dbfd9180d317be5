import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8');

test('every defence names a test, and every named test exists', () => {
  const page = read('docs/security.md');
  const named = [...page.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
  expect(new Set(named).size).toBeGreaterThan(20);
  expect(named.filter((file) => !file.endsWith('.test.ts') || !existsSync(new URL(file, ROOT)))).toEqual([]);
  // Tables of attacks need tests; the table of figures measured under attack has none.
  const tables = page.match(/^\| Attack.*\n(?:\|.*\n)+/gm) ?? [];
  const rows = tables.flatMap((table) => table.split('\n').filter((line) => /^\| (?!Attack)/.test(line)));
  expect(rows.length).toBeGreaterThan(20);
  expect(rows.filter((row) => !/`test\/[^`]+\.test\.ts` \|$/.test(row))).toEqual([]);
});

test('every attack that was carried out names a test by its title', () => {
  const [, part = ''] = read('docs/security.md').split('## Attacks that were carried out');
  const rows = [...part.matchAll(/^\| .* \| "(.+)" \| `(test\/[^`]+)` \|$/gm)];
  expect(rows.length).toBeGreaterThan(20);
  const missing = rows.filter(([, title = '', file = '']) => !read(file).includes(title));
  expect(missing.map(([row]) => row)).toEqual([]);
});

test('every part says what is left, and the reporting guide and the page link to each other', () => {
  const parts = read('docs/security.md').split('\n## ').slice(1);
  expect(parts).toHaveLength(9);
  for (const part of parts) expect(part).toContain('\nLeft: ');
  expect(read('docs/security.md')).toContain('(../SECURITY.md)');
  expect(read('SECURITY.md')).toContain('(docs/security.md)');
});

test('docs/dependencies.md names exactly the dependencies of package.json', () => {
  const manifest = JSON.parse(read('package.json')) as Record<string, Readonly<Record<string, string>>>;
  const kinds = ['dependencies', 'optionalDependencies', 'devDependencies'];
  const wanted = kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {}));
  const rows = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)` \|(.*)\|$/gm)];
  expect(rows.map(([, name = '']) => name).sort()).toEqual(wanted.sort());
  // Purpose, maintainer, alternative, permissions, plan if it is abandoned.
  for (const [, name, cells = ''] of rows) {
    expect([name, cells.split('|').filter((cell) => cell.trim() !== '').length]).toEqual([name, 5]);
  }
});
