import { defineConfig, type OxlintOverride } from 'oxlint';

/**
 * Type-aware linting, and the layers: who may import whom is an error here, proven by
 * test/lint/import-direction.test.ts, which plants a violation of every kind.
 */

const CORE_IS_PURE = 'src/core is a pure function of its arguments: time, randomness and I/O are passed in.';

interface Layer {
  /** Folders below src/ that it may import from besides itself; a file allows just that file. */
  readonly imports: readonly string[];
  readonly rule: string;
  /** npm packages and node: modules; all of them unless listed. */
  readonly packages?: readonly string[];
}

const LAYERS: Readonly<Record<string, Layer>> = {
  'src/core': {
    imports: [],
    packages: [],
    rule: 'src/core is pure: it imports nothing but itself (and the decimal library, in decimal.ts).',
  },
  'src/exchange': coreOnly('src/exchange'),
  'src/state': coreOnly('src/state'),
  'src/queues': coreOnly('src/queues'),
  'src/notify': coreOnly('src/notify'),
  'src/telemetry': coreOnly('src/telemetry'),
  'src/config': coreOnly('src/config'),
  'src/pipeline': {
    imports: ['core/'],
    rule: 'src/pipeline works on the core and the ports it is handed; it imports no other layer.',
  },
  'src/simulator': {
    imports: ['core/decimal.ts', 'core/ports/clock.ts'],
    rule: 'src/simulator may import src/core/decimal.ts and the port of the clock only: it must not inherit the mistakes of the client.',
  },
  'src/replay': {
    imports: ['core/', 'config/', 'simulator/', 'world/'],
    rule: 'src/replay plays worlds and tells what came of them: core, config, simulator and world, no other layer.',
  },
  'src/world': {
    imports: [
      'core/',
      'simulator/',
      'exchange/',
      'pipeline/',
      'queues/schedules.ts',
      'state/',
      'config/',
      'app/accounts.ts',
      'app/pipeline.ts',
    ],
    rule: 'src/world composes the daemon with the simulated exchange in virtual time: no sockets, no Redis, no other layer.',
  },
  'src/web': {
    imports: ['core/', 'app.ts'],
    rule: 'src/web shows what it is handed; it reaches other layers through src/app.ts only.',
  },
  'src/cli': {
    imports: ['core/', 'app.ts'],
    rule: 'src/cli runs things through src/app.ts; it does not reach into other layers.',
  },
};

function coreOnly(name: string): Layer {
  return { imports: ['core/'], rule: `${name} may import src/core and itself, no other layer.` };
}

/** Matches nothing. */
const NEVER = '[^\\s\\S]';

/** How deep folders nest inside a layer, at most; test/lint checks that none is deeper. */
const DEPTHS = [0, 1, 2, 3];

/**
 * A file n folders deep in its layer leaves the layer with n + 1 times `../`, whatever the target is called:
 * everything that climbs that far is refused unless listed.
 */
function layerRules(folder: string, layer: Layer): OxlintOverride[] {
  return DEPTHS.map((depth) => ({
    files: [`${folder}/${'*/'.repeat(depth)}*.ts`],
    rules: {
      'no-restricted-imports': ['error', { patterns: restrictions(layer, depth) }],
      'typescript/no-require-imports': 'error',
      'import/no-dynamic-require': ['error', { esmodule: true }],
    },
  }));
}

function restrictions({ imports, rule, packages }: Layer, depth: number) {
  const patterns = [
    { regex: `^(?:\\.\\./){${depth + 1}}${noneOf(imports)}`, message: rule },
    {
      regex: '^\\./(?:.*/)?\\.\\.(?:/|$)|[^./][^/]*/\\.\\.(?:/|$)',
      message: `${rule} Write the shortest path.`,
    },
    { regex: '^(?:/|file:|data:|#)', message: `${rule} Use a relative path.` },
    { regex: '^(?:node:)?module$', message: `${rule} No require.` },
  ];
  return packages === undefined
    ? patterns
    : [...patterns, { regex: `^${noneOf(packages, './#')}`, message: rule }];
}

