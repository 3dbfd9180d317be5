const TWO_OVER_SQRT_PI = 2 / Math.sqrt(Math.PI);
const ONE_OVER_SQRT_PI = 1 / Math.sqrt(Math.PI);
const SERIES_LIMIT = 2;

/** `exp(x^2) * erfc(x)` for x >= 0: multiplies a huge exponential by a tiny tail without overflow. */
export function erfcx(x: number): number {
  return x < SERIES_LIMIT ? Math.exp(x * x) - scaledErfSeries(x) : erfcxFraction(x);
}

/** `exp(x^2) * erf(x)` by its power series; all terms are positive. */
function scaledErfSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; term > sum * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return TWO_OVER_SQRT_PI * sum;
}

/** Laplace's continued fraction, evaluated from the tail; accurate to double precision for x >= 2. */
function erfcxFraction(x: number): number {
  let tail = x;
  for (let n = 8 + Math.ceil(200 / (x * x)); n > 0; n--) tail = x + n / 2 / tail;
  return ONE_OVER_SQRT_PI / tail;
}

export function erfc(x: number): number {
  return x < 0 ? 2 - erfc(-x) : Math.exp(-x * x) * erfcx(x);
}

/** Standard normal distribution function, accurate in both tails. */
export function normalCdf(x: number): number {
  return 0.5 * erfc(-x / Math.SQRT2);
}
