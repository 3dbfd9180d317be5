import { createTask } from 'node-cron';
import type { UncheckedConfig } from '../compile-config.ts';
import type { Problem } from '../problem.ts';
import { warningAt } from '../shape/read.ts';
import { durationInWords } from '../shape/units.ts';

/** More frequent runs tell nothing new and cost processor time. */
const TOO_OFTEN_MS = 15 * 60_000;
/** Number of runs examined: a day of hourly ones. */
const RUNS = 24;

/** Warns of a schedule that never runs, runs too often, or is shorter than the time limit of a run. */
export function stressWarnings({ document, stress }: UncheckedConfig): readonly Problem[] {
  if (stress === undefined) return [];
  const warn = (key: string, message: string): Problem =>
    warningAt(document, ['stress', key], 'timing', message);
  const runs = nextRuns(stress.at, stress.timeZone);
  if (runs.length === 0) return [warn('at', `expected a time that comes, got ${stress.at}: it never runs`)];
  const gaps = runs.slice(1).map((run, index) => run - (runs[index] ?? run));
  const leastMs = Math.min(...gaps);
  if (leastMs < TOO_OFTEN_MS) {
    return [
      warn(
        'at',
        `expected at least ${durationInWords(TOO_OFTEN_MS)} between two runs, got ${durationInWords(leastMs)}: each takes processor time, and little changes in between`,
      ),
    ];
  }
  if (leastMs >= stress.timeLimitMs) return [];
  return [
    warn(
      'timeLimit',
      `expected less than the ${durationInWords(leastMs)} between two runs, got ${durationInWords(stress.timeLimitMs)}: a run that takes as long as it may makes the next one drop out`,
    ),
  ];
}

function nextRuns(at: string, timezone: string): readonly number[] {
  const task = createTask(at, () => undefined, { timezone });
  try {
    return task.getNextRuns(RUNS).map((run) => run.getTime());
  } finally {
    void task.destroy();
  }
}
