import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CORE_ROOMS } from '../../oxlint.layers.ts';

/**
 * Tests the layers of the design with planted violations: a copy of the project's lint configuration runs on files that
 * break the rule in every way an import can be written, and on files that keep it.
 */

const ROOT = path.resolve(import.meta.dirname, '../..');
const LAYERS = [
  'core',
  'exchange',
  'state',
  'owner',
  'queues',
  'notify',
  'telemetry',
  'config',
  'pipeline',
  'simulator',
  'replay',
  'world',
  'web',
  'replay',
  'redis-server',
  'demo',
  'doctor',
  'cli',
  'package',
] as const;
type Layer = (typeof LAYERS)[number];

/** Layers that a layer may import besides itself, by design section 6. */
const MAY_IMPORT: Readonly<Record<Layer, readonly string[]>> = {
  core: [],
  exchange: ['core/quantities/decimal.ts', 'core/ports/clock.ts'],
  state: ['core/quantities/decimal.ts', 'core/ports/clock.ts', 'exchange/system-clock.ts'],
  owner: ['core/quantities/decimal.ts', 'state/thing.ts'],
  queues: ['core/quantities/decimal.ts', 'exchange/system-clock.ts'],
  notify: ['core/quantities/decimal.ts'],
  telemetry: ['core/quantities/decimal.ts'],
  config: ['core/quantities/decimal.ts'],
  pipeline: ['core/quantities/decimal.ts', 'core/ports/clock.ts'],
  simulator: ['core/quantities/decimal.ts', 'core/ports/clock.ts'],
  world: [
    'core/quantities/decimal.ts',
    'simulator/thing.ts',
    'exchange/thing.ts',
    'pipeline/thing.ts',
    'queues/schedules.ts',
    'state/thing.ts',
    'config/thing.ts',
    'app/configured-accounts.ts',
    'app/pipeline.ts',
  ],
  web: ['core/quantities/decimal.ts', 'exchange/system-clock.ts', 'app.ts'],
  replay: ['core/quantities/decimal.ts', 'simulator/thing.ts', 'world/thing.ts', 'config/thing.ts'],
  'redis-server': [],
  demo: [
    'core/quantities/decimal.ts',
    'simulator/thing.ts',
    'redis-server/thing.ts',
    'app/thing.ts',
    'cli/io.ts',
  ],
  doctor: [
    'core/quantities/decimal.ts',
    'config/thing.ts',
    'exchange/thing.ts',
    'state/thing.ts',
    'queues/thing.ts',
    'app/thing.ts',
  ],
  cli: ['core/quantities/decimal.ts', 'exchange/system-clock.ts', 'app.ts', 'demo/thing.ts'],
  package: [
    'core/quantities/decimal.ts',
    'exchange/thing.ts',
    'simulator/thing.ts',
    'state/thing.ts',
    'app/read-version.ts',
  ],
};

const MESSAGE: Readonly<Record<Layer, string>> = {
  core: 'src/core is pure: it imports nothing but itself',
  exchange: 'src/exchange may import src/core and itself, no other layer',
  state: 'src/state may import src/core and itself, no other layer',
  owner: 'src/owner keeps the state of one process',
  queues: 'src/queues may import src/core and itself, no other layer',
  notify: 'src/notify may import src/core and itself, no other layer',
  telemetry: 'src/telemetry may import src/core and itself, no other layer',
  config: 'src/config may import src/core and itself, no other layer',
  pipeline: 'src/pipeline works on the core and the ports it is handed',
  simulator: 'src/simulator may import src/core/quantities/decimal.ts and the port of the clock only',
  world: 'src/world composes the daemon with the simulated exchange in virtual time',
  web: 'it reaches other layers through src/app.ts only',
  replay: 'src/replay runs worlds and reports on them',
  'redis-server': 'src/redis-server starts a Redis server of its own',
  demo: 'src/demo runs the daemon of src/app against src/simulator',
  doctor: 'src/doctor tries the parts that it names',
  cli: 'src/cli runs things through src/app.ts',
  package: 'src/package offers the client and the simulated exchange to other programs',
};

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
  readonly message: string;
  readonly help?: string;
}

/** A file below src/ and its text; every plant is a separate file. */
type Plants = Map<string, string>;

const refused: Plants = new Map();
const accepted: Plants = new Map();
const messageOf = new Map<string, string>();
let found = new Map<string, Diagnostic[]>();
let folder = '';

