/** Least-squares line through points. */
export interface Slope {
  /** Change of the measured value per hour. */
  readonly perHour: number;
  readonly error: number;
}

const HOUR_MS = 3_600_000;

/** @param points at least three, at different times */
export function slopeOf(points: readonly (readonly [atMs: number, value: number])[]): Slope {
  const count = points.length;
  if (count < 3) throw new RangeError(`a slope takes three points at least; there are ${count}`);
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const residual = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  return {
    perHour: slope * HOUR_MS,
    error: Math.sqrt(residual / (count - 2) / spread) * HOUR_MS,
  };
}
