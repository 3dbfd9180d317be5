import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import type { Figure } from './figures.ts';

/** What is measured, and the bench of test/bench that measures it. */
const BENCHES = {
  poll: 'daemon',
  evaluate: 'evaluate',
  state: 'state',
  reaction: 'reaction',
  memory: 'memory',
  start: 'start',
} as const;

const PROGRAM = new URL('../bench/main.ts', import.meta.url).pathname;

/** Runs the benches one after another, each in its own process. A bench that fails has no figures; `note` says so. */
export async function measureBenches(
  signal: AbortSignal,
  onProgress: (done: number, of: number, what: string) => void,
  note: (words: string) => void,
): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const benches = Object.entries(BENCHES);
  for (const [done, [what, bench]] of benches.entries()) {
    onProgress(done, benches.length, what);
    const { code, output } = await run(bench, signal);
    if (signal.aborted) return [];
    if (code !== 0) note(`The bench ${bench} ended with ${String(code)}: its figures are missing.`);
    else figures.push(...output.split('\n').flatMap((line) => benchFigures(what, line)));
  }
  return figures;
}

async function run(bench: string, signal: AbortSignal): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [PROGRAM, bench], { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  try {
    const [output, [code]] = await Promise.all([
      text(child.stdout),
      once(child, 'exit') as Promise<[number | null]>,
    ]);
    return { code, output };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Not measured, but set: of several lines with the same figure, `accounts` tells them apart. */
const GIVEN = new Set(['accounts', 'rounds', 'waves', 'scrapes', 'accountPolls', 'fewestInAWave']);
/** Counts and ratios within figures that have a unit. */
const WITHOUT_UNIT = /(?:ratio|share|threads|decisions|silentAccounts)$|^requests/i;
const UNITS: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/Us$|^redisUs|^nodeUs/, 'us'],
  [/Ms(?:PerOrder)?$/, 'ms'],
  [/Mb$/, 'MB'],
  [/KbPerAccount$/, 'kB'],
  [/Bytes$/, 'bytes'],
  [/PerSecond$/, 'per s'],
];

/** The figures of a line of a bench; none if it is not JSON, such as what a build prints. */
export function benchFigures(bench: string, line: string): readonly Figure[] {
  if (!line.startsWith('{')) return [];
  const { figure = bench, ...values } = JSON.parse(line) as { figure?: string } & Record<string, unknown>;
  const accounts = typeof values['accounts'] === 'number' ? ` (${values['accounts']} accounts)` : '';
  const unitOfLine = /(?:, |: )(us|ms|MB)\b/.exec(figure)?.[1];
  return numbersIn(values).map(([name, value]) => {
    const unit =
      UNITS.find(([ending]) => ending.test(name))?.[1] ?? (WITHOUT_UNIT.test(name) ? undefined : unitOfLine);
    const what = `${figure.replace(/ \(limits overridden\)/, '')}${accounts}: ${name}`;
    return unit === undefined ? { part: 'bench', what, value } : { part: 'bench', what, value, unit };
  });
}

function numbersIn(values: Readonly<Record<string, unknown>>, prefix = ''): readonly [string, number][] {
  return Object.entries(values).flatMap(([name, value]): readonly [string, number][] => {
    if (GIVEN.has(name) || name.startsWith('target')) return [];
    if (typeof value === 'number') return [[`${prefix}${name}`, value]];
    if (typeof value !== 'object' || value === null) return [];
    return numbersIn(value as Record<string, unknown>, `${prefix}${name}.`);
  });
}
