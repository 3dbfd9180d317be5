import { defineConfig } from 'oxlint';
import { layerOverrides } from './oxlint.layers.ts';

const CORE_IS_PURE = 'src/core is a pure function of its arguments: time, randomness and I/O are passed in.';

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

const impure = (names: readonly string[]) => names.map((name) => ({ name, message: CORE_IS_PURE }));

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'promise', 'node', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  options: { typeAware: true },
  env: { builtin: true, node: true, es2024: true },
  rules: {
    'import/no-default-export': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
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
    // What is left of `import { type T }` loads its file.
    'typescript/no-import-type-side-effects': 'error',
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
    'max-params': ['error', { max: 4 }],
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
    ...layerOverrides(),
    {
      files: ['src/core/**/*.ts'],
      rules: {
        'no-restricted-globals': ['error', ...impure(IMPURE_GLOBALS)],
        'no-restricted-properties': ['error', { object: 'Math', property: 'random', message: CORE_IS_PURE }],
      },
    },
    {
      // A `Date` of a given time reads no clock.
      files: ['src/core/text/time-words.ts'],
      rules: {
        'no-restricted-globals': ['error', ...impure(IMPURE_GLOBALS.filter((name) => name !== 'Date'))],
      },
    },
    {
      // Functions of these files take five.
      files: [
        'src/core/lanes/{account-lane,lane-observe,lane-turn,recover-lane}.ts',
        'src/notify/{grouping,thread}.ts',
        'src/state/account/documents.ts',
        'src/state/audit/audit-prune.ts',
        'src/web/page/format.js',
      ],
      rules: { 'max-params': 'off' },
    },
    {
      files: ['test/**/*.ts'],
      rules: { 'max-lines-per-function': 'off', 'max-lines': 'off', 'max-params': 'off' },
    },
    {
      files: ['*.config.ts'],
      rules: { 'import/no-default-export': 'off' },
    },
  ],
});
