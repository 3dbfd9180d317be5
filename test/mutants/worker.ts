import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { WorkerGlobalState } from 'vitest';
import { init, runBaseTests, setupEnvironment } from 'vitest/worker';
import { type Hits, type Line, PLAN_VARIABLE, type Plan } from './plan.ts';
import { ROOT } from './rooms.ts';
import { SWITCH_NAME } from './weave.ts';

/**
 * The program of the process that runs the tests: each test file once as it is, which shows the mutants that it comes by,
 * then once for each of these that is still alive.
 */

type Traces = Parameters<typeof runBaseTests>[2];
type About<Kind extends Line['about']> = Extract<Line, { readonly about: Kind }>;

/** A test that waits for its own time limit is not waited for. */
const SPARE_MS = 10_000;
const MEASURING_LIMIT_MS = 120_000;
/** A place that is come by so much more often than without the mutant is in a loop that has no end. */
const MORE_HITS = 50;
const SPARE_HITS = 20_000;

const switches = { active: -1, left: Number.POSITIVE_INFINITY, hits: new Map<number, Hits>() };
/** The test that vitest runs; absent while a file is loaded, and in hooks. */
const running = globalThis as {
  readonly __vitest_worker__?: { readonly current?: { id: string; type: string } };
};

Object.assign(globalThis, {
  [SWITCH_NAME]: (number: number): boolean => {
    if (switches.active === -1) note(number);
    if (number !== switches.active) return false;
    if (switches.left-- <= 0) throw new Error('this mutant loops without end');
    return true;
  },
});

function note(number: number): void {
  const hits = switches.hits.get(number) ?? { count: 0, tests: [] };
  switches.hits.set(number, hits);
  hits.count += 1;
  const { current } = running.__vitest_worker__ ?? {};
  if (current?.type !== 'test') hits.tests = null;
  else if (hits.tests !== null && hits.tests.at(-1) !== current.id) hits.tests.push(current.id);
}

// Some tests replace them.
const send = process.send?.bind(process);
const on = process.on.bind(process);
const off = process.off.bind(process);
if (send === undefined) throw new Error('worker.ts is started by session.ts');

init({
  post: (message) => send(message),
  on: (listener) => on('message', listener),
  off: (listener) => off('message', listener),
  setup: setupEnvironment,
  runTests: runPlan,
  collectTests: () => undefined,
});
on('disconnect', () => process.exit(1));

async function runPlan(state: WorkerGlobalState, traces: Traces): Promise<void> {
  const plan = JSON.parse(readFileSync(process.env[PLAN_VARIABLE] ?? '', 'utf8')) as Plan;
  const write = (line: Line): void => appendFileSync(plan.journal, `${JSON.stringify(line)}\n`);
  write({ about: 'process', pid: process.pid });
  const tests = new Tests(state, traces);
  const known = new Map(plan.known.map((line) => [line.file, line]));
  const dead = new Set<number>();
  for (const { file, mutants } of plan.steps) {
    if (mutants.every((mutant) => dead.has(mutant))) continue;
    const measured = known.get(file) ?? (await measure(file, tests, write));
    known.set(file, measured);
    if (measured.failed !== null) continue;
    const limitMs = SPARE_MS + 6 * measured.ms;
    for (const mutant of mutants) {
      const hits = measured.hits[mutant];
      if (hits === undefined || dead.has(mutant)) continue;
      write({ about: 'start', mutant, file, limitMs });
      switches.active = mutant;
      switches.left = SPARE_HITS + MORE_HITS * hits.count;
      const killedBy = await tests.tryOn(file, hits.tests);
      if (killedBy !== null) dead.add(mutant);
      write({ about: 'end', mutant, file, killedBy });
    }
  }
}

