import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Figure } from './figures.ts';
import { isNode, type Node, visit } from './syntax.ts';

/** By file below the root: the files that it imports, also by types only and by `import()`. */
export type Imports = ReadonlyMap<string, ReadonlySet<string>>;

const MEASURED = ['src', 'workers', 'test'] as const;

/** Lines and files of each room: the folders of src and of src/core, the files beside them, workers and test. */
export function measureLines(root: string): readonly Figure[] {
  const rooms = new Map<string, { lines: number; files: number }>();
  const add = (room: string, lines: number): void => {
    const known = rooms.get(room) ?? { lines: 0, files: 0 };
    rooms.set(room, { lines: known.lines + lines, files: known.files + 1 });
  };
  for (const folder of MEASURED) {
    for (const file of filesOf(root, folder)) {
      const lines = readFileSync(path.join(root, file), 'utf8').split('\n').length - 1;
      if (folder !== 'test') add('src and workers', lines);
      add(roomOf(file), lines);
    }
  }
  return [...rooms].flatMap(([room, { lines, files }]): Figure[] => [
    { part: 'lines', what: room, value: lines, unit: 'lines' },
    { part: 'lines', what: `${room}, files`, value: files, unit: 'files' },
  ]);
}

function roomOf(file: string): string {
  const [top = '', layer = '', room = '', deeper] = file.split('/');
  if (top !== 'src') return top;
  if (room === '') return 'src, beside its rooms';
  return layer === 'core' && deeper !== undefined ? `src/core/${room}` : `src/${layer}`;
}

/** Two-way pairs of the rooms of the core, and circles of imports between files, with their members. */
export function measureRooms(root: string): readonly Figure[] {
  const imports = importsOf(root, ['src', 'workers']);
  const pairs = twoWayPairs(imports, 'src/core');
  const circles = circlesOf(imports);
  return [
    { part: 'rooms', what: 'two-way pairs of rooms in src/core', value: pairs.length },
    { part: 'rooms', what: 'the pairs', value: pairs.join(' ') },
    { part: 'rooms', what: 'circles of imports between files', value: circles.length },
    { part: 'rooms', what: 'the circles', value: circles.map((files) => files.join('+')).join(' ') },
  ];
}

/** Files below a folder in the order of their names, as `folder/file`. */
function filesOf(root: string, folder: string): readonly string[] {
  const found = readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .sort();
}

export function importsOf(root: string, folders: readonly string[]): Imports {
  const files = folders.flatMap((folder) => filesOf(root, folder)).filter((file) => /\.[tj]s$/.test(file));
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const imported = new Set<string>();
      visit(readFileSync(path.join(root, file), 'utf8'), (node) => {
        const name = importedBy(node);
        if (name?.startsWith('.') !== true) return;
        const other = path.posix.join(path.posix.dirname(file), name);
        if (known.has(other)) imported.add(other);
      });
      return [file, imported];
    }),
  );
}

const IMPORTING = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
]);

function importedBy(node: Node): string | undefined {
  if (!IMPORTING.has(node.type)) return undefined;
  const source = node['source'] ?? node['argument'];
  return isNode(source) && typeof source['value'] === 'string' ? source['value'] : undefined;
}

/** Pairs of a folder's rooms that import each other, as `one+other`. */
export function twoWayPairs(imports: Imports, folder: string): readonly string[] {
  const inside = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;
  const ways = new Set<string>();
  for (const [file, others] of imports) {
    const [from, to] = [inside(file), [...others].map(inside)];
    for (const room of to) if (from !== undefined && room !== undefined) ways.add(`${from}+${room}`);
  }
  return [...ways]
    .filter((way) => {
      const [from = '', to = ''] = way.split('+');
      return from < to && ways.has(`${to}+${from}`);
    })
    .sort();
}

/** Sets of files that reach each other, each in the order of their names (Tarjan). */
export function circlesOf(imports: Imports): readonly (readonly string[])[] {
  const circles: string[][] = [];
  const places = new Map<string, { readonly index: number; low: number }>();
  const open: string[] = [];
  const reach = (file: string): { readonly index: number; low: number } => {
    const place = { index: places.size, low: places.size };
    places.set(file, place);
    open.push(file);
    for (const other of imports.get(file) ?? []) {
      const known = places.get(other);
      if (known === undefined) place.low = Math.min(place.low, reach(other).low);
      else if (open.includes(other)) place.low = Math.min(place.low, known.index);
    }
    if (place.low === place.index) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return place;
  };
  for (const file of imports.keys()) if (!places.has(file)) reach(file);
  return circles.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
