import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { WorkerGlobalState } from 'vitest';
import { init, runBaseTests, setupEnvironment } from 'vitest/worker';
import { type Line, PLAN_VARIABLE, type Plan } from './plan.ts';
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

const switches = { active: -1, left: Number.POSITIVE_INFINITY, hits: new Map<number, number>() };

Object.assign(globalThis, {
  [SWITCH_NAME]: (number: number): boolean => {
    if (switches.active === -1) switches.hits.set(number, (switches.hits.get(number) ?? 0) + 1);
    if (number !== switches.active) return false;
    if (switches.left-- <= 0) throw new Error('this mutant loops without end');
    return true;
  },
});

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
  const known = new Map(plan.known.map((line) => [line.file, line]));
  const dead = new Set<number>();
  for (const { file, mutants } of plan.steps) {
    if (mutants.every((mutant) => dead.has(mutant))) continue;
    const measured = known.get(file) ?? (await measure(file, state, traces, write));
    known.set(file, measured);
    if (measured.failed !== null) continue;
    const limitMs = SPARE_MS + 6 * measured.ms;
    for (const mutant of mutants) {
      const hits = measured.hits[mutant];
      if (hits === undefined || dead.has(mutant)) continue;
      write({ about: 'start', mutant, file, limitMs });
      switches.active = mutant;
      switches.left = SPARE_HITS + MORE_HITS * hits;
      const killedBy = await failureOf(file, state, traces);
      if (killedBy !== null) dead.add(mutant);
      write({ about: 'end', mutant, file, killedBy });
    }
  }
}

async function measure(
  file: string,
  state: WorkerGlobalState,
  traces: Traces,
  write: (line: Line) => void,
): Promise<About<'file'>> {
  write({ about: 'start', mutant: null, file, limitMs: MEASURING_LIMIT_MS });
  switches.active = -1;
  switches.left = Number.POSITIVE_INFINITY;
  switches.hits.clear();
  const startedMs = performance.now();
  const failed = await failureOf(file, state, traces);
  const ms = Math.round(performance.now() - startedMs);
  const line = { about: 'file', file, ms, hits: Object.fromEntries(switches.hits), failed } as const;
  write(line);
  return line;
}

/** Runs a test file, up to its first failure; `null` when all of it holds. */
async function failureOf(file: string, state: WorkerGlobalState, traces: Traces): Promise<string | null> {
  let failure: string | null = null;
  const fail = (what: string): void => {
    failure ??= what.slice(0, 300);
  };
  const filepath = path.join(ROOT, file);
  const spec = state.ctx.files.find((one) => one.filepath === filepath);
  if (spec === undefined) throw new Error(`${file} is not among the files that vitest found`);
  const rpc = new Proxy(state.rpc, {
    get: (target, name, receiver) => OWN_ANSWERS(fail)[String(name)] ?? Reflect.get(target, name, receiver),
  });
  const config = { ...state.config, isolate: true, bail: 1 };
  const ctx = { ...state.ctx, files: [spec], config };
  try {
    await runBaseTests('run', { ...state, ctx, config, rpc }, traces);
  } catch (error) {
    fail(String(error));
  }
  return failure;
}

interface Ended {
  readonly name?: string;
  readonly result?: { readonly state?: string; readonly errors?: readonly { readonly message?: string }[] };
  readonly tasks?: readonly Ended[];
}

/** Vitest hears nothing of these runs: what it would be told is looked through for failures. */
function OWN_ANSWERS(fail: (what: string) => void): Readonly<Record<string, unknown>> {
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
