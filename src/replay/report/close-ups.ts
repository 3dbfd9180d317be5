import type { ReplayEvent } from '../record.ts';
import type { Range } from './scale.ts';

/** Events nearer to each other than this share of the whole time overlap in the large picture. */
const NEAR_SHARE = 0.01;
/** A close-up is only worth it if it covers at most this share of the time. */
const LARGEST_SHARE = 0.5;
const SHORTEST_MS = 60_000;
const AIR_SHARE = 0.2;
const MOST = 4;

/** The most eventful parts, in order of time: each gets its own picture. */
export function closeUpsOf(events: readonly ReplayEvent[], whole: Range) {
  const totalMs = whole.to - whole.from;
  const groups: ReplayEvent[][] = [];
  for (const event of events) {
    const last = groups.at(-1);
    const previousMs = last?.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    if (last !== undefined && event.atMs - previousMs <= totalMs * NEAR_SHARE) last.push(event);
    else groups.push([event]);
  }
  return groups
    .filter((group) => group.length > 1)
    .toSorted((a, b) => b.length - a.length)
    .slice(0, MOST)
    .map((group) => ({ window: around(group, whole), events: group.length }))
    .filter(({ window }) => window.to - window.from <= totalMs * LARGEST_SHARE)
    .toSorted((a, b) => a.window.from - b.window.from);
}

function around(group: readonly ReplayEvent[], whole: Range): Range {
  const [firstMs, lastMs] = [group[0]?.atMs ?? 0, group.at(-1)?.atMs ?? 0];
  const air = Math.max((lastMs - firstMs) * AIR_SHARE, (SHORTEST_MS - (lastMs - firstMs)) / 2, 5_000);
  return { from: Math.max(whole.from, firstMs - air), to: Math.min(whole.to, lastMs + air) };
}
