/** Seeded random numbers from integer and basic float arithmetic only, so that they are equal on every platform. */
export interface SeededRandom {
  /** In [0, 1). */
  uniform(): number;
  /** Mean 0, deviation 1, within +-6 (sum of twelve uniforms). */
  normal(): number;
  /** Whole number in [0, bound). */
  below(bound: number): number;
  /** Lower-case hexadecimal digits. */
  hex(length: number): string;
}

/** Weyl sequence with a 32-bit mixing function (splitmix style). */
export function createRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x9e_37_79_b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21_f0_aa_ad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x73_5a_2d_97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  };
  return {
    uniform,
    normal: () => Array.from({ length: 12 }, uniform).reduce((sum, part) => sum + part, -6),
    below: (bound) => Math.floor(uniform() * bound),
    hex: (length) => Array.from({ length }, () => Math.floor(uniform() * 16).toString(16)).join(''),
  };
}
