import path from 'node:path';
import process from 'node:process';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Hundreds of the processes that tests start load the same sources; compiling them is most of a start. */
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, 'node_modules/.cache/node-compile');

/** They mostly wait, for 20 s or longer, and begin first: nothing else remains to be done while the last one waits. */
const LONGEST = [
  'test/crash/*.test.ts',
  'test/daemon/{actions,built-in-notices,cluster,instances,readings,redis-lost,scheduled-stress,sentinel}.test.ts',
  'test/daemon/{telemetry,without-redis}.test.ts',
  'test/demo/demo.test.ts',
  'test/faults/real.test.ts',
  'test/outages/*.test.ts',
  'test/page/{answers,daemon}.test.ts',
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
/** They compare what happens with the time that it takes: only each other run beside them. */
const LIVE = [
  'test/daemon/{crowd,scale,stress-thread}.test.ts',
  'test/docs/first-hour.test.ts',
  'test/exchange/call/bounds.test.ts',
  'test/world/equivalence.test.ts',
];
/** So do these, and they keep a core busy meanwhile. */
const LIVE_AND_BUSY = ['test/fuzz/fuzz.test.ts', 'test/grafana/*.test.ts'];

/**
 * The longest of their groups, longest first. Vitest begins with the files that took longest before; on a clone that has
 * run none it goes by their size, and would begin with these last, when nothing is left to run beside them.
 */
const FIRST = [
  'docs/first-hour',
  'crash/step-points',
  'crash/poll-points',
  'daemon/instances',
  'crash/account-points',
  'demo/demo',
  'daemon/sentinel',
  'daemon/cluster',
  'daemon/scheduled-stress',
  'daemon/built-in-notices',
  'daemon/telemetry',
  'daemon/without-redis',
  'scripts/release',
  'field/command',
  'world/turns',
  'world/determinism',
  'world/contended',
  'field/field',
  'rulesets/slice',
  'config/fuzz',
  'package/package',
  'core/lanes/histories',
  'calibration/calibration',
  'scripts/start',
].map((name) => path.join(import.meta.dirname, 'test', `${name}.test.ts`));

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    if (files.some((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined)) return sorted;
    const groups = [...new Set(sorted.map(({ project }) => project.name))];
    const placeOf = ({ project, moduleId }: TestSpecification): number => {
      const rank = FIRST.indexOf(moduleId);
      return groups.indexOf(project.name) + (rank === -1 ? FIRST.length : rank) / (FIRST.length + 1);
    };
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

interface Group {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly (readonly string[])[];
  readonly maxWorkers: number;
  /** Groups of one order run at the same time; who waits for a worker goes by the name. */
  readonly order: number;
  /** A process for each file; default: files share the workers, and test/support/setup.ts gives each its own modules. */
  readonly isolate?: boolean;
}

/** Chosen for two cores. */
const GROUPS: readonly Group[] = [
  { name: 'longest', include: LONGEST, maxWorkers: 4, order: 0 },
  { name: 'waiting', include: WAITING, exclude: [LONGEST, LIVE], maxWorkers: 4, order: 0 },
  {
    name: 'working',
    include: ['test/**/*.test.ts'],
    exclude: [LONGEST, WAITING, LIVE, LIVE_AND_BUSY],
    maxWorkers: 3,
    order: 1,
  },
  { name: 'live', include: LIVE, maxWorkers: 2, order: 2, isolate: true },
  { name: 'live and busy', include: LIVE_AND_BUSY, maxWorkers: 2, order: 2, isolate: true },
];

function projectOf(group: Group): TestProjectInlineConfiguration {
  const { name, include, exclude = [], maxWorkers, order, isolate = false } = group;
  return {
    extends: true,
    test: {
      name,
      include: [...include],
      exclude: exclude.flat(),
      maxWorkers,
      isolate,
      sequence: { groupOrder: order },
    },
  };
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/setup.ts'],
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // For hangs. A test that works for seconds has a longer one of its own.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    // One second, the default, is short for a thousand connections on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    projects: GROUPS.map(projectOf),
  },
});
