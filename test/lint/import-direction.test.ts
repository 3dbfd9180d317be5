import { execFile } from 'node:child_process';
import {
  cpSync,
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

/**
 * The layers of the design, proven by planting: a copy of the project's lint configuration is run on
 * files that break the rule in every way an import can be written, and on files that keep it.
 */

const ROOT = path.resolve(import.meta.dirname, '../..');
const LAYERS = [
  'core',
  'exchange',
  'state',
  'queues',
  'notify',
  'telemetry',
  'config',
  'pipeline',
  'simulator',
  'replay',
  'world',
  'web',
  'cli',
] as const;
type Layer = (typeof LAYERS)[number];

/** What a layer may import besides itself, as design section 6 says. */
const MAY_IMPORT: Readonly<Record<Layer, readonly string[]>> = {
  core: [],
  exchange: ['core/decimal.ts', 'core/ports/clock.ts'],
  state: ['core/decimal.ts', 'core/ports/clock.ts'],
  queues: ['core/decimal.ts'],
  notify: ['core/decimal.ts'],
  telemetry: ['core/decimal.ts'],
  config: ['core/decimal.ts'],
  pipeline: ['core/decimal.ts', 'core/ports/clock.ts'],
  simulator: ['core/decimal.ts', 'core/ports/clock.ts'],
  replay: ['core/decimal.ts', 'config/load.ts', 'simulator/start.ts', 'world/open-world.ts'],
  world: [
    'core/decimal.ts',
    'core/ports/clock.ts',
    'simulator/start.ts',
    'exchange/client.ts',
    'pipeline/poll.ts',
    'queues/schedules.ts',
    'state/state.ts',
    'config/load.ts',
    'app/accounts.ts',
    'app/pipeline.ts',
  ],
  web: ['core/decimal.ts', 'app.ts'],
  cli: ['core/decimal.ts', 'app.ts'],
};

const MESSAGE: Readonly<Record<Layer, string>> = {
  core: 'src/core is pure: it imports nothing but itself',
  exchange: 'src/exchange may import src/core and itself, no other layer',
  state: 'src/state may import src/core and itself, no other layer',
  queues: 'src/queues may import src/core and itself, no other layer',
  notify: 'src/notify may import src/core and itself, no other layer',
  telemetry: 'src/telemetry may import src/core and itself, no other layer',
  config: 'src/config may import src/core and itself, no other layer',
  pipeline: 'src/pipeline works on the core and the ports it is handed',
  simulator: 'src/simulator may import src/core/decimal.ts and the port of the clock only',
  replay: 'src/replay plays worlds and tells what came of them',
  world: 'src/world composes the daemon with the simulated exchange in virtual time',
  web: 'it reaches other layers through src/app.ts only',
  cli: 'src/cli runs things through src/app.ts',
};

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
  readonly message: string;
  readonly help?: string;
}

/** A file below src/ and its text; every plant gets a file of its own. */
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

  // Every way to write it, to one neighbour that nobody may import.
  const target = `../${layer === 'queues' ? 'state' : 'queues'}/thing.ts`;
  const spellings: Record<string, string> = {
    type: `import type { Thing } from '${target}';\nexport type Own = Thing;\n`,
    reexport: `export { thing } from '${target}';\n`,
    reexportAll: `export * from '${target}';\n`,
    sideEffect: `import '${target}';\n`,
    dynamic: `export const own = await import('${target}');\n`,
    detour: `export { thing } from './one/../../${target.slice(3)}';\n`,
    detourThroughOwn: `export { thing } from '../${layer}/${target}';\n`,
    absolute: `export { thing } from '/src/queues/thing.ts';\n`,
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
plant(refused, 'simulator', 0, 'decimalLookalike', "export { thing } from '../core/decimal.ts.ts';\n");
plant(
  refused,
  'core',
  0,
  'nodeModule',
  "import { readFileSync } from 'node:fs';\nexport { readFileSync };\n",
);
plant(refused, 'core', 0, 'bareNodeModule', "import { readFileSync } from 'fs';\nexport { readFileSync };\n");
plant(refused, 'core', 0, 'npmPackage', "export { z } from 'zod';\n");
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
accepted.set('core/decimal.ts', "export { Big } from 'big.js';\nexport const thing = 1;\n");

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'breakwater-lint-'));
  for (const file of ['oxlint.config.ts', 'tsconfig.json', 'package.json']) {
    cpSync(path.join(ROOT, file), path.join(folder, file));
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  for (const [file, text] of [...refused, ...accepted]) {
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
  // Not zero, as there are violations; what it printed is on the error then.
  const run = promisify(execFile)(process.execPath, [program, '-f', 'json', 'src'], options);
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
  return Map.groupBy(diagnostics, ({ filename }) => path.relative('src', filename));
}

/** The rules about layers and purity; other rules may have opinions on the planted files. */
function verdicts(file: string): string[] {
  const rules = /no-restricted|no-require-imports|no-dynamic-require/;
  return (found.get(file) ?? [])
    .filter(({ code }) => rules.test(code))
    .map(({ code, message, help }) => `${code}: ${message} ${help ?? ''}`);
}

describe('an import across layers', () => {
  it.each(LAYERS)('is refused with its reason, however it is written: %s', (layer) => {
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

describe('the sources', () => {
  const files = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );

  it('lie in a known layer, at a depth that the rules reach', () => {
    const strays = files.filter((file) => {
      const parts = file.split(path.sep);
      const isRoot = file === 'app.ts' || parts[0] === 'app';
      return !isRoot && (!LAYERS.includes(parts[0] as Layer) || parts.length > 5);
    });
    expect(strays).toEqual([]);
  });

  it('never switch the rules of the layers off', () => {
    const disabling =
      /(?:oxlint|eslint)-disable(?:-next-line|-line)?(?:\s*(?:\*\/|--|$)|.*\b(?:no-restricted-|no-require-imports|no-dynamic-require))/m;
    const offenders = files.filter((file) =>
      disabling.test(readFileSync(path.join(ROOT, 'src', file), 'utf8')),
    );
    expect(offenders).toEqual([]);
  });
});
