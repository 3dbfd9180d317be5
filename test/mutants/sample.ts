import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Dice } from '../support/dice.ts';
import { type Mutant, mutantsOf } from './operators.ts';
import { ROOMS, ROOT, type Room, sourceFiles } from './rooms.ts';

export interface Sampled extends Mutant {
  readonly room: Room;
}

/** All mutants of the sources. */
export function allMutants(): readonly Sampled[] {
  const all: Sampled[] = [];
  for (const [file, room] of sourceFiles()) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    for (const mutant of mutantsOf(file, text)) all.push({ ...mutant, room });
  }
  return all;
}

/**
 * Draws about `count` of them by the seed, each room by its weight, and all of a room that has fewer. The draw in one
 * room does not depend on what the others hold.
 */
export function drawSample(
  mutants: readonly Sampled[],
  count: number,
  seed: number,
  rooms: readonly Room[] = ROOMS,
): readonly Sampled[] {
  const weights = rooms.reduce((sum, { weight }) => sum + weight, 0);
  return rooms.flatMap((room) => {
    const dice = new Dice(seed);
    const drawn = mutants
      .filter((mutant) => mutant.room === room)
      .map((mutant) => ({ mutant, rank: dice.next() }))
      .toSorted((a, b) => a.rank - b.rank);
    return drawn.slice(0, Math.ceil((count * room.weight) / weights)).map(({ mutant }) => mutant);
  });
}