function plant(
  into: Plants,
  layer: Layer,
  depth: number,
  name: string,
  text: string,
  message = MESSAGE[layer],
): string {
  const file = `${layer}/${['one', 'two', 'three']
    .slice(0, depth)
    .map((part) => `${part}/`)
    .join('')}${name}.ts`;
  into.set(file, text);
  messageOf.set(file, message);
  return file;
}

function climb(depth: number): string {
  return '../'.repeat(depth + 1);
}

for (const layer of LAYERS) {
  for (const depth of [0, 1, 2, 3]) {
    const others = [...LAYERS, 'app.ts', '../workers'].filter((other) => other !== layer);
    for (const other of others) {
      const target = other.endsWith('.ts') ? other : `${other}/thing.ts`;
      const allowed = MAY_IMPORT[layer].some((name) => name === other || name.startsWith(`${other}/`));
      if (allowed) continue;
      const name = `from-${other.replaceAll(/\W/g, '-')}`;
      plant(
        refused,
        layer,
        depth,
        name,
        `import { thing } from '${climb(depth)}${target}';\nexport const own = thing;\n`,
      );
    }
    MAY_IMPORT[layer].forEach((target, index) => {
      const text = `import { thing } from '${climb(depth)}${target}';\nexport const own = thing;\n`;
      plant(accepted, layer, depth, `may-${index}`, text);
    });
    const own = depth === 0 ? './thing.ts' : `${'../'.repeat(depth)}thing.ts`;
    plant(accepted, layer, depth, 'own', `import { thing } from '${own}';\nexport const own = thing;\n`);
  }

  // Every way to write an import, of one forbidden neighbour.
  const target = `../${layer === 'notify' ? 'state' : 'notify'}/thing.ts`;
  const spellings: Record<string, string> = {
    type: `import type { Thing } from '${target}';\nexport type Own = Thing;\n`,
    reexport: `export { thing } from '${target}';\n`,
    reexportAll: `export * from '${target}';\n`,
    sideEffect: `import '${target}';\n`,
    dynamic: `export const own = await import('${target}');\n`,
    detour: `export { thing } from './one/../../${target.slice(3)}';\n`,
    detourThroughOwn: `export { thing } from '../${layer}/${target}';\n`,
    absolute: `export { thing } from '/src/notify/thing.ts';\n`,
  };
  for (const [name, text] of Object.entries(spellings)) plant(refused, layer, 0, name, text);
  plant(
    refused,
    layer,
    0,
    'require',
    `export const own: unknown = require('${target}');\n`,
    'no-require-imports',
  );
  plant(
    refused,
    layer,
    0,
    'importRequire',
    `import own = require('${target}');\nexport { own };\n`,
    'no-require-imports',
  );
  plant(
    refused,
    layer,
    0,
    'createRequire',
    `import { createRequire } from 'node:module';\nexport { createRequire };\n`,
  );
  plant(
    refused,
    layer,
    0,
    'computed',
    'export const load = (name: string): Promise<unknown> => import(name);\n',
    'no-dynamic-require',
  );
}

for (const other of ['exchange', 'core/ports']) {
  plant(
    refused,
    'simulator',
    1,
    `core-${other.replace('/', '-')}`,
    `export { thing } from '../../${other}/exchange.ts';\n`,
  );
}
plant(
  refused,
  'simulator',
  0,
  'decimalLookalike',
  "export { thing } from '../core/quantities/decimal.ts.ts';\n",
);
plant(
  refused,
  'core',
  0,
  'nodeModule',
  "import { readFileSync } from 'node:fs';\nexport { readFileSync };\n",
);
plant(refused, 'core', 0, 'bareNodeModule', "import { readFileSync } from 'fs';\nexport { readFileSync };\n");
plant(refused, 'core', 0, 'npmPackage', "export { Pool } from 'undici';\n");
plant(accepted, 'core', 0, 'schema', "export { z } from 'zod';\n");
plant(refused, 'core', 0, 'decimalLibraryElsewhere', "export { Big } from 'big.js';\n");
for (const use of [
  'Math.random()',
  'Date.now()',
  'new Date()',
  'process.pid',
  'globalThis.process',
  'performance.now()',
]) {
  const name = `impure-${use.replaceAll(/\W/g, '')}${use.startsWith('new') ? '2' : ''}`;
  const rule =
    use === 'Math.random()' ? 'no-restricted-properties' : 'src/core is a pure function of its arguments';
  plant(refused, 'core', 0, name, `export const own: unknown = ${use};\n`, rule);
}
plant(
  refused,
  'core',
  0,
  'impure-destructured',
  'const { random } = Math;\nexport { random };\n',
  'no-restricted-properties',
);
plant(refused, 'core', 0, 'impure-timer', 'setTimeout(() => undefined, 1);\n', 'src/core is a pure function');
plant(
  accepted,
  'exchange',
  0,
  'packages',
  "import { readFileSync } from 'node:fs';\nexport { z } from 'zod';\nexport { readFileSync };\n",
);
plant(accepted, 'cli', 0, 'lazyApp', "export const load = (): Promise<unknown> => import('../app.ts');\n");
accepted.set('core/quantities/decimal.ts', "export { Big } from 'big.js';\nexport const thing = 1;\n");

