import type { Track } from './record.ts';

/** The value that holds at a moment. */
export function valueAt(track: Track, atMs: number): number | null {
  let [low, high] = [0, track.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((track[middle]?.[0] ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return track[low - 1]?.[1] ?? null;
}
