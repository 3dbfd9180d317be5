import { createRandom, type Random } from '../simulator/random.ts';

/** Random numbers of one purpose: what one part of a world draws changes nothing for the others. */
export function chanceOf(seed: number, purpose: string): Random {
  let hash = 0x81_1c_9d_c5 ^ seed;
  for (let index = 0; index < purpose.length; index++) {
    hash = Math.imul(hash ^ purpose.charCodeAt(index), 0x01_00_01_93);
  }
  return createRandom(hash);
}

/** Fixed, uniform between bounds, or lognormal: half of all below the median, `sigma` of its logarithm. */
export type LatencySpec =
  | number
  | { readonly minMs: number; readonly maxMs: number }
  | { readonly medianMs: number; readonly sigma: number; readonly maxMs?: number };

/** Draws one latency after another. */
export function latencyOf(spec: LatencySpec, random: Random): () => number {
  if (typeof spec === 'number') return () => spec;
  if ('minMs' in spec) return () => spec.minMs + random.uniform() * (spec.maxMs - spec.minMs);
  const { medianMs, sigma, maxMs = Number.POSITIVE_INFINITY } = spec;
  return () => Math.min(maxMs, medianMs * Math.exp(sigma * random.normal()));
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

export function randomText(random: Random, length: number): string {
  return Array.from({ length }, () => ALPHABET[random.below(ALPHABET.length)]).join('');
}
