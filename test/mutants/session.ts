import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createVitest, ForksPoolWorker, type Vitest } from 'vitest/node';
import { type Line, PLAN_VARIABLE, type Plan } from './plan.ts';
import { ROOT, testFilesOf } from './rooms.ts';
import type { Sampled } from './sample.ts';
import { numbered, type Switched, weave } from './weave.ts';

/** Runs the tests on mutants, one process at a time, and ends it when a mutant does not. */

export interface Fate {
  readonly mutant: Sampled;
  /** The test file and the first failure; `null` when it survived. */
  readonly killedBy: { readonly file: string; readonly what: string } | null;
  /** The test files that come by its place, as far as they were tried. */
  readonly triedOn: readonly string[];
}

export interface Outcome {
  readonly fates: readonly Fate[];
  /** Test files that fail without any mutant, and so were left out. */
  readonly broken: readonly string[];
}

interface SessionOptions {
  readonly signal: AbortSignal;
  /** Called a few times a second. */
  readonly onProgress: (settled: number, killed: number, file: string) => void;
  /** Only these test files; absent: all that relate. */
  readonly only?: readonly string[] | undefined;
}

const LOOK_EVERY_MS = 200;

/** Tries the tests on all of these mutants. Ends early, with what is known by then, when the signal is aborted. */
export async function tryMutants(sampled: readonly Sampled[], options: SessionOptions): Promise<Outcome> {
  const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-mutants-'));
  const judge = new Judge(sampled);
  const switched = numbered(sampled);
  const planFile = path.join(folder, 'plan.json');
  const vitest = await startVitest(switched, planFile);
  try {
    const steps = stepsFor(sampled, options.only);
    const project = vitest.getRootProject();
    const files = [...new Set(steps.map(({ file }) => file))];
    for (let run = 0; !options.signal.aborted; run += 1) {
      const plan = judge.plan(path.join(folder, `journal-${run}`), steps);
      writeFileSync(planFile, JSON.stringify(plan));
      const watch = setInterval(() => {
        judge.read(plan.journal);
        options.onProgress(judge.settled, judge.killed, judge.current);
        if (options.signal.aborted || judge.isHanging) judge.kill();
      }, LOOK_EVERY_MS);
      await vitest.runTestSpecifications(
        files.map((file) => project.createSpecification(path.join(ROOT, file))),
      );
      clearInterval(watch);
      judge.read(plan.journal);
      if (options.signal.aborted || !judge.settleHanging()) break;
    }
    process.exitCode = 0;
    return judge.outcome();
  } finally {
    await vitest.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Each test file with the mutants to try it on. A file is run for the mutants of its own room before it is run for those of
 * others: what is its own business it notices most.
 */
function stepsFor(sampled: readonly Sampled[], only: readonly string[] | undefined): Plan['steps'] {
  const byRoom = Map.groupBy(
    sampled.map(({ room }, number) => ({ room, number })),
    ({ room }) => room,
  );
  const ranked = [...byRoom].flatMap(([room, mutants]) => {
    const numbers = mutants.map(({ number }) => number);
    const files = testFilesOf(room).filter((file) => only === undefined || only.includes(file));
    return files.map((file, rank) => ({ file, numbers, rank }));
  });
  const steps: { file: string; mutants: number[] }[] = [];
  for (const { file, numbers } of ranked.toSorted((a, b) => a.rank - b.rank)) {
    const last = steps.at(-1);
    if (last?.file === file) last.mutants.push(...numbers);
    else steps.push({ file, mutants: [...numbers] });
  }
  return steps;
}

/** Follows the journals. */
class Judge {
  readonly #sampled: readonly Sampled[];
  readonly #known = new Map<string, Extract<Line, { readonly about: 'file' }>>();
  readonly #killedBy = new Map<number, NonNullable<Fate['killedBy']>>();
  readonly #tried = new Map<number, Set<string>>();
  #started: (Extract<Line, { readonly about: 'start' }> & { readonly atMs: number }) | null = null;
  #journal = '';
  #pid: number | undefined;
  #linesRead = 0;

  constructor(sampled: readonly Sampled[]) {
    this.#sampled = sampled;
  }

  plan(journal: string, steps: Plan['steps']): Plan {
    this.#journal = journal;
    this.#linesRead = 0;
    const rest = steps.map(({ file, mutants }) => ({
      file,
      mutants: mutants.filter((one) => !this.#killedBy.has(one) && this.#tried.get(one)?.has(file) !== true),
    }));
    return {
      journal,
      steps: rest.filter(({ mutants }) => mutants.length > 0),
      known: [...this.#known.values()],
    };
  }

  read(journal: string): void {
    if (journal !== this.#journal || !existsSync(journal)) return;
    const lines = readFileSync(journal, 'utf8').split('\n').slice(0, -1);
    for (const text of lines.slice(this.#linesRead)) this.#take(JSON.parse(text) as Line);
    this.#linesRead = lines.length;
  }

  #take(line: Line): void {
    if (line.about === 'process') {
      this.#pid = line.pid;
      return;
    }
    if (line.about === 'start') {
      this.#started = { ...line, atMs: performance.now() };
      return;
    }
    this.#started = null;
    if (line.about === 'file') this.#known.set(line.file, line);
    else this.#settle(line.mutant, line.file, line.killedBy);
  }

  #settle(mutant: number, file: string, what: string | null): void {
    const tried = this.#tried.get(mutant) ?? new Set();
    this.#tried.set(mutant, tried.add(file));
    if (what !== null) this.#killedBy.set(mutant, { file, what });
  }

  kill(): void {
    const pid = this.#pid;
    this.#pid = undefined;
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  }

  get isHanging(): boolean {
    return this.#started !== null && performance.now() - this.#started.atMs > this.#started.limitMs;
  }

  /** What was under way when the process ended has hung, or has ended it. Whether there was something. */
  settleHanging(): boolean {
    const started = this.#started;
    if (started === null) return false;
    this.#started = null;
    const { mutant, file } = started;
    const what = 'it does not end, or ends the process';
    if (mutant === null) this.#known.set(file, { about: 'file', file, ms: 0, hits: {}, failed: what });
    else this.#settle(mutant, file, what);
    return true;
  }

  get killed(): number {
    return this.#killedBy.size;
  }

  get settled(): number {
    return this.#tried.size;
  }

  get current(): string {
    return this.#started?.file ?? '';
  }

  outcome(): Outcome {
    const fates = this.#sampled.map((mutant, number) => ({
      mutant,
      killedBy: this.#killedBy.get(number) ?? null,
      triedOn: [...(this.#tried.get(number) ?? [])],
    }));
    const broken = [...this.#known.values()].flatMap(({ file, failed }) =>
      failed === null ? [] : [`${file}: ${failed}`],
    );
    return { fates, broken };
  }
}

async function startVitest(switched: readonly Switched[], planFile: string): Promise<Vitest> {
  const byFile = Map.groupBy(switched, ({ file }) => path.join(ROOT, file));
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const before = new Set(signals.flatMap((signal) => process.listeners(signal)));
  const vitest = await createVitest(
    'test',
    {
      root: ROOT,
      config: false,
      watch: false,
      reporters: [{}],
      include: ['test/**/*.test.ts'],
      globalSetup: ['test/support/global-setup.ts'],
      setupFiles: ['test/mutants/setup.ts'],
      // All files in one process, one after the other; it gives each its own modules.
      isolate: false,
      maxWorkers: 1,
      pool: {
        name: 'mutants',
        createPoolWorker: (options) => {
          const environment = { ...options.env, [PLAN_VARIABLE]: planFile };
          const entrypoint = path.join(import.meta.dirname, 'worker.ts');
          return Object.assign(new ForksPoolWorker({ ...options, env: environment }), { entrypoint });
        },
      },
      testTimeout: 60_000,
      hookTimeout: 20_000,
      expect: { poll: { timeout: 5_000 } },
      // It would hand the text woven for one sample to the next.
      fsModuleCache: false,
    },
    {
      plugins: [
        {
          name: 'mutants',
          enforce: 'pre',
          transform(code, id) {
            const mutants = byFile.get(id);
            return mutants === undefined ? undefined : { code: weave(code, mutants), map: null };
          },
        },
      ],
    },
  );
  // It would end this process at once; the user wants to see the results so far.
  for (const signal of signals) {
    for (const listener of process.listeners(signal)) {
      if (!before.has(listener)) process.removeListener(signal, listener);
    }
  }
  return vitest;
}
