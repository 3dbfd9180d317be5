import path from 'node:path';
import process from 'node:process';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Hundreds of the processes that tests start load the same sources; compiling them is most of a start. */
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, 'node_modules/.cache/node-compile');

/** They compare what happens with the time that it takes: only each other run beside them. */
const LIVE = [
  'test/daemon/{crowd,examine-config,scale}.test.ts',
  'test/docs/first-hour.test.ts',
  'test/exchange/call/bounds.test.ts',
  'test/world/equivalence.test.ts',
];
/** So do these, and they keep a core busy meanwhile. */
const LIVE_AND_BUSY = ['test/fuzz/fuzz.test.ts', 'test/grafana/*.test.ts'];

/** They mock modules: each file needs modules of its own. */
const MOCKING = ['test/replay/report/of-a-run.test.ts'];

/** They mostly wait. Names below `test/`, or their beginnings. */
const WAITING = [
  'cli/orders',
  'contract/failover',
  'contract/faults',
  'crash/',
  'daemon/',
  'demo/demo',
  'deployment/redis-access',
  'failovers/',
  'faults/real',
  'outages/',
  'page/answers',
  'page/daemon',
  'pipeline/act/waiting',
  'queues/',
  'security/flood',
  'security/forged',
  'security/slow',
  'web/events',
];

/**
 * About how many seconds the longest take on two cores with other files beside them. Vitest knows how long files took
 * before; on a clone that has run none this stands in for it.
 */
const LONGEST: readonly (readonly [seconds: number, names: string])[] = [
  [40, 'docs/first-hour faults/real grafana/panels'],
  [25, 'daemon/built-in-notices daemon/without-redis world/equivalence'],
  [20, 'cli/orders demo/demo faults/faults'],
  [
    15,
    `cli/replay/stress daemon/cluster daemon/config-reload daemon/controls-when-lost daemon/hangup
    daemon/heartbeat daemon/instances daemon/one-truth daemon/scheduled-stress daemon/telegram-commands
    page/answers replay/tune/play-case security/forged security/planted security/slow`,
  ],
  [
    11,
    `cli/obeyed contract/nonce daemon/acknowledge daemon/disturbed daemon/endurance daemon/redis-lost
    daemon/sentinel daemon/started-without-redis daemon/telemetry deployment/redis-access
    failovers/failovers outages/outages package/package page/page scripts/release web/events`,
  ],
  [
    8,
    `cli/audit cli/doctor cli/process cli/replay/process contract/faults crash/step-points daemon/actions
    daemon/cluster-contact daemon/digest daemon/half-alive daemon/quiet-hours daemon/scale
    daemon/stress-thread field/command fuzz/fuzz lint/import-direction page/daemon replay/run/replay
    scripts/tools security/flood world/contended world/determinism`,
  ],
  [
    6,
    `cli/controls core/lanes/scenes core/lanes/transcripts crash/account-points crash/poll-points
    deployment/container prometheus/rules replay/report/of-a-run replay/stress/stress
    simulator/prices/price-file world/without-store`,
  ],
  [
    5,
    `cli/call cli/loaded config/all-problems daemon/approval daemon/crowd daemon/readings daemon/silence
    mutants/mutants page/accessible pipeline/act/waiting queues/schedules replay/report/render-report
    rulesets/slice security/access world/transcripts world/urgent`,
  ],
];
const SECONDS = new Map(
  LONGEST.flatMap(([seconds, names]) => names.split(/\s+/).map((name) => [name, seconds])),
);
const SECONDS_OF_OTHERS = 1;

const TESTS = path.join(import.meta.dirname, 'test');

function nameOf({ moduleId }: TestSpecification): string {
  return path.relative(TESTS, moduleId).replace('.test.ts', '');
}

function isWaiting(file: TestSpecification): boolean {
  return WAITING.some((beginning) => nameOf(file).startsWith(beginning));
}

/**
 * The longest first; and of those that wait and those that work the same part at any time, so that neither is left over at
 * the end, with nothing to run beside it.
 */
class Interleaved extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = files.toSorted(
      (a, b) =>
        Number(this.#hasFailed(b)) - Number(this.#hasFailed(a)) || this.#secondsOf(b) - this.#secondsOf(a),
    );
    const places = new Map<TestSpecification, number>();
    for (const [order, together] of Map.groupBy(
      sorted,
      ({ project }) => project.config.sequence.groupOrder,
    )) {
      for (const alike of Map.groupBy(together, isWaiting).values()) {
        const total = alike.reduce((sum, file) => sum + this.#secondsOf(file), 0);
        let before = 0;
        for (const file of alike) {
          places.set(file, order + before / total);
          before += this.#secondsOf(file);
        }
      }
    }
    return sorted.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
  }

  #hasFailed(file: TestSpecification): boolean {
    return this.ctx.cache.getTestSpecificationResult(file)?.failed ?? false;
  }

  #secondsOf(file: TestSpecification): number {
    const durationMs = this.ctx.cache.getTestSpecificationResult(file)?.duration;
    return durationMs === undefined ? (SECONDS.get(nameOf(file)) ?? SECONDS_OF_OTHERS) : durationMs / 1000;
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

/** For two cores: at any time about half of them wait. */
const WORKERS = 4;

const GROUPS: readonly Group[] = [
  { name: 'mocking', include: MOCKING, maxWorkers: WORKERS, order: 0, isolate: true },
  {
    name: 'together',
    include: ['test/**/*.test.ts'],
    exclude: [MOCKING, LIVE, LIVE_AND_BUSY],
    maxWorkers: WORKERS,
    order: 0,
  },
  { name: 'live', include: LIVE, maxWorkers: 2, order: 1, isolate: true },
  { name: 'live and busy', include: LIVE_AND_BUSY, maxWorkers: 2, order: 1, isolate: true },
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
    // For hangs. A test that works for seconds has a longer one of its own.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    // One second, the default, is short for a thousand connections on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    projects: GROUPS.map(projectOf),
  },
});