/**
 * A regular expression for a text that is none of these names, where `name/` stands for everything that starts
 * so; letter by letter, as the lint engine has no lookahead. It does not match what starts with one of `except`.
 */
function noneOf(names: readonly string[], except = ''): string {
  const ends = names.map((name) => (name.endsWith('/') ? name : `${name}${END}`));
  return names.length === 0 && except === '' ? '' : mismatch(ends, except);
}

/** Stands for the end of a name that is a file. */
const END = '\0';

function mismatch(rests: readonly string[], except = ''): string {
  if (rests.includes('')) return NEVER;
  const firsts = [...new Set(rests.map((rest) => rest.charAt(0)))];
  const letters = firsts.filter((first) => first !== END);
  const known = `${letters.join('')}${except}`;
  const other = known === '' ? '.' : `[^${escaped(known)}]`;
  const deeper = letters.map((letter) => {
    const after = rests.filter((rest) => rest.startsWith(letter)).map((rest) => rest.slice(1));
    return `${escaped(letter)}${mismatch(after)}`;
  });
  return `(?:${[other, ...deeper, ...(firsts.includes(END) ? [] : ['$'])].join('|')})`;
}

function escaped(text: string): string {
  return text.replaceAll('.', '\\.');
}

const IMPURE_GLOBALS = [
  'process',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'fetch',
  'console',
  'performance',
  'crypto',
  'Buffer',
  'globalThis',
  'global',
  'Date',
  'WebSocket',
  'eval',
  'Function',
];

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'promise', 'node', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  options: { typeAware: true },
  env: { builtin: true, node: true, es2024: true },
  rules: {
    'import/no-default-export': 'error',
    'import/no-cycle': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-unsafe-type-assertion': 'off',
    'typescript/switch-exhaustiveness-check': [
      'error',
      {
        considerDefaultExhaustiveForUnions: true,
      },
    ],
    'typescript/only-throw-error': 'error',
    'typescript/consistent-type-imports': 'error',
    'no-await-in-loop': 'off',
    'max-lines': [
      'error',
      {
        max: 400,
        skipBlankLines: true,
        skipComments: true,
      },
    ],
    'max-lines-per-function': [
      'error',
      {
        max: 80,
        skipBlankLines: true,
        skipComments: true,
      },
    ],
    'no-console': 'error',
    eqeqeq: 'error',
    'vitest/no-conditional-expect': 'off',
    'vitest/require-mock-type-parameters': 'off',
    'vitest/expect-expect': 'off',
    'vitest/no-standalone-expect': 'off',
    'vitest/valid-title': 'off',
    'vitest/require-to-throw-message': 'off',
    'unicorn/no-array-sort': 'off',
    'promise/always-return': 'off',
    'no-underscore-dangle': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'promise/avoid-new': 'off',
    'typescript/consistent-return': 'off',
    'no-shadow': 'off',
    'unicorn/no-array-reverse': 'off',
    'import/no-unassigned-import': 'off',
    'unicorn/prefer-add-event-listener': 'off',
    'import/no-named-as-default-member': 'off',
    'import/no-named-as-default': 'off',
  },
  overrides: [
    ...Object.entries(LAYERS).flatMap(([folder, layer]) => layerRules(folder, layer)),
    {
      files: ['src/core/decimal.ts'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: restrictions(
              { imports: [], packages: ['big.js'], rule: LAYERS['src/core']?.rule ?? '' },
              0,
            ),
          },
        ],
      },
    },
    {
      files: ['src/core/**/*.ts'],
      rules: {
        'no-restricted-globals': [
          'error',
          ...IMPURE_GLOBALS.map((name) => ({ name, message: CORE_IS_PURE })),
        ],
        'no-restricted-properties': ['error', { object: 'Math', property: 'random', message: CORE_IS_PURE }],
      },
    },
    {
      files: ['test/**/*.ts'],
      rules: { 'max-lines-per-function': 'off', 'max-lines': 'off' },
    },
    {
      files: ['*.config.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
  ],
});