/** Pairs of files that import each other, by name; only together they form a cycle. */
const circles = {
  values: [
    "import { two } from './TWO.ts';\nexport const one: number = two;\n",
    "import { one } from './ONE.ts';\nexport const two: number = one;\n",
  ],
  types: [
    "import type { Two } from './TWO.ts';\nexport type One = Two[];\n",
    "import type { One } from './ONE.ts';\nexport type Two = One[];\n",
  ],
} as const;
const planted: Plants = new Map([...refused, ...accepted]);
for (const [name, [first, second]] of Object.entries(circles)) {
  const named = (text: string): string => text.replace('TWO', `${name}-two`).replace('ONE', `${name}-one`);
  planted.set(`state/${name}-one.ts`, named(first));
  planted.set(`state/${name}-two.ts`, named(second));
}

/** Imports of a room's inner files, and allowed imports. */
const looks = {
  deep: "import { note } from '../core/lanes/lane-note.ts';\nexport const own: unknown = note;\n",
  deepType: "import type { Turn } from '../core/lanes/lane-turn.ts';\nexport type Own = Turn;\n",
  deepReexport: "export { resolveDoubt } from '../core/lanes/lane-doubt.ts';\n",
  unknownRoom: "export { thing } from '../core/attic/thing.ts';\n",
  rootOfTheCore: "export { thing } from '../core/thing.ts';\n",
} as const;
for (const [name, text] of Object.entries(looks)) {
  for (const folder of ['pipeline', 'app', 'demo']) planted.set(`${folder}/${name}.ts`, text);
}
planted.set('composition.ts', "export { note } from './core/lanes/lane-note.ts';\n");
planted.set('core/view/neighbour.ts', "export { note } from '../lanes/lane-note.ts';\n");
planted.set('core/view/shown.ts', "export { advance } from '../lanes/lane.ts';\n");
planted.set('app/shown.ts', "export { advance } from '../core/lanes/lane.ts';\n");

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'breakwater-lint-'));
  for (const file of ['oxlint.config.ts', 'oxlint.layers.ts', 'tsconfig.json', 'package.json']) {
    cpSync(path.join(ROOT, file), path.join(folder, file));
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  for (const [file, text] of planted) {
    const full = path.join(folder, 'src', file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, text);
  }
  found = await lint();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function lint(): Promise<Map<string, Diagnostic[]>> {
  const program = path.join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
  // The exit code is not zero because of the violations; the output is in the error.
  const run = promisify(execFile)(process.execPath, [program, '-f', 'json', 'src'], options);
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  return Map.groupBy(diagnostics, ({ filename }) => path.relative('src', filename));
}

/** The rules about layers and purity; other rules may also report the planted files. */
function verdicts(file: string): string[] {
  const rules = /no-restricted|no-require-imports|no-dynamic-require|no-cycle/;
  return (found.get(file) ?? [])
    .filter(({ code }) => rules.test(code))
    .map(({ code, message, help }) => `${code}: ${message} ${help ?? ''}`);
}

describe('an import across layers', () => {
  it.each(LAYERS)('is refused with its reason, in every form: %s', (layer) => {
    const planted = [...refused.keys()].filter((file) => file.startsWith(`${layer}/`));
    expect(planted.length).toBeGreaterThan(30);
    const slipped = planted.filter(
      (file) =>
        !verdicts(file)
          .join('\n')
          .includes(messageOf.get(file) ?? 'a message'),
    );
    expect(slipped).toEqual([]);
  });

  it.each(LAYERS)('is accepted where the design allows it: %s', (layer) => {
    const planted = [...accepted.keys()].filter((file) => file.startsWith(`${layer}/`));
    expect(planted.length).toBeGreaterThanOrEqual(4);
    expect(planted.flatMap((file) => verdicts(file).map((verdict) => `${file}: ${verdict}`))).toEqual([]);
  });
});

describe('an import cycle', () => {
  it.each(Object.keys(circles))('is refused, made of %s', (name) => {
    expect(verdicts(`state/${name}-one.ts`).join()).toMatch(/no-cycle/);
    expect(verdicts(`state/${name}-two.ts`).join()).toMatch(/no-cycle/);
  });
});

describe('a room of the core', () => {
  it.each(Object.keys(looks))('may be imported only by the files that it shows: %s', (name) => {
    for (const folder of ['pipeline', 'app', 'demo']) {
      expect(verdicts(`${folder}/${name}.ts`).join()).toMatch(/src\/core(\/lanes shows| has no such room)/);
    }
  });

  it('may be imported so by neighbours and the composition root too', () => {
    expect(verdicts('composition.ts').join()).toMatch(/src\/core\/lanes shows/);
    expect(verdicts('core/view/neighbour.ts').join()).toMatch(/src\/core\/lanes shows/);
    expect(verdicts('core/view/shown.ts')).toEqual([]);
    expect(verdicts('app/shown.ts')).toEqual([]);
  });

  it('shows only files that exist and are imported from outside', () => {
    const idle = Object.entries(CORE_ROOMS).flatMap(([room, shown]) =>
      shown === 'all' ? [] : shown.map((name) => `${room}/${name}.ts`).filter((file) => !isUsedOutside(file)),
    );
    expect(idle).toEqual([]);
  });

  it('has at most twenty files', () => {
    for (const room of Object.keys(CORE_ROOMS)) {
      expect(readdirSync(path.join(ROOT, 'src/core', room)).length).toBeLessThanOrEqual(20);
    }
  });
});

/** Whether a file of `src/core`, named as `room/file.ts`, exists and is imported by a file outside its room. */
function isUsedOutside(file: string): boolean {
  const [room = ''] = file.split('/');
  const importing = new RegExp(`from '[./]*(?:src/)?(?:core/)?${file.replaceAll('.', '\\.')}'`);
  return (
    existsSync(path.join(ROOT, 'src/core', file)) &&
    sources().some((source) => !source.startsWith(`core/${room}/`) && importing.test(textOf(source)))
  );
}

function sources(): string[] {
  return readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
}

function textOf(file: string): string {
  return readFileSync(path.join(ROOT, 'src', file), 'utf8');
}

describe('the sources', () => {
  const files = sources();

  it('lie in a known layer, at a depth that the rules cover', () => {
    const strays = files.filter((file) => {
      const parts = file.split(path.sep);
      const isRoot = file === 'app.ts' || parts[0] === 'app';
      return !isRoot && (!LAYERS.includes(parts[0] as Layer) || parts.length > 5);
    });
    expect(strays).toEqual([]);
  });

  it('never disable the layer rules', () => {
    const disabling =
      /(?:oxlint|eslint)-disable(?:-next-line|-line)?(?:\s*(?:\*\/|--|$)|.*\b(?:no-restricted-|no-require-imports|no-dynamic-require))/m;
    const offenders = files.filter((file) => disabling.test(textOf(file)));
    expect(offenders).toEqual([]);
  });

  it('have no exported type name twice', () => {
    const homes = Map.groupBy(
      files.flatMap((file) =>
        [...textOf(file).matchAll(/^export (?:declare )?(?:abstract )?(?:class|interface|type) (\w+)/gm)].map(
          ([, name = '']) => ({ name, file }),
        ),
      ),
      ({ name }) => name,
    );
    const doubled = [...homes.values()].filter((found) => found.length > 1);
    expect(doubled.map((found) => found.map(({ name, file }) => `${name}: ${file}`))).toEqual([]);
  });

  it('have no file of more than four hundred lines, of any kind', () => {
    const all = readdirSync(path.join(ROOT, 'src'), {
      recursive: true,
      encoding: 'utf8',
      withFileTypes: true,
    });
    const long = all
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.join(parentPath, name))
      .filter((file) => readFileSync(file, 'utf8').split('\n').length > 401);
    expect(long).toEqual([]);
  });
});
