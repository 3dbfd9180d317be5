import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isComputing, nameOf } from './test/support/computing.ts';

/** Hundreds of the processes that tests start load the same sources; compiling them is most of a start. */
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, 'node_modules/.cache/node-compile');

if (process.env['HOLD_UP'] !== undefined) {
  const holdUp = pathToFileURL(path.join(import.meta.dirname, 'test/support/hold-up.ts'));
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${holdUp.href}`;
}

/** They compare what happens with the time that it takes: only each other run beside them. */
const LIVE = [
  'test/daemon/{crowd,examine-config,scale,stress-thread}.test.ts',
  'test/docs/first-hour.test.ts',
  'test/exchange/call/bounds.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/world/equivalence.test.ts',
];

/** They mock modules: each file needs modules of its own. */
const MOCKING = ['test/replay/report/of-a-run.test.ts'];

/**
 * The longest, longest first. Vitest knows how long files took before; on a clone that has run none it goes by their
 * size, and would begin with these last, when nothing is left to run beside them.
 */
const FIRST = [
  'world/equivalence',
  'docs/first-hour',
  'fuzz/fuzz',
  'world/any-reply',
  'field/slow/slow',
  'daemon/without-redis',
  'faults/real',
  'grafana/panels',
  'page/answers',
  'daemon/instances',
  'demo/demo',
  'crash/step-points',
  'daemon/built-in-notices',
  'daemon/telegram-commands',
  'page/daemon',
  'daemon/cluster',
  'daemon/started-without-redis',
  'crash/poll-points',
  'security/slow',
  'daemon/acknowledge',
  'daemon/one-truth',
  'crash/account-points',
  'daemon/heartbeat',
  'security/planted',
  'world/determinism',
  'scripts/release',
  'package/package',
  'page/page',
  'faults/faults',
  'world/turns',
  'calibration/calibration',
  'security/access',
  'field/command',
  'deployment/container',
  'field/field',
  'page/accessible',
  'replay/stress/stress',
  'world/joint',
  'cli/replay/replay',
  'rulesets/slice',
  'core/lanes/histories',
  'config/fuzz',
  'scripts/start',
];

/** The longest first, and at all times some that compute beside others: neither are left over at the end. */
class Interleaved extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = this.#longestFirst(await super.sort(files));
    const computes = ({ moduleId }: TestSpecification): boolean => isComputing(moduleId);
    const places = new Map<TestSpecification, number>();
    for (const [group, { name }] of GROUPS.entries()) {
      const ofGroup = sorted.filter(({ project }) => project.name === name);
      const [working, others] = [ofGroup.filter(computes), ofGroup.filter((file) => !computes(file))];
      for (const list of [working, others]) {
        for (const [index, file] of list.entries()) places.set(file, group + index / list.length);
      }
    }
    return sorted.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
  }

  #longestFirst(files: TestSpecification[]): TestSpecification[] {
    if (files.some((file) => this.ctx.cache.getTestSpecificationResult(file) !== undefined)) return files;
    const rank = (file: TestSpecification): number => {
      const place = FIRST.indexOf(nameOf(file.moduleId));
      return place === -1 ? FIRST.length : place;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

interface Group {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly (readonly string[])[];
  readonly maxWorkers: number;
  /** Groups of one order run at the same time. */
  readonly order: number;
  /** A process for each file; default: files share the workers, and in them the modules. */
  readonly isolate?: boolean;
}

/** For two cores: most files wait for something most of the time. */
const WORKERS = 6;

const GROUPS: readonly Group[] = [
  { name: 'mocking', include: MOCKING, maxWorkers: WORKERS, order: 0, isolate: true },
  {
    name: 'together',
    include: ['test/**/*.test.ts'],
    exclude: [MOCKING, LIVE],
    maxWorkers: WORKERS,
    order: 0,
  },
  { name: 'live', include: LIVE, maxWorkers: 2, order: 1, isolate: true },
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
    sequence: { sequencer: Interleaved },
    pool: 'forks',
    // Node loads TypeScript by itself. What Vite makes of modules is slower: each import becomes the getter of an object.
    experimental: { viteModuleRunner: false },
    // For hangs: what takes seconds here may take ten times as long on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 240_000 } },
    projects: GROUPS.map(projectOf),
  },
});
