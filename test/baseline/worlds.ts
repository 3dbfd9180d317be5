import { inThreads } from '../field/pool.ts';
import type { Figure } from './figures.ts';

export interface WorldAsked {
  readonly kind: 'random' | 'contended';
  readonly seed: number;
}

/** Hashes of all that happened, or the error that ended the world. */
export type WorldPlayed = WorldAsked &
  ({ readonly ledger: string; readonly audit: string } | { readonly error: string });

const PLAYER = new URL('./world-thread.ts', import.meta.url);

/** Half as many contended worlds as random ones. */
export function worldsAsked(random: number): readonly WorldAsked[] {
  const of = (kind: WorldAsked['kind'], count: number): WorldAsked[] =>
    Array.from({ length: count }, (_, index) => ({ kind, seed: index + 1 }));
  return [...of('random', random), ...of('contended', Math.ceil(random / 2))];
}

/** The hash of the ledger and that of the audit of each world. @throws an error that names a world that failed */
export async function measureWorlds(
  random: number,
  signal: AbortSignal,
  onProgress: (done: number, of: number) => void,
): Promise<readonly Figure[]> {
  const asked = worldsAsked(random);
  const played = new Map<string, WorldPlayed>();
  let next = 0;
  await inThreads<WorldAsked, WorldPlayed>(
    PLAYER,
    {
      next: () => asked[next++],
      take: (answer) => {
        played.set(`${answer.kind} ${answer.seed}`, answer);
        onProgress(played.size, asked.length);
      },
    },
    signal,
  );
  return asked.flatMap(({ kind, seed }): Figure[] => {
    const name = `${kind} ${seed}`;
    const world = played.get(name);
    if (world === undefined) return [];
    if ('error' in world) throw new Error(`The world ${name} failed: ${world.error}`);
    return [
      { part: 'worlds', what: `${name}, ledger`, value: world.ledger },
      { part: 'worlds', what: `${name}, audit`, value: world.audit },
    ];
  });
}
