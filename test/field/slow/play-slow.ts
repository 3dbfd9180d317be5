import { inThreads } from '../pool.ts';
import { type Answer, PLAYER, type Work } from '../work.ts';
import type { SlowResult } from './judge-slow.ts';
import { SLOW_FACTORS } from './slow-case.ts';

export interface SlowPlayed {
  readonly seed: number;
  readonly results: readonly SlowResult[];
  readonly tookMs: number;
}

export async function playSlow(
  { seed, cases }: { readonly seed: number; readonly cases: number },
  signal: AbortSignal,
  onProgress: (done: number, of: number) => void,
): Promise<SlowPlayed> {
  const startedMs = performance.now();
  const results = new Map<number, SlowResult>();
  let index = 0;
  await inThreads<Work, Answer>(
    PLAYER,
    {
      next: () => (index < cases ? { kind: 'slow', seed, fixed: {}, index: index++ } : undefined),
      take: (answer) => {
        if (answer.kind === 'slow') results.set(answer.index, answer.result);
        onProgress(results.size, cases);
      },
    },
    signal,
  );
  const inOrder = [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
  return { seed, results: inOrder, tookMs: performance.now() - startedMs };
}

/** Accounts that the standing stop alone saves and the whole set loses: there must be none. */
export function worseThanStop(results: readonly SlowResult[]): readonly SlowResult[] {
  return results.filter(({ stopSaves, setSaves }) => stopSaves && !setSaves);
}

export function slowText({ seed, results, tookMs }: SlowPlayed): string {
  const lost = results.filter(({ isLostAlone }) => isLostAlone);
  const rows = Object.entries(SLOW_FACTORS).flatMap(([factor, values]) =>
    values.map((value) => {
      const some = lost.filter(({ slow }) => slow[factor as keyof typeof SLOW_FACTORS] === value);
      const [stop, set] = [some.filter((one) => one.stopSaves), some.filter((one) => one.setSaves)];
      const orders = some.reduce((sum, one) => sum + one.set.orders, 0) / Math.max(1, some.length);
      const counts = [some.length, stop.length, set.length].map((count) => String(count).padStart(7));
      return `${factor.padEnd(9)} ${value.padEnd(17)} ${counts.join(' ')} ${orders.toFixed(1).padStart(7)}`;
    }),
  );
  const worse = worseThanStop(results).map(({ id }) => id);
  const saved = (all: readonly SlowResult[], by: 'stopSaves' | 'setSaves'): number =>
    all.filter((one) => one[by]).length;
  return [
    `Seed ${seed}: ${results.length} slow falls, ${lost.length} of them lost without protection; saved by the standing stop alone ${saved(lost, 'stopSaves')}, by the whole set ${saved(lost, 'setSaves')}. Took ${Math.round(tookMs / 1_000)} s.`,
    '',
    'FACTOR    VALUE                CASES    STOP     SET  ORDERS',
    ...rows,
    '',
    worse.length === 0
      ? 'Every account that the standing stop alone saves is saved by the whole set.'
      : `Saved by the standing stop alone, and lost by the set: ${worse.join(' ')}`,
    '',
  ].join('\n');
}
