import type { LaneRef } from '../../core/ports/lane-dispatcher.ts';

/** Key of a lane in the maps of this process. */
export function laneKey({ accountId, market }: LaneRef): string {
  return JSON.stringify([accountId, market]);
}
