import { createRandom, type SeededRandom } from '../simulator/scenarios/random.ts';

/** Random numbers for one purpose: draws by one part of a world do not affect other parts. */
export function chanceOf(seed: number, purpose: string): SeededRandom {
  let hash = 0x81_1c_9d_c5 ^ seed;
  for (let index = 0; index < purpose.length; index++) {
    hash = Math.imul(hash ^ purpose.charCodeAt(index), 0x01_00_01_93);
  }
  return createRandom(hash);
}

/** Fixed, uniform between bounds, or lognormal with median and `sigma` of the logarithm. */
export type LatencySpec =
  | number
  | { readonly minMs: number; readonly maxMs: number }
  | { readonly medianMs: number; readonly sigma: number; readonly maxMs?: number };

/** Returns a function that draws one latency per call. */
export function latencyOf(spec: LatencySpec, random: SeededRandom): () => number {
  if (typeof spec === 'number') return () => spec;
  if ('minMs' in spec) return () => spec.minMs + random.uniform() * (spec.maxMs - spec.minMs);
  const { medianMs, sigma, maxMs = Number.POSITIVE_INFINITY } = spec;
  return () => Math.min(maxMs, medianMs * Math.exp(sigma * random.normal()));
}
