import path from 'node:path';
import process from 'node:process';
import { defineConfig } from 'vitest/config';

/** Hundreds of the processes that tests start load the same sources; compiling them is most of a start. */
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, 'node_modules/.cache/node-compile');

/** Long tests that mostly wait: several at once. */
const WAITING = [
  'test/daemon/*.test.ts',
  'test/demo/demo.test.ts',
  'test/page/daemon.test.ts',
  'test/security/slow.test.ts',
  'test/web/events.test.ts',
  'test/queues/*.test.ts',
  'test/pipeline/act/waiting.test.ts',
  'test/contract/faults.test.ts',
  'test/crash/*.test.ts',
  'test/cli/orders.test.ts',
];
/** They compare what happens with the time that it takes: nothing runs beside them. */
const ALONE = ['test/grafana/*.test.ts', 'test/daemon/{crowd,scale}.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    pool: 'forks',
    // For hangs. A test that works for seconds has a longer one of its own.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'waiting',
          include: WAITING,
          exclude: ALONE,
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'working',
          include: ['test/**/*.test.ts'],
          exclude: [...WAITING, ...ALONE],
          maxWorkers: 2,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
