import path from 'node:path';
import process from 'node:process';
import { defineConfig } from 'vitest/config';

/** Hundreds of the processes that tests start load the same sources; compiling them is most of a start. */
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, 'node_modules/.cache/node-compile');

/** They mostly wait, for 20 s or longer, and begin first: nothing else remains to be done while the last one waits. */
const LONGEST = [
  'test/crash/*.test.ts',
  'test/daemon/{actions,instances,readings,redis-lost}.test.ts',
  'test/demo/demo.test.ts',
  'test/page/daemon.test.ts',
  'test/security/slow.test.ts',
];
/** They mostly wait: several at once. */
const WAITING = [
  'test/cli/orders.test.ts',
  'test/contract/faults.test.ts',
  'test/daemon/*.test.ts',
  'test/pipeline/act/waiting.test.ts',
  'test/queues/*.test.ts',
  'test/web/events.test.ts',
];
/** They compare what happens with the time that it takes: nothing runs beside them. */
const ALONE = ['test/grafana/*.test.ts', 'test/daemon/{crowd,scale}.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    pool: 'forks',
    // Files share processes; test/support/setup.ts gives each its own modules.
    isolate: false,
    // For hangs. A test that works for seconds has a longer one of its own.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    projects: [
      {
        extends: true,
        // Within a group, projects run in the order of their names.
        test: { name: 'longest', include: LONGEST, maxWorkers: 4, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'waiting',
          include: WAITING,
          exclude: [...LONGEST, ...ALONE],
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'working',
          include: ['test/**/*.test.ts'],
          exclude: [...LONGEST, ...WAITING, ...ALONE],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, maxWorkers: 1, isolate: true, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