async function measure(file: string, tests: Tests, write: (line: Line) => void): Promise<About<'file'>> {
  write({ about: 'start', mutant: null, file, limitMs: MEASURING_LIMIT_MS });
  switches.active = -1;
  switches.left = Number.POSITIVE_INFINITY;
  switches.hits.clear();
  const startedMs = performance.now();
  const failed = await tests.run(file, null);
  const ms = Math.round(performance.now() - startedMs);
  const line = { about: 'file', file, ms, hits: Object.fromEntries(switches.hits), failed } as const;
  write(line);
  return line;
}

class Tests {
  readonly #state: WorkerGlobalState;
  readonly #traces: Traces;
  /** Whether some tests of a file hold without its others, by file and tests. */
  readonly #holds = new Map<string, boolean>();

  constructor(state: WorkerGlobalState, traces: Traces) {
    this.#state = state;
    this.#traces = traces;
  }

  /** Runs those tests of a file that come by the mutant; all of them when they do not hold by themselves. */
  async tryOn(file: string, ids: readonly string[] | null): Promise<string | null> {
    if (ids === null) return await this.run(file, null);
    const key = `${file} ${ids.join(' ')}`;
    const failure = this.#holds.get(key) === false ? null : await this.run(file, ids);
    if (failure === null && this.#holds.get(key) !== false) return null;
    if (!this.#holds.has(key)) {
      const { active } = switches;
      switches.active = -2;
      this.#holds.set(key, (await this.run(file, ids)) === null);
      switches.active = active;
    }
    return this.#holds.get(key) === true ? failure : await this.run(file, null);
  }

  /** Up to the first failure; `null` when all hold. */
  async run(file: string, ids: readonly string[] | null): Promise<string | null> {
    let failure: string | null = null;
    const fail = (what: string): void => {
      failure ??= what.slice(0, 300);
    };
    const state = this.#state;
    const spec = state.ctx.files.find(({ filepath }) => filepath === path.join(ROOT, file));
    if (spec === undefined) throw new Error(`${file} is not among the files that vitest found`);
    const answers = ownAnswers(fail);
    const rpc = new Proxy(state.rpc, {
      get: (target, name, receiver) => answers[String(name)] ?? Reflect.get(target, name, receiver),
    });
    const config = { ...state.config, isolate: true, bail: 1 };
    const files = [ids === null ? spec : { ...spec, testIds: [...ids] }];
    try {
      await runBaseTests(
        'run',
        { ...state, ctx: { ...state.ctx, files, config }, config, rpc },
        this.#traces,
      );
    } catch (error) {
      fail(String(error));
    }
    return failure;
  }
}

interface Ended {
  readonly name?: string;
  readonly result?: { readonly state?: string; readonly errors?: readonly { readonly message?: string }[] };
  readonly tasks?: readonly Ended[];
}

/** Vitest hears nothing of these runs: what it would be told is looked through for failures. */
function ownAnswers(fail: (what: string) => void): Readonly<Record<string, unknown>> {
  const look = ({ name = '', result, tasks = [] }: Ended): void => {
    if (result?.state === 'fail') {
      const message = result.errors?.[0]?.message;
      fail(message === undefined ? name : `${name} ${message}`.trim());
    }
    tasks.forEach(look);
  };
  return {
    onQueued: () => undefined,
    onCollected: (files: readonly Ended[]) => files.forEach(look),
    onTaskUpdate: (packs: readonly [string, Ended['result'] | undefined][]) => {
      const results = packs.flatMap(([, result]) => (result?.state === 'fail' ? [result] : []));
      // A file or a group fails with its tests, and says nothing itself.
      for (const result of results.toSorted(
        (a, b) => Number(b.errors !== undefined) - Number(a.errors !== undefined),
      )) {
        look({ result });
      }
    },
    onUnhandledError: (error: { readonly message?: string }) => fail(`unhandled: ${error.message ?? ''}`),
    onCancel: () => undefined,
    getCountOfFailedTests: () => 0,
    onUserConsoleLog: () => undefined,
    onAfterSuiteRun: () => undefined,
    snapshotSaved: () => undefined,
    onTestModuleDependencies: () => undefined,
    onAsyncLeaks: () => undefined,
  };
}
