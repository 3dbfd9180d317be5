import process from 'node:process';
import type { ControlResult } from './control.ts';
import type { Fixed } from './covering.ts';
import type { CaseResult } from './judge.ts';
import { inThreads } from './pool.ts';
import type { Played } from './report.ts';
import { SCENARIO_PLACES } from './scenarios.ts';
import { type Answer, PLAYER, type Work } from './work.ts';

export interface FieldOptions {
  readonly seed: number;
  /** Number of preventable cases wanted. */
  readonly cases: number;
  readonly fixed: Fixed;
  /** Number of accounts that need no action. */
  readonly controls: number;
  /** Number of cases of the scenarios, from the first one on. */
  readonly scenarios: number;
}

/** At most this many cases are drawn for each wanted one: the rest of the grid may hold nothing preventable. */
const MOST_DRAWN = 3;

/** Plays until there are enough preventable cases, then controls and scenarios. */
export async function playField(
  options: FieldOptions,
  signal: AbortSignal,
  onProgress: (done: number, of: number, what: string) => void,
): Promise<Played> {
  const { seed, fixed } = options;
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const cases = new Map<number, CaseResult>();
  const scenarios = new Map<number, CaseResult>();
  const controls = new Map<number, ControlResult>();
  const wanted = {
    cases: options.cases,
    controls: options.controls,
    scenarios: Math.min(options.scenarios, SCENARIO_PLACES.length),
  };
  let [preventable, nextCase, nextControl, nextScenario] = [0, 0, 0, 0];
  const total = wanted.cases + wanted.controls + wanted.scenarios;
  const next = (): Work | undefined => {
    // The longest first, so that no thread waits for one at the end.
    if (nextScenario < wanted.scenarios) return { kind: 'scenario', seed, fixed, index: nextScenario++ };
    if (nextControl < wanted.controls) return { kind: 'control', seed, fixed, index: nextControl++ };
    if (preventable >= wanted.cases || nextCase >= MOST_DRAWN * wanted.cases) return undefined;
    return { kind: 'case', seed, fixed, index: nextCase++ };
  };
  await inThreads<Work, Answer>(
    PLAYER,
    {
      next,
      take: (answer) => {
        if (answer.kind === 'control') controls.set(answer.index, answer.result);
        else if (answer.kind === 'scenario') scenarios.set(answer.index, answer.result);
        else if (answer.kind === 'case') {
          cases.set(answer.index, answer.result);
          if (answer.result.verdict !== 'unpreventable') preventable += 1;
        }
        onProgress(Math.min(preventable, wanted.cases) + controls.size + scenarios.size, total, answer.kind);
      },
    },
    signal,
  );
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    seed,
    fixed,
    cases: upTo(options.cases, inOrder(cases)),
    controls: inOrder(controls),
    scenarios: inOrder(scenarios),
    tookMs: performance.now() - startedMs,
    cpuMs: (user + system) / 1_000,
    isStopped: signal.aborted,
  };
}

function inOrder<T>(results: ReadonlyMap<number, T>): readonly T[] {
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
}

/** How many extra cases are drawn depends on thread timing: they do not count. */
function upTo(wanted: number, results: readonly CaseResult[]): readonly CaseResult[] {
  let preventable = 0;
  return results.filter(({ verdict }) => {
    const counts = preventable < wanted;
    if (verdict !== 'unpreventable') preventable += 1;
    return counts;
  });
}
